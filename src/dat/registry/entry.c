/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/entry.h"

#include "dat/registry/builtin.h"
#include "dat/registry/conf.h"
#include "dat/registry/log.h"
#include "util/env.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONF_MAX (1u << 20) /* bytes read of dat.conf */

pthread_mutex_t dreg_lock = PTHREAD_MUTEX_INITIALIZER;

/* Appended to under dreg_lock and never shortened, so that readers take no lock. */
static struct dreg_entry *entries, **entries_end = &entries;
static bool replaced; /* DAT_OVERRIDE is set: no entries of adapters */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool same_key(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return strcmp(a->ia_name, b->ia_name) == 0 &&
	       a->dapl_version_major == b->dapl_version_major &&
	       a->dapl_version_minor == b->dapl_version_minor &&
	       a->is_thread_safe == b->is_thread_safe;
}

static struct dreg_entry *new_entry(const DAT_PROVIDER_INFO *info, const char *library,
				    const char *params)
{
	struct dreg_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->info = *info;
	e->library = strdup(library);
	e->params = strdup(params);
	if (e->library && e->params)
		return e;
	free(e->library);
	free(e->params);
	free(e);
	return NULL;
}

static void append(struct dreg_entry *e)
{
	__atomic_store_n(entries_end, e, __ATOMIC_RELEASE);
	entries_end = &e->next;
}

static struct dreg_entry *next_of(const struct dreg_entry *e)
{
	return __atomic_load_n(e ? &e->next : &entries, __ATOMIC_ACQUIRE);
}

static void take_line(void *ctx, const struct dreg_conf_line *l)
{
	DAT_PROVIDER_INFO info = { .dapl_version_major = l->major,
				   .dapl_version_minor = l->minor,
				   .is_thread_safe = l->threadsafe ? DAT_TRUE : DAT_FALSE };
	struct dreg_entry *e;

	if (l->kernel || !l->is_default)
		return;
	strcpy(info.ia_name, l->field[DREG_CONF_NAME]);
	e = new_entry(&info, l->field[DREG_CONF_LIBRARY], l->field[DREG_CONF_PARAMS]);
	if (e)
		append(e);
}

static void bad_line(void *ctx, unsigned number, const char *why)
{
	dreg_log(DREG_ERROR | DREG_STATIC, "%s:%u: %s: the line is ignored; correct it", (const char *)ctx, number, why);
}

/* Returns how many bytes were read, up to CONF_MAX, or -1. A pipe without a writer is an empty
 * file; the open does not block. */
static ssize_t read_file(const char *path, char **ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *text = fd < 0 ? NULL : malloc(CONF_MAX);
	size_t n = 0;
	ssize_t got = 1;

	while (text && got > 0 && n < CONF_MAX) {
		got = read(fd, text + n, CONF_MAX - n);
		n += got > 0 ? (size_t)got : 0;
		if (got < 0 && errno == EINTR)
			got = 1;
	}
	if (fd >= 0)
		close(fd);
	*ret = text;
	return text ? (ssize_t)n : -1;
}

static bool read_conf(const char *path)
{
	struct dreg_conf_user user = { .line = take_line, .bad = bad_line, .ctx = (void *)path };
	char *text;
	ssize_t n = read_file(path, &text);

	if (n < 0) {
		dreg_log(DREG_STATIC, "cannot read %s (%s): it adds no entries; create the file to "
			 "add some", path, strerror(errno));
		return false;
	}
	dreg_log(DREG_STATIC, "reading %s", path);
	dreg_conf_parse(text, (size_t)n, &user);
	free(text);
	return true;
}

static void before_fork(void)
{
	pthread_mutex_lock(&dreg_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&dreg_lock);
}

static void start(void)
{
	const char *path = ut_env("DAT_OVERRIDE");
	int saved = errno;

	pthread_atfork(before_fork, after_fork, after_fork);
	if (path) {
		replaced = true;
		if (!read_conf(path))
			dreg_log(DREG_ERROR, "DAT_OVERRIDE: %s cannot be read: there are no adapters; "
					     "correct it, or unset it", path);
	} else if (!read_conf(DREG_SYSCONFDIR "/dat.conf")) {
		read_conf("/etc/dat.conf");
	}
	errno = saved;
}

/* Adds the entry of an adapter unless it is there. */
static void add_builtin(const DAT_PROVIDER_INFO *info, const char *params)
{
	struct dreg_entry *e;

	pthread_mutex_lock(&dreg_lock);
	for (e = entries; e; e = e->next)
		if (e->builtin && same_key(&e->info, info))
			break;
	if (!e) {
		e = new_entry(info, DREG_OWN_LIBRARY, params);
		if (e) {
			e->builtin = true;
			append(e);
		}
	}
	pthread_mutex_unlock(&dreg_lock);
}

static bool make_builtin(void *ctx, const struct dreg_builtin *b)
{
	const struct dreg_request *request = ctx;

	if (strcmp(b->info.ia_name, request->name) != 0)
		return true;
	add_builtin(&b->info, b->params);
	return false;
}

static bool have_name(const char *name)
{
	for (const struct dreg_entry *e = next_of(NULL); e; e = next_of(e))
		if (strcmp(e->info.ia_name, name) == 0)
			return true;
	return false;
}

/*
 * Makes the entry of an adapter when its name is asked for. A line of the file with that name takes
 * precedence.
 */
static void provide(const struct dreg_request *request)
{
	pthread_once(&once, start);
	if (!replaced && dreg_builtin_name(request->name) && !have_name(request->name))
		dreg_builtin_each(make_builtin, (void *)request);
}

enum dreg_match dreg_match(const DAT_PROVIDER_INFO *info, const struct dreg_request *request)
{
	bool safe = info->is_thread_safe != DAT_FALSE, wants_safe = request->threadsafe != DAT_FALSE;

	if (strcmp(info->ia_name, request->name) != 0)
		return DREG_MATCH_NAME;
	if (info->dapl_version_major != request->major)
		return DREG_MATCH_MAJOR;
	if (info->dapl_version_minor < request->minor)
		return DREG_MATCH_MINOR;
	if (wants_safe && !safe)
		return DREG_MATCH_THREADS;
	return info->dapl_version_minor == request->minor && safe == wants_safe ?
		DREG_MATCH_EXACT : DREG_MATCH_LENIENT;
}

DAT_RETURN dreg_match_error(enum dreg_match best)
{
	static const DAT_RETURN_SUBTYPE subtype[] = {
		[DREG_MATCH_NAME] = DAT_NAME_NOT_REGISTERED,
		[DREG_MATCH_MAJOR] = DAT_MAJOR_NOT_FOUND,
		[DREG_MATCH_MINOR] = DAT_MINOR_NOT_FOUND,
		[DREG_MATCH_THREADS] = DAT_THREAD_SAFETY_NOT_FOUND,
		/* an entry matched, but its library did not load */
		[DREG_MATCH_LENIENT] = DAT_NAME_NOT_REGISTERED,
		[DREG_MATCH_EXACT] = DAT_NAME_NOT_REGISTERED,
	};

	return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, subtype[best]);
}

struct dreg_entry *dreg_entry_next(const struct dreg_request *request, const struct dreg_entry *after,
				   enum dreg_match *ret_best)
{
	enum dreg_match level = after ? dreg_match(&after->info, request) : DREG_MATCH_EXACT;
	struct dreg_entry *e;

	if (!after)
		provide(request);
	for (e = next_of(NULL); e; e = next_of(e)) {
		enum dreg_match m = dreg_match(&e->info, request);

		*ret_best = m > *ret_best ? m : *ret_best;
	}
	for (e = next_of(after);; e = next_of(e)) {
		if (!e && level == DREG_MATCH_LENIENT)
			return NULL;
		if (!e) {
			level = DREG_MATCH_LENIENT;
			e = next_of(NULL);
			if (!e)
				return NULL;
		}
		if (dreg_match(&e->info, request) == level)
			return e;
	}
}

struct lister {
	bool (*each)(void *ctx, const DAT_PROVIDER_INFO *info);
	void *ctx;
};

static bool list_builtin(void *ctx, const struct dreg_builtin *b)
{
	struct lister *l = ctx;
	const struct dreg_entry *e;

	/* Entries of the file hide those of adapters; entries that provide() made are listed as
	 * well. */
	for (e = next_of(NULL); e; e = next_of(e))
		if (!e->builtin && strcmp(e->info.ia_name, b->info.ia_name) == 0)
			return true;
	return l->each(l->ctx, &b->info);
}

static bool is_repeated(const struct dreg_entry *e)
{
	for (const struct dreg_entry *f = next_of(NULL); f != e; f = next_of(f))
		if (same_key(&f->info, &e->info))
			return true;
	return false;
}

void dreg_entry_each(bool (*each)(void *ctx, const DAT_PROVIDER_INFO *info), void *ctx)
{
	struct lister l = { each, ctx };

	pthread_once(&once, start);
	for (const struct dreg_entry *e = next_of(NULL); e; e = next_of(e))
		if (!e->builtin && !is_repeated(e) && !each(ctx, &e->info))
			return;
	if (!replaced)
		dreg_builtin_each(list_builtin, &l);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects by their address, places in the program, and reports. */
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define BUCKETS 1024u
#define LINE 2048
#define SEEN 4096u
#define SITES 64u    /* places that a thread remembers */
#define CALLERS 2    /* by which they are told apart, beside the call itself */
#define VARIED 32u   /* look-ups in vain after which the callers of a place are left out */

struct ut_mutex check_lock = UT_MUTEX_INIT;
pid_t check_pid;
bool check_leaks;
_Atomic bool check_fork_safe;
_Atomic uint64_t check_low = UINT64_MAX, check_high;

const char *const check_object_names[OBJECTS] = {
	"context", "protection domain", "memory region", "completion channel", "completion queue", "shared receive queue",
	"queue pair", "address handle", "event channel", "connection identifier", "DAT event dispatcher", "DAT endpoint",
	"DAT protection zone", "DAT service point", "DAT notification object",
};

static struct check_record *table[BUCKETS];
static struct check_record *gone[BUCKETS]; /* destroyed, and their address not used again */
static int out = -1;
static uint64_t seen[SEEN];
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;

void *check_real(const char *library, const char *name)
{
	void *f = dlsym(RTLD_NEXT, name), *h;

	if (f)
		return f;
	/* A plug-in has loaded the library for itself. */
	h = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	return h ? dlsym(h, name) : NULL;
}

/* --- places --- */

/* Frames of these libraries are not the program's. */
static bool is_library(const char *path)
{
	static const char *const names[] = { "libdapple", "libibverbs", "librdmacm", "libibumad", "libdapl", "libdat", "libc.so" };
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return false;
}

void check_here(struct check_site *ret)
{
	void *all[FRAMES + 12];
	int n = backtrace(all, FRAMES + 12), i = 0;
	Dl_info d;

	while (i < n && dladdr(all[i], &d) && d.dli_fname && is_library(d.dli_fname))
		i++;
	ret->n = 0;
	for (; i < n && ret->n < FRAMES; i++)
		ret->pc[ret->n++] = all[i];
}

bool check_is_library(const void *pc)
{
	Dl_info d;

	return dladdr(pc, &d) && d.dli_fname && is_library(d.dli_fname);
}

/* Places that this thread has unwound. */
struct sites {
	uintptr_t low, top; /* of its stack */
	struct {
		uintptr_t key[2 + CALLERS];
		struct check_site site;
	} v[SITES];
	struct {
		uintptr_t pc;
		unsigned n;
	} varied[SITES];
};

static __thread struct sites *sites;
static pthread_key_t sites_key;

static struct sites *sites_of_thread(void)
{
	pthread_attr_t a;
	void *low;
	size_t size;

	if (sites)
		return sites;
	sites = calloc(1, sizeof(*sites));
	if (!sites)
		abort();
	pthread_setspecific(sites_key, sites);
	if (pthread_getattr_np(pthread_self(), &a) == 0) {
		if (pthread_attr_getstack(&a, &low, &size) == 0) {
			sites->low = (uintptr_t)low;
			sites->top = (uintptr_t)low + size;
		}
		pthread_attr_destroy(&a);
	}
	return sites;
}

/* Without frame pointers the words are some others of the stack: too many look-ups in vain tell. */
static void read_callers(const struct sites *s, void *const *frame, uintptr_t *ret)
{
	uintptr_t at = (uintptr_t)frame, next;

	for (int i = 0; i < CALLERS; i++) {
		next = at > s->low && at + 16 <= s->top ? *(const uintptr_t *)at : 0;
		if (next <= at || next & 7 || next + 16 > s->top)
			return;
		ret[i] = ((const uintptr_t *)next)[1];
		at = next;
	}
}

void check_here_at(struct check_site *ret, void *const *frame)
{
	struct sites *s = sites_of_thread();
	uintptr_t key[2 + CALLERS] = { (uintptr_t)frame[1], (uintptr_t)frame }, h = key[0] ^ key[1] >> 4;
	unsigned at = (unsigned)(key[0] * 0x9e3779b97f4a7c15u >> 32) % SITES, place;

	if (s->varied[at].pc != key[0] || s->varied[at].n < VARIED)
		read_callers(s, frame, key + 2);
	for (int i = 0; i < CALLERS; i++)
		h = (h ^ key[2 + i]) * 0x9e3779b97f4a7c15u;
	place = (unsigned)(h >> 32) % SITES;
	if (!memcmp(s->v[place].key, key, sizeof(key))) {
		*ret = s->v[place].site;
		return;
	}
	if (s->varied[at].pc != key[0]) {
		s->varied[at].pc = key[0];
		s->varied[at].n = 0;
	}
	s->varied[at].n++;
	check_here(ret);
	memcpy(s->v[place].key, key, sizeof(key));
	s->v[place].site = *ret;
}

void check_keep_site(struct check_request *w, const struct check_site *site)
{
	for (w->n_pc = 0; w->n_pc < POSTED && w->n_pc < site->n; w->n_pc++)
		w->pc[w->n_pc] = site->pc[w->n_pc];
}

void check_site_of(struct check_site *ret, const struct check_request *w)
{
	for (ret->n = 0; ret->n < w->n_pc; ret->n++)
		ret->pc[ret->n] = w->pc[ret->n];
}

/* --- reports --- */

static bool is_new(enum check_kind kind, const struct check_site *site)
{
	uint64_t key = (uint64_t)kind * 0xff51afd7ed558ccdu;
	bool fresh = true;

	/* Two frames: without optimisation the inline functions of the headers are functions. */
	for (int i = 0; i < site->n && i < 2; i++)
		key = (key ^ (uint64_t)(uintptr_t)site->pc[i]) * 0x9e3779b97f4a7c15u;
	key |= 1;
	pthread_mutex_lock(&seen_lock);
	for (unsigned i = 0; i < SEEN; i++) {
		uint64_t *at = &seen[(key + i) % SEEN];

		if (*at == key)
			fresh = false;
		if (*at == key || !*at) {
			*at = key;
			break;
		}
	}
	pthread_mutex_unlock(&seen_lock);
	return fresh;
}

/* The loader knows the program by the word that started it, which may be found by PATH alone. */
static const char *path_of(const Dl_info *d)
{
	static char exe[PATH_MAX];
	static const void *base;
	ssize_t n;
	Dl_info m;

	if (!base) {
		n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
		exe[n > 0 ? n : 0] = 0;
		base = dladdr((const void *)getauxval(AT_PHDR), &m) ? m.dli_fbase : &base;
	}
	return d->dli_fbase == base && *exe ? exe : d->dli_fname;
}

/* The address before a return address lies in the call. */
static int put_frames(char *to, size_t size, const struct check_site *site)
{
	size_t n = 0;
	Dl_info d;

	for (int i = 0; i < site->n && n + 300 < size; i++) {
		const char *pc = (const char *)site->pc[i] - 1;

		if (!dladdr(pc, &d) || !d.dli_fname)
			continue;
		if (n)
			to[n++] = ' ';
		for (const char *p = path_of(&d); *p && n + 40 < size; p++)
			if (*p <= ' ')
				n += (size_t)snprintf(to + n, size - n, "\\x%02x", (unsigned char)*p);
			else
				to[n++] = *p;
		n += (size_t)snprintf(to + n, size - n, "+0x%zx", (size_t)(pc - (const char *)d.dli_fbase));
	}
	to[n] = 0;
	return (int)n;
}

void check_report(enum check_kind kind, const struct check_site *site, const char *fmt, ...)
{
	char line[LINE];
	int keep = errno, n;
	va_list ap;

	if (out < 0 || !is_new(kind, site))
		return;
	n = snprintf(line, sizeof(line), "%d\t%d\t%s\t", (int)kind, (int)getpid(), program_invocation_short_name);
	n += put_frames(line + n, sizeof(line) - (size_t)n - 600, site);
	line[n++] = '\t';
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	if (n > LINE - 2)
		n = LINE - 2;
	line[n++] = '\n';
	if (write(out, line, (size_t)n) < 0)
		out = -1;
	errno = keep;
}

/* --- records --- */

static unsigned bucket_of(const void *ptr)
{
	return (unsigned)(((uintptr_t)ptr >> 4) * 0x9e3779b1u) % BUCKETS;
}

static struct check_record **place_of(struct check_record **in, enum object kind, const void *ptr)
{
	struct check_record **at = &in[bucket_of(ptr)];

	while (*at && ((*at)->ptr != ptr || (*at)->kind != kind))
		at = &(*at)->next;
	return at;
}

static void queue_free(struct check_queue *q)
{
	free(q->v);
	*q = (struct check_queue){ 0 };
}

static void forget(struct check_record **in, enum object kind, const void *ptr)
{
	struct check_record **at = place_of(in, kind, ptr), *r = *at;

	if (!r)
		return;
	*at = r->next;
	if (kind == QP) {
		queue_free(&r->qp.send);
		queue_free(&r->qp.recv);
	} else if (kind == SRQ) {
		queue_free(&r->srq);
	}
	free(r);
}

struct check_record *check_add(enum object kind, void *ptr, const struct check_site *site)
{
	struct check_record *r;

	forget(table, kind, ptr);
	forget(gone, kind, ptr);
	r = calloc(1, sizeof(*r));
	if (!r)
		abort();
	r->ptr = ptr;
	r->kind = kind;
	r->pid = check_pid;
	r->made = *site;
	r->next = table[bucket_of(ptr)];
	table[bucket_of(ptr)] = r;
	return r;
}

struct check_record *check_find(enum object kind, const void *ptr)
{
	return *place_of(table, kind, ptr);
}

/* The record stays as a grave until the address is used again: a second call is a mistake, then. */
void check_drop(enum object kind, const void *ptr)
{
	struct check_record **at = place_of(table, kind, ptr), *r = *at;
	struct check_site made;

	if (!r)
		return;
	made = r->made;
	forget(table, kind, ptr);
	r = calloc(1, sizeof(*r));
	if (!r)
		abort();
	r->ptr = (void *)(uintptr_t)ptr;
	r->kind = kind;
	r->made = made;
	r->next = gone[bucket_of(ptr)];
	gone[bucket_of(ptr)] = r;
}

void check_each(enum object kind, bool (*each)(struct check_record *r, void *arg), void *arg)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct check_record *r = table[i]; r; r = r->next)
			if (r->kind == kind && !each(r, arg))
				return;
}

struct by_key {
	uint32_t lkey;
	struct check_record *found;
};

static bool has_key(struct check_record *r, void *arg)
{
	struct by_key *k = arg;

	if (r->mr.lkey == k->lkey)
		k->found = r;
	return !k->found;
}

/* The last look-up of each key is remembered by the object's address, since the record may be gone. */
struct check_record *check_region_of(uint32_t lkey)
{
	static void *last[BUCKETS];
	void **at = &last[(lkey >> 8) % BUCKETS];
	struct check_record *r = *at ? check_find(REGION, *at) : NULL;
	struct by_key k = { lkey, NULL };

	if (r && r->mr.lkey == lkey)
		return r;
	check_each(REGION, has_key, &k);
	*at = k.found ? k.found->ptr : NULL;
	return k.found;
}

unsigned check_async(enum object kind, const void *ptr, int by)
{
	struct check_record *r;
	unsigned left = 0;

	ut_lock(&check_lock);
	r = check_find(kind, ptr);
	if (r) {
		r->async += by > 0 || r->async ? (unsigned)by : 0;
		if (by > 0)
			r->async_taker = pthread_self();
		left = pthread_equal(r->async_taker, pthread_self()) ? r->async : 0;
	}
	ut_unlock(&check_lock);
	return left;
}

bool check_is_gone(enum object kind, const void *ptr, const struct check_site *site)
{
	struct check_record *r;
	bool twice, child;

	ut_lock(&check_lock);
	r = check_find(kind, ptr);
	twice = !r && *place_of(gone, kind, ptr);
	child = r && r->pid != check_pid;
	ut_unlock(&check_lock);
	if (twice && kind >= DAT_EVD && kind <= DAT_CNO)
		check_report(CHECK_DAT_FREED, site, "a %s is named that was freed before", check_object_names[kind]);
	else if (twice)
		check_report(CHECK_TWICE, site, "a %s is destroyed that was destroyed before", check_object_names[kind]);
	if (child)
		check_report(CHECK_CHILD, site, "a %s of the parent process is used in a child of fork()", check_object_names[kind]);
	return twice;
}

/* --- the end --- */

static bool report_leak(struct check_record *r, void *arg)
{
	if (r->pid == check_pid)
		check_report(CHECK_LEAK, &r->made, "a %s that is made here is never destroyed", check_object_names[r->kind]);
	return true;
}

static bool report_unpolled(struct check_record *r, void *arg)
{
	if (r->pid == check_pid && r->cq.signaled && !r->cq.polled)
		check_report(CHECK_NOT_POLLED, &r->made, "a completion queue that is made here is never polled, although signaled "
			     "requests complete into it");
	return true;
}

__attribute__((destructor)) static void at_exit(void)
{
	ut_lock(&check_lock);
	check_each(CQ, report_unpolled, NULL);
	for (int k = 0; check_leaks && k < OBJECTS; k++)
		check_each((enum object)k, report_leak, NULL);
	ut_unlock(&check_lock);
}

static bool is_registered(struct check_record *r, void *arg)
{
	*(bool *)arg |= r->pid == check_pid;
	return true;
}

static void before_fork(void)
{
	struct check_site site;
	bool any = false;

	if (check_fork_safe)
		return;
	ut_lock(&check_lock);
	check_each(REGION, is_registered, &any);
	ut_unlock(&check_lock);
	if (!any)
		return;
	check_here(&site);
	check_report(CHECK_FORK, &site, "fork() is called while memory is registered, without support of the library");
}

static void in_child(void)
{
	ut_mutex_init_frequent(&check_lock);
	pthread_mutex_init(&seen_lock, NULL);
	check_pid = getpid();
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv(CHECK_ENV), *options = getenv(CHECK_OPTIONS_ENV);
	void *warm[2];

	ut_mutex_init_frequent(&check_lock);
	check_pid = getpid();
	check_leaks = options && strstr(options, "leaks");
	check_fork_safe = getenv("IBV_FORK_SAFE") || getenv("RDMAV_FORK_SAFE");
	pthread_key_create(&sites_key, free);
	/* The first call loads a library. */
	backtrace(warm, 2);
	if (path && *path)
		out = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	pthread_atfork(before_fork, NULL, in_child);
}

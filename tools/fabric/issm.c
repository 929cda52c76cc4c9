/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "issm.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_LENGTH 16 /* of a GUID in hexadecimal digits */

static void free_name(uint64_t guid, char name[32])
{
	snprintf(name, 32, "%016" PRIx64 ".free", guid);
}

int issm_open(struct issm *s, const char *dir, void (*changed)(void *ctx, struct issm_file *f), void *ctx)
{
	memset(s, 0, sizeof(*s));
	s->dir = s->inotify = -1;
	s->changed = changed;
	s->ctx = ctx;
	ut_list_init(&s->files);
	if (snprintf(s->path, sizeof(s->path), "%s/issm", dir) >= (int)sizeof(s->path))
		return -ENAMETOOLONG;
	if (mkdir(s->path, 0700) && errno != EEXIST)
		return -errno;
	s->dir = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s->inotify = s->dir < 0 ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (s->inotify >= 0 && inotify_add_watch(s->inotify, s->path, IN_OPEN | IN_CLOSE) >= 0)
		return 0;
	return -errno;
}

void issm_close(struct issm *s)
{
	if (s->inotify >= 0)
		close(s->inotify);
	if (s->dir >= 0)
		close(s->dir);
	s->dir = s->inotify = -1;
	rmdir(s->path);
}

/* The link changes by one rename: programs find the one target or the other. */
static int point(const struct issm *s, const struct issm_file *f)
{
	char name[32], to[32];

	snprintf(name, sizeof(name), "%016" PRIx64, f->guid);
	free_name(f->guid, to);
	unlinkat(s->dir, ".new", 0);
	if (symlinkat(f->on ? "../" ATT_SOCKET : to, s->dir, ".new") || renameat(s->dir, ".new", s->dir, name))
		return -errno;
	return 0;
}

static int make_free(const struct issm *s, uint64_t guid)
{
	char name[32];
	int fd;

	free_name(guid, name);
	unlinkat(s->dir, name, 0);
	fd = openat(s->dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	/* An open(2) in the moment of a lease is told by a signal; this one is ignored unless a program wants it. */
	fcntl(fd, F_SETSIG, SIGURG);
	return fd;
}

int issm_add(struct issm *s, struct issm_file *f, uint64_t guid)
{
	int r;

	f->fd = make_free(s, guid);
	if (f->fd < 0)
		return f->fd;
	f->guid = guid;
	f->on = false;
	r = point(s, f);
	if (r) {
		close(f->fd);
		f->fd = -1;
		return r;
	}
	ut_list_add_tail(&s->files, &f->node);
	return 0;
}

void issm_remove(struct issm *s, struct issm_file *f)
{
	char name[32];

	if (f->fd < 0)
		return;
	ut_list_del(&f->node);
	free_name(f->guid, name);
	unlinkat(s->dir, name, 0);
	name[NAME_LENGTH] = 0;
	unlinkat(s->dir, name, 0);
	close(f->fd);
	f->fd = -1;
}

int issm_path(const struct issm *s, const struct issm_file *f, char path[ATT_PATH_MAX])
{
	int n = snprintf(path, ATT_PATH_MAX, "%s/%016" PRIx64, s->path, f->guid);

	return n < ATT_PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* True if another process has it open. */
static bool is_open(const struct issm_file *f, bool otherwise)
{
	if (!fcntl(f->fd, F_SETLEASE, F_WRLCK)) {
		fcntl(f->fd, F_SETLEASE, F_UNLCK);
		return false;
	}
	return errno == EAGAIN ? true : otherwise;
}

static void look(struct issm *s, struct issm_file *f, bool opened)
{
	bool on = is_open(f, opened);

	if (on == f->on)
		return;
	f->on = on;
	point(s, f);
	s->changed(s->ctx, f);
}

static void take_event(struct issm *s, const struct inotify_event *ev)
{
	struct issm_file *f, *next;
	uint64_t guid;
	char *end;

	if (ev->mask & IN_Q_OVERFLOW) {
		ut_list_each_safe(f, next, &s->files, node)
			look(s, f, f->on);
		return;
	}
	if (!ev->len)
		return;
	guid = strtoull(ev->name, &end, 16);
	if (end != ev->name + NAME_LENGTH || strcmp(end, ".free"))
		return;
	ut_list_each_safe(f, next, &s->files, node)
		if (f->guid == guid) {
			look(s, f, ev->mask & IN_OPEN);
			return;
		}
}

void issm_serve(struct issm *s)
{
	union {
		struct inotify_event ev;
		char bytes[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)];
	} buf;
	ssize_t n = read(s->inotify, buf.bytes, sizeof(buf.bytes));

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *ev = (const void *)(buf.bytes + at);

		at += (ssize_t)(sizeof(*ev) + ev->len);
		take_event(s, ev);
	}
}

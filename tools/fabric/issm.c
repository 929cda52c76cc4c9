/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "issm.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static void free_name(uint64_t guid, char name[32])
{
	snprintf(name, 32, "%016" PRIx64 ".free", guid);
}

int issm_open(struct issm *s, const char *dir, void (*changed)(void *ctx, struct issm_file *f), void *ctx)
{
	s->changed = changed;
	s->ctx = ctx;
	ut_list_init(&s->files);
	return watched_open(&s->at, dir, "issm", IN_OPEN | IN_CLOSE);
}

void issm_close(struct issm *s)
{
	watched_close(&s->at);
	rmdir(s->at.path);
}

/* The link changes by one rename: programs find the one target or the other. */
static int point(const struct issm *s, const struct issm_file *f)
{
	char name[32], to[32];

	snprintf(name, sizeof(name), "%016" PRIx64, f->guid);
	free_name(f->guid, to);
	unlinkat(s->at.dir, ".new", 0);
	if (symlinkat(f->on ? "../" ATT_SOCKET : to, s->at.dir, ".new") || renameat(s->at.dir, ".new", s->at.dir, name))
		return -errno;
	return 0;
}

static int make_free(const struct issm *s, uint64_t guid)
{
	char name[32];
	int fd;

	free_name(guid, name);
	unlinkat(s->at.dir, name, 0);
	fd = openat(s->at.dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
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
	unlinkat(s->at.dir, name, 0);
	name[WATCHED_GUID] = 0;
	unlinkat(s->at.dir, name, 0);
	close(f->fd);
	f->fd = -1;
}

int issm_path(const struct issm *s, const struct issm_file *f, char path[ATT_PATH_MAX])
{
	int n = snprintf(path, ATT_PATH_MAX, "%s/%016" PRIx64, s->at.path, f->guid);

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

static void take_event(void *arg, const struct inotify_event *ev)
{
	struct issm *s = arg;
	struct issm_file *f, *next;
	uint64_t guid;

	if (ev->mask & IN_Q_OVERFLOW) {
		ut_list_each_safe(f, next, &s->files, node)
			look(s, f, f->on);
		return;
	}
	if (!watched_guid(ev, ".free", &guid))
		return;
	ut_list_each_safe(f, next, &s->files, node)
		if (f->guid == guid) {
			look(s, f, ev->mask & IN_OPEN);
			return;
		}
}

void issm_serve(struct issm *s)
{
	watched_serve(&s->at, take_event, s);
}

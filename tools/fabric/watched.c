/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "watched.h"

#include "util/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

void watched_none(struct watched *w)
{
	*w = (struct watched){ .dir = -1, .inotify = -1 };
}

int watched_open(struct watched *w, const char *dir, const char *name, uint32_t mask)
{
	watched_none(w);
	if (snprintf(w->path, sizeof(w->path), "%s/%s", dir, name) >= (int)sizeof(w->path))
		return -ENAMETOOLONG;
	if (mkdir(w->path, 0700) && errno != EEXIST)
		return -errno;
	w->dir = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->inotify = w->dir < 0 ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->inotify >= 0 && inotify_add_watch(w->inotify, w->path, mask) >= 0)
		return 0;
	return -errno;
}

void watched_close(struct watched *w)
{
	ut_close(w->inotify);
	ut_close(w->dir);
	w->dir = w->inotify = -1;
}

void watched_serve(struct watched *w, void (*take)(void *arg, const struct inotify_event *ev), void *arg)
{
	union {
		struct inotify_event ev;
		char bytes[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)];
	} buf;
	ssize_t n = read(w->inotify, buf.bytes, sizeof(buf.bytes));

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *ev = (const void *)(buf.bytes + at);

		at += (ssize_t)(sizeof(*ev) + ev->len);
		take(arg, ev);
	}
}

bool watched_guid(const struct inotify_event *ev, const char *suffix, uint64_t *ret)
{
	char *end;

	if (!ev->len)
		return false;
	*ret = strtoull(ev->name, &end, 16);
	return end == ev->name + WATCHED_GUID && strcmp(end, suffix) == 0;
}

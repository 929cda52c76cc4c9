/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "desc.h"

#include "device/sysfs/tree.h"
#include "util/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_LENGTH 16 /* of a GUID in hexadecimal digits */

int desc_open(struct desc *d, const char *dir, void (*written)(void *ctx, uint64_t guid, const char *text), void *ctx)
{
	memset(d, 0, sizeof(*d));
	d->dir = d->inotify = -1;
	d->written = written;
	d->ctx = ctx;
	if (snprintf(d->path, sizeof(d->path), "%s/desc", dir) >= (int)sizeof(d->path))
		return -ENAMETOOLONG;
	if (mkdir(d->path, 0700) && errno != EEXIST)
		return -errno;
	d->dir = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d->inotify = d->dir < 0 ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (d->inotify >= 0 && inotify_add_watch(d->inotify, d->path, IN_CLOSE_WRITE) >= 0)
		return 0;
	return -errno;
}

void desc_close(struct desc *d)
{
	ut_close(d->inotify);
	ut_close(d->dir);
	d->dir = d->inotify = -1;
	if (d->path[0])
		dev_tree_remove(d->path);
}

/* Returns false if there is no such file. */
static bool read_text(const struct desc *d, const char *name, char ret[DESC_MAX + 1])
{
	int fd = openat(d->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, DESC_MAX);

	ut_close(fd);
	if (n < 0)
		return false;
	ret[n] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return true;
}

static int write_text(const struct desc *d, const char *name, const char *text)
{
	int fd = openat(d->dir, ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), r;

	if (fd < 0)
		return -errno;
	r = dprintf(fd, "%s\n", text) < 0 || renameat(d->dir, ".new", d->dir, name) ? -errno : 0;
	ut_close(fd);
	return r;
}

int desc_set(struct desc *d, uint64_t guid, const char *text, char path[ATT_PATH_MAX])
{
	char name[32], now[DESC_MAX + 1];

	snprintf(name, sizeof(name), "%0*" PRIx64, NAME_LENGTH, guid);
	if (snprintf(path, ATT_PATH_MAX, "%s/%s", d->path, name) >= ATT_PATH_MAX)
		return -ENAMETOOLONG;
	return read_text(d, name, now) && strcmp(now, text) == 0 ? 0 : write_text(d, name, text);
}

static void take_event(struct desc *d, const struct inotify_event *ev)
{
	char text[DESC_MAX + 1], *end;
	uint64_t guid;

	if (!ev->len)
		return;
	guid = strtoull(ev->name, &end, 16);
	if (end == ev->name + NAME_LENGTH && !*end && read_text(d, ev->name, text))
		d->written(d->ctx, guid, text);
}

void desc_serve(struct desc *d)
{
	union {
		struct inotify_event ev;
		char bytes[4 * (sizeof(struct inotify_event) + NAME_MAX + 1)];
	} buf;
	ssize_t n = read(d->inotify, buf.bytes, sizeof(buf.bytes));

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *ev = (const void *)(buf.bytes + at);

		at += (ssize_t)(sizeof(*ev) + ev->len);
		take_event(d, ev);
	}
}

void desc_cut_rest(char text[DESC_MAX + 1], const char *before, const char *adapter)
{
	char *behind = strstr(text, adapter);
	size_t at;

	if (!behind)
		return;
	at = (size_t)(behind - text) + strlen(adapter);
	if (at < strlen(before) && strcmp(text + at, before + at) == 0)
		text[at] = '\0';
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "desc.h"

#include "device/sysfs/tree.h"
#include "util/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

int desc_open(struct desc *d, const char *dir, void (*written)(void *ctx, uint64_t guid, const char *text), void *ctx)
{
	d->written = written;
	d->ctx = ctx;
	return watched_open(&d->files, dir, "desc", IN_CLOSE_WRITE);
}

void desc_close(struct desc *d)
{
	watched_close(&d->files);
	if (d->files.path[0])
		dev_tree_remove(d->files.path);
}

/* Returns false if there is no such file. */
static bool read_text(const struct desc *d, const char *name, char ret[DESC_MAX + 1])
{
	int fd = openat(d->files.dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
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
	int fd = openat(d->files.dir, ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), r;

	if (fd < 0)
		return -errno;
	r = dprintf(fd, "%s\n", text) < 0 || renameat(d->files.dir, ".new", d->files.dir, name) ? -errno : 0;
	ut_close(fd);
	return r;
}

int desc_set(struct desc *d, uint64_t guid, const char *text, char path[ATT_PATH_MAX])
{
	char name[32], now[DESC_MAX + 1];

	snprintf(name, sizeof(name), "%0*" PRIx64, WATCHED_GUID, guid);
	if (snprintf(path, ATT_PATH_MAX, "%s/%s", d->files.path, name) >= ATT_PATH_MAX)
		return -ENAMETOOLONG;
	return read_text(d, name, now) && strcmp(now, text) == 0 ? 0 : write_text(d, name, text);
}

static void take_event(void *arg, const struct inotify_event *ev)
{
	struct desc *d = arg;
	char text[DESC_MAX + 1];
	uint64_t guid;

	if (watched_guid(ev, "", &guid) && read_text(d, ev->name, text))
		d->written(d->ctx, guid, text);
}

void desc_serve(struct desc *d)
{
	watched_serve(&d->files, take_event, d);
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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files that stand for /dev/infiniband/issmN: a subnet manager opens the one of its port and keeps it open, which
 * makes the port's IsSM; the end of the process ends it, however it came. A second open of the same file fails.
 *
 *	issm/GUID        symbolic link: what programs open
 *	issm/GUID.free   an empty file, to which it points while no subnet manager has the port
 *	attach           the socket, to which it points otherwise: open(2) gives ENXIO
 *
 * The kernel reports opens and closes of the free files (inotify(7)). It may report two as one, so whether a file is
 * open is then asked by a lease (F_SETLEASE), which it grants if no other process has the file open.
 */
#ifndef FABRIC_ISSM_H
#define FABRIC_ISSM_H

#include "util/list.h"
#include "watched.h"

#include <stdbool.h>
#include <stdint.h>

struct issm_file {
	struct ut_list node;
	uint64_t guid;
	int fd;               /* of the free file; for its lease */
	bool on;
};

struct issm {
	struct watched at;
	struct ut_list files;
	void (*changed)(void *ctx, struct issm_file *f);
	void *ctx;
};

/* dir: the fabric's directory. changed() is called when f->on has changed. Returns 0 or a negative errno. */
int issm_open(struct issm *s, const char *dir, void (*changed)(void *ctx, struct issm_file *f), void *ctx);
/* Removes the directory. All files have been removed. */
void issm_close(struct issm *s);
/* Makes the files of a port. Returns 0 or a negative errno. */
int issm_add(struct issm *s, struct issm_file *f, uint64_t guid);
/* Removes them; does nothing to one that has not been added (fd -1). */
void issm_remove(struct issm *s, struct issm_file *f);
/* Writes the path that a program opens. Returns 0 or -ENAMETOOLONG. */
int issm_path(const struct issm *s, const struct issm_file *f, char path[ATT_PATH_MAX]);
/* Called when s->at.inotify is readable. */
void issm_serve(struct issm *s);

#endif

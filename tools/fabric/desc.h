/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files to which node_desc below /sys leads: a program that writes one (rdma-ndd) changes the NodeDescription of its node,
 * as it would with the kernel.
 *
 *	desc/GUID       the description and a newline; written by the fabric process by a rename, by programs in place
 *
 * The kernel reports what programs have written (inotify(7)).
 */
#ifndef FABRIC_DESC_H
#define FABRIC_DESC_H

#include "watched.h"

#include <stdint.h>

#define DESC_MAX 64 /* of a NodeDescription (IBTA 14.2.5.2) */

struct desc {
	struct watched files;
	/* text: what the file has now, cut to DESC_MAX bytes. */
	void (*written)(void *ctx, uint64_t guid, const char *text);
	void *ctx;
};

/* dir: the fabric's directory. Returns 0 or a negative errno. */
int desc_open(struct desc *d, const char *dir, void (*written)(void *ctx, uint64_t guid, const char *text), void *ctx);
/* Removes the directory with its files. */
void desc_close(struct desc *d);
/* Makes the file of a node agree, and writes its path. Returns 0 or a negative errno. */
int desc_set(struct desc *d, uint64_t guid, const char *text, char path[ATT_PATH_MAX]);
/* Called when d->files.inotify is readable. */
void desc_serve(struct desc *d);

/*
 * What a program has meant that wrote over the text `before`, from its beginning and without cutting the file: the end of
 * a longer text stands behind its own. Only behind the adapter's name it is known as such, and cut.
 */
void desc_cut_rest(char text[DESC_MAX + 1], const char *before, const char *adapter);

#endif

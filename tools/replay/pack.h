/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A record that can be sent: compressed (zstd), with the files of the program and its libraries behind the events. Only a
 * debugger reads those; what the process needs is in its image.
 *
 *   struct rp_packed, the file's bytes padded to 8; and so on: rp_file.files bytes of them
 */
#ifndef REPLAY_PACK_H
#define REPLAY_PACK_H

#include "file.h"

struct rp_packed {
	struct rp_object object;
	uint64_t bytes;
};

/* Replaces the file of an ended record by its packed form. Where that fails it stays as it is. */
void replay_pack(struct replay_run *r);
/* Opens the content of a packed record in place of it. Returns 0, or an exit code after a sentence. */
int replay_unpack(struct replay_run *r);
/* Calls take() for each packed file, the program's first. */
void replay_files(const struct replay_run *r, void (*take)(void *arg, const struct rp_object *o, const void *p, size_t n), void *arg);

#endif

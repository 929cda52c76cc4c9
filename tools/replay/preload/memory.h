/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* mmap(), brk() and mremap(), which give a replay the addresses of the recording. */
#ifndef REPLAY_MEMORY_H
#define REPLAY_MEMORY_H

#include "turn.h"

long rp_map(struct rp_thread *t, const long args[6]);
long rp_brk(struct rp_thread *t, const long args[6]);
long rp_remap(struct rp_thread *t, const long args[6]);

/* Replay: takes away the memory that a child does not have (MADV_DONTFORK), and clears what it has as zeros (MADV_WIPEONFORK). */
void rp_memory_fork(void);

#endif

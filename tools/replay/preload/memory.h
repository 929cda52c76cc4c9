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

/* Recording: munmap() was called. */
void rp_memory_gone(uint64_t from, uint64_t bytes);
/* Recording, in a child: what it shares with its parent is taken out of reach. */
void rp_memory_guard(void);
/* Recording: returns if the address is not of such memory; else the program is ended. */
void rp_memory_reached(uint64_t address);
/* Recording: a call has found an address out of reach. */
void rp_memory_refused(void);

#endif

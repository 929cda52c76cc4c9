/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes that a recorded one makes. Each has a file of its own, FILE.1, FILE.2 ... (format.h):
 *
 *   fork()    the child copies what its process has recorded until then, and goes on behind it
 *   execve()  the program that begins gets an empty file, by the number of the one before it; the other one ends there
 *
 * A child whose file cannot be made, and a program that does not load the recorder, runs as it is and is counted.
 */
#ifndef REPLAY_FAMILY_H
#define REPLAY_FAMILY_H

#include "turn.h"

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* Recording, in a child that was just made by t: goes on in a file of its own. Returns false if it is not recorded. */
bool rp_family_fork(struct rp_thread *t);

struct rp_successor {
	int file, before; /* descriptors: of the new file, of the one behind the number of the record; -1: none */
};

/* Recording, before execve() or execveat() with these arguments: makes a file for the program that begins. blocked: the
 * mask of signals that it begins with. */
void rp_family_exec(struct rp_successor *s, int nr, const long args[6], uint64_t blocked);
/* The call has failed. */
void rp_family_stay(struct rp_successor *s);

#endif

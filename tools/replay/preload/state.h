/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the recorder knows of its process. No function here or below calls libc, but for memory and strings. */
#ifndef REPLAY_STATE_H
#define REPLAY_STATE_H

#include "../format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rp_mode {
	RP_OFF,       /* calls are executed as they are: a child of fork(), or a recording that has stopped */
	RP_RECORDING,
	RP_REPLAYING,
};

extern enum rp_mode rp_mode; /* changes to RP_OFF only */
extern bool rp_stays;        /* replay under a debugger */
extern int rp_recorded_pid;  /* what getpid() returned in the recorded run */
extern int rp_pid;
extern struct rp_control *rp_control;

/* Maps *rp_control from a descriptor. fixed: MAP_FIXED in place of the one that is there, or MAP_FIXED_NOREPLACE. Returns 0
 * or -errno. */
int rp_control_map(int fd, uint64_t offset, int fixed);

/* Ends the recording or the replay, for a reason that *rp_control tells already but for its stop. A recording: the program
 * is ended, but for RP_FULL and RP_REPLACED, after which it goes on. A replay: the program is ended, or stopped for the
 * debugger. */
void rp_stop(enum rp_stop why);
/* The same with a number and what was wanted instead. */
void rp_stop_at(enum rp_stop why, int64_t number, int64_t wanted);

#endif

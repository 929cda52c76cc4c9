/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program starts the carrier that is beside the preloaded library. */
#ifndef ULP_PRELOAD_SPAWN_H
#define ULP_PRELOAD_SPAWN_H

/*
 * Starts the executable of this name in the folder of the library that has this function, with the descriptor as its
 * descriptor 3 (RSP_LISTEN_FD). It has the environment without LD_PRELOAD. Returns 0 once it has detached itself, or a
 * negative errno.
 */
int rsp_spawn(const char *name, int fd);

#endif

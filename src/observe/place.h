/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where observers and processes meet: sockets in the directory `observe` of the user's runtime directory, which is of
 * mode 0700, as are they. `pid-N` is the control socket of process N (device/control.h); a reader of a capture listens
 * at `capture-N`, or at `all-N` if it wants every process that begins. Both ends check by SO_PEERCRED that the other
 * one is of their user. A program with rights that its user does not have (AT_SECURE) takes no part.
 */
#ifndef OBSERVE_PLACE_H
#define OBSERVE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#define OBS_PATH 1100
#define OBS_CAPTURE_ENV "DAPPLE_CAPTURE" /* path of a reader's socket */

/* Returns false for a program that is not to be observed. */
bool obs_place_permitted(void);
/* Writes the path of the directory, which is made if needed. Returns 0 or -errno. */
int obs_place(char *ret, size_t size);
/* Listens at a path below it (SOCK_SEQPACKET), CLOEXEC. Returns the descriptor or -errno. */
int obs_place_listen(const char *path);
/* Connects to it. Returns the descriptor or -errno; a socket that is there without a listener is removed. */
int obs_place_connect(const char *path);
/* Returns true if the process at the other end belongs to this user. */
bool obs_place_is_ours(int fd);
/* Calls each() with the path of each socket whose name begins so. */
void obs_place_each(const char *prefix, void (*each)(const char *path, void *arg), void *arg);

#endif

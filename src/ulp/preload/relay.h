/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One connection of the carrier: bytes between a program's stream and the network, both ways. */
#ifndef ULP_PRELOAD_RELAY_H
#define ULP_PRELOAD_RELAY_H

#include <stdbool.h>

/*
 * Copies until both directions have ended, then closes both descriptors. The ends of the directions and
 * the program's close pass through. `rdma` tells an rsocket from a TCP socket. Returns after the end.
 */
void rsp_relay(int un, int net, bool rdma);
/* Called at the beginning of each such thread, if not NULL. */
extern void (*rsp_thread_begin)(void);
/* Starts a detached thread with a small stack. Returns 0 or a negative errno. */
int rsp_thread(void *(*run)(void *), void *arg);

#endif

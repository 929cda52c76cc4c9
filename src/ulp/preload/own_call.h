/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A call of the program for octets, on a connection of SDP in its process (own.h). It takes the relay's lock, and polls the
 * connection in the place of the relay's thread; a call that blocks leases the connection (sdp_relay.h).
 */
#ifndef ULP_PRELOAD_OWN_CALL_H
#define ULP_PRELOAD_OWN_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>

struct sdp_relay;

/* rsp_own.receive and .send */
bool rsp_own_receive(struct sdp_relay *r, int fd, const struct iovec *iov, int nr, int flags, ssize_t *ret);
bool rsp_own_send(struct sdp_relay *r, int fd, const struct iovec *iov, int nr, int flags, ssize_t *ret);

/* A lease may be in force. */
extern atomic_bool rsp_own_leased;
/* The relay's thread goes on at once; no lease is left. The relay's lock is held. */
void rsp_own_wake(struct sdp_relay *r);

#endif

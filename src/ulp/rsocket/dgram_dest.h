/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The peers of a datagram rsocket, and the exchange of QPNs by UDP. Called with c held. */
#ifndef ULP_RSOCKET_DGRAM_DEST_H
#define ULP_RSOCKET_DGRAM_DEST_H

#include "ulp/rsocket/dgram.h"

/* Finds or creates the entry of a peer. Returns 0 or a negative errno. */
int rs_dgram_dest_get(struct rs_sock *s, const struct sockaddr *addr, struct rs_dgram_dest **ret);
void rs_dgram_dests_free(struct rs_dgram *dg);
/* Sends by UDP, behind a header with the QPN of this end. Returns 0 or a negative errno. */
int rs_dgram_udp_send(struct rs_sock *s, struct rs_dgram_dest *dest, enum rs_op op,
		      const struct iovec *iov, int nr);
/* Takes what has come by UDP. Called with cancellation disabled. */
void rs_dgram_udp_take(struct rs_sock *s);

#endif

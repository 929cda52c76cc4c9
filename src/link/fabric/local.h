/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The local path of a fabric link: packets to processes of this host take the shm channel as records, LRH to ICRC as
 * in a TRAIN, if the fabric says that they would pass (routes.h); all others, and those to QP0, QP1 and groups, go by
 * the fabric process, which refuses and counts what does not pass. A sender delays its packets (-EAGAIN) until the peer
 * process has answered, so that none overtakes another by changing ways.
 */
#ifndef LINK_FABRIC_LOCAL_H
#define LINK_FABRIC_LOCAL_H

#include "link/fabric/state.h"

#include <sys/uio.h>

/* Slot of link_ops. */
int fabric_ends(struct link *l, const struct ut_flow *f, uint16_t pkey, uint32_t mtu, struct ut_flow *ret);
/* Packets of one flow, each in two pieces: LRH and GRH, and the rest. */
struct fabric_packets {
	const struct ut_flow *flow;
	const struct iovec *iov;
	int n;
	size_t seg; /* bytes of each packet but the last */
};
/* Sends packets to queue pairs of the process that has qpn. Returns 0 if they are in its ring, 1 if they take the fabric
 * process; -EAGAIN or -ENOBUFS as shm_channel_send(). */
int fabric_local_send(struct fabric_link *n, uint32_t qpn, const struct fabric_packets *p);
/* Takes the next record, at *at of the spare part of the stage, as the datagram to hand out. Returns false if there is
 * none. */
bool fabric_local_take(struct fabric_link *n, size_t *at);

#endif

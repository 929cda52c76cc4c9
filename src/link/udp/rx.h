/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receiving. A ping-pong costs one recvmsg per packet: a socket that gave a single datagram, or two, is not asked again
 * in the same call. One that gave a longer train, coalesced, is drained, since more is likely there. The stage has eight
 * places used in turn, so what a caller had no room for stays valid while the next call fills others.
 *
 * Trains that are read twice (link_ops.take): the first look copies one into the stage, where it is checked; then the
 * same receive, which the first one left in the queue, puts the payload where it belongs. The kernel copies that from
 * its own buffers in half the time that a copy out of the stage takes. No other thread reads the socket, so it is the
 * same train; its length is compared all the same.
 */
#ifndef LINK_UDP_RX_H
#define LINK_UDP_RX_H

#include "link/udp/state.h"

/* link_ops.recv */
int udp_recv(struct link *l, struct link_rx *v, int max);
/* link_ops.take */
int udp_take(struct link *l, const struct iovec *iov, int n);
/* A train that was left for take() is not wanted: drops it. */
void udp_let_go(struct udp_link *u);
/* Reads what waits on a member socket outside recv(): takes probes, forwards what is for other members, and drops the
 * rest. */
void udp_drain(struct udp_link *u, struct udp_local *lo, uint8_t *buf, size_t room);

#endif

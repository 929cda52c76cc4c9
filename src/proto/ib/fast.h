/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path: the usual message of a reliable connection, one packet long, where nothing is slow
 * (slow.h). ibp_fast_post() and ibp_fast_receive() of ibp.h are its other entries.
 */
#ifndef PROTO_IB_FAST_H
#define PROTO_IB_FAST_H

#include <stdbool.h>
#include <stdint.h>

struct ibp_port;
struct ibp_qp;
struct link_rx;

/* Sends at most `most` requests of a connection of the wire, from the cursor on. Returns true if one
 * has left; false: the request at the cursor is left to the full rules. */
bool ibp_fast_send(struct ibp_qp *q, uint32_t most);
/* Executes a datagram. Returns false if the full rules are to look at it: nothing of it has happened then
 * but what happens once. */
bool ibp_fast_take_datagram(struct ibp_port *port, const struct link_rx *rx);
/* Sends the plain acknowledgement up to this PSN through the shm channel, without making a packet.
 * Returns false if nothing has left. */
bool ibp_fast_ack(struct ibp_qp *q, uint32_t psn);
/* Sets the timers of requests that left on the fast path, which reads no clock. */
void ibp_fast_arm(struct ibp_port *port);

#endif

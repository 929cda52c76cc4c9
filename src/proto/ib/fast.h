/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path: the usual message of a reliable connection, one packet long and in order, where nothing is slow
 * (slow.h). It goes from the work request into the ring or the train, and from the ring or the datagram into memory and
 * completion, without the packet in between that requester and responder make and parse. Within a host that is a Send
 * or Write small enough to be copied, and it needs no round of the port; on the wire it is a Send. These are the rules of
 * the requester and the responder for that one case. Any other message changes nothing here and is left to them.
 *
 * The framing is a constant argument of inline functions, so that there are two copies of the path, each without the
 * other's tests. No clock is read: a timer that would be armed waits for the next round (port->unarmed).
 */
#ifndef PROTO_IB_FAST_H
#define PROTO_IB_FAST_H

#include "proto/post.h"

#include <stdbool.h>
#include <stdint.h>

struct eng_dev;
struct eng_qp;
struct ibp_port;
struct ibp_qp;
struct ibv_send_wr;
struct link_rx;
struct shm_message;

/* dev_machine.post: executes or sends the requests posted to a queue pair. */
enum proto_posted ibp_post(struct eng_qp *qp, unsigned how, uint64_t now);
/* dev_machine.post_now: a Send of up to 64 octets, or up to 4 KiB, through a lane. */
bool ibp_post_now(struct eng_qp *qp, const struct ibv_send_wr *wr, bool more);
/* dev_machine.fast and .finish: execute the usual messages of peer processes; the other messages of
 * the same poll. */
int ibp_fast_poll(struct eng_dev *dev, bool *ret_whole);
void ibp_fast_finish(struct eng_dev *dev, uint64_t now);
/* Executes n (> 0) messages, in order and without a round, between two of ibp_receive() and ibp_transmit().
 * Returns how many it has executed: the others are for ibp_receive_messages(). */
int ibp_fast_receive(struct eng_dev *dev, const struct shm_message *m, int n);

/* Sends at most `most` requests of a connection of the wire, from the cursor on. Returns true if one
 * has left; false: the request at the cursor is left to the full rules. */
bool ibp_fast_send(struct ibp_qp *q, uint32_t most);
/* Executes a datagram. Returns false if the full rules are to take it: it has had no effect then but one that does not
 * repeat, such as a receive taken for it. */
bool ibp_fast_take_datagram(struct ibp_port *port, const struct link_rx *rx);
/* Sends the plain acknowledgement up to this PSN through the shm channel, without making a packet.
 * Returns false if nothing has left. */
bool ibp_fast_ack(struct ibp_qp *q, uint32_t psn);
/* Sets the timers of requests that left on the fast path, which reads no clock. */
void ibp_fast_arm(struct ibp_port *port);

#endif

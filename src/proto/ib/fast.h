/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receptions without a round: the usual message of a reliable connection, one packet long and in order, where nothing is slow (slow.h).
 * It goes from the ring or the datagram into memory and completion, without the packet in between that the responder parses. Within a host
 * that is a Send, Write or atomic small enough to be copied, or an answer; on the wire it is a Send. These are the rules of requester and
 * responder for that one case. Any other message changes nothing here and is left to them. No clock is read.
 */
#ifndef PROTO_IB_FAST_H
#define PROTO_IB_FAST_H

#include <stdbool.h>
#include <stdint.h>

struct eng_dev;
struct ibp_port;
struct link_rx;
struct shm_message;

/* dev_machine.fast and .finish: execute the usual messages of peer processes; the other messages of
 * the same poll. */
int ibp_fast_poll(struct eng_dev *dev, bool *ret_whole);
void ibp_fast_finish(struct eng_dev *dev, uint64_t now);
/* Executes n (> 0) messages, in order and without a round, between two of ibp_receive() and ibp_transmit().
 * Returns how many it has executed: the others are for ibp_receive_messages(). */
int ibp_fast_receive(struct eng_dev *dev, const struct shm_message *m, int n);

/* Executes a datagram. Returns false if the full rules are to take it: it has had no effect then but one that does not
 * repeat, such as a receive taken for it. */
bool ibp_fast_take_datagram(struct ibp_port *port, const struct link_rx *rx);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The order of the group, which the steering program needs and the kernel does not tell. A search sends one probe to
 * each index 0..n-1, n being the number of claimed slots; the member that receives one sends an answer to the
 * searcher's mailbox.
 *
 * An index past the end falls to a hash, that is to a member that has a real index as well; real indices come first,
 * so the least index that a slot answered for is its own. A stopped member does not answer: the search ends without
 * it after 20 ms, and its answer is still used when it comes.
 *
 * Searches are serialised by the lock of the address. A wrong result, by a crash in the middle or a lock that timed
 * out, shows as datagrams that come to the wrong member; it forwards them and searches again.
 *
 * Leaving needs no search: the last member moves into the freed place. The leaver closes its socket, then sends LEFT;
 * the member at index 0 attaches the new program. In the other order the new program would steer datagrams to the old
 * socket, which would be lost.
 */
#ifndef LINK_UDP_ORDER_H
#define LINK_UDP_ORDER_H

#include "link/udp/state.h"

void udp_order_init(struct udp_order *o);
/* Joins the group that the socket is bound to: searches, at most some 20 ms, and attaches the program. lock: the lock of the
 * address, which is released at the end, or -1. */
void udp_order_join(struct udp_link *u, struct udp_local *lo, int lock);
/* Leaves the group: the member socket is closed, the mailbox is not. Releases the lock of the address. */
void udp_order_left(struct udp_link *u, struct udp_local *lo);
/* host_handler of HOST_MSG_ANSWER, ORDER, LEFT. */
void udp_order_message(void *u, struct host_addr *a, const struct host_message *m,
		       const uint8_t *body, size_t len);
/* Returns true if a datagram on the member socket is a probe, which is taken. */
bool udp_order_probe(struct udp_link *u, struct udp_local *lo, const struct link_rx *rx);
/* A datagram came to the wrong member: a search is due. */
void udp_order_astray(struct udp_link *u, struct udp_local *lo);
/* The mailbox is empty: does what its messages asked for. */
void udp_order_settle(struct udp_link *u, struct udp_local *lo);
void udp_order_tick(struct udp_link *u, struct udp_local *lo, uint64_t now);
uint64_t udp_order_deadline(const struct udp_order *o);

#endif

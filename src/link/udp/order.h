/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LINK_UDP_ORDER_H
#define LINK_UDP_ORDER_H

#include "link/udp/state.h"

/* order.c */
void udp_order_init(struct udp_order *o);
/* Bound to the group: searches, at most some 20 ms, and attaches. Lock held. */
void udp_order_join(struct udp_link *u, struct udp_local *lo, int lock);
/* The member socket is closed; the mailbox lives still. */
void udp_order_left(struct udp_link *u, struct udp_local *lo);
/* host_handler of HOST_MSG_ANSWER, ORDER, LEFT. */
void udp_order_message(void *u, struct host_addr *a, const struct host_message *m,
		       const uint8_t *body, size_t len);
/* A datagram on the member socket is one of ours: true, it is eaten. */
bool udp_order_probe(struct udp_link *u, struct udp_local *lo, const struct link_rx *rx);
/* A datagram came to the wrong member. */
void udp_order_astray(struct udp_link *u, struct udp_local *lo);
/* The mailbox is empty: what it said is done now. */
void udp_order_settle(struct udp_link *u, struct udp_local *lo);
void udp_order_tick(struct udp_link *u, struct udp_local *lo, uint64_t now);
uint64_t udp_order_deadline(const struct udp_order *o);

#endif

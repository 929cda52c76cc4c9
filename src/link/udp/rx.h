/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LINK_UDP_RX_H
#define LINK_UDP_RX_H

#include "link/udp/state.h"

/* rx.c, tx.c, err.c: the slots of link_ops. */
int udp_recv(struct link *l, struct link_rx *v, int max);
/* keep.c: the first look at a train that take() may want; and no more wanted. */
int udp_take(struct link *l, const struct iovec *iov, int n);
void udp_let_go(struct udp_link *u);
/* Reads what waits on a member socket outside recv(): probes are answered, what
 * belongs to others is handed on, the rest is dropped. */
void udp_drain(struct udp_link *u, struct udp_local *lo, uint8_t *buf, size_t room);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sending. The source port of a flow spreads it over paths and queues and is part of what the ICRC covers, so each
 * wanted port is a socket bound to it; a few are kept. A port that cannot be had is remembered, and the member socket
 * sends with its own port; so it does for flows beyond those few, since closing and opening a socket at each change of
 * flow costs more than spreading gains.
 *
 * No socket is connected: Linux numbers the IPv4 packets of a connected socket, and the ICRC covers the Identification field
 * (wire/icrc.h), which is 0 in those of others.
 */
#ifndef LINK_UDP_TX_H
#define LINK_UDP_TX_H

#include "link/udp/state.h"

/* Sets the default TOS and TTL of a socket, so that the usual packet needs no ancillary data. */
void udp_tx_defaults(int fd, bool v4, int tos, int ttl);
/* link_ops.send and .source_port, */
int udp_send(struct link *l, const struct ut_flow *f, uint32_t qpn, const uint8_t *data,
	     size_t len, size_t seg);
/* link_ops.send_after, with one sendmmsg */
int udp_send_after(struct link *l, const struct iovec *first, const struct ut_flow *f, uint32_t qpn, const uint8_t *data,
		   size_t len, size_t seg);
uint16_t udp_source_port(struct link *l, const struct ut_flow *f);
/* Closes the sockets of a local address. */
void udp_tx_forget(struct udp_link *u, const uint8_t addr[16]);
/* Returns a local address, or NULL. */
struct udp_local *udp_local_find(struct udp_link *u, const uint8_t addr[16]);

#endif

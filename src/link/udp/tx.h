/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LINK_UDP_TX_H
#define LINK_UDP_TX_H

#include "link/udp/state.h"

/* Default TOS and TTL of a socket, so that the usual packet needs no ancillary data. */
void udp_tx_defaults(int fd, bool v4, int tos, int ttl);
int udp_send(struct link *l, const struct ut_flow *f, uint32_t qpn, const uint8_t *data,
	     size_t len, size_t seg);
uint16_t udp_source_port(struct link *l, const struct ut_flow *f);
void udp_tx_forget(struct udp_link *u, const uint8_t addr[16]);
struct udp_local *udp_local_find(struct udp_link *u, const uint8_t addr[16]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LINK_UDP_LOCALS_H
#define LINK_UDP_LOCALS_H

#include "link/udp/state.h"

/* locals.c: local addresses, and the slot that they share. */
int udp_add_addr(struct link *l, const uint8_t addr[16], uint32_t scope);
void udp_del_addr(struct link *l, const uint8_t addr[16]);
void udp_local_drop(struct udp_link *u, struct udp_local *lo);
/* The QPN bits that follow from the host's slot. */
void udp_set_slot(struct udp_link *u);
extern const struct host_user udp_host_user;

#endif

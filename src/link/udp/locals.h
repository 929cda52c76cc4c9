/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Local addresses, from their socket's place in the group to its end, and the slot that they share. The slot is in use,
 * and cannot change any more, when a packet was sent or received or a number with it was given out.
 */
#ifndef LINK_UDP_LOCALS_H
#define LINK_UDP_LOCALS_H

#include "link/udp/state.h"

/* link_ops.add_addr and .del_addr */
int udp_add_addr(struct link *l, const uint8_t addr[16], uint32_t scope);
void udp_del_addr(struct link *l, const uint8_t addr[16]);
/* Leaves the group and frees the address. */
void udp_local_drop(struct udp_link *u, struct udp_local *lo);
/* Sets the QPN bits that follow from the host's slot. */
void udp_set_slot(struct udp_link *u);
extern const struct host_user udp_host_user;

#endif

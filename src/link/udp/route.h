/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LINK_UDP_ROUTE_H
#define LINK_UDP_ROUTE_H

#include "link/udp/state.h"

/* The process that a datagram is for. */
enum udp_route {
	UDP_ROUTE_SLOT, /* the owner of a slot alone */
	UDP_ROUTE_GSI,  /* the owner of that slot if there is one, else any member */
	UDP_ROUTE_ANY   /* any member */
};

enum udp_route udp_route(const struct link_rx *rx, unsigned *ret_slot);
/* False: it was a probe, or for another member, and has been dealt with. lo NULL: a group's. */
bool udp_is_ours(struct udp_link *u, struct udp_local *lo, const struct link_rx *rx);
/* link_ops.pass_on */
int udp_pass_on(struct link *l, const struct link_rx *rx, uint64_t service);
/* For a member that comes or goes: a request that any other member can take would be lost
 * with it, and its sender waits for seconds until it asks again. Others are dropped. */
void udp_hand_over(struct udp_link *u, struct udp_local *lo, const struct link_rx *rx);
/* The message in which a datagram travels. */
struct host_message udp_forwarding(const struct link_rx *rx);

#endif

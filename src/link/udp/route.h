/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rules of the steering program (steer.h) once more, for datagrams that the program put wrong or that a coalesced
 * receive brought along: which process they are for, and forwarding them to it.
 */
#ifndef LINK_UDP_ROUTE_H
#define LINK_UDP_ROUTE_H

#include "link/udp/state.h"

/* The process that a datagram is for. */
enum udp_route {
	UDP_ROUTE_SLOT, /* the owner of a slot alone */
	UDP_ROUTE_GSI,  /* the owner of that slot if there is one, else any member */
	UDP_ROUTE_ANY   /* any member */
};

/* Returns which process a datagram is for; *ret_slot with UDP_ROUTE_SLOT and UDP_ROUTE_GSI. */
enum udp_route udp_route(const struct link_rx *rx, unsigned *ret_slot);
/* Returns false if a datagram was a probe, or for another member: it is done with. lo NULL: it came to a multicast group. */
bool udp_is_ours(struct udp_link *u, struct udp_local *lo, const struct link_rx *rx);
/* link_ops.pass_on */
int udp_pass_on(struct link *l, const struct link_rx *rx, uint64_t service);
/* For a member that comes or goes: passes a request to any other member, which can take it; its sender would wait for
 * seconds until it asks again. Other datagrams are dropped. */
void udp_hand_over(struct udp_link *u, struct udp_local *lo, const struct link_rx *rx);
/* Returns the message in which a datagram is forwarded. */
struct host_message udp_forwarding(const struct link_rx *rx);

#endif

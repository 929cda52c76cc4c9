/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multicast groups of a link: a socket for each group that is joined, and the way to groups that the host has
 * no route to. lo has none for IPv6 multicast, and without privilege a process cannot add one. All processes
 * that could receive are members of the sender's address then, so each gets a message, the sender too; for a
 * full mailbox it waits in the outbox, since mailboxes are much smaller than sockets.
 */
#ifndef LINK_UDP_GROUP_H
#define LINK_UDP_GROUP_H

#include "link/udp/state.h"

/* link_ops.join and .leave */
int udp_join(struct link *l, const uint8_t group[16], uint32_t ifindex);
void udp_leave(struct link *l, const uint8_t group[16], uint32_t ifindex);
/* Leaves all groups. */
void udp_groups_drop(struct udp_link *u);
/* Returns true if the link has joined this group on any interface. */
bool udp_group_joined(struct udp_link *u, const uint8_t group[16]);
/* Sends datagrams of `seg` bytes to a group without a route, by messages to all members of the source address.
 * Returns 0, -EADDRNOTAVAIL (the source is no local address), or -EMSGSIZE. */
int udp_group_post(struct udp_link *u, const struct ut_flow *f, const uint8_t *data, size_t len,
		   size_t seg);

#endif

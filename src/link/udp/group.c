/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Groups where the host has no way to send to them: lo has no route for IPv6
 * multicast, and who is no administrator cannot add one. All who could hear are
 * members of the sender's address then, so each gets a message, the sender too. What finds
 * a full mailbox waits in the outbox, for mailboxes are much smaller than sockets.
 */
#include "link/udp/local.h"

#include <errno.h>
#include <string.h>

#define MESSAGE_MAX 9216 /* a datagram of the largest path MTU, and more */

static int post_one(struct udp_link *u, struct udp_local *lo, const struct ut_flow *f,
		    unsigned seg, const uint8_t *data, size_t len)
{
	const struct udp_order *o = &lo->order;
	struct host_message m = { .type = HOST_MSG_GROUP, .tos = f->tos, .ttl = f->ttl,
			      .sport = f->sport ? f->sport : u->host.port, .seg = (uint16_t)seg };
	uint8_t body[16 + MESSAGE_MAX];

	if (len > MESSAGE_MAX)
		return -EMSGSIZE;
	memcpy(m.src, f->src, 16);
	memcpy(body, f->dst, 16);
	memcpy(body + 16, data, len);
	for (unsigned i = 0; i < o->n; i++)
		if (o->at[i] < HOST_SLOTS)
			u->stats.forwarded += host_outbox_send(&u->host, &lo->at, host_to_slot(o->at[i]), &m,
							      body, 16 + len) == 0;
	return 0;
}

int udp_group_post(struct udp_link *u, const struct ut_flow *f, const uint8_t *data,
		   size_t len, size_t seg)
{
	struct udp_local *lo = udp_local_find(u, f->src);
	unsigned k = 0;
	int r = lo ? 0 : -EADDRNOTAVAIL;

	for (size_t off = 0; off < len && r == 0; off += seg)
		r = post_one(u, lo, f, k++, data + off, len - off < seg ? len - off : seg);
	return r;
}

bool udp_group_joined(struct udp_link *u, const uint8_t group[16])
{
	struct udp_group *g;

	ut_list_each(g, &u->groups, node)
		if (!memcmp(g->port.addr, group, 16))
			return true;
	return false;
}

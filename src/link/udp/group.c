/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/group.h"

#include "link/udp/poll.h"
#include "link/udp/sock.h"
#include "link/udp/tx.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct udp_group *find_group(struct udp_link *u, const uint8_t group[16],
				    uint32_t ifindex)
{
	struct udp_group *g;

	ut_list_each(g, &u->groups, node)
		if (g->ifindex == ifindex && !memcmp(g->port.addr, group, 16))
			return g;
	return NULL;
}

static void drop_group(struct udp_link *u, struct udp_group *g)
{
	udp_unwatch(u, &g->port);
	ut_list_del(&g->node);
	free(g);
}

int udp_join(struct link *l, const uint8_t group[16], uint32_t ifindex)
{
	struct udp_link *u = udp_of(l);
	struct udp_group *g;
	int r;

	if (!ut_ip_is_group(group))
		return -EINVAL;
	if (find_group(u, group, ifindex))
		return 0;
	g = ut_zalloc(sizeof(*g));
	if (!g)
		return -ENOMEM;
	ut_list_init(&g->node);
	g->ifindex = ifindex;
	r = udp_sock_group(group, u->host.port, ifindex);
	udp_port_init(&g->port, UDP_GROUP, r);
	memcpy(g->port.addr, group, 16);
	if (r >= 0)
		r = udp_watch(u, &g->port);
	if (r < 0) {
		drop_group(u, g);
		return r;
	}
	ut_list_add_tail(&u->groups, &g->node);
	return 0;
}

void udp_leave(struct link *l, const uint8_t group[16], uint32_t ifindex)
{
	struct udp_group *g = find_group(udp_of(l), group, ifindex);

	if (g)
		drop_group(udp_of(l), g);
}

void udp_groups_drop(struct udp_link *u)
{
	struct udp_group *g;

	while ((g = ut_list_first(&u->groups, struct udp_group, node)))
		drop_group(u, g);
}

bool udp_group_joined(struct udp_link *u, const uint8_t group[16])
{
	struct udp_group *g;

	ut_list_each(g, &u->groups, node)
		if (!memcmp(g->port.addr, group, 16))
			return true;
	return false;
}

/* --- groups without a route --- */

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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/addresses.h"

#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

uint32_t addr_of(const struct fab_node *n)
{
	uint32_t region = n->fabric->region;

	if (n->type != FAB_CA || n->index >= (region ? ADDR_REGION - 2 : 0x1fffe))
		return 0;
	return PKT_IP_FIRST + region * ADDR_REGION + n->index + 1;
}

/* --- hosts behind trunks --- */

static struct pkt_peer *find_far(const struct addr_far *far, uint32_t ip, uint64_t guid)
{
	for (uint32_t i = 0; i < far->n; i++)
		if (ip ? far->v[i].ip == ip : far->v[i].guid == guid)
			return &far->v[i];
	return NULL;
}

int addr_far_add(struct addr_far *far, const struct pkt_peer *h)
{
	struct pkt_peer *old = find_far(far, 0, h->guid);

	if (old) {
		*old = *h;
		return 0;
	}
	if (far->n == far->cap) {
		uint32_t cap = far->cap ? 2 * far->cap : 16;
		void *v = ut_realloc(far->v, cap * sizeof(*far->v));

		if (!v)
			return -ENOMEM;
		far->v = v;
		far->cap = cap;
	}
	far->v[far->n++] = *h;
	return 0;
}

void addr_far_clear(struct addr_far *far)
{
	far->n = 0;
}

void addr_far_free(struct addr_far *far)
{
	free(far->v);
	*far = (struct addr_far){ 0 };
}

/* --- answers --- */

static const struct fab_port *by_address(const struct fab *f, uint32_t ip)
{
	const struct fab_node *n;

	ut_list_each(n, &f->nodes, link)
		if (addr_of(n) == ip)
			return fab_node_port(n, 1);
	return NULL;
}

static struct pkt_peer peer_of(const struct fab_port *port)
{
	return (struct pkt_peer){ .ip = port->num == 1 ? addr_of(port->node) : 0, .lid = fab_port_lid(port), .guid = port->guid,
				  .lmc = (uint16_t)wire_get_PORT_INFO_lmc(port->info),
				  .prefix = wire_get_PORT_INFO_gid_prefix(port->info) };
}

/* The hosts that were made after this node. */
static void put_next(const struct fab_node *n, struct pkt_peer v[PKT_PEERS - 1])
{
	const struct ut_list *nodes = &n->fabric->nodes;
	uint32_t i = 0;

	for (const struct ut_list *at = n->link.next; at != nodes && i < PKT_PEERS - 1; at = at->next) {
		const struct fab_node *next = ut_container(at, const struct fab_node, link);

		if (addr_of(next))
			v[i++] = peer_of(fab_node_port(next, 1));
	}
}

void addr_find(const struct fab *f, const struct addr_far *far, const struct pkt_find *q, struct pkt_found *ret)
{
	const struct fab_port *port = q->ip ? by_address(f, q->ip) : fab_port_by_guid(f, q->guid);
	const struct pkt_peer *there = find_far(far, q->ip, q->guid);

	*ret = (struct pkt_found){ 0 };
	if (port) {
		ret->v[0] = peer_of(port);
		put_next(port->node, ret->v + 1);
	} else if (there) {
		ret->v[0] = *there;
	}
}

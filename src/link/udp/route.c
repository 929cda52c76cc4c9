/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/route.h"

#include "link/udp/mad.h"
#include "link/udp/order.h"
#include "link/udp/probe.h"
#include "link/udp/tx.h"
#include "util/log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static enum udp_route route_mad(const uint8_t *p, uint32_t len, unsigned *ret_slot)
{
	const uint8_t *mad = p + UDP_MAD_AT, *cm = p + UDP_CM_AT;
	unsigned attr;

	if (len < UDP_MAD_READ || wire_get_MAD_mgmt_class(mad) != WIRE_MAD_CLASS_CM)
		return UDP_ROUTE_ANY;
	attr = (unsigned)wire_get_MAD_attr_id(mad);
	if (attr == WIRE_CM_ATTR_REQ || attr == WIRE_CM_ATTR_SIDR_REQ)
		return UDP_ROUTE_ANY;
	*ret_slot = (unsigned)((attr == WIRE_CM_ATTR_SIDR_REP ? wire_get_CM_SIDR_REP_request_id(cm)
							      : wire_get_CM_REP_remote_comm_id(cm)) >>
			       UDP_CM_SLOT_SHIFT);
	return UDP_ROUTE_GSI;
}

enum udp_route udp_route(const struct link_rx *rx, unsigned *ret_slot)
{
	const uint8_t *p = rx->data;
	uint32_t qpn;

	if (rx->len < UDP_BTH_BYTES)
		return UDP_ROUTE_ANY;
	qpn = (uint32_t)wire_get_BTH_dest_qpn(p);
	if (qpn == WIRE_QPN_GSI)
		return route_mad(p, rx->len, ret_slot);
	*ret_slot = qpn >> HOST_SLOT_SHIFT;
	return qpn ? UDP_ROUTE_SLOT : UDP_ROUTE_ANY;
}

struct host_message udp_forwarding(const struct link_rx *rx)
{
	struct host_message m = { .type = HOST_MSG_FORWARD, .tos = rx->tos, .ttl = rx->ttl,
			      .sport = rx->sport, .seg = rx->seg };

	memcpy(m.src, rx->src, 16);
	return m;
}

/* Returns false if no process has that slot. */
static bool forward(struct udp_link *u, struct udp_local *lo, const struct link_rx *rx,
		    unsigned slot)
{
	struct host_message m = udp_forwarding(rx);
	int r = -ECONNREFUSED;

	if (slot < HOST_SLOTS)
		r = host_outbox_send(&u->host, &lo->at, host_to_slot(slot), &m, rx->data, rx->len);
	if (r == -ECONNREFUSED)
		return false;
	if (r == 0)
		u->stats.forwarded++;
	else
		u->stats.dropped++;
	if (r < 0)
		ut_debug("a datagram for slot %u cannot be handed on: %s", slot, strerror(-r));
	if (r == 0 || r == -EAGAIN)
		udp_order_astray(u, lo);
	return true;
}

bool udp_is_ours(struct udp_link *u, struct udp_local *lo, const struct link_rx *rx)
{
	enum udp_route route;
	unsigned slot;

	if (!lo)
		return true;
	if (rx->len && rx->data[WIRE_BTH_opcode_OFFSET] == UDP_PROBE_OPCODE && udp_order_probe(u, lo, rx))
		return false;
	route = udp_route(rx, &slot);
	if (route == UDP_ROUTE_ANY || slot == u->host.slot)
		return true;
	if (forward(u, lo, rx, slot))
		return false;
	/* Any member can answer: the process is gone. */
	if (route == UDP_ROUTE_GSI)
		return true;
	u->stats.dropped++;
	ut_debug("a datagram for slot %u, which no process has", slot);
	return false;
}

void udp_hand_over(struct udp_link *u, struct udp_local *lo, const struct link_rx *rx)
{
	const struct udp_order *o = &lo->order;
	unsigned slot, first = ut_rng_below(&u->host.rng, HOST_SLOTS);
	struct host_message m = udp_forwarding(rx);
	uint8_t member[256];

	if (rx->len < UDP_MAD_READ || udp_route(rx, &slot) != UDP_ROUTE_ANY)
		return;
	memcpy(member, o->claimed, sizeof(member));
	for (unsigned i = 0; i < o->n; i++)
		if (o->at[i] < HOST_SLOTS)
			member[o->at[i]] = 1;
	for (unsigned i = 0; i < HOST_SLOTS; i++) {
		slot = (first + i) % HOST_SLOTS;
		if (member[slot] && slot != u->host.slot &&
		    host_send(&u->host, &lo->at, host_to_slot(slot), &m, rx->data, rx->len) == 0) {
			u->stats.forwarded++;
			return;
		}
	}
}

int udp_pass_on(struct link *l, const struct link_rx *rx, uint64_t service)
{
	struct udp_link *u = udp_of(l);
	struct udp_local *lo = udp_local_find(u, rx->dst);
	struct host_message m = udp_forwarding(rx);
	int r;

	/* A datagram that was passed came to the claimant: it has no other one now. */
	if (!lo || rx->passed || host_service_is_ours(&u->host, rx->dst, service))
		return 0;
	r = host_outbox_send(&u->host, &lo->at, host_to_service(service), &m, rx->data, rx->len);
	if (r == -ECONNREFUSED)
		return 0;
	if (r == 0) {
		u->stats.passed_on++;
	} else {
		u->stats.dropped++;
		ut_debug("a request for service %" PRIx64 " cannot be passed on: %s", service,
			 strerror(-r));
	}
	return 1;
}

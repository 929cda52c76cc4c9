/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/tallied.h"

#include "mgmt/carry.h"
#include "util/alloc.h"
#include "wire/ib_fields.h"

#include <stdbool.h>
#include <stdlib.h>

/* Along the route of the flow as it is now. */
static void count_flow(struct fab_port *at, uint64_t flow, uint64_t packets, uint64_t words)
{
	uint16_t slid = (uint16_t)(flow >> 16);
	struct fab_port *from = fab_port_has_lid(at, slid) ? at : fab_port_by_lid(at->node->fabric, slid);
	struct fab_route r;

	if (!from)
		return;
	fab_route(from, (uint16_t)flow, flow >> 32 & 15, WIRE_PKEY_DEFAULT, &r);
	if (r.verdict == FAB_PASSES)
		fab_route_count(&r, flow >> 32 & 15, packets, words);
}

static bool has_room_for(struct tallied *t, uint32_t n)
{
	void *v = n > t->n ? ut_realloc(t->v, n * sizeof(*t->v)) : t->v;

	if (!v)
		return false;
	t->v = v;
	for (; t->n < n; t->n++)
		t->v[t->n] = (struct tallied_flow){ 0 };
	return true;
}

void tallied_count(struct tallied *t, struct fab_port *at)
{
	uint32_t n = t->seg ? atomic_load_explicit(&t->seg->n, memory_order_acquire) : 0;

	if (n > PKT_FLOWS || !n || !has_room_for(t, n))
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct pkt_flow_count *c = &t->seg->v[i];
		struct tallied_flow now = { atomic_load_explicit(&c->sum.packets, memory_order_relaxed),
					    atomic_load_explicit(&c->sum.words, memory_order_relaxed) };

		if (now.packets == t->v[i].packets && now.words == t->v[i].words)
			continue;
		count_flow(at, atomic_load_explicit(&c->flow, memory_order_relaxed), now.packets - t->v[i].packets,
			   now.words - t->v[i].words);
		t->v[i] = now;
	}
}

void tallied_free(struct tallied *t)
{
	free(t->v);
	*t = (struct tallied){ 0 };
}

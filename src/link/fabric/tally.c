/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/fabric/tally.h"

#include "host/shm/segment.h"

#include <stddef.h>

int fabric_tally_make(struct fabric_tally *t)
{
	void *seg = NULL;
	int fd = shm_seg_make("dapple-tally", sizeof(*t->seg), &seg);

	t->seg = seg;
	return fd;
}

void fabric_tally_free(struct fabric_tally *t)
{
	shm_seg_unmap(t->seg, sizeof(*t->seg));
	t->seg = NULL;
}

static uint64_t name_of(const struct pkt_tally *s, uint32_t i)
{
	return atomic_load_explicit(&s->v[i].flow, memory_order_relaxed);
}

/* Returns the number of the flow, a new one if need be; PKT_FLOWS: there is no room. */
static uint32_t find(struct fabric_tally *t, uint64_t flow)
{
	uint16_t *list = &t->lists[(flow ^ flow >> 6 ^ flow >> 32) % FABRIC_TALLY_LISTS];
	uint32_t n = atomic_load_explicit(&t->seg->n, memory_order_relaxed);

	for (uint32_t i = *list; i; i = t->next[i - 1])
		if (name_of(t->seg, i - 1) == flow)
			return i - 1;
	if (n == PKT_FLOWS)
		return n;
	atomic_store_explicit(&t->seg->v[n].flow, flow, memory_order_relaxed);
	t->next[n] = *list;
	*list = (uint16_t)(n + 1);
	atomic_store_explicit(&t->seg->n, n + 1, memory_order_release);
	return n;
}

struct link_count *fabric_tally_of(struct fabric_tally *t, const struct ut_flow *f)
{
	uint32_t i = t->seg ? find(t, pkt_flow(f->slid, f->dlid, f->sl)) : PKT_FLOWS;

	return i == PKT_FLOWS ? NULL : &t->seg->v[i].sum;
}

void fabric_tally_add(struct fabric_tally *t, const struct ut_flow *f, uint32_t packets, uint64_t words)
{
	struct link_count *c = fabric_tally_of(t, f);

	if (c)
		link_count_add(c, packets, words);
}

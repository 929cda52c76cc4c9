/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/heap.h"

#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

int ut_heap_reserve(struct ut_heap *h)
{
	if (h->reserved + 1 >= h->cap) {
		uint32_t cap = h->cap ? h->cap * 2 : 16;
		struct ut_timer **v = ut_realloc(h->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		h->v = v;
		h->cap = cap;
	}
	h->reserved++;
	return 0;
}

void ut_heap_unreserve(struct ut_heap *h)
{
	h->reserved--;
}

void ut_heap_fini(struct ut_heap *h)
{
	free(h->v);
	*h = (struct ut_heap){ 0 };
}

static void put(struct ut_heap *h, uint32_t i, struct ut_timer *t)
{
	h->v[i] = t;
	t->index = i;
}

static void sift_up(struct ut_heap *h, uint32_t i, struct ut_timer *t)
{
	for (; i > 1 && h->v[i / 2]->at > t->at; i /= 2)
		put(h, i, h->v[i / 2]);
	put(h, i, t);
}

static void sift_down(struct ut_heap *h, uint32_t i, struct ut_timer *t)
{
	uint32_t c;

	for (; (c = 2 * i) <= h->n; i = c) {
		if (c < h->n && h->v[c + 1]->at < h->v[c]->at)
			c++;
		if (h->v[c]->at >= t->at)
			break;
		put(h, i, h->v[c]);
	}
	put(h, i, t);
}

void ut_heap_settle(struct ut_heap *h, uint32_t i, struct ut_timer *t)
{
	if (i > 1 && h->v[i / 2]->at > t->at)
		sift_up(h, i, t);
	else
		sift_down(h, i, t);
}

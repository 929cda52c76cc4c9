/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "check.h"

#include <stdlib.h>
#include <string.h>

void check_queue_size(struct check_queue *q, unsigned size)
{
	q->size = size;
	q->v = calloc(size ? size : 1, sizeof(*q->v));
	if (!q->v)
		abort();
}

/* A request beyond the queue's size was refused by the adapter, and is not recorded. */
struct check_request *check_queue_put(struct check_queue *q)
{
	struct check_request *r;

	if (q->n >= q->size) {
		struct check_queue more = { .head = 0 };

		check_queue_size(&more, q->size * 2 + 16);
		for (unsigned i = 0; i < q->n; i++)
			more.v[i] = *check_queue_at(q, i);
		more.n = q->n;
		free(q->v);
		*q = more;
	}
	r = &q->v[(q->head + q->n++) % q->size];
	memset(r, 0, sizeof(*r));
	return r;
}

struct check_request *check_queue_at(struct check_queue *q, unsigned i)
{
	return &q->v[(q->head + i) % q->size];
}

struct check_request *check_queue_head(struct check_queue *q)
{
	return q->n ? check_queue_at(q, 0) : NULL;
}

void check_queue_pop(struct check_queue *q)
{
	if (q->n) {
		q->head = (q->head + 1) % q->size;
		q->n--;
	}
}

void check_queue_remove(struct check_queue *q, unsigned i)
{
	for (; i > 0; i--)
		*check_queue_at(q, i) = *check_queue_at(q, i - 1);
	check_queue_pop(q);
}

/* FNV-1a over words: of the first HASHED octets of all pieces. */
uint32_t check_hash(const struct check_request *r)
{
	uint64_t h = 1469598103934665603u;
	size_t left = HASHED;

	for (unsigned i = 0; i < r->n && left; i++) {
		const uint8_t *at = (const uint8_t *)(uintptr_t)r->piece[i].addr;
		size_t n = r->piece[i].length < left ? r->piece[i].length : left;

		left -= n;
		for (; n >= 8; n -= 8, at += 8) {
			uint64_t v;

			memcpy(&v, at, 8);
			h = (h ^ v) * 1099511628211u;
			h ^= h >> 29;
		}
		for (; n; n--, at++)
			h = (h ^ *at) * 1099511628211u;
	}
	return (uint32_t)(h ^ h >> 32);
}

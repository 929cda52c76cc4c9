/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queues of records: room, order, and which suppressed requests are signalled. The poster writes
 * `head` under ep->lock, the drainer `tail`.
 *
 * A rebind of a type 2 window takes two records, since the invalidation is a request of its own
 * that does not count against the consumer's limit: `extra` slots for those (as many as `limit` if
 * the adapter has windows of type 2).
 */
#ifndef DAT_PROVIDER_DTO_QUEUE_H
#define DAT_PROVIDER_DTO_QUEUE_H

#include "dat/provider/dto/dto.h"

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_dtoq {
	struct dpr_dto *ring;   /* mask + 1 slots; NULL if limit is 0 */
	uint32_t mask;
	uint32_t size, limit;   /* slots of the queue pair; max_*_dtos granted to the consumer */
	uint32_t head;
	_Atomic uint32_t tail;
	_Atomic uint32_t inner; /* used slots with requests of the provider */
	uint32_t quiet_run;     /* suppressed since the last signalled one */
	/* receives before there is a queue pair: their segments, iov_max per slot */
	struct ibv_sge *waiting;
	uint32_t iov_max;
	uint32_t given;         /* receives up to here are posted to the queue pair */
};

/* extra may be 0, and iov_max is 0 for requests. Returns 0 or -ENOMEM. dpr_dtoq_fini (event.h)
 * undoes it. */
int dpr_dtoq_init(struct dpr_dtoq *q, uint32_t limit, uint32_t extra, uint32_t iov_max);
/* As dpr_dtoq_fini, for a queue whose records have no references. */
void dpr_dtoq_drop(struct dpr_dtoq *q);

static inline uint32_t dpr_dtoq_used(struct dpr_dtoq *q)
{
	return q->head - atomic_load_explicit(&q->tail, memory_order_acquire);
}

/* Returns true if one more request of the consumer, of so many records, has room. */
bool dpr_dtoq_room(struct dpr_dtoq *q, uint32_t records);

/*
 * Returns true if the next request is signalled. Of suppressed requests at least one every half
 * queue is, and its completion is swallowed: without it neither the queue pair nor this queue
 * learns that slots are free.
 */
bool dpr_dtoq_signal(struct dpr_dtoq *q, bool quiet);

/* Returns the record of the next request; it counts once head is advanced. */
static inline struct dpr_dto *dpr_dtoq_next(struct dpr_dtoq *q)
{
	struct dpr_dto *d = &q->ring[q->head & q->mask];

	d->index = q->head;
	d->rmr = NULL;
	return d;
}

static inline struct dpr_dto *dpr_dtoq_at(const struct dpr_dtoq *q, uint32_t index)
{
	return &q->ring[index & q->mask];
}

#endif

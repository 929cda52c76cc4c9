/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queues of records, for those that post and those that retire. */
#ifndef DAT_PROVIDER_DTO_QUEUE_H
#define DAT_PROVIDER_DTO_QUEUE_H

#include "dat/provider/dto/dto.h"

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A queue of records. head by the poster under ep->lock, tail by the drainer. A rebind of a type 2
 * window takes two records, the invalidation being a request of its own that does not count against
 * the consumer's limit: `extra` slots for those (as many as `limit` if the adapter has mw2).
 */
struct dpr_dtoq {
	struct dpr_dto *ring;   /* mask + 1 slots; NULL if limit is 0 */
	uint32_t mask;
	uint32_t size, limit;   /* slots of the queue pair; max_*_dtos granted to the consumer */
	uint32_t head;
	_Atomic uint32_t tail;
	_Atomic uint32_t inner; /* of the used ones: steps of ours */
	uint32_t quiet_run;     /* suppressed since the last signalled one */
	/* receives before there is a queue pair: their segments, iov_max per slot */
	struct ibv_sge *waiting;
	uint32_t iov_max;
	uint32_t given;         /* receives up to here are with the queue pair */
};

static inline uint32_t dpr_dtoq_used(struct dpr_dtoq *q)
{
	return q->head - atomic_load_explicit(&q->tail, memory_order_acquire);
}

/* As dpr_dtoq_fini, of a queue without references. */
void dpr_dtoq_drop(struct dpr_dtoq *q);

/* Is there room for one more request of the consumer that takes so many records? */
bool dpr_dtoq_room(struct dpr_dtoq *q, uint32_t records);

/* Is the next request to be signalled? Suppressed ones are at least every half queue, or neither
 * the queue pair nor we would ever learn that slots are free. */
bool dpr_dtoq_signal(struct dpr_dtoq *q, bool quiet);

/* The record of the next request; it counts once head is moved. */
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

/* extra and iov_max may be 0 (iov_max: a request queue). 0 or -ENOMEM. */
int dpr_dtoq_init(struct dpr_dtoq *q, uint32_t limit, uint32_t extra, uint32_t iov_max);

#endif

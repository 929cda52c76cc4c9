/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queues of records, for those that post and those that retire. */
#ifndef DAT_PROVIDER_DTOQ_H
#define DAT_PROVIDER_DTOQ_H

#include "dat/provider/dto.h"

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

#endif

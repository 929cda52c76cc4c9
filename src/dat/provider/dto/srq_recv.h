/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared receive queues: posting and the counts. A buffer is `posted` while it is on the queue and
 * `held` until the consumer reaped its completion. Who took a buffer is only known when the
 * completion is drained, so before a queue is called full its endpoints' EVDs are drained.
 */
#ifndef DAT_PROVIDER_DTO_SRQ_RECV_H
#define DAT_PROVIDER_DTO_SRQ_RECV_H

#include "dat/provider/dto/srq.h"
#include "util/lock.h"

#include <dat2/udat.h>

struct dpr_dto;
struct dpr_ep;

/* The first thing dpr_ep_drained does; no lock held. In srq.c. */
void dpr_ep_soft_event(struct dpr_ep *ep);

/* An event goes to the consumer (dequeue, wait): the counts of SRQs end here. Under evd->lock. */
void dpr_srq_event_reaped(const DAT_EVENT *ev);

static inline void dpr_dto_reaped(const DAT_EVENT *ev)
{
	if (ev->event_number == DAT_DTO_COMPLETION_EVENT &&
	    ev->event_data.dto_completion_event_data.operation < DAT_DTO_RECEIVE)
		return;
	dpr_srq_event_reaped(ev);
}

/* From dpr_dto_event: a record of the SRQ was consumed, by ep, or by one that is gone (NULL): then
 * nobody will reap its event. Under evd->lock. */
void dpr_srq_reaped(struct dpr_srq *s, struct dpr_dto *d, const struct dpr_ep *ep);

/* At least n records in all. 0 or -1. */
int dpr_srq_records(struct dpr_srq *s, DAT_COUNT n) UT_REQUIRES(s->lock);

/* Drains what may have taken buffers and was not looked at. No lock held. */
void dpr_srq_drain(struct dpr_srq *s);

DAT_RETURN dpr_srq_post_recv(DAT_SRQ_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE);

#endif

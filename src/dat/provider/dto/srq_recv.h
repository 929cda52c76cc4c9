/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receives of shared receive queues. A buffer counts as `posted` while it is on the queue and as
 * `outstanding` until the consumer has its completion. Only a drained completion tells which
 * endpoint took a buffer, so the EVDs of the endpoints are drained before a queue is called full.
 */
#ifndef DAT_PROVIDER_DTO_SRQ_RECV_H
#define DAT_PROVIDER_DTO_SRQ_RECV_H

#include "dat/provider/dto/srq.h"
#include "util/lock.h"

#include <dat2/udat.h>

struct dpr_dto;
struct dpr_ep;

DAT_RETURN dpr_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie);

/* Makes the records at least n. Returns 0 or -1. */
int dpr_srq_records(struct dpr_srq *s, DAT_COUNT n) UT_REQUIRES(s->lock);
/* Drains the EVDs of the endpoints on s. No lock held. */
void dpr_srq_drain(struct dpr_srq *s);

/* Returns a completed record of s. ep is NULL if the endpoint is gone and its event will not be
 * reaped. Called with evd->lock held. */
void dpr_srq_reaped(struct dpr_srq *s, struct dpr_dto *d, const struct dpr_ep *ep);
/* The consumer receives an event, which may be of an SRQ: lowers its counts. Called with evd->lock
 * held. */
void dpr_srq_event_reaped(const DAT_EVENT *ev);
static inline void dpr_dto_reaped(const DAT_EVENT *ev)
{
	if (ev->event_number == DAT_DTO_COMPLETION_EVENT &&
	    ev->event_data.dto_completion_event_data.operation < DAT_DTO_RECEIVE)
		return;
	dpr_srq_event_reaped(ev);
}

/* Queues the soft watermark event of ep if it is due. No lock held. */
void dpr_ep_soft_event(struct dpr_ep *ep);

#endif

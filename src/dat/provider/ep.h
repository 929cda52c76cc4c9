/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints. The queue pair is made when the connection is (rdma_create_qp on the id that connects
 * or accepts), so that everything may be modified before; receives posted earlier wait in rq and
 * are given to the queue pair in INIT. Each request and receive has a record (dto.h), since an
 * error completion of verbs says neither operation nor length.
 */
#ifndef DAT_PROVIDER_EP_H
#define DAT_PROVIDER_EP_H

#include "dat/provider/dto.h"
#include "dat/provider/epstate.h"
#include "dat/provider/ia.h"
#include "dat/provider/keys.h"

struct dpr_conn;
struct dpr_evd;
struct dpr_pz;
struct dpr_srq;

struct dpr_ep {
	struct dpr_obj obj;
	struct ut_mutex lock;
	DAT_EP_STATE state UT_GUARDED_BY(lock);
	DAT_EP_ATTR attr UT_GUARDED_BY(lock); /* as granted; named attributes point into us */
	/* each is held and used (dpr_use, dpr_evd_feed) by this endpoint */
	struct dpr_pz *pz UT_GUARDED_BY(lock);
	struct dpr_evd *recv UT_GUARDED_BY(lock), *request UT_GUARDED_BY(lock),
		*connect UT_GUARDED_BY(lock);
	struct dpr_srq *srq; /* immutable */

	struct dpr_conn *conn UT_GUARDED_BY(lock); /* the present attempt or connection; holds it */
	struct ibv_qp *qp UT_GUARDED_BY(lock);     /* NULL without one */
	struct dpr_dtoq sq UT_GUARDED_BY(lock);    /* requests and binds */
	struct dpr_dtoq rq UT_GUARDED_BY(lock);    /* receives; of size 0 with an SRQ */

	uint32_t inline_max UT_GUARDED_BY(lock); /* of qp; set by dpr_ep_flush_posted */

	/* SRQ endpoints: qp's number while there is one (dpr_key_add(&ep->qpn, ia, DPR_KEY_QP, ...));
	 * receives taken and not reaped; marks of dat_ep_set_watermark, DAT_WATERMARK_INFINITE:
	 * none. Atomic since they are judged under evd->lock. */
	struct dpr_key qpn;
	_Atomic DAT_COUNT taken, soft, hard;
	_Atomic bool soft_armed; /* by dat_ep_set_watermark; one event each */
	_Atomic bool soft_due;   /* reached: dpr_ep_drained sends the event (dpr_ep_tell_soft) */
	/* DCNT_EP_*; relaxed, by the posting and the draining thread; what a reset leaves out */
	uint64_t counters[24], counted[24];
};

static inline struct dpr_ep *dpr_ep_of(DAT_HANDLE h)
{
	return (struct dpr_ep *)dpr_obj_of(h, DPR_EP);
}

/* --- for the connection side (conn.h) --- */

/* The verbs attributes of a queue pair for ep on its queues, sized by its attributes. Called with
 * the endpoint configured. */
void dpr_ep_qp_attr(struct dpr_ep *ep, struct ibv_qp_init_attr *attr) UT_REQUIRES(ep->lock);
/* The queue pair exists and is in INIT: post what waits in rq (also if nothing does: notes what
 * the queue pair can do). 0 or positive errno. In recv.c. */
int dpr_ep_flush_posted(struct dpr_ep *ep) UT_REQUIRES(ep->lock);

/*
 * A completion with an error was seen for ep (by any drainer, no lock held): breaks the connection,
 * CONNECTED -> DISCONNECTED with event BROKEN after the completion itself was queued.
 */
void dpr_ep_broken(struct dpr_ep *ep);
/* Requests completed: a graceful disconnect goes on when nothing is outstanding. No lock held. */
void dpr_ep_drained(struct dpr_ep *ep);
/* The first thing dpr_ep_drained does; no lock held. In srq_marks.c. */
void dpr_ep_tell_soft(struct dpr_ep *ep);

#endif

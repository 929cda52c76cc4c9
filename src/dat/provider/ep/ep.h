/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints. The queue pair is made when the connection is (rdma_create_qp on the id that connects
 * or accepts), so that everything may be modified before; receives posted earlier wait in rq and
 * are given to the queue pair in INIT. Each request and receive has a record (dto.h), since an
 * error completion of verbs says neither operation nor length.
 */
#ifndef DAT_PROVIDER_EP_EP_H
#define DAT_PROVIDER_EP_EP_H

#include "dat/provider/dto/queue.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/keys.h"
#include "util/list.h"
#include "util/lock.h"

#include <dat2/dat_ib_extensions.h>
#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_conn;
struct dpr_evd;
struct dpr_lmr;
struct dpr_pz;
struct dpr_srq;

/* What a post and its completion touch comes first, in as few cache lines as it takes. */
struct dpr_ep {
	struct dpr_obj obj;
	struct ut_mutex lock;
	DAT_EP_STATE state UT_GUARDED_BY(lock);
	/* Of qp, 0 without. A completion with another number is left from a former life of the
	 * records, and means nothing. */
	_Atomic uint32_t qpn;
	struct ibv_qp *qp UT_GUARDED_BY(lock);     /* NULL without one */
	uint32_t inline_max UT_GUARDED_BY(lock);   /* of qp; set by dpr_ep_flush_posted */
	/* From the attempt until ESTABLISHED is queued: completions must not overtake it. */
	_Atomic bool early;
	bool ending UT_GUARDED_BY(lock); /* somebody is about to say why it ended */
	_Atomic bool failed; /* a request or receive of qp failed, other than by a flush */
	bool made_here;      /* for a request: goes back to us when that is rejected */

	struct dpr_dtoq sq UT_GUARDED_BY(lock);    /* requests and binds */
	struct dpr_dtoq rq UT_GUARDED_BY(lock);    /* receives; of size 0 with an SRQ */
	/* each is held and used (dpr_use, dpr_evd_feed) by this endpoint */
	struct dpr_pz *pz UT_GUARDED_BY(lock);
	const struct dpr_lmr *last_lmr UT_GUARDED_BY(lock); /* of the last segment; not held (plain.h) */
	struct dpr_evd *request UT_GUARDED_BY(lock), *recv UT_GUARDED_BY(lock),
		*connect UT_GUARDED_BY(lock);
	struct dpr_srq *srq; /* immutable */
	DAT_EP_ATTR attr UT_GUARDED_BY(lock); /* as granted; named attributes point into us */
	/* DCNT_EP_*; relaxed, by the posting and the draining thread; what a reset leaves out */
	uint64_t counters[24], counted[24];

	struct ut_mutex life; /* one of connect, accept, reset, free, modify; before `lock` */
	struct dpr_conn *conn UT_GUARDED_BY(lock); /* the present attempt or connection; holds it */
	struct ut_list uds UT_GUARDED_BY(lock);    /* datagrams: of_ep of connections, held */
	struct dpr_key qpkey; /* finds ep by qpn for receives of SRQs: dpr_qpn_add, qpn.c */
	struct dpr_timer poll; /* graceful disconnect: nobody else may reap the requests */
	/* SRQ endpoints: receives taken and not reaped; marks of dat_ep_set_watermark,
	 * DAT_WATERMARK_INFINITE: none. Atomic since they are judged under evd->lock. */
	_Atomic DAT_COUNT taken, soft, hard;
	_Atomic bool soft_armed; /* by dat_ep_set_watermark; one event each */
	_Atomic bool soft_due;   /* reached: dpr_ep_drained sends the event (dpr_ep_soft_event) */
};

static inline struct dpr_ep *dpr_ep_of(DAT_HANDLE h)
{
	return (struct dpr_ep *)dpr_obj_of(h, DPR_EP);
}

/* An unreliable datagram endpoint (DAT_IB_SERVICE_TYPE_UD); settled before it has a queue pair. */
static inline bool dpr_ep_is_ud(const struct dpr_ep *ep) UT_NO_TSA;
static inline bool dpr_ep_is_ud(const struct dpr_ep *ep)
{
	return ep->attr.service_type == DAT_SERVICE_TYPE_EXTENSION_BASE;
}

/* For code that got its endpoint from dpr_conn_lock_ep, locked. */
static inline void dpr_ep_assert_locked(struct dpr_ep *ep) UT_ASSERT_HELD(ep->lock);
static inline void dpr_ep_assert_locked(struct dpr_ep *ep)
{
	(void)ep;
}

/* --- for the connection side (conn.h) --- */

/* --- among the files of endpoints and connections --- */

/* The end, whatever the state: the handle dies, everything it holds goes. No lock held. */
void dpr_ep_finish(struct dpr_ep *ep);
/* The queue pair, if there is one, completes nothing but flushes from here on. */
void dpr_ep_qp_error(struct dpr_ep *ep) UT_REQUIRES(ep->lock);
/* Everything that the queue pair had finished is in its EVDs when this returns, as far as they have
 * room. No lock held. */
void dpr_ep_reap(struct dpr_ep *ep);
/* Drains one EVD of ep. Called with ep->lock held, which is released meanwhile: the state may be
 * another when this returns. e may be NULL. */
void dpr_ep_drain(struct dpr_ep *ep, struct dpr_evd *e) UT_REQUIRES(ep->lock);

DAT_RETURN dpr_ep_free(DAT_EP_HANDLE ep);
DAT_RETURN dpr_ep_reset(DAT_EP_HANDLE ep);

extern const struct dpr_class dpr_ep_class;

#endif

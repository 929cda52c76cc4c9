/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints. The queue pair is made with the connection (rdma_create_qp on the id that connects or
 * accepts), so that everything may be modified before; receives posted earlier wait in rq and are
 * posted to the queue pair in INIT. Each request and receive has a record (dto/dto.h), since an
 * error completion of verbs names neither operation nor length.
 *
 * The endpoint owns its queue pair, the connection object owns the id; both end with no lock held.
 * `life` makes the calls that build and take down exclusive; `lock` guards what posts, completions
 * and the loop read. A connection event being handled, or a drainer about to call dpr_ep_broken or
 * dpr_ep_drained, may still have a reference of an endpoint that was freed: it finds it
 * DISCONNECTED and without connection.
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

/* The fields of a post and its completion come first, in as few cache lines as possible. */
struct dpr_ep {
	struct dpr_obj obj;
	struct ut_mutex lock;
	DAT_EP_STATE state UT_GUARDED_BY(lock);
	/* Of qp, 0 without. A completion with another number belongs to a former queue pair of the
	 * records and is ignored. */
	_Atomic uint32_t qpn;
	struct ibv_qp *qp UT_GUARDED_BY(lock);     /* or NULL */
	uint32_t inline_max UT_GUARDED_BY(lock);   /* of qp; set by dpr_ep_flush_posted */
	/* From the attempt until ESTABLISHED is queued: completions must not overtake it. */
	_Atomic bool early;
	bool ending UT_GUARDED_BY(lock); /* a thread is about to queue the event of the end */
	_Atomic bool failed; /* a request or receive of qp failed, other than by a flush */
	bool made_here;      /* for a connection request; ends when that is rejected */

	struct dpr_dtoq sq UT_GUARDED_BY(lock);    /* requests and binds */
	struct dpr_dtoq rq UT_GUARDED_BY(lock);    /* receives; of size 0 with an SRQ */
	/* a reference and a use (dpr_use, dpr_evd_feed) of each */
	struct dpr_pz *pz UT_GUARDED_BY(lock);
	const struct dpr_lmr *last_lmr UT_GUARDED_BY(lock); /* of the last segment; no reference */
	struct dpr_evd *request UT_GUARDED_BY(lock), *recv UT_GUARDED_BY(lock),
		*connect UT_GUARDED_BY(lock);
	struct dpr_srq *srq; /* constant */
	DAT_EP_ATTR attr UT_GUARDED_BY(lock); /* as granted; named attributes point into it */
	/*
	 * DCNT_EP_*, and values at the last reset; relaxed, by the posting and the draining thread
	 */
	uint64_t counters[24], counted[24];

	struct ut_mutex life; /* one of connect, accept, reset, free, modify; before `lock` */
	struct dpr_conn *conn UT_GUARDED_BY(lock); /* the attempt or connection: a reference */
	struct ut_list uds UT_GUARDED_BY(lock);    /* datagrams: of_ep of connections, references */
	struct dpr_key qpkey;  /* dpr_qpn_add: finds ep by qpn for receives of SRQs */
	struct dpr_timer poll; /* graceful disconnect: the loop reaps the requests */
	/* SRQ endpoints: receives taken and not reaped; marks of dat_ep_set_watermark,
	 * DAT_WATERMARK_INFINITE: none. Atomic since they are compared under evd->lock. */
	_Atomic DAT_COUNT taken, soft, hard;
	_Atomic bool soft_armed; /* by dat_ep_set_watermark; one event each */
	_Atomic bool soft_due;   /* reached: dpr_ep_drained sends the event */
};

extern const struct dpr_class dpr_ep_class;

static inline struct dpr_ep *dpr_ep_of(DAT_HANDLE h)
{
	return (struct dpr_ep *)dpr_obj_of(h, DPR_EP);
}

/* Returns true for a datagram endpoint (DAT_IB_SERVICE_TYPE_UD), which is settled before it has a
 * queue pair. */
static inline bool dpr_ep_is_ud(const struct dpr_ep *ep) UT_NO_TSA;
static inline bool dpr_ep_is_ud(const struct dpr_ep *ep)
{
	return ep->attr.service_type == DAT_SERVICE_TYPE_EXTENSION_BASE;
}

/* For code whose endpoint comes locked from dpr_conn_lock_ep. */
static inline void dpr_ep_assert_locked(struct dpr_ep *ep) UT_ASSERT_HELD(ep->lock);
static inline void dpr_ep_assert_locked(struct dpr_ep *ep)
{
	(void)ep;
}

/* Moves the queue pair, if there is one, to the error state: it completes nothing but flushes. */
void dpr_ep_qp_error(struct dpr_ep *ep) UT_REQUIRES(ep->lock);
/* Drains both EVDs: what the queue pair had finished is in them at the return, as far as they have
 * room. No lock held. */
void dpr_ep_reap(struct dpr_ep *ep);
/* Drains one EVD of ep (or NULL). Releases ep->lock meanwhile, so the state may have changed. */
void dpr_ep_drain(struct dpr_ep *ep, struct dpr_evd *e) UT_REQUIRES(ep->lock);
/* Ends ep in whatever state: the handle is refused, its references are dropped. No lock held. */
void dpr_ep_finish(struct dpr_ep *ep);

DAT_RETURN dpr_ep_free(DAT_EP_HANDLE ep);
DAT_RETURN dpr_ep_reset(DAT_EP_HANDLE ep);

#endif

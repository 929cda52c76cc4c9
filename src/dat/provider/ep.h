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
#include "util/lock.h"

struct dpr_conn;
struct dpr_evd;
struct dpr_lmr;
struct dpr_private;
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
	const struct dpr_lmr *near UT_GUARDED_BY(lock); /* of the last segment; not held (plain.h) */
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
	_Atomic bool soft_due;   /* reached: dpr_ep_drained sends the event (dpr_ep_tell_soft) */
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

/* For code that got its endpoint from dpr_conn_present, locked. */
static inline void dpr_ep_held(struct dpr_ep *ep) UT_ASSERT_HELD(ep->lock);
static inline void dpr_ep_held(struct dpr_ep *ep)
{
	(void)ep;
}

/* --- for the connection side (conn.h) --- */

/* The verbs attributes of a queue pair for ep on its queues, sized by its attributes. Called with
 * the endpoint configured. */
void dpr_ep_qp_attr(struct dpr_ep *ep, struct ibv_qp_init_attr *attr) UT_REQUIRES(ep->lock);
/* The queue pair exists and is in INIT: post what waits in rq (also if nothing does: notes what
 * the queue pair can do). 0 or positive errno. In recv.c. */
int dpr_ep_flush_posted(struct dpr_ep *ep) UT_REQUIRES(ep->lock);
/* Receives that wait in rq for a queue pair that will not come: flushed to the receive EVD. */
void dpr_ep_fail_posted(struct dpr_ep *ep) UT_REQUIRES(ep->lock);

/*
 * A completion with an error was seen for ep (by any drainer, no lock held): breaks the connection,
 * CONNECTED -> DISCONNECTED with event BROKEN after the completion itself was queued.
 */
void dpr_ep_broken(struct dpr_ep *ep);
/* Requests completed: a graceful disconnect goes on when nothing is outstanding. No lock held. */
void dpr_ep_drained(struct dpr_ep *ep);
/* The first thing dpr_ep_drained does; no lock held. In srq.c. */
void dpr_ep_tell_soft(struct dpr_ep *ep);
/*
 * A completion came for ep while ep->early: the peer is there although the connection manager did
 * not say so yet. On the passive side this announces ESTABLISHED now; on the active side the answer
 * is on its way with its private data. When it returns true the completion may be queued; else
 * it is kept until dpr_evd_drain is called again. No lock held.
 */
bool dpr_ep_early(struct dpr_ep *ep);

/* --- among the files of endpoints and connections --- */

/* Has a protection zone and a connect EVD: what a connection cannot do without. */
bool dpr_ep_configured(const struct dpr_ep *ep) UT_REQUIRES(ep->lock);
/* attr NULL: the defaults. Checks against the adapter and fills *to; `arg` is the subtype of a
 * bad attribute. */
DAT_RETURN dpr_ep_attr(struct dpr_ia *ia, const DAT_EP_ATTR *attr, DAT_RETURN_SUBTYPE arg,
		       DAT_EP_ATTR *to);
/* What an endpoint stands on. */
struct dpr_ep_parts {
	struct dpr_pz *pz;
	struct dpr_evd *recv, *request, *connect;
};
/* Holds, uses and feeds the parts for an endpoint with these attributes; all or none. */
DAT_RETURN dpr_parts_take(const struct dpr_ep_parts *p, const DAT_EP_ATTR *attr);
void dpr_parts_drop(const struct dpr_ep_parts *p, const DAT_EP_ATTR *attr);
/* Handles into parts of this adapter that take the right streams; NULL stays NULL. */
DAT_RETURN dpr_parts_find(struct dpr_ia *ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			  DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect, struct dpr_ep_parts *p);
struct dpr_ep_parts dpr_ep_parts(const struct dpr_ep *ep) UT_REQUIRES(ep->lock);
/* Records for the queues that attr asks for. 0 or positive errno; nothing may be outstanding. */
int dpr_ep_queues(struct dpr_ep *ep, const DAT_EP_ATTR *attr) UT_REQUIRES(ep->lock);
/* An endpoint without zone and EVDs, in UNCONFIGURED_TENTATIVE, for a request. NULL: no memory. */
struct dpr_ep *dpr_ep_for_request(struct dpr_ia *ia);
/* It was never given away, or was and its request is rejected. */
void dpr_ep_take_back(struct dpr_ep *ep);
/* The end, whatever the state: the handle dies, everything it holds goes. No lock held. */
void dpr_ep_finish(struct dpr_ep *ep);
/* The queue pair, if there is one, completes nothing but flushes from here on. */
void dpr_ep_qp_error(struct dpr_ep *ep) UT_REQUIRES(ep->lock);
void dpr_ep_poll(struct dpr_timer *t);
/* Makes ep's queue pair on id and gives it the waiting receives. DAT_SUCCESS or an error. */
DAT_RETURN dpr_ep_make_qp(struct dpr_ep *ep, struct rdma_cm_id *id) UT_REQUIRES(ep->lock);
/* Everything that the queue pair had finished is in its EVDs when this returns, as far as they have
 * room. No lock held. */
void dpr_ep_reap(struct dpr_ep *ep);
/* Queue a connection event. The EVD is ep's, or one that the caller kept hold of. */
void dpr_ep_say(struct dpr_evd *evd, struct dpr_ep *ep, DAT_EVENT_NUMBER event,
		DAT_COUNT size, void *data);
/* ESTABLISHED, with what the peer sent. False: too late. */
bool dpr_ep_established(struct dpr_ep *ep, struct dpr_private *in) UT_REQUIRES(ep->lock);
/* The connection (this one, or NULL: the present one) ends for this reason, unless it has ended
 * already. No lock held. */
void dpr_ep_end(struct dpr_ep *ep, const struct dpr_conn *of, enum dpr_ep_do what);
/* Drained, and no request is outstanding. If one is, this sees to it that it will be known. */
bool dpr_ep_idle(struct dpr_ep *ep);
/* One step of the table. */
struct dpr_ep_step dpr_ep_go(struct dpr_ep *ep, enum dpr_ep_do what) UT_REQUIRES(ep->lock);

/* --- calls --- */
DAT_RETURN dpr_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			 DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr,
			 DAT_EP_HANDLE *ep);
DAT_RETURN dpr_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				  DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
				  DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep);
DAT_RETURN dpr_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param);
DAT_RETURN dpr_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param);
DAT_RETURN dpr_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
			  DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
			  DAT_CONNECT_FLAGS flags);
DAT_RETURN dpr_ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE dup, DAT_TIMEOUT timeout,
			      DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos);
DAT_RETURN dpr_ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_TIMEOUT timeout,
				 DAT_COUNT size, const DAT_PVOID data);
DAT_RETURN dpr_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags);
DAT_RETURN dpr_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			     DAT_BOOLEAN *request_idle);
DAT_RETURN dpr_ep_free(DAT_EP_HANDLE ep);
DAT_RETURN dpr_ep_reset(DAT_EP_HANDLE ep);
DAT_RETURN dpr_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *allocated, DAT_COUNT *span);
DAT_RETURN dpr_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard);

#endif

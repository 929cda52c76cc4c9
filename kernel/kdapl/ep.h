/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints. Queue pair and completion queue belong to the connection (conn.h) and are made with it; receives that are
 * posted before wait in `rq`. Each request and receive has a record, which its completion finds by its ib_cqe.
 *
 * The end of a connection: kdp_ep_end moves the state at once, in any context, and schedules `end`, which disconnects,
 * drains the queue pair and then queues the event. So every completion precedes DISCONNECTED and BROKEN.
 */
#ifndef KDAPL_EP_H
#define KDAPL_EP_H

#include "dat/core/op.h"
#include "dat/core/state.h"
#include "kdapl/evd.h"
#include "kdapl/ia.h"
#include "kdapl/obj.h"

struct kdp_conn;
struct kdp_ep;
struct kdp_lmr;
struct kdp_pz;
struct kdp_rmr;
struct kdp_srq;

struct kdp_dto {
	struct ib_cqe cqe;
	struct kdp_ep *ep;     /* NULL: a receive of an SRQ */
	DAT_DTO_COOKIE cookie;
	union {
		struct kdp_lmr *lmr;   /* FMR, LMR_INVALIDATE */
		struct kdp_rmr *rmr;   /* BIND, UNBIND, INVALIDATE: a reference */
		struct kdp_srq *srq;   /* receive of an SRQ */
	};
	u32 index;             /* in posting order */
	u32 bytes;
	u8 op;                 /* enum dpr_op */
	u8 slot;               /* of rmr */
	bool quiet;            /* no event on success */
	bool notify;
	int nsge;              /* of a receive that waits for the queue pair */
	DAT_DTO_COMPLETION_STATUS status; /* of a receive that has completed, and whether it invalidated `context` */
	bool invalidated;
	u32 context;
	struct list_head link; /* of ep->held; free ones of an SRQ */
};

/* Records in posting order, a ring of a power of two. Completions come in this order. */
struct kdp_queue {
	struct kdp_dto *dto;
	struct ib_sge *sge;    /* of waiting receives: iov for each record */
	u32 mask;
	u32 head, tail;        /* next to post, oldest that is outstanding */
	u32 given;             /* receives: the next one to hand to the queue pair */
	u32 used, most;        /* requests of the consumer; receives */
	u32 iov;
};

struct kdp_parts {
	struct kdp_pz *pz;
	struct kdp_evd *recv, *request, *connect;
};

struct kdp_ep {
	struct kdp_obj obj;
	spinlock_t lock;           /* of all that follows, unless said otherwise */
	DAT_EP_STATE state;
	struct ib_qp *qp;          /* of conn, or NULL */
	struct kdp_conn *conn;     /* a reference, or NULL */
	struct kdp_queue sq, rq;
	struct kdp_parts parts;    /* a use of each */
	struct kdp_srq *srq;       /* a use; immutable */
	DAT_EP_ATTR attr;
	bool early;                /* from the attempt until ESTABLISHED is queued */
	bool failed;               /* a request failed, other than by a flush */
	bool made_here;            /* for a connection request; ends when that is rejected */
	bool ending;               /* `end` is scheduled or runs */
	enum dpr_ep_do why;
	DAT_EVENT_NUMBER end_event;
	bool end_data;             /* the event carries conn->in */
	bool was_connected;
	struct list_head held;     /* receives that have completed and must not overtake ESTABLISHED */
	struct work_struct end;
	DAT_COUNT taken, soft, hard; /* SRQ: receives taken and not reaped; marks */
	bool soft_armed;
};

static inline struct kdp_ep *kdp_ep_of(DAT_HANDLE h)
{
	return kdp_obj_of(h, DAT_HANDLE_TYPE_EP);
}

static inline bool kdp_ep_configured(const struct kdp_ep *ep)
{
	return ep->parts.pz && ep->parts.connect && (ep->parts.recv || ep->parts.request);
}

/* Moves ep by the table. Called with ep->lock held. */
struct dpr_ep_step kdp_ep_apply(struct kdp_ep *ep, enum dpr_ep_do what);
/* Queues a connection event; kdp_evd_kick(evd) follows. data: NULL for none. Any context. */
void kdp_ep_queue_event(struct kdp_ep *ep, struct kdp_evd *evd, DAT_EVENT_NUMBER event, DAT_COUNT size, void *data);
/* Moves ep to CONNECTED and queues ESTABLISHED, and what waited for it. Called with ep->lock held; with it released, the
 * caller kicks the EVDs of ep. Returns false if the state does not admit it. */
bool kdp_ep_established(struct kdp_ep *ep, DAT_COUNT size, void *data);
void kdp_ep_kick(struct kdp_ep *ep);
/* Ends the connection `of` (NULL: the present one). event: for ON_REFUSED of the active side. Called with ep->lock held.
 * Returns false if there is nothing to end. */
bool kdp_ep_end(struct kdp_ep *ep, const struct kdp_conn *of, enum dpr_ep_do what, DAT_EVENT_NUMBER event, bool data);

/* An endpoint for a connection request, or NULL. */
struct kdp_ep *kdp_ep_for_request(struct kdp_ia *ia);
/* The provider's own, for reg.h. */
DAT_RETURN kdp_ep_make(struct kdp_ia *ia, const struct kdp_parts *p, struct kdp_srq *srq, const DAT_EP_ATTR *attr,
		       bool hidden, struct kdp_ep **ret);

DAT_RETURN kdp_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
			 DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep);
DAT_RETURN kdp_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
				  DAT_EVD_HANDLE connect, DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr,
				  DAT_EP_HANDLE *ep);
DAT_RETURN kdp_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param);
DAT_RETURN kdp_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param);
DAT_RETURN kdp_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags);
DAT_RETURN kdp_ep_reset(DAT_EP_HANDLE ep);
DAT_RETURN kdp_ep_free(DAT_EP_HANDLE ep);
DAT_RETURN kdp_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle);
DAT_RETURN kdp_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *buffers, DAT_COUNT *span);
DAT_RETURN kdp_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard);

#endif

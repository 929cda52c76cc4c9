/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Data transfer operations: what is remembered of each posted work request, and how a work
 * completion becomes an event. wr_id is the address of the record. Requests of one endpoint
 * complete in order, so a visible completion also retires the suppressed ones before it; at least
 * every half queue one suppressed request is signalled and its completion swallowed.
 *
 * dpr_dto_event may run in any thread, under evd->lock and nothing else: records are therefore
 * retired without ep->lock (tail is atomic, written by the drainer of the one EVD that queue feeds).
 */
#ifndef DAT_PROVIDER_DTO_H
#define DAT_PROVIDER_DTO_H

#include "dat/provider/ia.h"

struct dpr_ep;
struct dpr_rmr;
struct dpr_srq;

enum dpr_op {
	DPR_OP_SEND, DPR_OP_SEND_INV, DPR_OP_WRITE, DPR_OP_READ, DPR_OP_READ_TO_RMR, DPR_OP_RECV,
	DPR_OP_BIND, DPR_OP_UNBIND,
	DPR_OP_INVALIDATE, /* a step of ours before a rebind */
	/* IB extensions */
	DPR_OP_WRITE_IMM, DPR_OP_FETCH_ADD, DPR_OP_CMP_SWAP, DPR_OP_SEND_UD,
	DPR_OPS
};

struct dpr_dto {
	struct dpr_ep *ep;   /* NULL: an SRQ's; the endpoint is then found by wc->qp_num */
	DAT_DTO_COOKIE cookie;
	union {
		struct dpr_rmr *rmr; /* requests: bind, unbind, read to RMR; held, else NULL */
		struct dpr_srq *srq; /* receives of an SRQ */
	};
	struct dpr_dto *next; /* free list of an SRQ */
	uint32_t index;       /* in the posting order of its queue, modulo 2^32 */
	uint32_t bytes;       /* asked for */
	uint8_t op;           /* enum dpr_op */
	uint8_t binding;      /* of rmr: which of its bindings this is about */
	bool quiet;           /* success is swallowed: suppressed, or a step of ours */
	bool notify;          /* false: UNSIGNALLED */
};

/* What the poster knows; ep is NULL for an SRQ's. index and rmr or srq are the queue's business. */
static inline void dpr_dto_begin(struct dpr_dto *d, struct dpr_ep *ep, enum dpr_op op,
				 DAT_DTO_COOKIE cookie, uint64_t bytes,
				 DAT_COMPLETION_FLAGS flags)
{
	d->ep = ep;
	d->cookie = cookie;
	d->bytes = (uint32_t)bytes;
	d->op = (uint8_t)op;
	d->quiet = flags & DAT_COMPLETION_SUPPRESS_FLAG;
	d->notify = !(flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
}

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

/* Segments that one request can have: attributes are granted below this. */
#define DPR_IOV_MAX 32

/* extra and iov_max may be 0 (iov_max: a request queue). 0 or -ENOMEM. */
int dpr_dtoq_init(struct dpr_dtoq *q, uint32_t limit, uint32_t extra, uint32_t iov_max);
/* The queue pair is gone and no completion of it is left in any EVD. Also forgets references. */
void dpr_dtoq_fini(struct dpr_dtoq *q);
static inline uint32_t dpr_dtoq_used(struct dpr_dtoq *q)
{
	return q->head - atomic_load_explicit(&q->tail, memory_order_acquire);
}

enum dpr_dto_out {
	DPR_DTO_HIDDEN,  /* swallowed */
	DPR_DTO_EVENT,   /* *ev is filled in */
};

/*
 * One completion. *broken is set to the endpoint (held) whose connection this ends, *drained to
 * one (held) that may wait for its last request; the caller acts on both after it let go of its
 * locks (dpr_ep_broken, dpr_ep_drained) and puts the reference.
 */
enum dpr_dto_out dpr_dto_event(struct dpr_ia *ia, const struct ibv_wc *wc, DAT_EVENT *ev,
			       bool *notify, struct dpr_ep **broken, struct dpr_ep **drained);

/* Queue pair number to endpoint, for completions of SRQ receives: while there is a queue pair. */
int dpr_qpn_add(struct dpr_ia *ia, uint32_t qpn, struct dpr_ep *ep);
void dpr_qpn_del(struct dpr_ia *ia, uint32_t qpn);

/*
 * Whoever starts a graceful disconnect sets the state first and then drains the request EVD once:
 * its lock makes every later drainer see the state, so *drained is not missed.
 *
 * A completion must not meet a freed endpoint: destroy the queue pair, then drain and purge its
 * EVDs until nothing of it is left, then dpr_dtoq_fini.
 */

/* An event goes to the consumer (dequeue, wait): the counts of SRQs end here. Under evd->lock. */
void dpr_srq_event_reaped(const DAT_EVENT *ev);
static inline void dpr_dto_reaped(const DAT_EVENT *ev)
{
	if (ev->event_number == DAT_DTO_COMPLETION_EVENT &&
	    ev->event_data.dto_completion_event_data.operation < DAT_DTO_RECEIVE)
		return;
	dpr_srq_event_reaped(ev);
}

/* What to ask for as max_inline_data: DAPL_MAX_INLINE, default 64. */
uint32_t dpr_inline_wish(void);

/* --- calls --- */
DAT_RETURN dpr_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dpr_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
					    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
					    DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT context);
DAT_RETURN dpr_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dpr_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				 DAT_COMPLETION_FLAGS flags);
DAT_RETURN dpr_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
					DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
					DAT_COMPLETION_FLAGS flags);
DAT_RETURN dpr_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags);

#endif

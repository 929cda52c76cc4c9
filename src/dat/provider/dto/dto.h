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
#ifndef DAT_PROVIDER_DTO_DTO_H
#define DAT_PROVIDER_DTO_DTO_H

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

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

/* Segments that one request can have: attributes are granted below this. */
#define DPR_IOV_MAX 32

#endif

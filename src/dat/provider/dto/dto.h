/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Records of posted work requests. wr_id is the address of the record, from which the completion
 * becomes an event (event.h).
 */
#ifndef DAT_PROVIDER_DTO_DTO_H
#define DAT_PROVIDER_DTO_DTO_H

#include "dat/core/op.h"

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_ep;
struct dpr_rmr;
struct dpr_srq;

struct dpr_dto {
	struct dpr_ep *ep;   /* NULL: of an SRQ; wc->qp_num then finds the endpoint */
	DAT_DTO_COOKIE cookie;
	union {
		struct dpr_rmr *rmr; /* of a bind, unbind or read to RMR: a reference; else NULL */
		struct dpr_srq *srq; /* of a receive of an SRQ */
	};
	struct dpr_dto *next; /* free list of an SRQ */
	uint32_t index;       /* in the posting order of its queue, modulo 2^32 */
	uint32_t bytes;       /* asked for */
	uint8_t op;           /* enum dpr_op */
	uint8_t binding;      /* of rmr: the binding concerned */
	bool quiet;           /* success is swallowed: suppressed, or the provider's request */
	bool notify;          /* false: UNSIGNALLED */
};

/* Sets the fields that the post determines; the queue sets index and rmr or srq. ep is NULL for an
 * SRQ. */
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

/* The most segments that attributes grant to a request. */
#define DPR_IOV_MAX 32

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One request on its way from a dat_ep_post_* call to the queue pair. */
#ifndef DAT_PROVIDER_DTO_REQUEST_H
#define DAT_PROVIDER_DTO_REQUEST_H

#include "dat/provider/dto/dto.h"
#include "dat/provider/ep/ep.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_rmr;

/* Flags that every request may carry, beside those it alone may. */
#define DPR_REQUEST_FLAGS (DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
			   DAT_COMPLETION_BARRIER_FENCE_FLAG)

struct dpr_request {
	struct ibv_send_wr wr;   /* opcode and what belongs to it; the rest is ours */
	enum dpr_op op;
	DAT_COUNT n;
	const DAT_LMR_TRIPLET *iov;
	const DAT_RMR_TRIPLET *remote; /* or NULL */
	DAT_DTO_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
	bool inlined;            /* set on the way: may travel in the request itself */
	uint8_t flags_arg;       /* the place of the flags among the arguments, for the error */
};

/* The whole way: checks, segments, room, post. */
DAT_RETURN dpr_request_post(DAT_EP_HANDLE ep, struct dpr_request *r);

/*
 * The parts, for calls with a way of their own. ready: may ep take this request now, and are there
 * `records` free? Lets go of the lock when the queue looks full, to drain the request EVD.
 */
DAT_RETURN dpr_request_ready(struct dpr_ep *ep, const struct dpr_request *r, uint32_t records)
	UT_REQUIRES(ep->lock);
/* wr.sg_list and num_sge are set. Fills the record and posts; `rmr` is given to the record. */
DAT_RETURN dpr_request_issue(struct dpr_ep *ep, struct dpr_request *r, uint64_t bytes,
			     struct dpr_rmr *rmr, unsigned int binding) UT_REQUIRES(ep->lock);
/* A request that is flushed without a queue pair. */
DAT_RETURN dpr_request_flush(struct dpr_ep *ep, const struct dpr_request *r, struct dpr_rmr *rmr,
			     unsigned int binding) UT_REQUIRES(ep->lock);
/* What the completion flags mean to verbs; the turn to be signalled is used up. */
unsigned int dpr_request_flags(struct dpr_ep *ep, const struct dpr_request *r)
	UT_REQUIRES(ep->lock);
/* The record for the next request, filled. Not yet counted. */
struct dpr_dto *dpr_request_record(struct dpr_ep *ep, const struct dpr_request *r, uint64_t bytes)
	UT_REQUIRES(ep->lock);

/* errno of a refused post */
DAT_RETURN dpr_post_error(int err);

/* What to ask for as max_inline_data: DAPL_MAX_INLINE, default 64. */
uint32_t dpr_inline_wish(void);

#endif

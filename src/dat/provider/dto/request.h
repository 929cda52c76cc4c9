/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A request from a dat_ep_post_* call to the queue pair: one lock (the endpoint's), no allocation,
 * no system call of the provider.
 *
 * A full queue may only look full, since slots become free when completions are drained: then the
 * request EVD is drained with the lock released, and the queue looked at again.
 */
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

/* Flags that every request may carry, beside those of its operation. */
#define DPR_REQUEST_FLAGS (DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
			   DAT_COMPLETION_BARRIER_FENCE_FLAG)

struct dpr_request {
	struct ibv_send_wr wr;   /* the caller sets opcode and its fields, this room the others */
	enum dpr_op op;
	DAT_COUNT n;
	const DAT_LMR_TRIPLET *iov;
	const DAT_RMR_TRIPLET *remote; /* or NULL */
	DAT_DTO_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
	bool inlined;            /* by dpr_request_post: the data travels in the request itself */
	uint8_t flags_arg;       /* the flags' place among the arguments, for the error */
};

/* Checks r, gathers its segments, waits for nothing and posts. */
DAT_RETURN dpr_request_post(DAT_EP_HANDLE ep, struct dpr_request *r);

/* --- the parts of dpr_request_post, for calls that do more --- */

/* Returns DAT_SUCCESS if ep may post r and `records` are free. May release the lock meanwhile, to
 * drain the request EVD. */
DAT_RETURN dpr_request_ready(struct dpr_ep *ep, const struct dpr_request *r, uint32_t records)
	UT_REQUIRES(ep->lock);
/* Fills the record and posts; wr.sg_list and num_sge are set. The record takes over a reference of
 * `rmr`, unless an error is returned. */
DAT_RETURN dpr_request_issue(struct dpr_ep *ep, struct dpr_request *r, uint64_t bytes,
			     struct dpr_rmr *rmr, unsigned int binding) UT_REQUIRES(ep->lock);
/* Completes r as flushed, without a queue pair. */
DAT_RETURN dpr_request_flush(struct dpr_ep *ep, const struct dpr_request *r, struct dpr_rmr *rmr,
			     unsigned int binding) UT_REQUIRES(ep->lock);
/*
 * Returns the send flags of verbs for r's completion flags; counts towards the next signalled one.
 */
unsigned int dpr_request_flags(struct dpr_ep *ep, const struct dpr_request *r)
	UT_REQUIRES(ep->lock);
/* Returns the record of the next request, filled; it counts once sq.head is advanced. */
struct dpr_dto *dpr_request_record(struct dpr_ep *ep, const struct dpr_request *r, uint64_t bytes)
	UT_REQUIRES(ep->lock);

/* Returns the DAT error for the errno of a refused post. */
DAT_RETURN dpr_post_error(int err);

/* Returns the max_inline_data to ask for: DAPL_MAX_INLINE, default 64, at most 4096. */
uint32_t dpr_max_inline(void);

#endif

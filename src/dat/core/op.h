/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations: which completion flags a post may carry, which rights its local segments need, how long it may be,
 * and the event that it completes with.
 */
#ifndef DAT_CORE_OP_H
#define DAT_CORE_OP_H

#include "dat/core/core.h"

enum dpr_op {
	DPR_OP_SEND, DPR_OP_SEND_INV, DPR_OP_WRITE, DPR_OP_READ, DPR_OP_READ_TO_RMR, DPR_OP_RECV,
	DPR_OP_BIND, DPR_OP_UNBIND,
	DPR_OP_INVALIDATE, /* by the provider, before a rebind */
	DPR_OP_FMR, DPR_OP_LMR_INVALIDATE, /* kDAPL */
	/* IB extensions */
	DPR_OP_WRITE_IMM, DPR_OP_FETCH_ADD, DPR_OP_CMP_SWAP, DPR_OP_SEND_UD,
	DPR_OPS
};

struct dpr_op_rule {
	DAT_COMPLETION_FLAGS flags;  /* beside UNSIGNALLED, which the endpoint's attributes permit */
	DAT_MEM_PRIV_FLAGS need;     /* of the local segments */
	bool remote;                 /* has a remote segment */
	DAT_EVENT_NUMBER event;      /* 0: of an extension, or none */
	DAT_DTOS dto;
};

extern const struct dpr_op_rule dpr_op_rules[DPR_OPS];

/*
 * Returns DAT_SUCCESS if an endpoint of these attributes and this state may post a request with these flags. has_parts:
 * it has a zone and a request EVD. flags_arg: the flags' place among the arguments, for the error.
 */
DAT_RETURN dpr_op_may_request(enum dpr_op op, DAT_EP_STATE state, bool has_parts, DAT_COMPLETION_FLAGS attr_flags,
			      DAT_COMPLETION_FLAGS flags, unsigned int flags_arg);
/* The same for a receive. pz, evd: the endpoint has these. */
DAT_RETURN dpr_op_may_recv(DAT_EP_STATE state, bool srq, bool pz, bool evd, DAT_COMPLETION_FLAGS attr_flags,
			   DAT_COMPLETION_FLAGS flags);
/* The segments that one request may have. */
DAT_COUNT dpr_op_iov(enum dpr_op op, const DAT_EP_ATTR *attr);
/* *bytes, the sum of the local segments, becomes the length of the request: that of its source for a Read. Returns
 * DAT_SUCCESS or LENGTH_ERROR. remote: NULL without. */
DAT_RETURN dpr_op_length(enum dpr_op op, const DAT_EP_ATTR *attr, const DAT_RMR_TRIPLET *remote, uint64_t *bytes);
/* Fills the event of an operation of DAT (not of an extension). rmr: of a bind. */
void dpr_op_event(DAT_EVENT *ev, enum dpr_op op, DAT_HANDLE ep, DAT_HANDLE rmr, DAT_DTO_COOKIE cookie,
		  DAT_DTO_COMPLETION_STATUS status, uint32_t bytes);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/core/op.h"

#include "dat/core/attr.h"
#include "dat/core/state.h"

/* Flags that every request may carry. */
#define REQUEST (DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define SOL DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define FENCE DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG
#define RD DAT_MEM_PRIV_LOCAL_READ_FLAG
#define WR DAT_MEM_PRIV_LOCAL_WRITE_FLAG
#define NO DAT_MEM_PRIV_NONE_FLAG

const struct dpr_op_rule dpr_op_rules[DPR_OPS] = {
#define R(op, extra, need, remote, event, dto) \
	[DPR_OP_##op] = { (DAT_COMPLETION_FLAGS)(REQUEST | (extra)), need, remote, event, DAT_DTO_##dto }
	R(SEND, SOL, RD, false, DAT_DTO_COMPLETION_EVENT, SEND),
	R(SEND_INV, SOL, RD, false, DAT_DTO_COMPLETION_EVENT, SEND),
	R(WRITE, 0, RD, true, DAT_DTO_COMPLETION_EVENT, RDMA_WRITE),
	R(READ, 0, WR, true, DAT_DTO_COMPLETION_EVENT, RDMA_READ),
	R(READ_TO_RMR, 0, WR, true, DAT_DTO_COMPLETION_EVENT, RDMA_READ),
	[DPR_OP_RECV] = { DAT_COMPLETION_DEFAULT_FLAG, WR, false, DAT_DTO_COMPLETION_EVENT, DAT_DTO_RECEIVE },
	R(BIND, 0, NO, false, DAT_RMR_BIND_COMPLETION_EVENT, BIND_MW),
	R(UNBIND, 0, NO, false, DAT_RMR_BIND_COMPLETION_EVENT, BIND_MW),
	R(FMR, 0, NO, false, DAT_DTO_COMPLETION_EVENT, LMR_FMR),
	R(LMR_INVALIDATE, FENCE, NO, false, DAT_DTO_COMPLETION_EVENT, LMR_INVALIDATE),
	R(WRITE_IMM, SOL, RD, true, (DAT_EVENT_NUMBER)0, SEND),
	R(FETCH_ADD, 0, WR, true, (DAT_EVENT_NUMBER)0, SEND),
	R(CMP_SWAP, 0, WR, true, (DAT_EVENT_NUMBER)0, SEND),
	R(SEND_UD, SOL, RD, false, (DAT_EVENT_NUMBER)0, SEND),
#undef R
};

DAT_RETURN dpr_op_may_request(enum dpr_op op, DAT_EP_STATE state, bool has_parts, DAT_COMPLETION_FLAGS attr_flags,
			      DAT_COMPLETION_FLAGS flags, unsigned int flags_arg)
{
	DAT_COMPLETION_FLAGS known = dpr_op_rules[op].flags;

	if (!(attr_flags & DAT_COMPLETION_UNSIGNALLED_FLAG))
		known &= ~(DAT_COMPLETION_FLAGS)DAT_COMPLETION_UNSIGNALLED_FLAG;
	if (flags & ~known)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1 + flags_arg - 1);
	if (state == DAT_EP_STATE_CONNECTED && has_parts)
		return DAT_SUCCESS;
	return dpr_ep_step(state, DPR_DO_POST_REQUEST, has_parts).ret;
}

DAT_RETURN dpr_op_may_recv(DAT_EP_STATE state, bool srq, bool pz, bool evd, DAT_COMPLETION_FLAGS attr_flags,
			   DAT_COMPLETION_FLAGS flags)
{
	if (srq)
		return DPR_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	if (flags & ~(attr_flags & DAT_COMPLETION_UNSIGNALLED_FLAG))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (!pz)
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_PZ);
	if (!evd)
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_RECV);
	return state == DAT_EP_STATE_CONNECTED ? DAT_SUCCESS : dpr_ep_step(state, DPR_DO_POST_RECV, true).ret;
}

DAT_COUNT dpr_op_iov(enum dpr_op op, const DAT_EP_ATTR *attr)
{
	switch (op) {
	case DPR_OP_WRITE:
	case DPR_OP_WRITE_IMM: return dpr_attr_write_iov(attr);
	case DPR_OP_READ: return dpr_attr_read_iov(attr);
	case DPR_OP_RECV: return attr->max_recv_iov;
	default: return attr->max_request_iov;
	}
}

DAT_RETURN dpr_op_length(enum dpr_op op, const DAT_EP_ATTR *attr, const DAT_RMR_TRIPLET *remote, uint64_t *bytes)
{
	if (op == DPR_OP_READ) {
		if (*bytes < remote->segment_length)
			return DPR_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
		*bytes = remote->segment_length;
	} else if (remote && *bytes > remote->segment_length) {
		return DPR_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	}
	if (*bytes > (dpr_op_rules[op].remote ? attr->max_rdma_size : attr->max_message_size))
		return DPR_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

void dpr_op_event(DAT_EVENT *ev, enum dpr_op op, DAT_HANDLE ep, DAT_HANDLE rmr, DAT_DTO_COOKIE cookie,
		  DAT_DTO_COMPLETION_STATUS status, uint32_t bytes)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;

	ev->event_number = dpr_op_rules[op].event;
	if (ev->event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
		ev->event_data.rmr_completion_event_data = (DAT_RMR_BIND_COMPLETION_EVENT_DATA){
			.rmr_handle = rmr,
			.user_cookie = cookie,
			.status = status,
		};
		return;
	}
	d->ep_handle = ep;
	d->user_cookie = cookie;
	d->status = status;
	d->transfered_length = bytes;
	d->operation = dpr_op_rules[op].dto;
	d->rmr_context = 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/core/modify.h"

#include "dat/core/state.h"

#define FIXED                                                                     \
	(DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_COMM |     \
	 DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR | DAT_EP_FIELD_LOCAL_PORT_QUAL |       \
	 DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | DAT_EP_FIELD_REMOTE_PORT_QUAL |     \
	 DAT_EP_FIELD_SRQ_HANDLE | ~DAT_EP_FIELD_ALL)
#define SPECIFIC                                                                          \
	(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR |                                        \
	 DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR | DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | \
	 DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)

DAT_RETURN dpr_modify_args(DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	if (mask & FIXED)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return param ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

DAT_RETURN dpr_modify_legal(DAT_EP_STATE state, DAT_EP_PARAM_MASK mask)
{
	DAT_RETURN ret = DAT_SUCCESS;

	if (mask & DAT_EP_FIELD_PZ_HANDLE)
		ret = dpr_ep_step(state, DPR_DO_MODIFY_PZ, true).ret;
	if (!ret && (mask & SPECIFIC))
		ret = dpr_ep_step(state, DPR_DO_MODIFY_SPECIFIC, true).ret;
	if (!ret && (mask & ~(DAT_EP_PARAM_MASK)(SPECIFIC | DAT_EP_FIELD_PZ_HANDLE)))
		ret = dpr_ep_step(state, DPR_DO_MODIFY_ATTR, true).ret;
	return ret;
}

#define TAKE(bit, field)                                  \
	do {                                              \
		if (mask & DAT_EP_FIELD_EP_ATTR_##bit)    \
			to->field = from->field;          \
	} while (0)

void dpr_modify_merge(DAT_EP_ATTR *to, const DAT_EP_ATTR *from, DAT_EP_PARAM_MASK mask)
{
	TAKE(SERVICE_TYPE, service_type);
	TAKE(MAX_MESSAGE_SIZE, max_message_size);
	TAKE(MAX_RDMA_SIZE, max_rdma_size);
	TAKE(QOS, qos);
	TAKE(RECV_COMPLETION_FLAGS, recv_completion_flags);
	TAKE(REQUEST_COMPLETION_FLAGS, request_completion_flags);
	TAKE(MAX_RECV_DTOS, max_recv_dtos);
	TAKE(MAX_REQUEST_DTOS, max_request_dtos);
	TAKE(MAX_RECV_IOV, max_recv_iov);
	TAKE(MAX_REQUEST_IOV, max_request_iov);
	TAKE(MAX_RDMA_READ_IN, max_rdma_read_in);
	TAKE(MAX_RDMA_READ_OUT, max_rdma_read_out);
	TAKE(SRQ_SOFT_HW, srq_soft_hw);
	TAKE(MAX_RDMA_READ_IOV, max_rdma_read_iov);
	TAKE(MAX_RDMA_WRITE_IOV, max_rdma_write_iov);
	TAKE(NUM_TRANSPORT_ATTR, ep_transport_specific_count);
	TAKE(TRANSPORT_SPECIFIC_ATTR, ep_transport_specific);
	TAKE(NUM_PROVIDER_ATTR, ep_provider_specific_count);
	TAKE(PROVIDER_SPECIFIC_ATTR, ep_provider_specific);
}

bool dpr_modify_resizes(const DAT_EP_ATTR *a, const DAT_EP_ATTR *b)
{
	return a->max_recv_dtos != b->max_recv_dtos || a->max_request_dtos != b->max_request_dtos ||
	       a->max_recv_iov != b->max_recv_iov;
}

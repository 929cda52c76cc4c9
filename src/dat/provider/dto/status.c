/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/dto/status.h"

#include "dat/provider/ep/ep.h"
#include "dat/provider/mem/rmr.h"

#include <dat2/dat_ib_extensions.h>

static const uint8_t status[] = {
	[IBV_WC_SUCCESS] = DAT_DTO_SUCCESS,
	[IBV_WC_LOC_LEN_ERR] = DAT_DTO_ERR_LOCAL_LENGTH,
	[IBV_WC_LOC_QP_OP_ERR] = DAT_DTO_ERR_LOCAL_EP,
	[IBV_WC_LOC_EEC_OP_ERR] = DAT_DTO_ERR_TRANSPORT,
	[IBV_WC_LOC_PROT_ERR] = DAT_DTO_ERR_LOCAL_PROTECTION,
	[IBV_WC_WR_FLUSH_ERR] = DAT_DTO_ERR_FLUSHED,
	[IBV_WC_MW_BIND_ERR] = DAT_RMR_OPERATION_FAILED,
	[IBV_WC_BAD_RESP_ERR] = DAT_DTO_ERR_BAD_RESPONSE,
	[IBV_WC_LOC_ACCESS_ERR] = DAT_DTO_ERR_LOCAL_PROTECTION,
	[IBV_WC_REM_INV_REQ_ERR] = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IBV_WC_REM_ACCESS_ERR] = DAT_DTO_ERR_REMOTE_ACCESS,
	[IBV_WC_REM_OP_ERR] = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IBV_WC_RETRY_EXC_ERR] = DAT_DTO_ERR_TRANSPORT,
	[IBV_WC_RNR_RETRY_EXC_ERR] = DAT_DTO_ERR_RECEIVER_NOT_READY,
	[IBV_WC_LOC_RDD_VIOL_ERR] = DAT_DTO_ERR_LOCAL_PROTECTION,
	[IBV_WC_REM_INV_RD_REQ_ERR] = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IBV_WC_REM_ABORT_ERR] = DAT_DTO_ERR_REMOTE_RESPONDER,
	[IBV_WC_INV_EECN_ERR] = DAT_DTO_ERR_TRANSPORT,
	[IBV_WC_INV_EEC_STATE_ERR] = DAT_DTO_ERR_TRANSPORT,
	[IBV_WC_FATAL_ERR] = DAT_DTO_ERR_TRANSPORT,
	[IBV_WC_RESP_TIMEOUT_ERR] = DAT_DTO_ERR_RECEIVER_NOT_READY,
	[IBV_WC_GENERAL_ERR] = DAT_DTO_ERR_TRANSPORT,
};

DAT_DTO_COMPLETION_STATUS dpr_dto_status(enum ibv_wc_status s)
{
	if ((unsigned int)s >= sizeof(status) / sizeof(status[0]))
		return DAT_DTO_ERR_TRANSPORT;
	return (DAT_DTO_COMPLETION_STATUS)status[s];
}

static const struct {
	DAT_EVENT_NUMBER event;
	uint8_t dto;  /* DAT_DTOS or DAT_IB_DTOS */
	uint8_t type; /* DAT_IB_EXT_TYPE, of extensions */
} ops[DPR_OPS] = {
#define DTO(op, dto) [DPR_OP_##op] = { DAT_DTO_COMPLETION_EVENT, DAT_DTO_##dto, 0 }
#define IB(op, dto, type) \
	[DPR_OP_##op] = { (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT, DAT_IB_DTO_##dto, DAT_IB_##type }
	DTO(SEND, SEND),
	DTO(SEND_INV, SEND),
	DTO(WRITE, RDMA_WRITE),
	DTO(READ, RDMA_READ),
	DTO(READ_TO_RMR, RDMA_READ),
	DTO(RECV, RECEIVE),
	[DPR_OP_BIND] = { DAT_RMR_BIND_COMPLETION_EVENT, DAT_DTO_BIND_MW, 0 },
	[DPR_OP_UNBIND] = { DAT_RMR_BIND_COMPLETION_EVENT, DAT_DTO_BIND_MW, 0 },
	IB(WRITE_IMM, RDMA_WRITE_IMMED, RDMA_WRITE_IMMED),
	IB(FETCH_ADD, FETCH_ADD, FETCH_AND_ADD),
	IB(CMP_SWAP, CMP_SWAP, CMP_AND_SWAP),
	IB(SEND_UD, SEND_UD, UD_SEND),
#undef DTO
#undef IB
};

void dpr_dto_extend(DAT_EVENT *ev, unsigned int dto, unsigned int type, bool ok)
{
	DAT_IB_EXTENSION_EVENT_DATA *x = (DAT_IB_EXTENSION_EVENT_DATA *)ev->event_extension_data;

	*x = (DAT_IB_EXTENSION_EVENT_DATA){
		.type = (DAT_IB_EXT_TYPE)type,
		.status = ok ? (DAT_IB_STATUS)DAT_OP_SUCCESS : DAT_IB_OP_ERR,
	};
	ev->event_number = (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT;
	ev->event_data.dto_completion_event_data.operation = (DAT_DTOS)dto;
}

void dpr_dto_fill(DAT_EVENT *ev, struct dpr_ep *ep, enum dpr_op op, DAT_DTO_COOKIE cookie,
		  DAT_DTO_COMPLETION_STATUS s, uint32_t bytes, struct dpr_rmr *rmr)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;

	ev->event_number = ops[op].event;
	if (ops[op].event == DAT_RMR_BIND_COMPLETION_EVENT) {
		ev->event_data.rmr_completion_event_data = (DAT_RMR_BIND_COMPLETION_EVENT_DATA){
			.rmr_handle = (DAT_RMR_HANDLE)rmr,
			.user_cookie = cookie,
			.status = s,
		};
		return;
	}
	d->ep_handle = (DAT_EP_HANDLE)ep;
	d->user_cookie = cookie;
	d->status = s;
	d->transfered_length = bytes;
	d->operation = (DAT_DTOS)ops[op].dto;
	d->rmr_context = 0;
	if (op >= DPR_OP_WRITE_IMM)
		dpr_dto_extend(ev, ops[op].dto, ops[op].type, s == DAT_DTO_SUCCESS);
}

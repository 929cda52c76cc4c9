/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/dto/status.h"

#include "dat/core/op.h"
#include "dat/core/status.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/mem/rmr.h"

#include <dat2/dat_ib_extensions.h>

DAT_DTO_COMPLETION_STATUS dpr_dto_status(enum ibv_wc_status s)
{
	return dpr_status_of((unsigned int)s);
}

/* DAT_IB_DTOS and DAT_IB_EXT_TYPE of the extensions. */
static const struct {
	uint8_t dto, type;
} extensions[DPR_OPS] = {
#define IB(op, dto, type) [DPR_OP_##op] = { DAT_IB_DTO_##dto, DAT_IB_##type }
	IB(WRITE_IMM, RDMA_WRITE_IMMED, RDMA_WRITE_IMMED),
	IB(FETCH_ADD, FETCH_ADD, FETCH_AND_ADD),
	IB(CMP_SWAP, CMP_SWAP, CMP_AND_SWAP),
	IB(SEND_UD, SEND_UD, UD_SEND),
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
	dpr_op_event(ev, op, (DAT_HANDLE)ep, (DAT_HANDLE)rmr, cookie, s, bytes);
	if (extensions[op].dto)
		dpr_dto_extend(ev, extensions[op].dto, extensions[op].type, s == DAT_DTO_SUCCESS);
}

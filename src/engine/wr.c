/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/wr.h"

#include "engine/dev.h"
#include "engine/mkey.h"
#include "engine/qp.h"
#include "engine/refuse.h"

#define RC (1u << IBV_QPT_RC)
#define UC (1u << IBV_QPT_UC)
#define UD (1u << IBV_QPT_UD)
#define XRC (1u << IBV_QPT_XRC_SEND)

const struct eng_wr_row eng_wr_rows[ENG_WR_ROWS] = {
#define R(op, types, kind, wc) [IBV_WR_##op] = { #op, types, kind, IBV_WC_##wc }
	R(RDMA_WRITE,           RC | UC | XRC,      ENG_WR_REMOTE | ENG_WR_INLINE, RDMA_WRITE),
	R(RDMA_WRITE_WITH_IMM,  RC | UC | XRC,      ENG_WR_REMOTE | ENG_WR_INLINE, RDMA_WRITE),
	R(SEND,                 RC | UC | UD | XRC, ENG_WR_SEND | ENG_WR_INLINE,   SEND),
	R(SEND_WITH_IMM,        RC | UC | UD | XRC, ENG_WR_SEND | ENG_WR_INLINE,   SEND),
	R(RDMA_READ,            RC | XRC,           ENG_WR_REMOTE | ENG_WR_RD,     RDMA_READ),
	R(ATOMIC_CMP_AND_SWP,   RC | XRC, ENG_WR_REMOTE | ENG_WR_RD | ENG_WR_ATOMIC, COMP_SWAP),
	R(ATOMIC_FETCH_AND_ADD, RC | XRC, ENG_WR_REMOTE | ENG_WR_RD | ENG_WR_ATOMIC, FETCH_ADD),
	R(LOCAL_INV,            RC | UC | XRC,      ENG_WR_LOCAL,                  LOCAL_INV),
	R(BIND_MW,              RC | UC | XRC,      ENG_WR_LOCAL | ENG_WR_BIND,    BIND_MW),
	R(SEND_WITH_INV,        RC | XRC,           ENG_WR_SEND | ENG_WR_INLINE,   SEND),
#undef R
};

static uint64_t sge_sum(const struct eng_swqe *w)
{
	uint64_t sum = 0;

	for (int i = 0; i < w->num_sge; i++)
		sum += w->sge[i].length;
	return sum;
}

static enum eng_refusal data_fault(const struct eng_qp *qp, const struct eng_swqe *w,
				   const struct eng_wr_row *row)
{
	if (w->num_sge > qp->cap.max_send_sge)
		return ENG_R_SEND_SGES;
	if (w->flags & IBV_SEND_INLINE)
		return (row->kind & ENG_WR_INLINE) && w->length <= qp->cap.max_inline_data ? ENG_ACCEPTED
											   : ENG_R_SEND_INLINE;
	return !(row->kind & ENG_WR_ATOMIC) || sge_sum(w) >= 8 ? ENG_ACCEPTED : ENG_R_SEND_ATOMIC;
}

static bool bind_ok(const struct eng_swqe *w)
{
	return w->bind.mw && w->bind.mw->kind != ENG_MR &&
	       (w->bind.mr || (!w->bind.info.length && w->bind.mw->kind == ENG_MW_TYPE_1));
}

static enum eng_refusal fault_of(const struct eng_qp *qp, const struct eng_swqe *w)
{
	const struct eng_wr_row *row = eng_wr_row(w->opcode);
	const unsigned flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |
			       IBV_SEND_INLINE;
	enum eng_refusal fault;

	if (!row || !(row->types & 1u << qp->type) || (w->flags & ~flags))
		return ENG_R_SEND_TYPE;
	if (qp->dev->proto->wr_refused & 1u << w->opcode)
		return ENG_R_SEND_LACKS;
	fault = data_fault(qp, w, row);
	if (fault != ENG_ACCEPTED)
		return fault;
	/* Changed only towards RTS, which no poster may race with. */
	if ((row->kind & ENG_WR_RD) && !qp->attr.max_rd_atomic)
		return ENG_R_SEND_READS;
	if ((row->kind & ENG_WR_BIND) && !bind_ok(w))
		return ENG_R_SEND_BIND;
	if (qp->gsi && w->opcode != IBV_WR_SEND)
		return ENG_R_SEND_GSI;
	if (qp->type == IBV_QPT_UD && (!w->ud.pd || w->ud.qpn > 0xffffff))
		return ENG_R_SEND_AH;
	if (qp->type == IBV_QPT_XRC_SEND && !(row->kind & ENG_WR_LOCAL) && w->srqn > 0xffffff)
		return ENG_R_SEND_SRQN;
	return ENG_ACCEPTED;
}

int eng_wr_check(struct eng_qp *qp, const struct eng_swqe *w)
{
	enum eng_refusal fault = fault_of(qp, w);

	return fault == ENG_ACCEPTED ? 0 : eng_refuse_qp(qp, fault);
}

void eng_wr_finish(struct eng_qp *qp, struct eng_swqe *w)
{
	const struct eng_wr_row *row = eng_wr_row(w->opcode);

	if (qp->sq_sig_all)
		w->flags |= IBV_SEND_SIGNALED;
	if (row->kind & ENG_WR_LOCAL) {
		w->num_sge = 0;
		w->length = 0;
	} else if (row->kind & ENG_WR_ATOMIC) {
		w->length = 8;
	} else if (!(w->flags & IBV_SEND_INLINE)) {
		w->length = sge_sum(w);
	}
	if (row->kind & ENG_WR_BIND) {
		w->bind.mw_key = w->bind.mw->key;
		w->bind.mr_key = w->bind.mr ? w->bind.mr->key : 0;
	}
	w->verdict = ENG_OK;
	if (qp->type == IBV_QPT_UD && w->ud.pd != qp->pd)
		w->verdict = ENG_V_LOC_AH_PD;
	else if (w->length > qp->dev->max_msg_sz || (qp->gsi && w->length != ENG_GSI_BYTES))
		w->verdict = ENG_V_LOC_LEN;
}

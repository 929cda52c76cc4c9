/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The plain work request: a Send, Write, Read or atomic of a queue pair of RC, with one piece of registered memory and no other flags
 * than ENG_PLAIN_FLAGS. It passes all checks of eng_wr_check(), so its slot is filled without them.
 */
#ifndef ENGINE_PLAIN_H
#define ENGINE_PLAIN_H

#include "engine/dev.h"
#include "engine/qp.h"
#include "engine/verdict.h"
#include "engine/wqe.h"

#include <stdbool.h>
#include <stdint.h>

#define ENG_PLAIN_ATOMICS (1u << IBV_WR_ATOMIC_CMP_AND_SWP | 1u << IBV_WR_ATOMIC_FETCH_AND_ADD)
#define ENG_PLAIN_SENDS (1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM)
#define ENG_PLAIN_OPS (ENG_PLAIN_SENDS | 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM | 1u << IBV_WR_RDMA_READ | \
		       ENG_PLAIN_ATOMICS)
#define ENG_PLAIN_NOW (IBV_SEND_SIGNALED | IBV_SEND_SOLICITED) /* flags of those that may leave before they are in the queue */
#define ENG_PLAIN_FLAGS (IBV_SEND_FENCE | ENG_PLAIN_NOW)

/* What struct eng_qp.plain_ops is for a queue pair of these attributes. */
static inline uint32_t eng_plain_ops(const struct eng_dev *dev, enum ibv_qp_type type, const struct ibv_qp_cap *cap)
{
	return type == IBV_QPT_RC && cap->max_send_sge ? ENG_PLAIN_OPS & ~dev->proto->wr_refused : 0;
}

static inline bool eng_is_plain_atomic(enum ibv_wr_opcode opcode)
{
	return ENG_PLAIN_ATOMICS >> opcode & 1;
}

/* Returns true if the request has one of these opcodes, no other flags than these, and is plain. Not for Reads and atomics, which have further
 * checks. */
static inline bool eng_wr_is_one_of(const struct eng_qp *qp, const struct ibv_send_wr *wr, uint32_t ops, unsigned flags)
{
	return wr->num_sge == 1 && !(wr->send_flags & ~flags) && wr->opcode < 32 && ops >> wr->opcode & 1 &&
	       wr->sg_list->length <= qp->dev->max_msg_sz;
}

static inline bool eng_wr_is_plain(const struct eng_qp *qp, const struct ibv_send_wr *wr)
{
	return eng_wr_is_one_of(qp, wr, qp->plain_ops, ENG_PLAIN_FLAGS) &&
	       (wr->opcode < IBV_WR_RDMA_READ ||
		(qp->attr.max_rd_atomic && (!eng_is_plain_atomic(wr->opcode) || wr->sg_list->length >= 8)));
}

static inline bool eng_is_plain_remote(enum ibv_wr_opcode opcode)
{
	return opcode <= IBV_WR_RDMA_WRITE_WITH_IMM || opcode == IBV_WR_RDMA_READ;
}

/* Fills the slot. remote: eng_is_plain_remote(). Members that the request does not use keep the values of the slot's last one, except
 * remote_addr and rkey, which headers show. */
static inline void eng_plain_fill(const struct eng_qp *qp, struct eng_swqe *w, const struct ibv_send_wr *wr, const bool remote)
{
	w->wr_id = wr->wr_id;
	w->length = wr->sg_list->length;
	w->remote_addr = remote ? wr->wr.rdma.remote_addr : 0;
	w->rkey = remote ? wr->wr.rdma.rkey : 0;
	w->imm = wr->imm_data;
	w->opcode = (uint8_t)wr->opcode;
	w->flags = (uint8_t)(wr->send_flags | (qp->sq_sig_all ? IBV_SEND_SIGNALED : 0));
	w->num_sge = 1;
	w->verdict = ENG_OK;
	w->first_psn = w->last_psn = w->ssn = 0;
	w->started = w->done = 0;
	w->sge[0] = wr->sg_list[0];
}

#endif

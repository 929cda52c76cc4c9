/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the fast path asks of a connection and of a request, on both sides (post.h, fast.h). The framing is a constant argument of
 * inline functions, so that there are two copies of the path, each without the other's tests.
 */
#ifndef PROTO_IB_USUAL_H
#define PROTO_IB_USUAL_H

#include "engine/wqe.h"
#include "proto/ib/port.h"
#include "util/stage.h"
#include "wire/ib_opcode.h"

#include <string.h>

/* The framing. */
#define IBP_FRAMED_SHM true
#define IBP_FRAMED_WIRE false

static inline bool ibp_may_send(const struct ibp_req *r, const bool local)
{
	return !r->slow && r->framing == (local ? &ibp_frame_shm : &ibp_frame_wire);
}

static inline bool ibp_may_receive(const struct ibp_resp *r, const bool local)
{
	return !r->slow && r->framing == (local ? &ibp_frame_shm : &ibp_frame_wire);
}

/* The timer is set by the next round, which knows the time (port->unarmed). */
static inline void ibp_arm_later(struct ibp_qp *q)
{
	if (ut_list_empty(&q->conn.unarmed))
		ut_list_add_tail(&q->port->unarmed, &q->conn.unarmed);
}

/* The header by RC opcode, or -1: the opcodes that the fast path sends in one packet. */
static inline int ibp_packet_opcode(const struct eng_swqe *w, const bool local)
{
	if (w->opcode == IBV_WR_SEND)
		return WIRE_RC_SEND_ONLY;
	if (!local)
		return -1;
	switch (w->opcode) {
	case IBV_WR_SEND_WITH_IMM: return WIRE_RC_SEND_ONLY_WITH_IMMEDIATE;
	case IBV_WR_RDMA_WRITE: return WIRE_RC_RDMA_WRITE_ONLY;
	case IBV_WR_RDMA_WRITE_WITH_IMM: return WIRE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE;
	default: return -1;
	}
}

/* Returns a piece's bytes, at least one, if plain loads from them are safe, else NULL. */
static inline const uint8_t *ibp_seen_piece(struct ibp_qp *q, const struct ibv_sge *sge)
{
	struct ut_stage *st = &q->port->shm.stage;

	st->pages_checked_at = q->port->link->rx_stage->pages_checked_at;
	return eng_sge_present(q->qp->pd, sge, sge->length, st, UT_READABLE);
}

/* The same for a payload. */
static inline const uint8_t *ibp_seen_payload(struct ibp_qp *q, struct eng_swqe *w)
{
	if (w->flags & IBV_SEND_INLINE)
		return eng_swqe_inline(w);
	return w->num_sge == 1 ? ibp_seen_piece(q, w->sge) : NULL;
}

/* Copies so many bytes to 2 * half by loads and stores of fixed width, of which some overlap. */
__attribute__((always_inline)) static inline void ibp_copy_halves(uint8_t *to, const uint8_t *from, uint32_t len, const uint32_t half)
{
	memcpy(to, from, half);
	memcpy(to + len - half, from + len - half, half);
}

/* len: 1 to UT_STAGE_TAIL */
static inline void ibp_copy_small(uint8_t *to, const uint8_t *from, uint32_t len)
{
	_Static_assert(UT_STAGE_TAIL == 64, "the most that two halves copy");
	if (len >= 32)
		ibp_copy_halves(to, from, len, 32);
	else if (len >= 16)
		ibp_copy_halves(to, from, len, 16);
	else if (len >= 8)
		ibp_copy_halves(to, from, len, 8);
	else
		memcpy(to, from, len);
}

#endif

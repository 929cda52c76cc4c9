/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What each send opcode is and needs: one row per enum ibv_wr_opcode. */
#ifndef ENGINE_WR_TABLE_H
#define ENGINE_WR_TABLE_H

#include "engine/qp.h"
#include "engine/wqe.h"

enum eng_wr_kind {
	ENG_WR_SEND = 1 << 0,   /* takes a receive by itself */
	ENG_WR_REMOTE = 1 << 1, /* names remote memory */
	ENG_WR_RD = 1 << 2,     /* needs max_rd_atomic > 0 */
	ENG_WR_ATOMIC = 1 << 3,
	ENG_WR_INLINE = 1 << 4, /* may carry inline data */
	ENG_WR_LOCAL = 1 << 5,  /* nothing goes on the wire */
	ENG_WR_BIND = 1 << 6,
};

struct eng_wr_row {
	const char *name;
	uint32_t types; /* 1u << enum ibv_qp_type */
	unsigned kind;  /* enum eng_wr_kind */
	enum ibv_wc_opcode wc;
};

/* NULL: no such opcode. */
const struct eng_wr_row *eng_wr_row(unsigned opcode);

/* Takes the lock of the send queue, for a caller who fills slots. */
void eng_post_begin(struct eng_qp *qp) UT_ACQUIRE(qp->sq.lock);

/* Sums up lengths, marks signaled entries, finds verdicts; the entry is checked. */
void eng_wr_finish(struct eng_qp *qp, struct eng_swqe *w);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The work requests of send queues (IBTA 11.4.1.1): what each opcode is and needs, and whether a queue
 * pair may be given this one.
 *
 * A mistake that the application alone could have avoided is refused at the call. One whose report has to
 * keep the order of the queue becomes a verdict in the entry.
 */
#ifndef ENGINE_WR_H
#define ENGINE_WR_H

#include "engine/wqe.h"

#include <stddef.h>

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

#define ENG_WR_ROWS (IBV_WR_SEND_WITH_INV + 1) /* by enum ibv_wr_opcode; later ones are refused */
extern const struct eng_wr_row eng_wr_rows[ENG_WR_ROWS];

/* Returns the row of an opcode, or NULL if the engine knows no such one. */
static inline const struct eng_wr_row *eng_wr_row(unsigned opcode)
{
	return opcode < ENG_WR_ROWS && eng_wr_rows[opcode].name ? &eng_wr_rows[opcode] : NULL;
}

/*
 * Returns 0 if the queue pair may be given this entry, or -EINVAL: opcode, flags, lengths or addressing
 * do not fit its type, state or limits.
 */
int eng_wr_check(struct eng_qp *qp, const struct eng_swqe *w);

/* Completes an entry that eng_wr_check() has passed: sums up its length, marks it signaled if all are,
 * and sets its verdict. */
void eng_wr_finish(struct eng_qp *qp, struct eng_swqe *w);

#endif

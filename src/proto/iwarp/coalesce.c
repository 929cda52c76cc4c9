/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests that wait for company, see iwp.h. TCP would gather what it cannot send at once, but on
 * a short way it can, and a call and a segment for each cost ten times what the FPDU does.
 */
#include "proto/iwarp/port.h"

#define COALESCE_BYTES 16384u
#define COALESCE_SUM 65536u /* of one queue pair, if all were as long as the last */
#define COALESCE_ALL 64u /* posts of all queue pairs together */

void iwp_coalesce_end(struct iwp_port *p)
{
	p->held = 0;
}

/* All that it has to do is to send requests that are not long and that nobody answers but TCP. */
static bool can_wait(const struct iwp_qp *q)
{
	const struct eng_ring *sq = &q->qp->sq;
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_acquire);
	const struct eng_swqe *w;

	if (q->life != IWP_OPEN || !q->s || q->hold || q->rtr_due || q->halted ||
	    q->off || q->rest_len || q->an_count || q->cur == tail)
		return false;
	/* Those before it could wait, too, or they would have been sent. */
	w = eng_ring_at(sq, tail - 1);
	return w->length <= COALESCE_BYTES && (uint64_t)(tail - q->cur) * w->length <= COALESCE_SUM &&
	       (w->opcode == IBV_WR_SEND || w->opcode == IBV_WR_RDMA_WRITE ||
		w->opcode == IBV_WR_SEND_WITH_INV || w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
}

bool iwp_may_coalesce(struct eng_dev *dev, bool batch)
{
	struct iwp_port *p = dev->port;
	struct iwp_qp *q;

	if (!batch || ut_list_empty(&p->active) || ++p->held > COALESCE_ALL)
		return false;
	ut_list_each(q, &p->active, active)
		if (!can_wait(q))
			return false;
	return true;
}

bool iwp_coalesce_more(struct eng_qp *qp)
{
	struct iwp_qp *q = iwp_of(qp);
	struct iwp_port *p = q->port;

	return p->held && p->held < COALESCE_ALL && !ut_list_empty(&q->active) && can_wait(q) &&
	       ++p->held;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/coalesce.h"

#include "engine/ring.h"
#include "proto/ib/responder.h"

/* Limits of coalescing. Of a message: a train has room for some of them. Of a queue pair: messages
 * that wait. */
#define COALESCE_BYTES 16384u
#define COALESCE_SUM 65536u /* as if all were as long as the last */
#define COALESCE_MOST 32u
#define COALESCE_ALL 64 /* posts of all queue pairs together: one train, which the last of them fills */

void ibp_coalesce_end(struct ibp_port *port)
{
	port->judged = NULL;
	port->coalescing = 0;
}

/* The other services coalesce as RC does, UC and UD in a batch alone, since nothing of theirs is unacknowledged; the round
 * in which the requests leave chooses their framing first. */
static bool is_slow(const struct ibp_qp *q)
{
	uint32_t fine = IBP_REQ_UNCHOSEN | IBP_REQ_SERVICE;

	return (q->conn.req.slow & ~fine) || q->conn.req.framing == &ibp_frame_shm;
}

static bool can_wait(struct ibp_qp *q, bool batch)
{
	const struct ibp_req *r = &q->conn.req;
	struct eng_ring *sq = &q->qp->sq;
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_acquire), n = tail - q->send.cur;
	const struct eng_swqe *w;

	if (is_slow(q) || ibp_resp_has_work(q) || !n || n >= COALESCE_MOST ||
	    (!batch && psn_diff(r->psn_send, r->psn_una) < IBP_COALESCE_FLIGHT))
		return false;
	/* The requests before it could coalesce, too, or they would have been sent. */
	w = eng_ring_at(sq, tail - 1);
	return w->length <= COALESCE_BYTES && (uint64_t)n * w->length <= COALESCE_SUM &&
	       (w->opcode == IBV_WR_SEND || w->opcode == IBV_WR_RDMA_WRITE ||
		w->opcode == IBV_WR_SEND_WITH_IMM || w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
}

/* Queue pairs that were judged before have not changed: every change of one calls
 * ibp_coalesce_end() or clears `judged`. */
bool ibp_may_coalesce(struct eng_dev *dev, bool batch)
{
	struct ibp_port *port = dev->proto_port;
	struct ut_list *n;

	if (port->train.waiting || ibp_gsi_waits(&port->gsi) || ibp_forward_waits(&port->forwards) ||
	    ut_list_empty(&port->active) || ++port->coalescing >= COALESCE_ALL)
		return false;
	if (!port->judged)
		port->judged = &port->active;
	for (n = port->judged->next; n != &port->active; n = n->next) {
		if (!can_wait(ut_container(n, struct ibp_qp, active), batch))
			return false;
		port->judged = n;
	}
	return true;
}

bool ibp_coalesce_more(struct eng_qp *qp)
{
	struct ibp_qp *q = ibp_qp(qp);

	return q->port->judged && !ut_list_empty(&q->active) && q->port->coalescing + 1 < COALESCE_ALL &&
	       can_wait(q, true) && ++q->port->coalescing;
}

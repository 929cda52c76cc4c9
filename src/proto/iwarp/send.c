/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The requests of this end: the ready-to-receive message, then the send queue, from work requests
 * to segments, with completions in posting order. An entry stays in place until it completes. Two
 * of its fields hold the stream position behind its last octet; `done` says that its answer has
 * come, or that it was executed here.
 */
#include "proto/iwarp/send.h"

#include "engine/complete.h"
#include "engine/mw.h"
#include "engine/ring.h"
#include "proto/iwarp/end.h"
#include "proto/iwarp/read.h"
#include "proto/iwarp/tx.h"

#include <string.h>

#define TAGGED_MAX(q) ((q)->mulpdu - (WIRE_DDPTagged_LEN - 2))
#define UNTAGGED_MAX(q) ((q)->mulpdu - (WIRE_DDPUntagged_LEN - 2))

static void halt(struct iwp_qp *q, struct eng_swqe *w, enum eng_verdict v)
{
	w->verdict = (uint8_t)v;
	q->halted = true;
}

/* Behind a Read that waits, more than 4 GiB may be sent before an entry completes. */
static void note_end(struct eng_swqe *w, uint64_t pos)
{
	w->first_psn = (uint32_t)(pos >> 32);
	w->last_psn = (uint32_t)pos;
}

static uint64_t end_of(const struct eng_swqe *w)
{
	return (uint64_t)w->first_psn << 32 | w->last_psn;
}

static bool is_read(const struct eng_swqe *w)
{
	return w->opcode == IBV_WR_RDMA_READ || w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Gathers octets [q->off, q->off + n) of the message into the stage, behind the header. */
static bool fill(struct iwp_qp *q, struct eng_swqe *w, size_t at, uint32_t head, uint32_t n)
{
	struct iovec iov[IWP_IOV];
	int pieces;

	if (!n)
		return true;
	if (w->flags & IBV_SEND_INLINE) {
		memcpy(q->port->out + at + head, eng_swqe_inline(w) + q->off, n);
		return true;
	}
	pieces = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, q->off, n, false, iov, IWP_IOV);
	if (pieces < 0) {
		halt(q, w, (enum eng_verdict)-pieces);
		return false;
	}
	if (!iwp_tx_gather(q, at, head, iov, pieces, n, true)) {
		halt(q, w, ENG_V_LOC_FAULT);
		return false;
	}
	return true;
}

static unsigned send_opcode(const struct eng_swqe *w)
{
	bool se = w->flags & IBV_SEND_SOLICITED;

	if (w->opcode == IBV_WR_SEND_WITH_INV)
		return se ? WIRE_IW_SEND_SE_INVALIDATE : WIRE_IW_SEND_INVALIDATE;
	return se ? WIRE_IW_SEND_SE : WIRE_IW_SEND;
}

/* Sends one segment of a Send or Write. Returns 1 if it is in the chunk, 0 without room, -1 if the
 * queue pair has halted. */
static int segment(struct iwp_qp *q, struct eng_swqe *w, bool tagged)
{
	uint32_t head = tagged ? WIRE_DDPTagged_LEN : WIRE_DDPUntagged_LEN;
	uint32_t max = tagged ? TAGGED_MAX(q) : UNTAGGED_MAX(q), n;
	uint64_t left = w->length - q->off;
	size_t at;
	uint8_t *h;
	bool last;

	if (!iwp_tx_share(q, head, max, left, &n))
		return 0;
	last = n == left;
	h = iwp_tx_begin(q, &at);
	if (tagged)
		iwp_tagged(h, WIRE_IW_RDMA_WRITE, w->rkey, w->remote_addr + q->off, last);
	else
		iwp_untagged(h, send_opcode(w), w->opcode == IBV_WR_SEND_WITH_INV ? w->imm : 0,
			     q->send_msn, (uint32_t)q->off, last);
	if (!fill(q, w, at, head, n))
		return -1;
	iwp_tx_end(q, head - 2 + n);
	q->off += n;
	return 1;
}

static int message(struct iwp_qp *q, struct eng_swqe *w, bool tagged)
{
	int r;

	do
		r = segment(q, w, tagged);
	while (r > 0 && q->off < w->length);
	return r;
}

/* After a Write: the 32 bits of immediate data in the last four of eight octets (RFC 7306 6.1
 * leaves it open). */
static int immediate(struct iwp_qp *q, const struct eng_swqe *w)
{
	uint32_t ulpdu = WIRE_DDPUntagged_LEN - 2 + WIRE_Immediate_LEN;
	uint8_t *h;
	size_t at;

	if (!iwp_tx_fits(q, ulpdu))
		return 0;
	h = iwp_tx_begin(q, &at);
	iwp_untagged(h, w->flags & IBV_SEND_SOLICITED ? WIRE_IW_IMMEDIATE_SE : WIRE_IW_IMMEDIATE,
		     0, q->send_msn, 0, true);
	memset(h + WIRE_DDPUntagged_LEN, 0, 4);
	memcpy(h + WIRE_DDPUntagged_LEN + 4, &w->imm, 4);
	iwp_tx_end(q, ulpdu);
	return 1;
}

static int write_imm(struct iwp_qp *q, struct eng_swqe *w)
{
	int r = q->imm_due ? 1 : message(q, w, true);

	q->imm_due = r > 0;
	if (r > 0)
		r = immediate(q, w);
	if (r > 0) {
		q->imm_due = false;
		q->send_msn++;
	}
	return r;
}

static int send(struct iwp_qp *q, struct eng_swqe *w)
{
	int r = message(q, w, false);

	if (r > 0)
		q->send_msn++;
	return r;
}

static int read_request(struct iwp_qp *q, struct eng_swqe *w)
{
	uint32_t ulpdu = WIRE_DDPUntagged_LEN - 2 + WIRE_ReadRequest_LEN;
	struct iwp_read *rd;
	uint8_t *h, *r;
	size_t at;

	if (q->rd_count >= q->par.ord || !iwp_tx_fits(q, ulpdu))
		return 0;
	rd = iwp_read_new(q, q->cur);
	rd->size = (uint32_t)w->length;
	h = iwp_tx_begin(q, &at);
	r = h + WIRE_DDPUntagged_LEN;
	iwp_untagged(h, WIRE_IW_READ_REQUEST, 0, rd->msn, 0, true);
	wire_set_ReadRequest_sink_stag(r, rd->stag);
	wire_set_ReadRequest_sink_to(r, 0);
	wire_set_ReadRequest_size(r, rd->size);
	wire_set_ReadRequest_src_stag(r, w->rkey);
	wire_set_ReadRequest_src_to(r, w->remote_addr);
	iwp_tx_end(q, ulpdu);
	return 1;
}

static int atomic_request(struct iwp_qp *q, struct eng_swqe *w)
{
	uint32_t ulpdu = WIRE_DDPUntagged_LEN - 2 + WIRE_AtomicRequest_LEN;
	bool add = w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct iwp_read *rd;
	uint8_t *h, *a;
	size_t at;

	if (q->rd_count >= q->par.ord || !iwp_tx_fits(q, ulpdu))
		return 0;
	rd = iwp_read_new(q, q->cur);
	rd->atomic = true;
	h = iwp_tx_begin(q, &at);
	a = h + WIRE_DDPUntagged_LEN;
	iwp_untagged(h, WIRE_IW_ATOMIC_REQUEST, 0, rd->msn, 0, true);
	memset(a, 0, WIRE_AtomicRequest_LEN);
	wire_set_AtomicRequest_aop(a, add ? WIRE_AOP_FETCH_ADD : WIRE_AOP_CMP_SWAP);
	wire_set_AtomicRequest_id(a, rd->stag);
	wire_set_AtomicRequest_stag(a, w->rkey);
	wire_set_AtomicRequest_to(a, w->remote_addr);
	wire_set_AtomicRequest_data(a, add ? w->atomic.compare_add : w->atomic.swap);
	wire_set_AtomicRequest_mask(a, add ? 0 : UINT64_MAX);
	wire_set_AtomicRequest_compare(a, add ? 0 : w->atomic.compare_add);
	wire_set_AtomicRequest_cmask(a, UINT64_MAX);
	iwp_tx_end(q, ulpdu);
	return 1;
}

static int local(struct iwp_qp *q, struct eng_swqe *w)
{
	enum eng_verdict v = w->opcode == IBV_WR_BIND_MW ? eng_mw_bind(q->qp, w)
							  : eng_mkey_invalidate(q->qp, w->imm);

	if (v) {
		halt(q, w, v);
		return -1;
	}
	w->done = 1;
	return 1;
}

/* Sends a work request. Returns 1 if all of it is in FPDUs, 0: the rest later, -1 if the queue pair
 * has halted. */
static int run_one(struct iwp_qp *q, struct eng_swqe *w)
{
	if (w->verdict) {
		halt(q, w, (enum eng_verdict)w->verdict);
		return -1;
	}
	/* Only Reads and atomics can be overtaken (RFC 5040 5.5). */
	if ((w->flags & IBV_SEND_FENCE) && q->rd_count)
		return 0;
	switch (w->opcode) {
	case IBV_WR_RDMA_WRITE:
		return message(q, w, true);
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return write_imm(q, w);
	case IBV_WR_RDMA_READ:
		return read_request(q, w);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return atomic_request(q, w);
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW:
		return local(q, w);
	default:
		return send(q, w);
	}
}

static uint32_t end_of_queue(const struct iwp_qp *q)
{
	return q->life == IWP_LEAVING ? q->leave_at
				      : atomic_load_explicit(&q->qp->sq.tail, memory_order_acquire);
}

bool iwp_sq_waits(const struct iwp_qp *q)
{
	return !q->halted && q->cur != end_of_queue(q);
}

void iwp_sq_run(struct iwp_qp *q, uint32_t budget)
{
	uint32_t before = q->port->sent;
	struct eng_swqe *w;

	while (iwp_sq_waits(q) && q->port->sent - before < budget) {
		w = eng_ring_at(&q->qp->sq, q->cur);
		if (run_one(q, w) <= 0)
			break;
		w->started = 1;
		note_end(w, q->tx_pos);
		q->off = 0;
		q->cur++;
	}
}

static bool finished(const struct iwp_qp *q, const struct eng_swqe *w)
{
	if (is_read(w) || w->opcode == IBV_WR_LOCAL_INV || w->opcode == IBV_WR_BIND_MW)
		return w->done;
	return w->started && iwp_tx_taken(q) >= end_of(w);
}

void iwp_sq_collect(struct iwp_qp *q)
{
	struct eng_ring *sq = &q->qp->sq;
	struct eng_swqe *w;

	/* The completion may overrun its queue, which stops the queue pair. */
	while ((w = eng_ring_head(sq)) && sq->head != q->cur && finished(q, w) &&
	       eng_qp_state(q->qp) != IBV_QPS_ERR)
		eng_send_done(q->qp, ENG_OK);
}

void iwp_sq_complete(struct iwp_qp *q)
{
	struct eng_swqe *w;

	if (!iwp_alive(q))
		return;
	iwp_sq_collect(q);
	if (eng_qp_state(q->qp) == IBV_QPS_ERR) {
		iwp_fail(q, ENG_V_TX_CQ_FULL, NULL, NULL);
		return;
	}
	w = eng_ring_head(&q->qp->sq);
	if (q->halted && w && q->qp->sq.head == q->cur)
		iwp_fail(q, (enum eng_verdict)w->verdict, NULL, NULL);
}

/* --- ready to receive --- */

void iwp_send_ready(struct iwp_qp *q)
{
	uint8_t *h, *r;
	size_t at;

	q->rtr_due = false;
	h = iwp_tx_begin(q, &at);
	if (q->par.rtr == PROTO_RTR_READ) {
		struct iwp_read *rd = iwp_read_new(q, IWP_NO_WQE);

		r = h + WIRE_DDPUntagged_LEN;
		iwp_untagged(h, WIRE_IW_READ_REQUEST, 0, rd->msn, 0, true);
		wire_set_ReadRequest_sink_stag(r, rd->stag);
		wire_set_ReadRequest_sink_to(r, 0);
		wire_set_ReadRequest_size(r, 0);
		wire_set_ReadRequest_src_stag(r, 1);
		wire_set_ReadRequest_src_to(r, 0);
		iwp_tx_end(q, WIRE_DDPUntagged_LEN - 2 + WIRE_ReadRequest_LEN);
	} else if (q->par.rtr == PROTO_RTR_SEND) {
		iwp_untagged(h, WIRE_IW_SEND, 0, q->send_msn++, 0, true);
		iwp_tx_end(q, WIRE_DDPUntagged_LEN - 2);
	} else {
		/* siw gives STag 0 a meaning of its own. */
		iwp_tagged(h, WIRE_IW_RDMA_WRITE, 1, 0, true);
		iwp_tx_end(q, WIRE_DDPTagged_LEN - 2);
	}
}

/* The first message that was agreed on leaves before FIN, also on a stream that never carried
 * another: without it the peer takes the connection for one that was never made. */
void iwp_say_ready(struct iwp_qp *q)
{
	if (!q->rtr_due || q->tx_pos || !q->s)
		return;
	q->port->ops->hurry(q->s);
	q->blocked = q->rest_len;
	if (iwp_tx_open(q)) {
		iwp_send_ready(q);
		iwp_tx_close(q);
	}
}

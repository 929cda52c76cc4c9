/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The end of a stream for its queue pair: an error found here (Terminate out), an error at the peer
 * (Terminate in), a stream that broke, or a disconnect. Each takes the same steps: the request at
 * fault completes, the queue pair changes state and raises its event, the rest is flushed, the
 * connection manager is told, and the stream is closed - after the Terminate has left, if the
 * socket is full.
 */
#include "proto/iwarp/end.h"

#include "engine/complete.h"
#include "engine/qp_state.h"
#include "engine/ring.h"
#include "engine/why.h"
#include "proto/iwarp/send.h"
#include "proto/iwarp/qp.h"
#include "proto/iwarp/tx.h"
#include "util/alloc.h"
#include "util/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LAST_WORDS (UT_S)       /* how long a Terminate may wait for room in the socket */

static void drop_rest(struct iwp_qp *q)
{
	free(q->rest);
	q->rest = NULL;
	q->rest_len = q->rest_off = 0;
	q->blocked = false;
}

void iwp_let_go(struct iwp_qp *q, bool abort)
{
	struct link_stream *s;

	if (!abort)
		iwp_say_ready(q);
	s = q->s;
	ut_timer_clear(&q->port->timers, &q->timer);
	q->delay = 0;
	ut_list_del(&q->active);
	drop_rest(q);
	q->life = IWP_IDLE;
	q->s = NULL;
	if (s)
		q->port->ops->close(s, abort);
}

void iwp_forget(struct iwp_qp *q)
{
	q->owner = NULL;
	iwp_let_go(q, false);
}

void iwp_release(struct iwp_qp *q)
{
	if (q->rest_len)
		iwp_arm(q, LAST_WORDS);
	else
		iwp_let_go(q, false);
}

static void explain(struct iwp_qp *q, enum eng_verdict v, const struct iwp_rx *rx)
{
	struct eng_why why = { 0 };

	if (q->s)
		memcpy(why.peer.raw, q->s->remote.addr, 16);
	if (rx && rx->shape && rx->shape->name) {
		why.doing = rx->shape->name;
		if (rx->shape->flags & WIRE_IWF_TAGGED) {
			why.key = wire_get_DDPTagged_stag(rx->h);
			why.addr = wire_get_DDPTagged_to(rx->h);
			why.length = rx->len;
		}
	}
	eng_why(q->qp, v, &why);
}

static bool about_answer(enum eng_verdict v, const struct iwp_rx *rx)
{
	return v == ENG_V_RESP_STAG || v == ENG_V_RESP_BOUNDS || v == ENG_V_RESP_ATOMIC ||
	       (rx && (rx->opcode == WIRE_IW_READ_RESPONSE ||
		       rx->opcode == WIRE_IW_ATOMIC_RESPONSE));
}

/* This Read's answer has come; answers to earlier Reads will never come. */
static void end_read(struct iwp_qp *q, uint32_t index, enum eng_verdict v)
{
	struct eng_ring *sq = &q->qp->sq;

	if (index - sq->head >= eng_ring_used(sq))
		return; /* the ready-to-receive message has no entry */
	while (sq->head != index)
		eng_send_done(q->qp, ENG_V_FLUSH);
	eng_send_done(q->qp, v);
}

/* The entry at fault gets its status; the entries before it have ended already. */
static void blame(struct iwp_qp *q, enum eng_verdict v, const struct iwp_rx *rx)
{
	const struct eng_swqe *w = eng_ring_head(&q->qp->sq);

	if (q->halted && w && q->qp->sq.head == q->cur)
		eng_send_done(q->qp, (enum eng_verdict)w->verdict);
	else if (about_answer(v, rx) && q->rd_count)
		end_read(q, q->rd[q->rd_head].index, v);
	if (!q->have_rwqe)
		return;
	q->have_rwqe = false;
	if (!rx || !(rx->shape->flags & WIRE_IWF_RECV))
		v = ENG_V_FLUSH;
	eng_recv_failed(q->qp, q->qp->recv_cq, q->rwqe->wr_id, v);
}

/* State, event and flush come before the connection manager is told. */
static void finish(struct iwp_qp *q, enum eng_verdict v, int error)
{
	const struct proto_stream_owner *owner = q->owner;

	q->life = IWP_LAST;
	q->owner = NULL;
	eng_qp_fail_stream(q->qp, v);
	eng_qp_flush(q->qp);
	if (owner)
		owner->ended(q->owner_arg, error, q->port->now);
	iwp_release(q);
}

static void append_to_rest(struct iwp_qp *q)
{
	struct iwp_port *p = q->port;
	size_t old = q->rest_len;
	uint8_t *all = ut_malloc(old + p->fill);

	if (all) {
		memcpy(all, q->rest + q->rest_off, old);
		memcpy(all + old, p->stage.base, p->fill);
		free(q->rest);
		q->rest = all;
		q->rest_off = 0;
		q->rest_len = old + p->fill;
	}
	p->fill = 0;
	p->tx = NULL;
}

/* RFC 5040 figure 10: the headers go along unless nothing that came is at fault. */
static void send_terminate(struct iwp_qp *q, int term, const struct iwp_rx *rx, const uint8_t *rd)
{
	unsigned layer = (unsigned)term >> 12, type = (unsigned)term >> 8 & 15;
	bool with = rx && rx->h && layer != 2 && !(layer == 0 && type == 0);
	struct wire_term t = { .layer = (uint8_t)layer, .etype = (uint8_t)type,
			       .code = (uint8_t)term, .ddp = with ? rx->h : NULL,
			       .read = with && layer == 0 && type == 1 ? rd : NULL };
	struct iwp_port *p = q->port;
	size_t at, n;
	uint8_t *h;

	p->tx = q;
	p->fill = 0;
	p->out = p->stage.base; /* whether the chunk has room for it or not */
	h = iwp_tx_begin(q, &at);
	iwp_untagged(h, WIRE_IW_TERMINATE, 0, 1, 0, true);
	n = wire_term_build(h + WIRE_DDPUntagged_LEN, &t);
	iwp_tx_end(q, (uint32_t)(WIRE_DDPUntagged_LEN - 2 + n));
	if (q->rest_len)
		append_to_rest(q);
	else
		iwp_tx_close(q);
}

void iwp_fail(struct iwp_qp *q, enum eng_verdict v, const struct iwp_rx *rx, const uint8_t *rd)
{
	const struct eng_verdict_row *row = &eng_verdicts[v];
	bool request = rx && (rx->opcode == WIRE_IW_READ_REQUEST ||
			      rx->opcode == WIRE_IW_ATOMIC_REQUEST);
	int term = request ? row->term_rd : row->term;
	bool mute = q->life == IWP_HALF; /* nothing leaves after a FIN */

	if (!iwp_alive(q))
		return;
	iwp_say_ready(q);
	iwp_sq_collect(q);
	explain(q, v, rx);
	q->life = IWP_LAST;
	blame(q, v, rx);
	if (term != ENG_NO_TERM && !mute)
		send_terminate(q, term, rx, rd);
	finish(q, v, ECONNABORTED);
}

static enum eng_verdict meaning(const struct wire_term *t)
{
	if (t->layer == 0 && t->etype == 1)
		return ENG_V_REM_ACCESS;
	if (t->layer == 0 && t->etype == 2 && (t->code == 5 || t->code == 6))
		return ENG_V_REM_INV_REQ;
	return ENG_V_REM_OP;
}

static struct iwp_read *read_at(struct iwp_qp *q, uint32_t i)
{
	return &q->rd[(q->rd_head + i) % IWP_RD];
}

static bool is_named(const struct iwp_read *rd, const struct wire_term *t)
{
	if (t->read)
		return !rd->atomic && rd->stag == wire_get_ReadRequest_sink_stag(t->read);
	return rd->msn == wire_get_DDPUntagged_msn(t->ddp);
}

/*
 * Finds the request that the peer's Terminate refers to. A Read is best identified by the STag of
 * its sink, since siw puts other values where the MSN should be. Without headers only the opcode is
 * known; siw knows no atomics.
 */
static struct iwp_read *named_read(struct iwp_qp *q, const struct wire_term *t)
{
	bool opcode = t->layer == 0 && t->etype == 2 && (t->code == 5 || t->code == 6);

	if (t->ddp && (wire_get_DDPTagged_tagged(t->ddp) || (!t->swapped &&
						wire_get_DDPUntagged_qn(t->ddp) != 1)))
		return NULL;
	if (!t->ddp && !opcode)
		return NULL;
	for (uint32_t i = 0; i < q->rd_count; i++) {
		struct iwp_read *rd = read_at(q, i);

		if (t->ddp ? is_named(rd, t) : rd->atomic)
			return rd;
	}
	return q->rd_count && (!t->ddp || t->swapped) ? read_at(q, 0) : NULL;
}

void iwp_terminated(struct iwp_qp *q, const struct iwp_rx *rx)
{
	struct wire_term t;
	struct iwp_read *rd;

	if (!wire_term_parse(&t, rx->data, rx->len, rx->first))
		t = (struct wire_term){ .layer = 0, .etype = 2, .code = 0xff };
	iwp_sq_collect(q);
	rd = named_read(q, &t);
	explain(q, rd ? meaning(&t) : ENG_V_TERMINATED, NULL);
	q->qp->why_said = ENG_V_TERMINATED; /* one request at fault is enough */
	q->life = IWP_LAST;
	if (rd)
		end_read(q, rd->index, meaning(&t));
	blame(q, ENG_V_FLUSH, NULL);
	drop_rest(q);
	finish(q, ENG_V_TERMINATED, ECONNABORTED);
}

void iwp_over(struct iwp_qp *q, enum eng_verdict v, int error)
{
	if (!iwp_alive(q))
		return;
	iwp_sq_collect(q);
	if (v == ENG_V_STREAM_LOST || v == ENG_V_NO_MEMORY)
		explain(q, v, NULL);
	q->life = IWP_LAST;
	blame(q, ENG_V_FLUSH, NULL);
	drop_rest(q);
	finish(q, v, error);
}

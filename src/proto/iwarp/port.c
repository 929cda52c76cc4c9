/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The adapter's side of the machine: QPs' lives, whose turn it is to send, timers. */
#include "proto/iwarp/port.h"

#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

#define TURN 16   /* FPDUs in a row of answers, then of the send queue */
#define ROUND 256 /* FPDUs in one iwp_transmit() */
#define ROUND_OCTETS (1u << 20) /* ... or so many octets: somebody waits for the lock */

void iwp_activate(struct iwp_qp *q)
{
	if (q->life != IWP_IDLE && !q->blocked && ut_list_empty(&q->active))
		ut_list_add_tail(&q->port->active, &q->active);
}

void iwp_arm(struct iwp_qp *q, uint64_t delay)
{
	q->patience = delay;
	ut_timer_set(&q->port->timers, &q->timer, q->port->now);
}

void iwp_show_depth(struct iwp_qp *q)
{
	q->qp->attr.max_rd_atomic = (uint8_t)q->par.ord;
	q->qp->attr.max_dest_rd_atomic = (uint8_t)q->par.ird;
}

int iwp_port_init(struct eng_dev *dev, const struct iwp_config *cfg)
{
	struct iwp_port *p = ut_zalloc(sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->dev = dev;
	p->cfg = *cfg;
	if (!p->cfg.mulpdu_max || p->cfg.mulpdu_max > WIRE_MULPDU_MAX)
		p->cfg.mulpdu_max = WIRE_MULPDU_MAX;
	p->streams = cfg->streams;
	p->ops = cfg->streams->ops;
	p->rng.state = cfg->seed;
	ut_list_init(&p->active);
	p->stage = (struct ut_stage)UT_STAGE_INIT;
	r = ut_stage_init(&p->stage, IWP_STAGE);
	if (r < 0) {
		free(p);
		return r;
	}
	dev->port = p;
	return 0;
}

void iwp_port_fini(struct eng_dev *dev)
{
	struct iwp_port *p = dev->port;

	ut_stage_fini(&p->stage);
	ut_heap_fini(&p->timers);
	free(p);
	dev->port = NULL;
}

/* --- QPs --- */

static int qp_init(struct eng_qp *qp)
{
	uint32_t sges = qp->srq ? qp->srq->max_sge : qp->cap.max_recv_sge;
	struct iwp_qp *q = iwp_of(qp);
	int r;

	q->qp = qp;
	q->port = qp->dev->port;
	ut_list_init(&q->active);
	q->rwqe = ut_zalloc(sizeof(struct eng_rwqe) + sges * sizeof(struct ibv_sge));
	if (!q->rwqe)
		return -ENOMEM;
	r = ut_heap_reserve(&q->port->timers);
	if (r < 0)
		free(q->rwqe);
	return r;
}

/* Nothing completes any more; what has completed is TCP's to deliver. */
static void drop(struct iwp_qp *q)
{
	const struct proto_stream_owner *owner = q->owner;

	if (iwp_alive(q) && owner) {
		q->owner = NULL;
		owner->ended(q->owner_arg, 0, q->port->now);
	}
	iwp_forget(q);
	q->have_rwqe = false;
}

static void qp_fini(struct eng_qp *qp)
{
	struct iwp_qp *q = iwp_of(qp);

	drop(q);
	ut_heap_unreserve(&q->port->timers);
	free(q->rwqe);
}

static int qp_check(struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask,
		    enum ibv_qp_state to)
{
	return 0;
}

static void qp_moved(struct eng_qp *qp, enum ibv_qp_state from, int mask)
{
	struct iwp_qp *q = iwp_of(qp);

	switch (eng_qp_state(qp)) {
	case IBV_QPS_RESET:
		drop(q);
		break;
	case IBV_QPS_RTS:
		iwp_show_depth(q);
		break;
	case IBV_QPS_ERR:
		iwp_over(q, ENG_V_STREAM_CLOSED, 0);
		eng_qp_flush(qp);
		break;
	case IBV_QPS_SQD:
		if (from != IBV_QPS_SQD)
			iwp_stream_ops.disconnect(qp);
		break;
	default:
		break;
	}
}

static void qp_kick(struct eng_qp *qp)
{
	if (eng_qp_state(qp) == IBV_QPS_ERR)
		eng_qp_flush(qp);
	else
		iwp_activate(iwp_of(qp));
}

static int ah_check(struct eng_dev *dev, const struct ibv_ah_attr *attr)
{
	return -EOPNOTSUPP;
}

const struct eng_proto_ops iwp_proto_ops = {
	.name = "iwarp",
	.qp_size = sizeof(struct iwp_qp),
	.qp_prefetch = offsetof(struct iwp_qp, rd),
	.qp_types = 1u << IBV_QPT_RC,
	.wr_refused = 1u << IBV_WR_SEND_WITH_IMM,
	.streams = true,
	.qp_init = qp_init,
	.qp_fini = qp_fini,
	.qp_check = qp_check,
	.qp_moved = qp_moved,
	.qp_kick = qp_kick,
	.ah_check = ah_check,
};

/* --- what the stream tells --- */

/* What was kept goes first. True: nothing is kept any more. */
static bool send_rest(struct iwp_qp *q)
{
	ssize_t r;

	while (q->rest_len) {
		r = q->port->ops->send(q->s, q->rest + q->rest_off, q->rest_len);
		if (r <= 0)
			return false;
		q->rest_off += (size_t)r;
		q->rest_len -= (size_t)r;
	}
	free(q->rest);
	q->rest = NULL;
	return true;
}

static void writable(struct link_stream *s, uint64_t now)
{
	struct iwp_qp *q = s->user;

	q->port->now = now;
	if (!send_rest(q))
		return;
	q->blocked = false;
	if (q->life == IWP_LAST) {
		iwp_release(q);
		return;
	}
	iwp_sq_complete(q);
	if (iwp_alive(q))
		iwp_activate(q);
}

static void connected(struct link_stream *s, uint64_t now)
{
}

static void closed(struct link_stream *s, int error, uint64_t now)
{
	struct iwp_qp *q = s->user;

	q->port->now = now;
	if (q->life == IWP_LAST)
		iwp_forget(q);
	else
		iwp_over(q, error ? ENG_V_STREAM_LOST : ENG_V_STREAM_END, error);
}

const struct link_stream_user iwp_stream_user = {
	.received = iwp_received, .shown = iwp_received_shm, .writable = writable, .connected = connected, .closed = closed,
};

/* --- sending --- */

static void send_rtr(struct iwp_qp *q)
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
		/* siw takes STag 0 for something special. */
		iwp_tagged(h, WIRE_IW_RDMA_WRITE, 1, 0, true);
		iwp_tx_end(q, WIRE_DDPTagged_LEN - 2);
	}
}

/*
 * What was agreed as the first word is said before the last one, also where the stream does not know
 * its way yet: a peer that never hears it takes the connection for one that was never made.
 */
void iwp_say_ready(struct iwp_qp *q)
{
	if (!q->rtr_due || q->tx_pos || !q->s)
		return;
	q->port->ops->hurry(q->s);
	q->blocked = q->rest_len;
	if (iwp_tx_open(q)) {
		send_rtr(q);
		iwp_tx_close(q);
	}
}

static bool may_run_sq(const struct iwp_qp *q)
{
	return q->life == IWP_LEAVING || eng_qp_state(q->qp) == IBV_QPS_RTS;
}

static bool has_work(const struct iwp_qp *q)
{
	return q->rtr_due || q->an_count || (may_run_sq(q) && iwp_sq_waits(q));
}

/* A message that was begun is finished first: a sink may take one open message of each model
 * only, as siw does, and the order at the source is that of whole messages (RFC 5041 5.3). */
static bool run_answers(struct iwp_qp *q)
{
	return (q->off && !q->halted) || iwp_answers_run(q, TURN);
}

static void run_sq(struct iwp_qp *q)
{
	if (may_run_sq(q) && !iwp_answer_open(q))
		iwp_sq_run(q, TURN);
}

static bool fill_chunk(struct iwp_qp *q)
{
	uint32_t before;

	if (q->rtr_due)
		send_rtr(q);
	do {
		before = q->port->sent;
		q->answers_first = !q->answers_first;
		if (!q->answers_first)
			run_sq(q);
		if (!run_answers(q))
			return false;
		if (q->answers_first)
			run_sq(q);
	} while (q->port->sent != before && q->port->fill < q->port->limit);
	return true;
}

/* One chunk. */
static void give_turn(struct iwp_qp *q)
{
	uint32_t before = q->port->sent;

	if (!iwp_alive(q) || q->life == IWP_HALF)
		return;
	if (q->hold) {
		iwp_leave(q);
		return;
	}
	if (has_work(q) && iwp_tx_open(q)) {
		if (!fill_chunk(q))
			return;
		iwp_tx_close(q);
	}
	if (q->port->sent != before)
		iwp_timer_sent(q);
	iwp_sq_complete(q);
	if (!iwp_alive(q))
		return;
	iwp_leave(q);
	/* Work that waits for a read's answer does not make a turn. */
	if (q->port->sent != before && has_work(q))
		iwp_activate(q);
}

/*
 * What is posted to a near stream goes at once: the peer looks at the ring itself, so there is nothing
 * to gain by the clock, the timers and everybody else's turn that a round brings.
 */
bool iwp_fast_post(struct eng_qp *qp, bool batch)
{
	struct iwp_qp *q = iwp_of(qp);
	struct iwp_port *p = q->port;

	if (q->life != IWP_OPEN || !q->s->shm || q->blocked || !ut_list_empty(&p->active) ||
	    eng_qp_state(qp) != IBV_QPS_RTS)
		return false;
	give_turn(q);
	return iwp_alive(q) && ut_list_empty(&p->active);
}

static int run_active(struct iwp_port *p)
{
	uint32_t before = p->sent;
	struct ut_list *n, mine;

	ut_list_init(&mine);
	while ((n = ut_list_pop(&p->active)))
		ut_list_add_tail(&mine, n);
	while ((n = ut_list_pop(&mine)))
		give_turn(ut_container(n, struct iwp_qp, active));
	return (int)(p->sent - before);
}

static uint64_t sent_octets(const struct iwp_port *p)
{
	eng_dev_held(p->dev);
	return p->dev->counters[ENG_C_tx_bytes];
}

int iwp_transmit(struct eng_dev *dev, uint64_t now)
{
	struct iwp_port *p = dev->port;
	uint64_t before = sent_octets(p);
	struct ut_timer *t;
	int done = 0, n;

	p->now = now;
	iwp_coalesce_end(p);
	while ((t = ut_heap_expired(&p->timers, now)))
		iwp_timer(ut_container(t, struct iwp_qp, timer));
	do {
		n = run_active(p);
		done += n;
	} while (n && done < ROUND && sent_octets(p) - before < ROUND_OCTETS &&
		 !ut_list_empty(&p->active));
	return done;
}

bool iwp_busy(struct eng_dev *dev)
{
	const struct iwp_port *p = dev->port;

	return !ut_list_empty(&p->active);
}

uint64_t iwp_deadline(struct eng_dev *dev)
{
	const struct iwp_port *p = dev->port;

	return ut_heap_next(&p->timers);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The adapter's side of the machine: which queue pair sends next, and which posts wait for more. */
#include "proto/iwarp/iwp.h"

#include "engine/qp_state.h"
#include "engine/ring.h"
#include "proto/iwarp/end.h"
#include "proto/iwarp/port.h"
#include "proto/iwarp/read.h"
#include "proto/iwarp/send.h"
#include "proto/iwarp/qp.h"
#include "proto/iwarp/tx.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

#define TURN 16   /* FPDUs in a row of answers, before the send queue has its turn */
#define ROUND 256 /* FPDUs in one iwp_transmit() */
#define ROUND_OCTETS (1u << 20) /* ... or so many octets: other threads wait for the progress lock */
#define COALESCE_BYTES 16384u
#define COALESCE_SUM 65536u /* of one queue pair, if all were as long as the last one */
/* Where segments carry much (IWP_LONG_ULPDU), also in front of completions that the program has not taken: */
#define COALESCE_LONG_LEAST 4096u
#define COALESCE_LONG_BYTES (128u << 10)
#define COALESCE_LONG_SUM (512u << 10)
#define COALESCE_BEHIND 16u
#define COALESCE_ONE 64u    /* posts of one queue pair, */
#define COALESCE_ALL 256u   /* and of all together: the last of them takes the others along */

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
	dev->proto_port = p;
	return 0;
}

void iwp_port_fini(struct eng_dev *dev)
{
	struct iwp_port *p = dev->proto_port;

	ut_stage_fini(&p->stage);
	ut_heap_fini(&p->timers);
	free(p);
	dev->proto_port = NULL;
}

void iwp_observe(struct eng_dev *dev, struct link_tap *tap)
{
	struct iwp_port *p = dev->proto_port;

	p->tap = tap;
}

/* --- sending --- */

static bool may_run_sq(const struct iwp_qp *q)
{
	return q->life == IWP_LEAVING || eng_qp_state(q->qp) == IBV_QPS_RTS;
}

static bool has_work(const struct iwp_qp *q)
{
	return q->rtr_due || q->an_count || (may_run_sq(q) && iwp_sq_waits(q));
}

/* A message that was begun is finished first: a sink may accept one open message of each model
 * only, as siw does, and messages are ordered as a whole at the source (RFC 5041 5.3). */
static bool run_answers(struct iwp_qp *q)
{
	return (q->off && !q->halted) || !q->an_count || iwp_answers_run(q, TURN);
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
		iwp_send_ready(q);
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

/* LEAVING: all that was queued has been sent and answered, so FIN follows. */
static void leave(struct iwp_qp *q)
{
	if (q->last_nudge && !q->heard)
		return;
	if (q->last_nudge)
		iwp_timer_leaving(q);
	if (q->life != IWP_LEAVING || iwp_sq_waits(q) || q->rest_len || q->rd_count || q->an_count)
		return;
	q->life = IWP_HALF;
	q->port->ops->shutdown(q->s);
	eng_qp_drained(q->qp);
}

/* One chunk. */
static void give_turn(struct iwp_qp *q)
{
	uint32_t before = q->port->sent;

	if (!iwp_alive(q) || q->life == IWP_HALF)
		return;
	if (q->awaits_first) {
		leave(q);
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
	leave(q);
	/* A send queue that waits for the answer to a Read does not count as active. */
	if (q->port->sent != before && has_work(q))
		iwp_activate(q);
}

/* Returns the last posted request, or NULL if it has been sent: its slot may be filled anew by another thread then. */
static const struct eng_swqe *last_posted(const struct iwp_qp *q)
{
	uint32_t tail = atomic_load_explicit(&q->qp->sq.tail, memory_order_acquire);

	return q->cur == tail ? NULL : eng_ring_at(&q->qp->sq, tail - 1);
}

/* Alone, a message of 64 KiB is two segments, of which the second carries hardly anything; with others it is one. */
static bool is_long(const struct iwp_qp *q, const struct eng_swqe *w)
{
	return w && q->s && !q->s->shm && q->mulpdu >= IWP_LONG_ULPDU &&
	       w->length >= COALESCE_LONG_LEAST && w->length <= COALESCE_LONG_BYTES;
}

/* The program has completions to take, and comes back for them: what it posts meanwhile is as good as a batch. */
static bool is_behind(const struct iwp_qp *q)
{
	return eng_cq_waiting(q->qp->send_cq) >= COALESCE_BEHIND;
}

/* Requests leave at once: a round, with its clock, timers and turns of other queue pairs, has nothing to add. The peer
 * process polls the ring of a local stream itself; by TCP those of a batch coalesce, which a round decides. */
bool iwp_fast_post(struct eng_qp *qp, bool batch)
{
	struct iwp_qp *q = iwp_of(qp);
	struct iwp_port *p = q->port;

	batch = batch || (is_long(q, last_posted(q)) && is_behind(q));
	if (q->life != IWP_OPEN || (!q->s->shm && batch) || q->blocked || !ut_list_empty(&p->active) ||
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
	struct iwp_port *p = dev->proto_port;
	uint64_t before = sent_octets(p);
	struct ut_timer *t;
	int done = 0, n;

	p->now = now;
	p->held = 0; /* nothing coalesces any longer */
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
	const struct iwp_port *p = dev->proto_port;

	return !ut_list_empty(&p->active);
}

uint64_t iwp_deadline(struct eng_dev *dev)
{
	const struct iwp_port *p = dev->proto_port;

	return ut_heap_next(&p->timers);
}

/* --- coalescing --- */

/* Coalescing, see iwp.h. TCP would gather what it cannot send at once; on a short path it can send
 * at once, and then a system call and a segment for each FPDU cost ten times the FPDU. */

/* Its only work is to send requests that TCP alone acknowledges, short ones or few. */
static bool can_wait(const struct iwp_qp *q, bool batch)
{
	uint32_t tail = atomic_load_explicit(&q->qp->sq.tail, memory_order_acquire);
	const struct eng_swqe *w;
	bool longer;

	if (q->life != IWP_OPEN || !q->s || q->awaits_first || q->rtr_due || q->halted ||
	    q->off || q->rest_len || q->an_count || q->cur == tail)
		return false;
	/* The requests before it could coalesce, too, or they would have been sent. */
	w = last_posted(q);
	longer = is_long(q, w);
	return tail - q->cur < COALESCE_ONE && (longer || w->length <= COALESCE_BYTES) && (batch || (longer && is_behind(q))) &&
	       (uint64_t)(tail - q->cur) * w->length <= (longer ? COALESCE_LONG_SUM : COALESCE_SUM) &&
	       (w->opcode == IBV_WR_SEND || w->opcode == IBV_WR_RDMA_WRITE ||
		w->opcode == IBV_WR_SEND_WITH_INV || w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
}

bool iwp_may_coalesce(struct eng_dev *dev, bool batch)
{
	struct iwp_port *p = dev->proto_port;
	struct iwp_qp *q;

	if (ut_list_empty(&p->active) || ++p->held >= COALESCE_ALL)
		return false;
	ut_list_each(q, &p->active, active)
		if (!can_wait(q, batch))
			return false;
	return true;
}

bool iwp_coalesce_more(struct eng_qp *qp)
{
	struct iwp_qp *q = iwp_of(qp);
	struct iwp_port *p = q->port;

	if (!p->held || p->held + 1 >= COALESCE_ALL || q->blocked || eng_qp_state(qp) != IBV_QPS_RTS || !can_wait(q, true))
		return false;
	iwp_activate(q);
	p->held++;
	return true;
}

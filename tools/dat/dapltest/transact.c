/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transact.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * Both ends walk the list of operations in step.  An end posts its own operations and reaps the
 * peer's Sends; it does not see the peer's RDMA.  The Send/Receive in each direction keeps them in
 * step: the last Send of an end in an iteration says that the end is ready for the next one.
 * Before it the end
 *
 *   - checks the bytes that the peer's RDMA wrote (-V; by the three appended messages the peer has finished
 *     and this end has not begun again),
 *   - posts the receives of the next iteration, into the other half of the receive memory.
 *
 * With a peer of version 6 (six.h) the operations are the same; the data and what goes before and behind them differ.
 */

struct dtt_crew {
	const struct dtt_plan *plan;
	enum dtt_side side;
	pthread_t thread;
	DAT_CNO_HANDLE cno;
	struct dtl_ia *ia;
	uint32_t n_lanes;
	struct dtt_lane *lanes;
	uint32_t last_send;	/* this end's last SR in the list */
	bool started, failed;
};

/* --- checking the data --- */

static uint64_t seed(uint64_t iteration, uint32_t op, enum dtt_side side)
{
	return (iteration * DTT_OPS_MAX + op) * 2 + side;
}

/* In version 6 the messages that -V appends have no contents. */
static bool is_empty(const struct dtt_plan *plan, uint32_t op)
{
	return plan->six && op + 3 >= plan->n_ops;
}

static void fill(const struct dtt_plan *plan, char *start, uint32_t op, uint64_t iteration, enum dtt_side side)
{
	uint64_t size = dtt_op_bytes(&plan->ops[op]);

	if (!plan->six)
		dtl_fill(start, size, seed(iteration, op, side));
	else if (!is_empty(plan, op))
		memset(start, (unsigned char)(iteration + 1), size);
}

static int64_t differs_six(const char *start, uint64_t size, uint64_t iteration)
{
	uint64_t i;

	for (i = 0; i < size; i++)
		if ((unsigned char)start[i] != (unsigned char)(iteration + 1))
			return i;
	return -1;
}

/* SIDE is where the data comes from. */
static int look(const struct dtt_plan *plan, const char *start, uint32_t op, uint64_t iteration, enum dtt_side side,
		const char *what)
{
	uint64_t size = dtt_op_bytes(&plan->ops[op]);
	int64_t at = -1;

	if (!plan->six)
		at = dtl_differs(start, size, seed(iteration, op, side));
	else if (!is_empty(plan, op))
		at = differs_six(start, size, iteration);
	if (at < 0)
		return 0;
	dtl_complain("data mismatch: %s of operation %u in iteration %llu, at byte %lld", what, op,
		     (unsigned long long)iteration, (long long)at);
	return -1;
}

/* The responder of a Read fills the source before the peer may begin. */
static void fill_sources(struct dtt_lane *l, uint64_t iteration)
{
	uint32_t i;

	for (i = 0; i < l->plan->n_ops; i++) {
		const struct dtt_op *op = &l->plan->ops[i];

		if (op->type == DTT_RR && op->side != l->side)
			fill(l->plan, dtt_lane_send_part(l, i), i, iteration, l->side);
	}
}

static int look_at_rdma(struct dtt_lane *l, uint64_t iteration)
{
	uint32_t i;

	for (i = 0; i < l->plan->n_ops; i++) {
		const struct dtt_op *op = &l->plan->ops[i];
		bool mine = op->side == l->side;
		char *p = dtt_lane_send_part(l, i);

		if (!(op->type == DTT_RW && !mine) && !(op->type == DTT_RR && mine))
			continue;
		if (look(l->plan, p, i, iteration, !l->side,
			 mine ? "the RDMA Read" : "the peer's RDMA Write") != 0)
			return -1;
		memset(p, 0, dtt_op_bytes(op));
	}
	return 0;
}

/* --- one operation --- */

static int get_ready(struct dtt_lane *l, uint64_t iteration)
{
	if (l->plan->verify && look_at_rdma(l, iteration) != 0)
		return -1;
	if (iteration + 1 == l->plan->iterations)
		return l->plan->six ? dtt_lane_post_sync(l) : 0;
	if (l->plan->verify)
		fill_sources(l, iteration + 1);
	return dtt_lane_post_recvs(l, iteration + 1);
}

static int begin_op(struct dtt_crew *c, struct dtt_lane *l, uint32_t nr, uint64_t iteration)
{
	const struct dtt_op *op = &c->plan->ops[nr];

	if (op->side != c->side)
		return 0;
	if (nr == c->last_send && get_ready(l, iteration) != 0)
		return -1;
	if (c->plan->verify && op->type != DTT_RR)
		fill(c->plan, dtt_lane_send_part(l, nr), nr, iteration, c->side);
	return dtt_lane_post(l, nr);
}

static int end_op(struct dtt_crew *c, struct dtt_lane *l, uint32_t nr, uint64_t iteration)
{
	const struct dtt_op *op = &c->plan->ops[nr];
	char *p;

	if (op->side == c->side)
		return op->late ? 0 : dtt_lane_reap_requests(l);
	if (op->type != DTT_SR)
		return 0;
	if (dtt_lane_reap_recv(l, dtt_op_bytes(op)) != 0 || dtt_lane_reap_requests(l) != 0)
		return -1;
	if (!c->plan->verify)
		return 0;
	p = dtt_lane_recv_part(l, nr, iteration);
	if (look(c->plan, p, nr, iteration, !c->side, "the message") != 0)
		return -1;
	memset(p, 0, dtt_op_bytes(op));
	return 0;
}

static int iterate(struct dtt_crew *c, uint64_t iteration)
{
	uint32_t op, i;

	for (op = 0; op < c->plan->n_ops; op++) {
		for (i = 0; i < c->n_lanes; i++)
			if (begin_op(c, &c->lanes[i], op, iteration) != 0)
				return -1;
		for (i = 0; i < c->n_lanes; i++)
			if (end_op(c, &c->lanes[i], op, iteration) != 0)
				return -1;
	}
	for (i = 0; i < c->n_lanes; i++)
		if (dtt_lane_reap_requests(&c->lanes[i]) != 0)
			return -1;
	return 0;
}

static int send_syncs(struct dtt_crew *c, int (*reap)(struct dtt_lane *l))
{
	uint32_t i;

	for (i = 0; i < c->n_lanes; i++)
		if (dtt_lane_send_sync(&c->lanes[i]) != 0)
			return -1;
	for (i = 0; i < c->n_lanes; i++)
		if (reap(&c->lanes[i]) != 0)
			return -1;
	return 0;
}

static int reap_syncs(struct dtt_crew *c)
{
	uint32_t i;

	for (i = 0; i < c->n_lanes; i++)
		if (dtt_lane_reap_sync(&c->lanes[i]) != 0)
			return -1;
	return 0;
}

/* Version 6: both ends are here when it returns. The server begins. At the end either leaves when it has heard the other. */
static int meet(struct dtt_crew *c, bool end)
{
	int (*reap)(struct dtt_lane *l) = end ? dtt_lane_reap_parting : dtt_lane_reap_requests;

	if (c->side == DTT_SERVER)
		return send_syncs(c, reap) != 0 ? -1 : reap_syncs(c);
	return reap_syncs(c) != 0 ? -1 : send_syncs(c, reap);
}

/* Lanes of version 6 exchanged their memory as they were connected. */
static int prepare(struct dtt_crew *c)
{
	uint32_t i;

	if (c->plan->six)
		return meet(c, false);
	for (i = 0; i < c->n_lanes; i++)
		if (dtt_lane_exchange(&c->lanes[i]) != 0)
			return -1;
	return 0;
}

static int work(struct dtt_crew *c)
{
	uint64_t it;

	if (prepare(c) != 0)
		return -1;
	for (it = 0; it < c->plan->iterations; it++)
		if (iterate(c, it) != 0)
			return -1;
	return c->plan->six ? meet(c, true) : 0;
}

static void *crew_main(void *arg)
{
	struct dtt_crew *c = arg;
	uint32_t i;

	c->failed = work(c) != 0;
	/* disconnect, so that the peer does not wait for its timeout */
	for (i = 0; c->failed && i < c->n_lanes; i++)
		if (c->lanes[i].end.connected)
			dat_ep_disconnect(c->lanes[i].end.ep, DAT_CLOSE_ABRUPT_FLAG);
	return NULL;
}

/* --- all of them --- */

static int make_crew(struct dtt_crew *c, struct dtl_ia *ia, const struct dtt_plan *plan,
		     enum dtt_side side, DAT_QOS qos)
{
	uint32_t i;

	*c = (struct dtt_crew){ .plan = plan, .side = side, .ia = ia, .cno = DAT_HANDLE_NULL };
	for (i = 0; i < plan->n_ops; i++)
		if (plan->ops[i].type == DTT_SR && plan->ops[i].side == side)
			c->last_send = i;
	if (plan->how == DTL_CNO &&
	    dtl_check(dat_cno_create(ia->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &c->cno),
		      "dat_cno_create") != 0)
		return -1;
	c->lanes = calloc(plan->ends, sizeof(*c->lanes));
	if (!c->lanes) {
		dtl_complain("no memory for %u endpoints: the test fails; use fewer (-w), or raise the limit "
			     "on memory", plan->ends);
		return -1;
	}
	for (i = 0; i < plan->ends; i++) {
		if (dtt_lane_make(&c->lanes[i], ia, plan, side, c->cno, qos) != 0)
			return -1;
		c->n_lanes++;
		if (plan->verify)
			fill_sources(&c->lanes[i], 0);
	}
	return 0;
}

int dtt_crews_make(struct dtt_crews *c, struct dtl_ia *ia, const struct dtt_plan *plan,
		   enum dtt_side side, DAT_QOS qos)
{
	*c = (struct dtt_crews){ .plan = plan, .crew = calloc(plan->threads, sizeof(*c->crew)) };
	if (!c->crew) {
		dtl_complain("no memory for %u threads: the test fails; use fewer (-t), or raise the limit "
			     "on memory", plan->threads);
		return -1;
	}
	while (c->n < plan->threads)
		if (make_crew(&c->crew[c->n++], ia, plan, side, qos) != 0) {
			dtt_crews_drop(c);
			return -1;
		}
	return 0;
}

struct dtt_lane *dtt_crews_lane(struct dtt_crews *c, uint32_t nr)
{
	return &c->crew[nr / c->plan->ends].lanes[nr % c->plan->ends];
}

int dtt_crews_run(struct dtt_crews *c)
{
	uint32_t i;
	int bad = 0;

	for (i = 0; i < c->n; i++) {
		c->crew[i].started = !pthread_create(&c->crew[i].thread, NULL, crew_main,
						     &c->crew[i]);
		if (!c->crew[i].started) {
			dtl_complain("thread %u could not be started: the test fails; use fewer (-t), or "
				     "raise the limit on processes (ulimit -u)", i);
			bad = -1;
		}
	}
	for (i = 0; i < c->n; i++) {
		if (!c->crew[i].started)
			continue;
		pthread_join(c->crew[i].thread, NULL);
		bad |= c->crew[i].failed ? -1 : 0;
	}
	return bad;
}

struct dtt_count dtt_crews_count(const struct dtt_crews *c)
{
	struct dtt_count sum = { 0 };
	uint32_t i, k;

	for (i = 0; i < c->n; i++)
		for (k = 0; k < c->crew[i].n_lanes; k++) {
			const struct dtt_count *one = &c->crew[i].lanes[k].count;

			sum.wqes += one->wqes;
			sum.sent += one->sent;
			sum.received += one->received;
			sum.read += one->read;
			sum.written += one->written;
		}
	return sum;
}

int dtt_crews_drop(struct dtt_crews *c)
{
	uint32_t i, k;
	int bad = 0;

	for (i = 0; i < c->n; i++) {
		for (k = 0; k < c->crew[i].n_lanes; k++)
			bad |= dtt_lane_drop(&c->crew[i].lanes[k]);
		if (c->crew[i].cno != DAT_HANDLE_NULL)
			bad |= dtl_check(dat_cno_free(c->crew[i].cno), "dat_cno_free");
		free(c->crew[i].lanes);
	}
	free(c->crew);
	*c = (struct dtt_crews){ 0 };
	return bad;
}

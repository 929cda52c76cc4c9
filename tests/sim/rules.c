/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules of faults on connections and queue pairs: each acts where its terms hold, and leaves the rest alone. */
#include "engine/qp_state.h"
#include "ibcm_case.h"
#include "link/rules.h"
#include "support/tape.h"

#include <string.h>

static struct link_rules rules;

static struct link_rules *rules_of(const char *text)
{
	char word[100];

	CHECK(link_rules_read(text, &rules, word, sizeof(word)) == 0);
	return &rules;
}

/* --- connections --- */

static void try_connect(const char *text)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);

	open_world();
	w.side[1].port.rules = rules_of(text);
	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	pass(100 * UT_MS);
}

static void rejected(void)
{
	static const struct {
		const char *text;
		int reason;
	} rows[] = { { "reject", CM_REJ_CONSUMER }, { "reject=consumer in", CM_REJ_CONSUMER }, { "reject=resources", CM_REJ_NO_RESOURCES },
		     { "reject=no-qp", CM_REJ_NO_QP }, { "reject=unsupported op=cm", CM_REJ_UNSUPPORTED } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		try_connect(rows[i].text);
		CHECK(client->heard[CM_EV_REJECTED] == 1 && client->status == rows[i].reason && !server);
		CHECK(rules.rule[0].acted == 1);
		cmw_close(&w);
	}
}

/* The connection manager itself asks again after "stale". */
static void stale_once(void)
{
	try_connect("reject=stale first=1");
	pass(30 * UT_S);
	CHECK(rules.rule[0].acted == 1 && client->heard[CM_EV_ESTABLISHED] == 1);
	cmw_close(&w);
}

static void left_alone(void)
{
	static const char *const texts[] = { "reject out", "reject peer=10.9.9.9", "reject nth=2", "silence op=send", "timewait=1s" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		try_connect(texts[i]);
		CHECK(cmw_state(client) == IBCM_ESTAB && rules.rule[0].acted == 0);
		cmw_close(&w);
	}
}

static void silent(void)
{
	try_connect("silence first=2");
	CHECK(!server && cmw_state(client) == IBCM_REQ_SENT);
	pass(30 * UT_S);
	CHECK(rules.rule[0].acted == 2 && client->heard[CM_EV_ESTABLISHED] == 1);
	cmw_close(&w);
	try_connect("silence");
	pass(600 * UT_S);
	CHECK(!server && client->heard[CM_EV_UNREACHABLE] == 1);
	cmw_close(&w);
}

static bool is_out_of_timewait(struct cmw *world)
{
	return client->heard[CM_EV_TIMEWAIT_EXIT];
}

/* Returns the ns until the client's TIMEWAIT_EXIT. */
static uint64_t timewait(struct link_rules *r)
{
	uint64_t from;

	open_world();
	w.side[0].port.rules = r;
	connected(IBV_QPT_RC);
	CHECK(ops(client)->disconnect(client->ep) == 0);
	from = w.now;
	CHECK(cmw_run(&w, 100 * UT_S, is_out_of_timewait));
	return w.now - from;
}

static void late_timewait(void)
{
	uint64_t usual = timewait(NULL), late;

	cmw_close(&w);
	late = timewait(rules_of("timewait=30s"));
	CHECK(usual < 20 * UT_S && late >= 30 * UT_S && late < 31 * UT_S && rules.rule[0].acted == 1);
	cmw_close(&w);
}

/* --- queue pairs --- */

#define LEN 65536u
#define N 16

static int in_flight, most_in_flight;

static int count_flight(struct tape *t, const struct tape_packet *x, struct sim_packet *raw)
{
	if (x->p.opcode == WIRE_RC_ACKNOWLEDGE)
		in_flight = 0;
	else if (++in_flight > most_in_flight)
		most_in_flight = in_flight;
	return 1;
}

/* Returns how many packets were under way at a time at most. */
static int flight(const char *text)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ 0 }, LEN);

	in_flight = most_in_flight = 0;
	r->tape.judge = count_flight;
	ibp_faults(&r->a.h->dev, rules_of(text));
	pattern_fill(r->a.mem, LEN, 5);
	rig_op(r, IBV_WR_RDMA_WRITE, 1, 0, 0, LEN, IBV_SEND_SIGNALED);
	CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS).wr_id == 1);
	pattern_check(r->b.mem, LEN, 5);
	ibp_faults(&r->a.h->dev, rules_of(""));
	rig_close(r);
	return most_in_flight;
}

static void windows(void)
{
	CHECK(flight("") > 8);
	CHECK(flight("window=8") <= 9);
	CHECK(flight("window=1") <= 2);
	CHECK(flight("window=1 peer=10.9.9.9") > 8);
}

/* A receiver that is slow asks for patience, and every message arrives. */
static void slow_receiver(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ .min_rnr = 14 }, LEN);
	uint64_t began = r->w.now;

	ibp_faults(&r->b.h->dev, rules_of("slow=5ms op=send"));
	for (uint64_t i = 0; i < N; i++)
		rig_recv(r, i, 0, LEN);
	for (uint64_t i = 0; i < N; i++)
		rig_op(r, IBV_WR_SEND, i, 0, 0, 3000, IBV_SEND_SIGNALED);
	for (uint64_t i = 0; i < N; i++) {
		CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS).wr_id == i);
		CHECK(sim_wc_is(&r->w, r->b.rcq, IBV_WC_SUCCESS).wr_id == i);
	}
	CHECK(r->w.now - began >= (N - 1) * 5 * UT_MS);
	rig_close(r);
}

static void overruns(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ 0 }, LEN);

	ibp_faults(&r->b.h->dev, rules_of("overrun op=send nth=2"));
	for (uint64_t i = 0; i < 3; i++)
		rig_recv(r, i, 0, LEN);
	for (uint64_t i = 0; i < 3; i++)
		rig_op(r, IBV_WR_SEND, i, 0, 0, 8, IBV_SEND_SIGNALED);
	CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS).wr_id == 0);
	rig_run(r, 100 * UT_MS);
	CHECK(sim_event(r->b.h, IBV_EVENT_CQ_ERR));
	CHECK(eng_qp_state(r->b.qp) == IBV_QPS_ERR);
	CHECK(sim_wc_is(&r->w, r->b.rcq, IBV_WC_SUCCESS).wr_id == 0);
	rig_close(r);
}

static const struct test_case cases[] = {
	{ "-", "requests are rejected with the reason that the rule gives", rejected },
	{ "-", "a stale connection is asked for again", stale_once },
	{ "-", "connections for which a rule's terms do not hold are made", left_alone },
	{ "-", "requests that get no answer come again, and then end", silent },
	{ "-", "TIMEWAIT lasts as long as the rule says", late_timewait },
	{ "-", "windows are as small as the rule says", windows },
	{ "-", "a slow receiver loses nothing", slow_receiver },
	{ "-", "a completion queue overruns", overruns },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

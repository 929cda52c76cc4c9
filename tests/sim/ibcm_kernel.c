/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What each message, silence and each act of the user brings about in each state: the event, the answer
 * and the next state, beside what the modules ib_cm, rdma_cm and rdma_ucm of the Linux kernel do. What is not listed brings about nothing, there and here. A row that differs says why.
 */
#include "ibcm_case.h"

#include "cm/ibcm/msg.h"

enum { REQ, MRA, REJ, REP, RTU, DREQ, DREP, MESSAGES, SILENCE = MESSAGES, DISCONNECT, DESTROY, HAPPENINGS };

static const char *const name[HAPPENINGS] = {
	"REQ again", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "silence", "disconnect", "destroy",
};

#define NONE (-1)

struct row {
	enum ibcm_state state;
	int what;
	int event, answer; /* enum cm_event_type, a message, or NONE */
	enum ibcm_state next;
	int kernel_event, kernel_answer;
	const char *why;   /* it differs */
};

#define EV(type) CM_EV_##type
#define SAME(state, what, event, answer, next) \
	{ IBCM_##state, what, event, answer, IBCM_##next, event, answer, NULL }

static const struct row rows[] = {
	SAME(REQ_SENT, REJ, EV(REJECTED), NONE, OVER),
	SAME(REQ_SENT, REP, EV(RESPONSE), NONE, REP_RCVD),
	SAME(REQ_SENT, DREQ, NONE, DREP, REQ_SENT), /* of a connection that is not */
	SAME(REQ_SENT, SILENCE, EV(UNREACHABLE), NONE, OVER),
	SAME(REQ_SENT, DESTROY, NONE, REJ, OVER),
	SAME(REP_RCVD, REJ, EV(REJECTED), NONE, OVER),
	SAME(REP_RCVD, REP, NONE, MRA, REP_RCVD),
	SAME(REP_RCVD, DESTROY, NONE, REJ, OVER),
	SAME(REQ_RCVD, REQ, NONE, MRA, REQ_RCVD),
	SAME(REQ_RCVD, REJ, EV(REJECTED), NONE, ANSWERED), /* unit/cma_events: not before it is accepted */
	SAME(REQ_RCVD, DESTROY, NONE, REJ, OVER),
	{ IBCM_REP_SENT, REQ, NONE, REP, IBCM_REP_SENT, NONE, NONE,
	  "the REP was lost: it comes sooner than by its own timer" },
	SAME(REP_SENT, REJ, EV(REJECTED), NONE, ANSWERED),
	SAME(REP_SENT, RTU, EV(ESTABLISHED), NONE, ESTAB),
	{ IBCM_REP_SENT, DREQ, EV(DISCONNECTED), NONE, IBCM_DREQ_RCVD, EV(DISCONNECTED), NONE,
	  "ESTABLISHED is told first: the peer may have sent data" },
	SAME(REP_SENT, SILENCE, EV(UNREACHABLE), NONE, OVER),
	{ IBCM_REP_SENT, DISCONNECT, NONE, DREQ, IBCM_DREQ_SENT, NONE, NONE,
	  "the peer may be connected already: only a DREQ reaches it then" },
	{ IBCM_REP_SENT, DESTROY, NONE, DREQ, IBCM_OVER, NONE, REJ,
	  "the peer may be connected already: only a DREQ reaches it then" },
	{ IBCM_ESTAB, REJ, EV(DISCONNECTED), NONE, IBCM_TIMEWAIT, EV(REJECTED), NONE,
	  "what ends an established connection is DISCONNECTED, rdma_get_cm_event(3)" },
	SAME(ESTAB, REP, NONE, RTU, ESTAB),
	SAME(ESTAB, DREQ, EV(DISCONNECTED), NONE, DREQ_RCVD),
	SAME(ESTAB, DISCONNECT, NONE, DREQ, DREQ_SENT),
	SAME(ESTAB, DESTROY, NONE, DREQ, OVER),
	{ IBCM_DREQ_SENT, REJ, EV(DISCONNECTED), NONE, IBCM_TIMEWAIT, EV(REJECTED), NONE,
	  "what ends an established connection is DISCONNECTED, rdma_get_cm_event(3)" },
	{ IBCM_DREQ_SENT, DREQ, EV(DISCONNECTED), DREP, IBCM_TIMEWAIT, EV(DISCONNECTED), NONE,
	  "our user has dealt with its end already, and would have to do so again" },
	SAME(DREQ_SENT, DREP, EV(DISCONNECTED), NONE, TIMEWAIT),
	SAME(DREQ_SENT, SILENCE, EV(DISCONNECTED), NONE, TIMEWAIT),
	SAME(DREQ_RCVD, DISCONNECT, NONE, DREP, TIMEWAIT),
	SAME(DREQ_RCVD, DESTROY, NONE, DREP, OVER),
	{ IBCM_TIMEWAIT, REP, NONE, REJ, IBCM_TIMEWAIT, NONE, NONE,
	  "the peer need not ask until its tries are used up" },
	SAME(TIMEWAIT, REQ, NONE, REJ, TIMEWAIT),
	SAME(TIMEWAIT, DREQ, NONE, DREP, TIMEWAIT),
	SAME(TIMEWAIT, SILENCE, EV(TIMEWAIT_EXIT), NONE, OVER),
};

/* --- ways into each state --- */

static uint8_t first_req[WIRE_MAD_BYTES];

static void start(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);

	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	memcpy(first_req, w.last_mad, sizeof(first_req));
	pass(100 * UT_MS);
}

static void end_by_client(void)
{
	start();
	CHECK(ops(client)->disconnect(client->ep) == 0);
	pass(UT_MS);
}

static struct cmw_user *reach(enum ibcm_state s)
{
	open_world();
	w.side[0].on_disconnected = w.side[1].on_disconnected = CMW_KEEP;
	switch (s) {
	case IBCM_REQ_SENT:
	case IBCM_REQ_RCVD:
		w.side[1].on_request = CMW_WAIT;
		w.side[0].on_response = CMW_WAIT;
		start();
		return s == IBCM_REQ_SENT ? client : server;
	case IBCM_REP_RCVD:
		w.side[0].on_response = CMW_WAIT;
		start();
		return client;
	case IBCM_REP_SENT:
		w.lose_attr = WIRE_CM_ATTR_RTU;
		start();
		w.lose_attr = 0;
		return server;
	case IBCM_ESTAB:
		start();
		return client;
	case IBCM_TIMEWAIT:
		end_by_client();
		CHECK(ops(server)->disconnect(server->ep) == 0);
		pass(UT_MS);
		return server;
	default:
		end_by_client();
		return s == IBCM_DREQ_SENT ? client : server;
	}
}

/* --- what happens --- */

static const struct ibcm_ep *other(const struct cmw_user *u)
{
	return ibcm_of((u == client ? server : client)->ep);
}

static void inject(struct cmw_user *u, int what)
{
	uint8_t mad[WIRE_MAD_BYTES], *m = ibcm_mad(mad, (enum wire_cm_attr)(WIRE_CM_ATTR_REQ + what), 9);

	wire_set_CM_RTU_local_comm_id(m, other(u)->local_id);
	wire_set_CM_RTU_remote_comm_id(m, ibcm_of(u->ep)->local_id);
	if (what == MRA) {
		wire_set_CM_MRA_message(m, cmw_state(u) == IBCM_REQ_SENT ? 0 : 1);
		wire_set_CM_MRA_service_timeout(m, 20);
	}
	if (what == REJ)
		wire_set_CM_REJ_reason(m, CM_REJ_CONSUMER);
	if (what == REP)
		wire_set_CM_REP_local_qpn(m, 0x1234);
	if (what == DREQ)
		wire_set_CM_DREQ_remote_qpn(m, ibcm_of(u->ep)->local_qpn);
	cmw_inject(&w, u->side, what == REQ ? first_req : mad);
}

static void happen(struct cmw_user *u, int what)
{
	/* Its answers are counted, and go nowhere. */
	w.side[!u->side].deaf = true;
	w.side[u->side].deaf = what == SILENCE;
	if (what < MESSAGES)
		inject(u, what);
	else if (what == DISCONNECT)
		(void)ops(u)->disconnect(u->ep);
	else if (what == DESTROY)
		cmw_destroy(u);
	pass(what == SILENCE ? 200 * UT_S : UT_US);
}

static const struct row *row_of(enum ibcm_state s, int what)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].state == s && rows[i].what == what)
			return &rows[i];
	return NULL;
}

static void check(enum ibcm_state s, int what)
{
	struct row none = { s, what, NONE, NONE, s, NONE, NONE, NULL };
	const struct row *want = row_of(s, what) ? row_of(s, what) : &none;
	struct cmw_user *u = reach(s);
	unsigned heard[CM_EV_TIMEWAIT_EXIT + 1], sent[MESSAGES];

	CHECK_MSG(cmw_state(u) == s, "state %d for %d", cmw_state(u), s);
	CHECK(want->why || (want->event == want->kernel_event && want->answer == want->kernel_answer));
	memcpy(heard, u->heard, sizeof(heard));
	memcpy(sent, w.sent_of, sizeof(sent));
	happen(u, what);
	for (int e = 0; e <= CM_EV_TIMEWAIT_EXIT; e++) {
		bool early = e == CM_EV_ESTABLISHED && s == IBCM_REP_SENT && what == DREQ;
		/* Silence goes on beyond the event: what follows from it is in rows of its own. */
		bool later = e == CM_EV_TIMEWAIT_EXIT && what == SILENCE && want->next == IBCM_TIMEWAIT;

		CHECK_MSG((u->heard[e] != heard[e]) == (e == want->event || early || later),
			  "state %d, %s: event %d", s, name[what], e);
	}
	/* In silence the timers of both ends run. */
	for (int m = 0; m < MESSAGES && what != SILENCE; m++)
		CHECK_MSG((w.sent_of[m] != sent[m]) == (m == want->answer), "state %d, %s: message %d", s,
			  name[what], m);
	if (what < DESTROY && what != SILENCE)
		CHECK_MSG(cmw_state(u) == want->next, "state %d, %s: now %d", s, name[what], cmw_state(u));
	w.side[0].deaf = w.side[1].deaf = false;
	cmw_close(&w);
}

/* Whom a REQ did not make. */
static bool is_active(enum ibcm_state s)
{
	return s == IBCM_REQ_SENT || s == IBCM_REP_RCVD || s == IBCM_ESTAB || s == IBCM_DREQ_SENT;
}

static void all(void)
{
	static const enum ibcm_state states[] = { IBCM_REQ_SENT, IBCM_REP_RCVD, IBCM_REQ_RCVD, IBCM_REP_SENT,
						  IBCM_ESTAB, IBCM_DREQ_SENT, IBCM_DREQ_RCVD, IBCM_TIMEWAIT };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		for (int what = is_active(states[i]) ? MRA : REQ; what < HAPPENINGS; what++)
			check(states[i], what);
}

/* The kernel's status of an end that the peer never answered. */
static bool over(struct cmw *x)
{
	return client->heard[CM_EV_DISCONNECTED];
}

static void unanswered(void)
{
	reach(IBCM_DREQ_SENT);
	CHECK(cmw_run(&w, 200 * UT_S, over) && client->status == -ETIMEDOUT);
	CHECK(cmw_state(server) == IBCM_DREQ_RCVD);
	cmw_close(&w);
}

static const struct test_case cases[] = {
	{ "-", "each message and act in each state, as the kernel's", all },
	{ "-", "a DREQ that is never answered", unanswered },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every pair of states that two ends can be in, and the acts of an end there: destroy, disconnect,
 * reject, learn that the other host is gone. In each case the other end gets an event for the end,
 * and both are free afterwards.
 */
#include "support/cases.h"
#include "support/check.h"
#include "support/cmworld.h"
#include "util/clock.h"

static struct cmw w;
static struct cmw_user *client, *server;

static const struct cm_ops *ops(const struct cmw_user *u)
{
	return u->ep->port->ops;
}

static void settle(void)
{
	cmw_run(&w, 100 * UT_MS, NULL);
	server = w.side[1].newest;
}

static void start(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);

	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	settle();
}

static void hang_up(struct cmw_user *u)
{
	CHECK(ops(u)->disconnect(u->ep) == 0);
	settle();
}

/* --- ways into each pair --- */

static void req_unanswered(void)
{
	w.side[1].deaf = true;
	start();
}

static void asked(void)
{
	w.side[1].on_request = CMW_WAIT;
	start();
}

static void rep_lost(void)
{
	w.lose_attr = WIRE_CM_ATTR_REP;
	start();
}

static void rep_here(void)
{
	w.side[0].on_response = CMW_WAIT;
	start();
}

static void rtu_lost(void)
{
	w.lose_attr = WIRE_CM_ATTR_RTU;
	start();
}

static void client_left_alone(void)
{
	start();
	w.lose_attr = WIRE_CM_ATTR_DREQ;
	hang_up(client);
}

static void server_left_alone(void)
{
	start();
	w.lose_attr = WIRE_CM_ATTR_DREQ;
	hang_up(server);
}

static void client_unanswered(void)
{
	start();
	w.lose_attr = WIRE_CM_ATTR_DREP;
	hang_up(client);
}

static void server_unanswered(void)
{
	start();
	w.lose_attr = WIRE_CM_ATTR_DREP;
	hang_up(server);
}

static void server_heard(void)
{
	w.side[1].on_disconnected = CMW_KEEP;
	start();
	hang_up(client);
}

static void client_heard(void)
{
	w.side[0].on_disconnected = CMW_KEEP;
	start();
	hang_up(server);
}

static void server_heard_before_rtu(void)
{
	w.side[1].on_disconnected = CMW_KEEP;
	rtu_lost();
	hang_up(client);
}

static void both_left(void)
{
	start();
	w.lose_attr = WIRE_CM_ATTR_DREQ;
	hang_up(client);
	hang_up(server);
}

static void gone(void)
{
	start();
	hang_up(client);
}

static void hung_up_before_rep(void)
{
	rep_lost();
	w.lose_attr = WIRE_CM_ATTR_REP;
	CHECK(ops(server)->disconnect(server->ep) == 0);
	w.side[0].deaf = true;
	settle();
	w.side[0].deaf = false;
}

static void hung_up_before_establish(void)
{
	rep_here();
	hang_up(server);
}

static void rej_lost(void)
{
	w.side[1].on_request = CMW_REJECT;
	w.lose_attr = WIRE_CM_ATTR_REJ;
	start();
}

static void rej_of_rep_lost(void)
{
	w.side[0].on_response = CMW_REJECT;
	w.lose_attr = WIRE_CM_ATTR_REJ;
	start();
}

/* --- of ends that load an alternate path --- */

static void load(struct cmw_user *u, uint16_t slid, uint16_t dlid)
{
	struct cm_path path = { .slid = slid, .dlid = dlid };

	CHECK(ops(u)->load_path(u->ep, &path) == 0);
}

static void meet_with_lids(unsigned lost)
{
	w.lid = 0x10;
	start();
	w.lose_attr = lost;
}

static void client_loads(void)
{
	meet_with_lids(WIRE_CM_ATTR_LAP);
	load(client, 0x11, 0x13);
	settle();
}

static void server_loads(void)
{
	meet_with_lids(WIRE_CM_ATTR_LAP);
	load(server, 0x13, 0x11);
	settle();
}

static void both_load(void)
{
	meet_with_lids(WIRE_CM_ATTR_APR);
	load(client, 0x11, 0x13);
	load(server, 0x13, 0x11);
	settle();
}

/* --- and of ends that only ask for a queue pair number --- */

static void start_datagrams(void)
{
	struct cm_param p = cmw_param(IBV_QPT_UD);

	cmw_listen(&w, CM_PS_UDP, CMW_PORT, 0);
	client = cmw_connect(&w, CM_PS_UDP, CMW_PORT, &p);
	settle();
}

static void sidr_unanswered(void)
{
	w.side[1].deaf = true;
	start_datagrams();
}

static void sidr_asked(void)
{
	w.side[1].on_request = CMW_WAIT;
	start_datagrams();
}

static void sidr_rep_lost(void)
{
	w.lose_attr = WIRE_CM_ATTR_SIDR_REP;
	start_datagrams();
}

static void rejected(void)
{
	w.side[1].on_request = CMW_REJECT;
	start();
}

static const struct {
	const char *name;
	void (*reach)(void);
	int client, server; /* -1: there is none */
} pairs[] = {
	{ "REQ sent, no answer", req_unanswered, IBCM_REQ_SENT, -1 },
	{ "REQ sent, received", asked, IBCM_REQ_SENT, IBCM_REQ_RCVD },
	{ "REQ sent, REP lost", rep_lost, IBCM_REQ_SENT, IBCM_REP_SENT },
	{ "REP received", rep_here, IBCM_REP_RCVD, IBCM_REP_SENT },
	{ "RTU lost", rtu_lost, IBCM_ESTAB, IBCM_REP_SENT },
	{ "connected", start, IBCM_ESTAB, IBCM_ESTAB },
	{ "client's LAP lost", client_loads, IBCM_LAP_SENT, IBCM_ESTAB },
	{ "server's LAP lost", server_loads, IBCM_ESTAB, IBCM_LAP_SENT },
	{ "APR lost, both loading", both_load, IBCM_LAP_SENT, IBCM_LAP_SENT },
	{ "client's DREQ lost", client_left_alone, IBCM_DREQ_SENT, IBCM_ESTAB },
	{ "server's DREQ lost", server_left_alone, IBCM_ESTAB, IBCM_DREQ_SENT },
	{ "server's DREP lost", client_unanswered, IBCM_DREQ_SENT, IBCM_TIMEWAIT },
	{ "client's DREP lost", server_unanswered, IBCM_TIMEWAIT, IBCM_DREQ_SENT },
	{ "client's DREQ not answered", server_heard, IBCM_DREQ_SENT, IBCM_DREQ_RCVD },
	{ "server's DREQ not answered", client_heard, IBCM_DREQ_RCVD, IBCM_DREQ_SENT },
	{ "RTU lost, DREQ not answered", server_heard_before_rtu, IBCM_DREQ_SENT, IBCM_DREQ_RCVD },
	{ "both DREQs lost", both_left, IBCM_DREQ_SENT, IBCM_DREQ_SENT },
	{ "timewait", gone, IBCM_TIMEWAIT, IBCM_TIMEWAIT },
	{ "DREQ, REP lost", hung_up_before_rep, IBCM_REQ_SENT, IBCM_DREQ_SENT },
	{ "DREQ, not established", hung_up_before_establish, IBCM_REP_RCVD, IBCM_DREQ_SENT },
	{ "REJ of REQ lost", rej_lost, IBCM_REQ_SENT, IBCM_ANSWERED },
	{ "REJ of REP lost", rej_of_rep_lost, IBCM_ANSWERED, IBCM_REP_SENT },
	{ "rejected", rejected, IBCM_OVER, IBCM_ANSWERED },
	{ "SIDR_REQ sent, no answer", sidr_unanswered, IBCM_SIDR_SENT, -1 },
	{ "SIDR_REQ sent, received", sidr_asked, IBCM_SIDR_SENT, IBCM_SIDR_RCVD },
	{ "SIDR_REQ sent, SIDR_REP lost", sidr_rep_lost, IBCM_SIDR_SENT, IBCM_ANSWERED },
	{ "SIDR answered", start_datagrams, IBCM_OVER, IBCM_ANSWERED },
};

#define NR_PAIRS (sizeof(pairs) / sizeof(pairs[0]))

static void at(size_t k, uint64_t seed)
{
	fprintf(stderr, "#   %s\n", pairs[k].name);
	client = server = NULL;
	cmw_open(&w, seed);
	pairs[k].reach();
	CHECK_MSG((int)cmw_state(client) == pairs[k].client, "client in %d", cmw_state(client));
	CHECK((server ? (int)cmw_state(server) : -1) == pairs[k].server);
}

/* An end that asked for a number gets its answer and no further event. */
static bool ended(const struct cmw_user *u)
{
	bool answered = u->ep && !u->passive && u->heard[CM_EV_ESTABLISHED] &&
			u->last.param.qp_type == IBV_QPT_UD;

	return u->heard[CM_EV_REJECTED] || u->heard[CM_EV_UNREACHABLE] ||
	       u->heard[CM_EV_DISCONNECTED] || answered;
}

/* Only the user ends an endpoint that owes the answer to a SIDR_REQ. */
static void answer_sidr(void)
{
	if (server && server->ep && cmw_state(server) == IBCM_SIDR_RCVD)
		CHECK(ops(server)->reject(server->ep, CM_REJ_CONSUMER, NULL, 0) == 0);
}

/* Nor does anything else end one that owes the answer to a DREQ. */
static void answer_dreq(struct cmw_user *u)
{
	if (u && u->ep && cmw_state(u) == IBCM_DREQ_RCVD)
		CHECK(ops(u)->disconnect(u->ep) == 0);
}

/* Good weather again; then the remaining end must have got an event for the end, or have caused it. */
static void finish(bool client_knows, bool server_knows)
{
	w.lose_attr = 0;
	w.side[1].deaf = false;
	server_knows |= server && server->ep && cmw_state(server) == IBCM_SIDR_RCVD;
	answer_sidr();
	answer_dreq(client);
	answer_dreq(server);
	cmw_run(&w, 400 * UT_S, NULL);
	server = w.side[1].newest;
	CHECK(!client->ep || client_knows || ended(client));
	CHECK(!server || !server->ep || server_knows || ended(server));
	CHECK(!client->ep || cmw_state(client) == IBCM_OVER);
	CHECK(!server || !server->ep || cmw_state(server) == IBCM_OVER);
	cmw_close(&w);
}

static void destroy_client(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		at(k, 1);
		cmw_destroy(client);
		/* A rejected request gets no further event. */
		finish(true, pairs[k].server == IBCM_ANSWERED || pairs[k].server < 0);
	}
}

static void destroy_server(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		at(k, 2);
		if (server)
			cmw_destroy(server);
		if (!server || pairs[k].client == IBCM_REP_RCVD) {
			/* Not over yet: no end was announced, or our own user has not answered. */
			cmw_destroy(client);
		}
		finish(pairs[k].client == IBCM_ANSWERED, true);
	}
}

static void destroy_both(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		at(k, 3);
		cmw_destroy(client);
		if (server)
			cmw_destroy(server);
		finish(true, true);
	}
}

/* Both hosts lose sight of one another for good, then the ends are destroyed. */
static void cut_off(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		at(k, 4);
		w.side[0].deaf = w.side[1].deaf = true;
		cmw_run(&w, 400 * UT_S, NULL);
		cmw_destroy(client);
		if (server)
			cmw_destroy(server);
		cmw_close(&w);
	}
}

static void left_alone(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		at(k, 5);
		w.lose_attr = 0;
		w.side[1].deaf = false;
		cmw_run(&w, 400 * UT_S, NULL);
		cmw_close(&w);
	}
}

/* --- acts that each state allows --- */

static void disconnect_each(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		int s = pairs[k].client, want = -EINVAL;

		at(k, 6);
		if (s == IBCM_ESTAB || s == IBCM_LAP_SENT || s == IBCM_DREQ_SENT || s == IBCM_DREQ_RCVD || s == IBCM_TIMEWAIT)
			want = 0;
		CHECK(ops(client)->disconnect(client->ep) == want);
		if (want)
			cmw_destroy(client);
		if (server && pairs[k].server == IBCM_REP_SENT)
			CHECK(ops(server)->disconnect(server->ep) == 0);
		finish(true, pairs[k].server == IBCM_ANSWERED || pairs[k].server < 0);
	}
}

static void reject_each(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		int c = pairs[k].client, s = pairs[k].server;

		at(k, 7);
		CHECK(ops(client)->reject(client->ep, CM_REJ_CONSUMER, NULL, 0) ==
		      (c == IBCM_REP_RCVD ? 0 : -EINVAL));
		if (server)
			CHECK(ops(server)->reject(server->ep, CM_REJ_CONSUMER, NULL, 0) ==
			      (s == IBCM_REQ_RCVD || s == IBCM_SIDR_RCVD ? 0 : -EINVAL));
		cmw_destroy(client);
		finish(true, s == IBCM_ANSWERED || s == IBCM_REQ_RCVD || s == IBCM_SIDR_RCVD ||
			     s < 0);
	}
}

static void wrong_calls(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		struct cm_param p = cmw_param(IBV_QPT_RC);
		int c = pairs[k].client, s = pairs[k].server;

		at(k, 8);
		CHECK(ops(client)->connect(client->ep, &client->ep->remote, &p) == -EINVAL);
		CHECK(ops(client)->listen(client->ep, 1) == -EINVAL);
		CHECK(ops(client)->accept(client->ep, &p) == -EINVAL);
		if (c != IBCM_REP_RCVD)
			CHECK(ops(client)->establish(client->ep) == -EINVAL);
		if (server) {
			CHECK(ops(server)->establish(server->ep) == -EINVAL);
			CHECK(ops(server)->listen(server->ep, 1) == -EINVAL);
			if (s != IBCM_REQ_RCVD && s != IBCM_SIDR_RCVD)
				CHECK(ops(server)->accept(server->ep, &p) == -EINVAL);
		}
		cmw_close(&w);
	}
}

/* The kernel of the other host reports that no socket is there. */
static void refused_each(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		int c = pairs[k].client;

		at(k, 9);
		w.side[1].deaf = true;
		ibcm_unreachable(&w.side[0].port, w.side[1].host->addr, ECONNREFUSED, w.now);
		if (c == IBCM_REQ_SENT || c == IBCM_SIDR_SENT) {
			CHECK(client->heard[CM_EV_REJECTED]);
			CHECK(client->status == CM_REJ_INVALID_SERVICE_ID);
		}
		if (c == IBCM_DREQ_SENT)
			CHECK(client->heard[CM_EV_DISCONNECTED]);
		if (c == IBCM_ESTAB)
			CHECK(!ended(client));
		cmw_close(&w);
	}
}

static const struct test_case cases[] = {
	{ "-", "the client is destroyed in each pair of states", destroy_client },
	{ "-", "the server is destroyed in each", destroy_server },
	{ "-", "both are destroyed in each", destroy_both },
	{ "-", "the hosts are cut off in each", cut_off },
	{ "-", "no act in each", left_alone },
	{ "-", "disconnect in each", disconnect_each },
	{ "-", "reject in each", reject_each },
	{ "-", "calls that do not fit", wrong_calls },
	{ "-", "the port is found closed in each", refused_each },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

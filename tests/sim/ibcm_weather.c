/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whole exchanges of the IB connection manager while the n-th message is lost, doubled or late, for
 * n = 1, 2, ... until there is no such message; then the same with random weather of all kinds. In
 * any weather each exchange ends as without faults, each user gets each event once, and nothing is
 * left behind.
 */
#include "support/cases.h"
#include "support/check.h"
#include "support/cmworld.h"
#include "util/clock.h"

static struct cmw w;
static struct cmw_user *client, *server;

static bool quiet_end(struct cmw *x)
{
	return false;
}

static struct cm_param with_data(enum ibv_qp_type type)
{
	struct cm_param p = cmw_param(type);

	p.private_data = "ask";
	p.private_len = 3;
	return p;
}

static void go(enum cm_ps ps, enum ibv_qp_type type)
{
	struct cm_param p = with_data(type);

	w.side[1].reply = "answer";
	w.side[1].reply_len = 6;
	cmw_listen(&w, ps, CMW_PORT, 0);
	client = cmw_connect(&w, ps, CMW_PORT, &p);
	cmw_run(&w, 400 * UT_S, quiet_end);
	server = w.side[1].newest;
}

static void both_connected_and_gone(void)
{
	struct cmw_user *u[2] = { client, server };

	CHECK(server && !memcmp(server->request, "ask", 3));
	for (int i = 0; i < 2; i++) {
		CHECK_MSG(u[i]->heard[CM_EV_ESTABLISHED] == 1, "end %d", i);
		CHECK_MSG(u[i]->heard[CM_EV_DISCONNECTED] == 1, "end %d", i);
		CHECK_MSG(u[i]->heard[CM_EV_TIMEWAIT_EXIT] == 1, "end %d", i);
		CHECK(cmw_state(u[i]) == IBCM_OVER);
	}
	CHECK(client->heard[CM_EV_RESPONSE] == 1 && server->heard[CM_EV_REQUEST] == 1);
}

static void client_hangs_up(void)
{
	w.side[0].on_established = CMW_HANG_UP;
	go(CM_PS_TCP, IBV_QPT_RC);
	both_connected_and_gone();
}

static void server_hangs_up(void)
{
	w.side[1].on_established = CMW_HANG_UP;
	go(CM_PS_TCP, IBV_QPT_RC);
	both_connected_and_gone();
}

static void both_hang_up(void)
{
	w.side[0].on_established = w.side[1].on_established = CMW_HANG_UP;
	go(CM_PS_TCP, IBV_QPT_UC);
	both_connected_and_gone();
}

static void server_rejects(void)
{
	w.side[1].on_request = CMW_REJECT;
	go(CM_PS_TCP, IBV_QPT_RC);
	CHECK(client->heard[CM_EV_REJECTED] == 1 && client->status == CM_REJ_CONSUMER);
	CHECK(!memcmp(client->data, "answer", 6));
	CHECK(!client->heard[CM_EV_RESPONSE]);
}

static void server_refuses(void)
{
	w.side[1].on_request = CMW_REFUSE;
	go(CM_PS_TCP, IBV_QPT_RC);
	CHECK(client->heard[CM_EV_REJECTED] == 1 && client->status == CM_REJ_CONSUMER);
}

static void client_rejects(void)
{
	w.side[0].on_response = CMW_REJECT;
	go(CM_PS_TCP, IBV_QPT_RC);
	CHECK(client->heard[CM_EV_RESPONSE] == 1 && !client->heard[CM_EV_ESTABLISHED]);
	CHECK(server->heard[CM_EV_REJECTED] == 1 && server->status == CM_REJ_CONSUMER);
	CHECK(!memcmp(server->data, "no", 2));
}

static void no_listener(void)
{
	struct cm_param p = with_data(IBV_QPT_RC);

	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	cmw_run(&w, 400 * UT_S, NULL);
	CHECK(client->heard[CM_EV_REJECTED] == 1);
	CHECK(client->status == CM_REJ_INVALID_SERVICE_ID);
	CHECK(w.side[1].passed_on >= 1);
}

static void datagram_service(void)
{
	go(CM_PS_UDP, IBV_QPT_UD);
	CHECK(client->heard[CM_EV_ESTABLISHED] == 1 && client->last.qkey == IBCM_UD_QKEY);
	CHECK(client->last.remote_qpn == ibcm_of(server->ep)->local_qpn);
	CHECK(!memcmp(client->last.ah.grh.dgid.raw, w.side[1].host->addr, 16));
	CHECK(!memcmp(client->data, "answer", 6) && !memcmp(server->request, "ask", 3));
	CHECK(server->heard[CM_EV_REQUEST] == 1);
}

static void datagram_refused(void)
{
	w.side[1].on_request = CMW_REJECT;
	go(CM_PS_UDP, IBV_QPT_UD);
	CHECK(client->heard[CM_EV_UNREACHABLE] == 1 && client->status == 2);
}

static void datagram_no_service(void)
{
	struct cm_param p = with_data(IBV_QPT_UD);

	client = cmw_connect(&w, CM_PS_UDP, CMW_PORT, &p);
	cmw_run(&w, 400 * UT_S, NULL);
	CHECK(client->heard[CM_EV_UNREACHABLE] == 1 && client->status == 1);
}

static void destroyed_in_events(void)
{
	w.side[0].destroy_at_end = w.side[1].destroy_at_end = true;
	w.side[1].on_established = CMW_HANG_UP;
	go(CM_PS_TCP, IBV_QPT_RC);
	CHECK(client->heard[CM_EV_DISCONNECTED] == 1 && server->heard[CM_EV_DISCONNECTED] == 1);
	CHECK(!client->heard[CM_EV_TIMEWAIT_EXIT]);
}

static void (*const exchanges[])(void) = {
	client_hangs_up, server_hangs_up, both_hang_up, server_rejects, server_refuses,
	client_rejects, no_listener, datagram_service, datagram_refused, datagram_no_service,
	destroyed_in_events,
};

#define NR_EXCHANGES (sizeof(exchanges) / sizeof(exchanges[0]))

static unsigned once(unsigned k, enum cmw_fault fault, unsigned n)
{
	unsigned sent;

	fprintf(stderr, "#   exchange %u, fault %d at message %u\n", k, (int)fault, n);
	server = NULL;
	cmw_open(&w, 1 + k);
	w.fault = fault;
	w.fault_at = n;
	exchanges[k]();
	sent = w.sent;
	cmw_close(&w);
	return sent;
}

static void sunshine(void)
{
	static const unsigned least[NR_EXCHANGES] = { 5, 5, 7, 2, 2, 3, 16, 2, 2, 16, 5 };

	for (unsigned k = 0; k < NR_EXCHANGES; k++)
		CHECK_MSG(once(k, CMW_LOSE, 0) == least[k], "exchange %u", k);
}

static void each_message(enum cmw_fault fault)
{
	for (unsigned k = 0; k < NR_EXCHANGES; k++)
		for (unsigned n = 1; once(k, fault, n) >= n; n++)
			CHECK_MSG(n < 100, "it does not end");
}

static void lost(void)
{
	each_message(CMW_LOSE);
}

static void doubled(void)
{
	each_message(CMW_DOUBLE);
}

static void late(void)
{
	each_message(CMW_LATER);
}

/* Each of loss, delay and doubling; sixteen tries get through. */
static void storm(void)
{
	for (unsigned seed = 1; seed <= 300; seed++)
		for (unsigned k = 0; k < NR_EXCHANGES; k++) {
			server = NULL;
			cmw_open(&w, seed * 64 + k);
			w.rate = 50 + seed % 200;
			fprintf(stderr, "#   seed %u exchange %u\n", seed, k);
			exchanges[k]();
			cmw_close(&w);
		}
}

/* --- forgeries of a hostile host on the way, which the ICRC does not prevent --- */

/* The ways to meet each of the messages. Both hang up at once, so nothing may last. */
static void spoiled_exchange(unsigned way)
{
	struct cm_param p = with_data(way == 3 ? IBV_QPT_UD : IBV_QPT_RC);
	enum cm_ps ps = way == 3 ? CM_PS_UDP : CM_PS_TCP;

	w.side[0].on_established = CMW_HANG_UP;
	w.side[1].on_established = way == 0 ? CMW_STAY : CMW_HANG_UP;
	w.side[1].on_request = way == 1 ? CMW_REJECT : CMW_ACCEPT;
	w.side[0].on_response = way == 2 ? CMW_REJECT : CMW_ACCEPT;
	cmw_listen(&w, ps, CMW_PORT, 0);
	cmw_connect(&w, ps, CMW_PORT, &p);
	cmw_run(&w, 1000 * UT_S, NULL);
}

/* Whatever the octet makes of the message: no event twice (the world sees to that), every
 * endpoint gets an event for its end, and none waits for ever. Returns how many messages there
 * were. */
static unsigned spoil_one(unsigned way, unsigned n, unsigned octet, uint8_t mask)
{
	const unsigned *h;
	unsigned sent;

	cmw_open(&w, 1 + way);
	/* Where a number of the other end's is wrong, its DREQ is not believed, but asked about. */
	for (int i = 0; i < 2; i++)
		cmw_cm(&w, i)->cfg.probe_ns = 5 * UT_S;
	w.fault = CMW_SPOIL;
	w.fault_at = n;
	w.spoil_at = octet;
	w.spoil = mask;
	spoiled_exchange(way);
	sent = w.sent;
	for (unsigned i = 1; i < w.n_users; i++) /* 0 listens */
		CHECK_MSG(cmw_state(w.users[i]) == IBCM_OVER,
			  "way %u, message %u, octet %u, bits %02x: user %u in state %d", way, n, octet,
			  mask, i, cmw_state(w.users[i]));
	/* The end that asked gets the result, unless it ended the exchange itself. */
	h = w.users[1]->heard;
	if (way != 2)
		CHECK_MSG(h[CM_EV_REJECTED] + h[CM_EV_UNREACHABLE] + h[CM_EV_DISCONNECTED] +
			  (way == 3 ? h[CM_EV_ESTABLISHED] : 0) == 1,
			  "way %u, message %u, octet %u, bits %02x", way, n, octet, mask);
	cmw_close(&w);
	return sent;
}

static void spoiled(void)
{
	for (unsigned way = 0; way < 4; way++) {
		unsigned messages = spoil_one(way, 0, 0, 0);

		CHECK(messages >= 2 && messages <= 7);
		for (unsigned n = 1; n <= messages; n++)
			for (unsigned octet = 0; octet < WIRE_MAD_BYTES; octet++)
				for (unsigned bit = 0; bit < 9; bit++)
					spoil_one(way, n, octet, bit < 8 ? (uint8_t)(1u << bit) : 0xff);
	}
}

static const struct test_case cases[] = {
	{ "-", "each exchange undisturbed", sunshine },
	{ "-", "each message lost", lost },
	{ "-", "each message doubled", doubled },
	{ "-", "each message late, others overtake it", late },
	{ "-", "each bit and octet of each message wrong", spoiled },
	{ "-", "random weather", storm },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

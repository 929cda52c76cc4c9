/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers that die without a message: a silent peer is probed, a peer that no longer knows the
 * connection is given up, so is one that is refused twice, and a peer that only sleeps keeps its
 * connection.
 */
#include "sim/ibcm_case.h"
#include "cm/ibcm/msg.h"

#include <errno.h>

#define PROBE (5 * UT_S)

static void watched(void)
{
	open_world();
	for (int i = 0; i < 2; i++)
		cmw_cm(&w, i)->cfg.probe_ns = PROBE;
	connected(IBV_QPT_RC);
}

/* Its process is gone, and another one has the address. */
static void kill_server(void)
{
	struct ibcm_config cfg = cmw_cm(&w, 1)->cfg;

	w.lose_attr = WIRE_CM_ATTR_DREQ;
	for (unsigned i = 0; i < w.n_users; i++)
		if (w.users[i]->side == 1)
			w.users[i]->ep = NULL;
	ibcm_fini(&w.side[1].port);
	w.side[1].n_services = 0;
	CHECK(ibcm_init(&w.side[1].port, &w.side[1].host->dev, &cfg) == 0);
	w.lose_attr = 0;
}

static void refuse(void)
{
	ibcm_unreachable(&w.side[0].port, w.side[1].host->addr, ECONNREFUSED, w.now);
}

/* An answer of the transport is enough, and a connection with traffic is not probed at all. */
static void alive(void)
{
	watched();
	w.side[0].heard = w.side[1].heard = UINT64_MAX;
	pass(600 * UT_S);
	CHECK(w.sent_of[WIRE_CM_ATTR_DREQ - 0x10] == 0);
	CHECK(w.side[0].probes >= 100 && w.side[0].probes <= 121);
	CHECK(cmw_state(client) == IBCM_ESTAB && cmw_state(server) == IBCM_ESTAB);
	cmw_close(&w);
}

/* Silent at its transport, as a process that was stopped; its manager may get around to an
 * answer or not. */
static void asleep(void)
{
	watched();
	w.side[1].deaf = true;
	pass(60 * UT_S);
	CHECK(w.sent_of[WIRE_CM_ATTR_DREQ - 0x10] >= 9);
	w.side[1].deaf = false;
	pass(60 * UT_S);
	CHECK(cmw_state(client) == IBCM_ESTAB && cmw_state(server) == IBCM_ESTAB);
	CHECK(!w.side[0].gone && !w.side[1].gone);
	cmw_close(&w);
}

static void unreached(void)
{
	ibcm_unreachable(&w.side[0].port, w.side[1].host->addr, EHOSTUNREACH, w.now);
}

/* The kernel finds no neighbour at the address while probes stay without an answer. */
static void host_gone(void)
{
	watched();
	pass(UT_S);
	unreached();
	pass(3 * UT_S);
	unreached();
	CHECK(cmw_state(client) == IBCM_ESTAB); /* not silent yet */
	w.side[1].deaf = true;
	pass(8 * UT_S);
	CHECK(client->heard[CM_EV_DISCONNECTED] == 1 && w.side[0].gone == 1);
	said(0, "gone without a disconnect");
	cmw_close(&w);
}

/* A process that is stopped, on a host that could not be reached for a moment. */
static void host_away(void)
{
	watched();
	w.side[1].deaf = true;
	pass(20 * UT_S);
	unreached();
	pass(UT_S);
	unreached();
	pass(60 * UT_S);
	unreached();
	pass(60 * UT_S);
	CHECK(cmw_state(client) == IBCM_ESTAB && !w.side[0].gone);
	unreached();
	pass(5 * UT_S);
	unreached();
	CHECK(client->heard[CM_EV_DISCONNECTED] == 1 && w.side[0].gone == 1);
	cmw_close(&w);
}

/* Another process answers there and does not know the connection. */
static void replaced(void)
{
	watched();
	kill_server();
	pass(2 * PROBE - UT_S);
	CHECK(cmw_state(client) == IBCM_ESTAB && !w.side[0].gone);
	pass(2 * UT_S);
	CHECK(client->heard[CM_EV_DISCONNECTED] == 1 && w.side[0].gone == 1);
	said(0, "gone without a disconnect");
	cmw_close(&w);
}

/* A DREP without a DREQ. */
static void stray_answer(void)
{
	uint8_t mad[WIRE_MAD_BYTES] = { 0 }, *m = ibcm_mad(mad, WIRE_CM_ATTR_DREP, 1);

	watched();
	wire_set_CM_DREP_local_comm_id(m, ibcm_of(server->ep)->local_id);
	wire_set_CM_DREP_remote_comm_id(m, ibcm_of(client->ep)->local_id);
	w.side[0].heard = UINT64_MAX;
	pass(20 * UT_S);
	cmw_inject(&w, 0, mad);
	pass(UT_S);
	CHECK(cmw_state(client) == IBCM_ESTAB && !w.side[0].gone);
	cmw_close(&w);
}

static void refused(void)
{
	unsigned asked;

	watched();
	pass(UT_S);
	asked = w.side[0].probes;
	refuse();
	refuse(); /* the next in the same queue */
	pass(9 * UT_MS);
	refuse();
	CHECK(cmw_state(client) == IBCM_ESTAB && w.side[0].probes == asked);
	pass(2 * UT_MS);
	CHECK(w.side[0].probes == asked + 1);
	refuse();
	CHECK(client->heard[CM_EV_DISCONNECTED] == 1 && w.side[0].gone == 1);
	pass(30 * UT_S);
	CHECK(client->heard[CM_EV_TIMEWAIT_EXIT] == 1);
	cmw_close(&w);
}

/* One report in a look is none, however often it happens. */
static void refused_once(void)
{
	watched();
	w.side[0].heard = UINT64_MAX;
	for (int i = 0; i < 10; i++) {
		refuse();
		pass(3 * UT_S);
	}
	CHECK(cmw_state(client) == IBCM_ESTAB && !w.side[0].gone);
	cmw_close(&w);
}

/* Many to one address: one of them asks. */
static void refused_all(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);
	unsigned asked;

	watched();
	w.side[0].destroy_at_end = true;
	for (int i = 0; i < 100; i++) {
		p = cmw_param(IBV_QPT_RC);
		cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	}
	pass(UT_S);
	asked = w.side[0].probes;
	refuse();
	pass(11 * UT_MS);
	CHECK(w.side[0].probes == asked + 1);
	refuse();
	CHECK(w.side[0].gone == 101);
	cmw_close(&w);
}

/* Another process of its host has its table. */
static void buried(void)
{
	struct ibcm_record t[CMW_RECORDS];
	int n = 0;

	watched();
	memcpy(t, w.side[1].record, sizeof(t));
	kill_server();
	for (int i = 0; i < CMW_RECORDS; i++)
		if (t[i].local_id)
			n += ibcm_disconnect_dead(&w.side[1].port, &t[i], w.now);
	CHECK(n == 1);
	pass(UT_S);
	CHECK(client->heard[CM_EV_DISCONNECTED] == 1 && !w.side[0].gone);
	/* A record of another process may hold any bytes. */
	t[0].local_id = 0;
	CHECK(!ibcm_disconnect_dead(&w.side[1].port, &t[0], w.now));
	t[0].local_id = 5;
	memset(t[0].local, 7, 16);
	CHECK(!ibcm_disconnect_dead(&w.side[1].port, &t[0], w.now));
	cmw_close(&w);
}

static void not_watched(void)
{
	open_world();
	connected(IBV_QPT_RC);
	pass(600 * UT_S);
	CHECK(w.side[0].probes == 0);
	cmw_close(&w);
}

static const struct test_case cases[] = {
	{ "-", "alive", alive },
	{ "-", "asleep", asleep },
	{ "-", "replaced", replaced },
	{ "-", "no host", host_gone },
	{ "-", "no host for a moment", host_away },
	{ "-", "an answer to nothing", stray_answer },
	{ "-", "refused", refused },
	{ "-", "refused once", refused_once },
	{ "-", "refused, many", refused_all },
	{ "-", "buried", buried },
	{ "-", "not watched", not_watched },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

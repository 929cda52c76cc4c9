/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits of the connection manager: times, names, the cost of many requests and of forged ones. */
#include "ibcm_case.h"

#include "util/alloc.h"

/* --- time --- */

static bool client_done(struct cmw *x)
{
	return client->heard[CM_EV_UNREACHABLE] || client->heard[CM_EV_DISCONNECTED];
}

static void no_answer(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);
	uint64_t from;

	open_world();
	w.side[1].deaf = true;
	from = w.now;
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	CHECK(cmw_run(&w, 200 * UT_S, client_done));
	CHECK(client->status == -ETIMEDOUT && w.sent_of[0] == 24);
	/* Nine times 0.25, 0.5 + 1 + 2 + 4 and eleven full timeouts. */
	CHECK(w.now - from == 39 * IBCM_FIRST_NS + 11 * ibcm_ns(20));
	cmw_close(&w);
	open_world();
	connected(IBV_QPT_RC);
	w.side[1].deaf = true;
	w.sent_of[5] = 0;
	CHECK(ops(client)->disconnect(client->ep) == 0);
	CHECK(cmw_run(&w, 200 * UT_S, client_done));
	CHECK(w.sent_of[5] == 16 && cmw_state(client) == IBCM_TIMEWAIT);
	pass(3 * UT_S);
	CHECK(client->heard[CM_EV_TIMEWAIT_EXIT] == 1);
	cmw_close(&w);
}

/* A stranger gets the time that the request announces, and its refusal is believed. */
static void strangers(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);
	uint64_t from;

	open_world();
	w.strangers = true;
	w.side[1].deaf = true;
	from = w.now;
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	pass(ibcm_ns(IBCM_TIMEOUT) - UT_MS);
	CHECK(w.sent_of[0] == 1);
	CHECK(cmw_run(&w, 200 * UT_S, client_done));
	CHECK(client->status == -ETIMEDOUT && w.sent_of[0] == 16);
	CHECK(w.now - from == 16 * ibcm_ns(IBCM_TIMEOUT));
	cmw_close(&w);
	open_world();
	w.strangers = true;
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	pass(UT_MS);
	CHECK(client->heard[CM_EV_REJECTED] && client->status == CM_REJ_INVALID_SERVICE_ID && w.sent_of[0] == 1);
	cmw_close(&w);
}

/* A host to which there is a connection may be about to listen: it is asked again, by requests of their own. */
static void second_connection(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);
	uint8_t first[WIRE_MAD_BYTES];
	struct cmw_user *second;

	open_world();
	w.strangers = true;
	connected(IBV_QPT_RC);
	w.sent_of[0] = 0;
	second = cmw_connect(&w, CM_PS_TCP, CMW_PORT + 1, &p);
	memcpy(first, w.last_mad, sizeof(first));
	w.lose_attr = WIRE_CM_ATTR_REQ; /* of the second request */
	cmw_run(&w, 0, NULL);
	pass(1500 * UT_US);
	CHECK(w.sent_of[0] == 2 && !second->heard[CM_EV_REJECTED]);
	CHECK(wire_get_MAD_attr_id(w.last_mad) == WIRE_CM_ATTR_REQ);
	CHECK(wire_get_MAD_tid(first) != wire_get_MAD_tid(w.last_mad));
	cmw_listen(&w, CM_PS_TCP, CMW_PORT + 1, 0);
	w.lose_attr = 0;
	pass(2 * ibcm_ns(IBCM_TIMEOUT));
	CHECK(cmw_state(second) == IBCM_ESTAB);
	cmw_close(&w);
}

static void slow_server(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);

	open_world();
	w.side[1].on_request = CMW_WAIT;
	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	/* A single REQ, as a peer sends it that waits for the whole timeout. */
	w.lose_attr = WIRE_CM_ATTR_REQ;
	cmw_run(&w, 0, NULL);
	pass(2 * UT_S);
	CHECK(w.sent_of[1] == 0);
	pass(UT_S);
	CHECK(w.sent_of[1] == 1);
	w.lose_attr = 0;
	pass(600 * UT_S);
	CHECK(cmw_state(client) == IBCM_REQ_SENT && cmw_state(server) == IBCM_REQ_RCVD);
	p = cmw_param(IBV_QPT_RC);
	CHECK(ops(server)->accept(server->ep, &p) == 0);
	pass(UT_S);
	CHECK(cmw_state(client) == IBCM_ESTAB && cmw_state(server) == IBCM_ESTAB);
	CHECK(w.sent_of[3] == 1 && w.sent_of[2] == 0);
	cmw_close(&w);
}

static void slow_client(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);

	open_world();
	w.side[0].on_response = CMW_WAIT;
	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	pass(600 * UT_S);
	CHECK(cmw_state(server) == IBCM_REP_SENT && client->heard[CM_EV_RESPONSE] == 1);
	CHECK(ops(client)->establish(client->ep) == 0);
	pass(UT_S);
	CHECK(cmw_state(server) == IBCM_ESTAB);
	cmw_close(&w);
}

static void data_before_rtu(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);

	open_world();
	w.lose_attr = WIRE_CM_ATTR_RTU;
	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	pass(100 * UT_MS);
	CHECK(cmw_state(server) == IBCM_REP_SENT);
	CHECK(ops(server)->notify(server->ep, IBV_EVENT_PATH_MIG) == -EINVAL);
	CHECK(ops(server)->notify(server->ep, IBV_EVENT_COMM_EST) == 0);
	CHECK(!server->heard[CM_EV_ESTABLISHED] && ibcm_deadline(&w.side[1].port) == 0);
	w.lose_attr = 0;
	pass(10 * UT_S);
	CHECK(server->heard[CM_EV_ESTABLISHED] == 1);
	CHECK(ops(server)->notify(server->ep, IBV_EVENT_COMM_EST) == -EISCONN);
	cmw_close(&w);
}

static void port_closed(void)
{
	static const struct {
		int error, status;
		enum cm_event_type type;
	} rows[] = {
		{ ECONNREFUSED, CM_REJ_INVALID_SERVICE_ID, CM_EV_REJECTED },
		{ EHOSTUNREACH, -EHOSTUNREACH, CM_EV_UNREACHABLE },
		{ ENETUNREACH, -ENETUNREACH, CM_EV_UNREACHABLE },
	};

	for (unsigned k = 0; k < 6; k++) {
		bool ud = k >= 3;
		struct cm_param p = cmw_param(ud ? IBV_QPT_UD : IBV_QPT_RC);
		struct cmw_user *second;

		open_world();
		w.side[1].deaf = true;
		client = cmw_connect(&w, ud ? CM_PS_UDP : CM_PS_TCP, CMW_PORT, &p);
		second = cmw_connect(&w, ud ? CM_PS_UDP : CM_PS_TCP, CMW_PORT + 1, &p);
		pass(UT_MS);
		ibcm_unreachable(&w.side[0].port, w.side[0].host->addr, rows[k % 3].error, w.now);
		ibcm_unreachable(&w.side[0].port, w.side[1].host->addr, EMSGSIZE, w.now);
		CHECK(!client->heard[rows[k % 3].type]);
		ibcm_unreachable(&w.side[0].port, w.side[1].host->addr, rows[k % 3].error, w.now);
		CHECK(client->heard[rows[k % 3].type] && client->status == rows[k % 3].status);
		CHECK(second->heard[rows[k % 3].type]);
		cmw_close(&w);
	}
}

/* --- names --- */

static int bind_to(uint64_t service, bool reuse, struct cm_ep **ret)
{
	struct cm_bind b = { .service = service, .opt = { .tos = -1, .reuse = reuse } };

	memcpy(b.local.addr, w.side[1].host->addr, 16);
	return w.side[1].port.ops->bind(&w.side[1].port, &b, ret);
}

static void names(void)
{
	uint64_t tcp = cm_ip_service(CM_PS_TCP, 0), seen = 0;
	struct cm_ep *v[32], *a, *b;
	struct cm_bind no = { .service = tcp };
	const struct cm_ops *o;

	open_world();
	o = w.side[1].port.ops;
	CHECK(o->bind(&w.side[1].port, &no, &a) == -EADDRNOTAVAIL);
	CHECK(bind_to(tcp | 80, false, &a) == -EACCES);
	CHECK(bind_to(tcp | 5000, false, &a) == 0 && a->local.port == 5000);
	CHECK(bind_to(tcp | 5000, true, &b) == -EADDRINUSE);
	CHECK(bind_to(cm_ip_service(CM_PS_UDP, 5000), false, &b) == 0);
	o->destroy(b);
	o->destroy(a);
	/* Endpoints that share a port: one may listen, none joins a listener. */
	CHECK(bind_to(tcp | 5000, true, &a) == 0 && bind_to(tcp | 5000, true, &b) == 0);
	CHECK(o->listen(b, 1) == 0 && o->listen(a, 1) == -EADDRINUSE);
	CHECK(bind_to(tcp | 5000, true, &v[0]) == -EADDRINUSE);
	o->destroy(a);
	CHECK(w.side[1].n_services == 1);
	o->destroy(b);
	CHECK(w.side[1].n_services == 0);
	/* The whole ephemeral range, each port once. */
	for (unsigned i = 0; i < 32; i++) {
		CHECK(bind_to(tcp, false, &v[i]) == 0);
		CHECK(v[i]->local.port >= 32768 && v[i]->local.port <= 32799);
		seen |= 1ull << (v[i]->local.port - 32768);
	}
	CHECK(seen == 0xffffffff && bind_to(tcp, false, &a) == -EADDRINUSE);
	for (unsigned i = 0; i < 32; i++)
		o->destroy(v[i]);
	cmw_close(&w);
}

static void passed_on(void)
{
	struct link_rx raw = { .passed = true };
	struct gsi_rx rx = { .mad = last, .raw = &raw };

	open_world();
	make_req();
	memcpy(rx.src, w.side[0].host->addr, 16);
	memcpy(rx.dst, w.side[1].host->addr, 16);
	w.side[1].pass_result = 1;
	CHECK(refused_with(last) == 0 && w.side[1].passed_on == 1);
	ibcm_receive(&w.side[1].port, &rx, w.now);
	CHECK(w.side[1].passed_on == 1 && wire_get_MAD_attr_id(w.last_mad) == WIRE_CM_ATTR_REJ);
	cmw_close(&w);
}

/* The request is on its way before there is a listener: so fast is no refusal. */
static void late_listener(void)
{
	for (unsigned ud = 0; ud < 2; ud++) {
		struct cm_param p = cmw_param(ud ? IBV_QPT_UD : IBV_QPT_RC);
		enum cm_ps ps = ud ? CM_PS_UDP : CM_PS_TCP;
		enum cm_event_type no = ud ? CM_EV_UNREACHABLE : CM_EV_REJECTED;

		open_world();
		client = cmw_connect(&w, ps, CMW_PORT, &p);
		pass(20 * UT_MS);
		CHECK(!client->heard[no]);
		cmw_listen(&w, ps, CMW_PORT, 0);
		pass(100 * UT_MS);
		CHECK(client->heard[CM_EV_ESTABLISHED] == 1 && !client->heard[no]);
		cmw_close(&w);
		open_world();
		client = cmw_connect(&w, ps, CMW_PORT, &p);
		pass(150 * UT_MS);
		CHECK(client->heard[no] == 1);
		cmw_close(&w);
	}
}

/* --- many --- */

static void backlog(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);
	struct cmw_user *u[5];
	unsigned n;

	open_world();
	w.side[1].on_request = CMW_WAIT;
	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 3);
	for (unsigned i = 0; i < 5; i++) {
		p.qpn++;
		u[i] = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	}
	pass(100 * UT_MS);
	n = w.n_users;
	CHECK(n == 1 + 5 + 3);
	w.side[1].on_request = CMW_ACCEPT;
	for (unsigned i = 6; i < 9; i++)
		CHECK(ops(w.users[i])->accept(w.users[i]->ep, &p) == 0);
	pass(5 * UT_S);
	for (unsigned i = 0; i < 5; i++)
		CHECK(cmw_state(u[i]) == IBCM_ESTAB);
	cmw_close(&w);
}

static size_t endpoints(int side)
{
	struct ut_list *l = &cmw_cm(&w, side)->eps, *n;
	size_t k = 0;

	for (n = l->next; n != l; n = n->next)
		k++;
	return k;
}

static void flood(void)
{
	uint8_t from[16];

	open_world();
	w.side[1].on_request = CMW_ACCEPT;
	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	make_req();
	memcpy(from, w.side[0].host->addr, 16);
	for (uint32_t i = 0; i < 12000; i++) {
		uint8_t *m = last + WIRE_MAD_LEN;

		/* One address, then forged ones. */
		if (i >= 6000)
			wire_put32(from + 12, 0x0b000000 + i);
		memcpy(m + 56, from, 16);
		memcpy(m + 140 + 16, from + 12, 4);
		wire_set_CM_REQ_local_comm_id(m, 0x02000000 + i);
		wire_set_CM_REQ_local_qpn(m, 0x1000 + i);
		cmw_inject_from(&w, 1, last, from);
		cmw_run(&w, 0, NULL);
		if (w.n_users > 4000) /* the users of the test are not what is counted */
			w.side[1].on_request = CMW_REFUSE;
		if (i == 5999)
			CHECK(endpoints(1) == 1 + IBCM_HALF_OPEN_PEER);
	}
	CHECK(endpoints(1) <= 1 + IBCM_HALF_OPEN_MAX + IBCM_GONE_MAX);
	/* When it is over, all is as before. */
	pass(400 * UT_S);
	cmw_close(&w);
}

static bool all_established(struct cmw *x)
{
	for (unsigned i = 1; i < x->n_users; i++)
		if (!x->users[i]->heard[CM_EV_ESTABLISHED])
			return false;
	return x->n_users == 2001;
}

static void thousand(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);

	open_world();
	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	for (unsigned i = 0; i < 1000; i++) {
		p.qpn = 0x400100 + i;
		cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	}
	CHECK(cmw_run(&w, UT_S, all_established));
	CHECK(w.sent == 3000);
	for (unsigned i = 1; i < w.n_users; i++)
		CHECK(ops(w.users[i])->disconnect(w.users[i]->ep) == 0);
	pass(10 * UT_S);
	for (unsigned i = 1; i < w.n_users; i++)
		CHECK(w.users[i]->heard[CM_EV_TIMEWAIT_EXIT] == 1);
	cmw_close(&w);
}

static void run_to_end(struct cmw_user *c)
{
	pass(100 * UT_MS);
	CHECK(cmw_state(c) == IBCM_ESTAB && w.side[1].newest);
	CHECK(cmw_state(w.side[1].newest) == IBCM_ESTAB);
	CHECK(ops(c)->disconnect(c->ep) == 0);
	pass(10 * UT_S);
	CHECK(c->heard[CM_EV_TIMEWAIT_EXIT] && w.side[1].newest->heard[CM_EV_TIMEWAIT_EXIT]);
	cmw_close(&w);
}

static void ipv6(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);
	const uint8_t *h = w.last_mad + WIRE_MAD_LEN + 140;

	cmw_open6(&w, 3);
	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	CHECK(h[1] == 0x60 && !memcmp(h + 4, w.side[0].host->addr, 16));
	CHECK(!memcmp(h + 20, w.side[1].host->addr, 16));
	run_to_end(client);
}

/* Both ends in one process: one machine plays both. */
static void with_itself(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);

	open_world();
	cmw_listen_on(&w, 1, CM_PS_TCP, CMW_PORT, 0);
	run_to_end(cmw_connect_to(&w, 1, 1, CM_PS_TCP, CMW_PORT, &p));
}

/* The n-th allocation fails: an error at once, or a request dropped that comes again. */
static void out_of_memory(void)
{
	for (unsigned n = 1; n < 40; n++) {
		struct cm_param p = cmw_param(IBV_QPT_RC);
		struct cm_bind b = { .service = cm_ip_service(CM_PS_TCP, 0) };
		struct link_end to = { .port = CMW_PORT };
		struct cm_ep *ep = NULL;
		int r;

		open_world();
		cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
		memcpy(b.local.addr, w.side[0].host->addr, 16);
		memcpy(to.addr, w.side[1].host->addr, 16);
		ut_fault_arm(n, 0);
		r = w.side[0].port.ops->create(&w.side[0].port, &b, &ep);
		if (!r)
			r = ep->port->ops->connect(ep, &to, &p);
		CHECK(r == 0 || r == -ENOMEM);
		if (!r) {
			struct cmw_user u = { .w = &w, .ep = ep };

			ep->user = &u;
			pass(10 * UT_S);
			CHECK(u.heard[CM_EV_ESTABLISHED] == 1);
		}
		ut_fault_arm(0, 0);
		if (ep)
			ep->port->ops->destroy(ep);
		cmw_close(&w);
	}
}

static void exit_says_goodbye(void)
{
	struct ibcm_config cfg;

	open_world();
	connected(IBV_QPT_RC);
	cfg = cmw_cm(&w, 0)->cfg;
	client->ep = NULL;
	ibcm_fini(&w.side[0].port);
	CHECK(ibcm_init(&w.side[0].port, &w.side[0].host->dev, &cfg) == 0);
	pass(100 * UT_MS);
	CHECK(server->heard[CM_EV_DISCONNECTED] == 1);
	cmw_close(&w);
}

static const struct test_case cases[] = {
	{ "-", "a REQ without an answer", no_answer },
	{ "-", "a request to a stranger", strangers },
	{ "-", "a second connection before its listener", second_connection },
	{ "-", "a slow server", slow_server },
	{ "-", "a slow client", slow_client },
	{ "-", "data before the RTU", data_before_rtu },
	{ "-", "a closed port", port_closed },
	{ "-", "a listener that is late", late_listener },
	{ "-", "names", names },
	{ "-", "requests for other processes", passed_on },
	{ "-", "backlog", backlog },
	{ "-", "flood", flood },
	{ "-", "a thousand connections", thousand },
	{ "-", "IPv6", ipv6 },
	{ "-", "a connection with itself", with_itself },
	{ "-", "out of memory", out_of_memory },
	{ "-", "exit", exit_says_goodbye },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Binding and listening: one address or any, one adapter or all, ports chosen and taken. */
#include "cma_fake.h"

static uint16_t port_of(struct cma_id *id)
{
	struct cma_info info;

	cma_query(id, &info);
	return ntohs(((struct sockaddr_in *)&info.local)->sin_port);
}

static void occupied_drop(struct fake_port *p)
{
	while (!ut_list_empty(&p->eps))
		free(ut_container(ut_list_pop(&p->eps), struct fake_ep, node));
}

static void test_specific(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *a = fh_id(ch, CM_PS_TCP, IBV_QPT_RC), *b = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	int one = 1;

	CHECK(cma_bind(a, fh_v4("10.0.0.1", 500)) == 0);
	CHECK(fh_eps(&fh.alpha) == 1 && fh_eps(&fh.beta) == 0);
	/* The first kind refuses: no silent step to the next. */
	CHECK(cma_bind(b, fh_v4("10.0.0.1", 500)) == -EADDRINUSE);
	CHECK(fh_eps(&fh.beta) == 0);
	CHECK(cma_bind(b, fh_v4("10.0.0.99", 500)) == -EADDRNOTAVAIL);
	CHECK(cma_option(b, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one, sizeof(one)) == 0);
	CHECK(cma_bind(b, fh_v4("10.0.0.1", 500)) == 0);
	cma_id_destroy(b);
	b = fh_id(ch, CM_PS_UDP, IBV_QPT_UD);
	CHECK(cma_bind(b, fh_v4("10.0.0.2", 500)) == -ENODEV);
	CHECK(cma_bind(b, fh_v4("10.0.0.1", 0)) == 0);
	CHECK(port_of(b) >= 40000);
	cma_id_destroy(a);
	cma_id_destroy(b);
	CHECK(cma_chan_destroy(ch) == 0);
	fh_check_empty();
}

static void test_any(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);

	CHECK(cma_bind(id, fh_v6("::", 600)) == 0);
	CHECK(fh_eps(&fh.alpha) == 2 && fh_eps(&fh.beta) == 2);
	CHECK(cma_listen(id, 5) == 0);
	CHECK(fh_listening(&fh.alpha) == 2 && fh_listening(&fh.beta) == 2);
	CHECK(fh_listener(&fh.beta, "10.0.0.2")->backlog == 5);
	cma_id_destroy(id);

	id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	CHECK(cma_bind(id, fh_v4("0.0.0.0", 600)) == 0);
	CHECK(fh_eps(&fh.alpha) == 1 && fh_eps(&fh.beta) == 2);
	cma_id_destroy(id);

	/* Beta has no UD and is passed over. */
	id = fh_id(ch, CM_PS_UDP, IBV_QPT_UD);
	CHECK(cma_bind(id, fh_v6("::", 600)) == 0);
	CHECK(fh_eps(&fh.alpha) == 2 && fh_eps(&fh.beta) == 0);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
	fh_check_empty();
}

static void test_afonly(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	int one = 1;

	CHECK(cma_bind(id, fh_v6("::", 600)) == 0);
	/* After the bind: decided at listen. */
	CHECK(cma_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one, sizeof(one)) == 0);
	CHECK(cma_listen(id, 0) == 0);
	CHECK(fh_eps(&fh.alpha) == 1 && fh_eps(&fh.beta) == 0);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
}

static void test_taken(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);

	/* Of the second kind: left out. */
	fh_occupy(&fh.beta, "10.0.0.1", 700);
	CHECK(cma_bind(id, fh_v4("0.0.0.0", 700)) == 0);
	CHECK(cma_listen(id, 0) == 0);
	CHECK(fh_listening(&fh.alpha) == 1 && fh_listening(&fh.beta) == 1);
	cma_id_destroy(id);

	/* Of the first: peers would never come, so the call fails. */
	fh_occupy(&fh.alpha, "10.0.0.1", 700);
	id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	CHECK(cma_bind(id, fh_v4("0.0.0.0", 700)) == -EADDRINUSE);
	CHECK(fh_eps(&fh.beta) == 1); /* its holder */
	/* The identifier is as it was. */
	CHECK(cma_bind(id, fh_v4("0.0.0.0", 701)) == 0);
	cma_id_destroy(id);
	occupied_drop(&fh.alpha);
	occupied_drop(&fh.beta);
	CHECK(cma_chan_destroy(ch) == 0);
	fh_check_empty();
}

/* One adapter cannot attach: left out; all: refused. */
static void test_attach_fails(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);

	fh.alpha.attach_result = -EADDRINUSE;
	CHECK(cma_bind(id, fh_v4("10.0.0.1", 800)) == -EADDRINUSE);
	CHECK(cma_bind(id, fh_v4("0.0.0.0", 800)) == 0);
	CHECK(fh_eps(&fh.alpha) == 0 && fh_eps(&fh.beta) == 2);
	cma_id_destroy(id);
	fh.beta.attach_result = -EIO;
	id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	CHECK(cma_bind(id, fh_v4("0.0.0.0", 800)) == -EADDRINUSE);
	CHECK(cma_listen(id, 0) < 0);
	cma_id_destroy(id);
	fh.alpha.attach_result = fh.beta.attach_result = 0;
	CHECK(cma_chan_destroy(ch) == 0);
}

static void same_port(struct fake_port *p, uint16_t port)
{
	struct fake_ep *e;

	ut_list_each(e, &p->eps, node)
		CHECK(e->ep.local.port == port || e->ep.local.port == 40101);
}

static void test_ephemeral(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);

	/* The port that alpha chooses first is taken on beta: both move to the next. */
	fh.alpha.next_port = 40101;
	fh_occupy(&fh.beta, "10.0.0.2", 40101);
	CHECK(cma_bind(id, fh_v4("0.0.0.0", 0)) == 0);
	CHECK(port_of(id) == 40102);
	CHECK(fh_eps(&fh.alpha) == 1 && fh_eps(&fh.beta) == 3);
	same_port(&fh.alpha, 40102);
	same_port(&fh.beta, 40102);
	CHECK(cma_listen(id, 0) == 0);
	cma_id_destroy(id);
	occupied_drop(&fh.beta);

	/* An idle identifier listens on any address and port. */
	id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	CHECK(cma_listen(id, 0) == 0);
	CHECK(port_of(id) >= 40000);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
	fh_check_empty();
}

/* Bound to any address, then resolved: the source's endpoint remains, with its port. */
static void test_any_then_resolve(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);

	CHECK(cma_bind(id, fh_v4("0.0.0.0", 900)) == 0);
	CHECK(cma_resolve_addr(id, NULL, fh_v4("10.0.0.9", 7), 0) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	CHECK(fh_eps(&fh.beta) == 0 && fh_ep(&fh.alpha)->ep.local.port == 900);
	CHECK(port_of(id) == 900);
	cma_id_destroy(id);

	fh_occupy(&fh.alpha, "10.0.0.1", 900);
	id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	CHECK(cma_bind(id, fh_v4("0.0.0.0", 900)) == -EADDRINUSE);
	CHECK(cma_resolve_addr(id, NULL, fh_v4("10.0.0.9", 7), 0) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	CHECK(port_of(id) != 900);
	cma_id_destroy(id);
	occupied_drop(&fh.alpha);
	CHECK(cma_chan_destroy(ch) == 0);
	fh_check_empty();
}

static void test_address_comes_and_goes(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC), *one;
	struct link_end fresh = fh.beta.addrs[1];

	fresh.addr[15] = 3;
	CHECK(cma_bind(id, fh_v4("0.0.0.0", 950)) == 0 && cma_listen(id, 0) == 0);
	one = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	CHECK(cma_bind(one, fh_v4("10.0.0.2", 951)) == 0);
	fh.beta.addrs[fh.beta.n_addrs++] = fresh;
	cma_addr_changed(fh.c, &fh.beta.cm, fresh.addr);
	CHECK(fh_listener(&fh.beta, "10.0.0.3") && fh_listening(&fh.beta) == 3);
	/* Twice is once. */
	cma_addr_changed(fh.c, &fh.beta.cm, fresh.addr);
	CHECK(fh_listening(&fh.beta) == 3);
	fh.beta.n_addrs--;
	cma_addr_changed(fh.c, &fh.beta.cm, fresh.addr);
	CHECK(!fh_listener(&fh.beta, "10.0.0.3"));
	fh_expect_none(ch);
	/* Bound to the one that goes: an event. */
	fh.beta.n_addrs--;
	cma_addr_changed(fh.c, &fh.beta.cm, fh.beta.addrs[1].addr);
	CHECK(fh_expect(ch, RDMA_CM_EVENT_ADDR_CHANGE, 0)->id == one);
	fh.beta.n_addrs++;
	/* The adapter goes: the listener loses its endpoints there and stays. */
	cma_port_gone(fh.c, &fh.beta.cm);
	CHECK(fh_expect(ch, RDMA_CM_EVENT_DEVICE_REMOVAL, 0)->id == one);
	fh_expect_none(ch);
	CHECK(fh_listening(&fh.beta) == 0 && fh_listening(&fh.alpha) == 1);
	cma_id_destroy(one);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
	fh_check_empty();
}

int main(void)
{
	fh_open();
	test_specific();
	test_any();
	test_afonly();
	test_taken();
	test_attach_fails();
	test_ephemeral();
	test_any_then_resolve();
	test_address_comes_and_goes();
	fh_check_empty();
	return 0;
}

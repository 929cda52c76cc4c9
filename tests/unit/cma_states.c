/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every state against every call, resolution and its errors, options, depths. */
#include "cma_fake.h"

#include "infiniband/ib.h"

#include <endian.h>

enum { IDLE, BOUND, NAME, ADDR, QUERY, ROUTED, LISTENING, CONNECT, DISCONNECT, GONE, STATES };

static struct cma_id *in_state(struct cma_chan *ch, int s)
{
	struct cma_id *id;

	switch (s) {
	case QUERY:
		id = in_state(ch, ADDR);
		fh.path_result = -EINPROGRESS;
		CHECK(cma_resolve_route(id, 1000) == 0);
		fh.path_result = 0;
		fh_expect_none(ch);
		return id;
	case ROUTED:
		return fh_routed(ch);
	case CONNECT:
		return fh_connected(ch);
	case GONE:
	case DISCONNECT:
		id = fh_connected(ch);
		if (s == DISCONNECT) {
			fh_raise(&fh.alpha, fh_ep(&fh.alpha), CM_EV_DISCONNECTED, 0);
			fh_expect(ch, RDMA_CM_EVENT_DISCONNECTED, 0);
		} else {
			cma_port_gone(fh.c, &fh.alpha.cm);
			fh_expect(ch, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
		}
		return id;
	}
	id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	if (s == NAME) {
		fh.name_result = -EINPROGRESS;
		CHECK(cma_resolve_addr(id, NULL, fh_v4("10.9.0.1", 7), 1000) == 0);
		fh.name_result = 0;
		fh_expect_none(ch);
	}
	if (s == BOUND || s == LISTENING)
		CHECK(cma_bind(id, fh_v4("10.0.0.1", 1234)) == 0);
	if (s == LISTENING)
		CHECK(cma_listen(id, 0) == 0);
	if (s == ADDR) {
		CHECK(cma_resolve_addr(id, NULL, fh_v4("10.0.0.9", 7), 0) == 0);
		fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	}
	return id;
}

static int c_bind(struct cma_id *id)
{
	return cma_bind(id, fh_v4("10.0.0.1", 77));
}

static int c_resolve(struct cma_id *id)
{
	return cma_resolve_addr(id, NULL, fh_v4("10.0.0.9", 7), 0);
}

static int c_route(struct cma_id *id)
{
	return cma_resolve_route(id, 0);
}

static int c_path(struct cma_id *id)
{
	struct ibv_path_data d = { .flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY |
					    IBV_PATH_FLAG_BIDIRECTIONAL };

	return cma_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &d, sizeof(d));
}

static int c_listen(struct cma_id *id)
{
	return cma_listen(id, 3);
}

static int c_connect(struct cma_id *id)
{
	struct cm_param p = fh_param();

	return cma_connect(id, &p);
}

static int c_accept(struct cma_id *id)
{
	struct cm_param p = fh_param();

	return cma_accept(id, &p);
}

static int c_reject(struct cma_id *id)
{
	return cma_reject(id, CM_REJ_CONSUMER, NULL, 0);
}

static int c_establish(struct cma_id *id)
{
	return cma_establish(id);
}

static int c_notify(struct cma_id *id)
{
	return cma_notify(id, IBV_EVENT_COMM_EST);
}

static int c_disconnect(struct cma_id *id)
{
	return cma_disconnect(id);
}

static int c_join(struct cma_id *id)
{
	return cma_join(id, fh_v4("224.1.1.1", 0), false, NULL);
}

static int c_device(struct cma_id *id)
{
	return cma_option(id, CMA_OPT_DAPPLE, CMA_OPT_DEVICE, "beta", 5);
}

static int c_afonly(struct cma_id *id)
{
	int one = 1;

	return cma_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one, sizeof(one));
}

static int c_unreuse(struct cma_id *id)
{
	int zero = 0;

	return cma_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &zero, sizeof(zero));
}

static int c_init_attr(struct cma_id *id)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT };
	int mask = 0, r = cma_qp_attr(id, &a, &mask);

	CHECK(r < 0 || mask & IBV_QP_STATE);
	return r;
}

static int c_rtr_attr(struct cma_id *id)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR };
	int mask = 0;

	return cma_qp_attr(id, &a, &mask);
}

/* '+' = 0, '-' = -EINVAL */
static const struct {
	const char *name;
	int (*call)(struct cma_id *id);
	const char *want;
} rows[] = {
	/*                             I B N A Q R L C D G */
	{ "bind",       c_bind,       "+---------" },
	{ "resolve",    c_resolve,    "++--------" },
	{ "route",      c_route,      "---+------" },
	{ "path",       c_path,       "---+------" },
	{ "listen",     c_listen,     "++--------" },
	{ "connect",    c_connect,    "-----+----" },
	{ "accept",     c_accept,     "-------+--" },
	{ "reject",     c_reject,     "-------+--" },
	{ "establish",  c_establish,  "-------+--" },
	{ "notify",     c_notify,     "-------+--" },
	{ "disconnect", c_disconnect, "-------+++" },
	{ "join (RC)",  c_join,       "----------" },
	{ "device",     c_device,     "+---------" },
	{ "afonly",     c_afonly,     "++--------" },
	{ "no reuse",   c_unreuse,    "+---------" },
	{ "INIT",       c_init_attr,  "-+-+++++++" },
	{ "RTR",        c_rtr_attr,   "-------+++" },
};

static void test_table(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int s = 0; s < STATES; s++) {
			struct cma_chan *ch = fh_chan();
			struct cma_id *id = in_state(ch, s);
			int r = rows[i].call(id);

			CHECK_MSG(r == (rows[i].want[s] == '+' ? 0 : -EINVAL),
				  "%s in state %d: %d", rows[i].name, s, r);
			cma_id_destroy(id);
			fh_expect_none(ch);
			CHECK(cma_chan_destroy(ch) == 0);
			fh_check_empty();
		}
	}
}

/* An event that the state does not expect is not told. */
static void test_events_by_state(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_routed(ch);
	struct fake_ep *e = fh_ep(&fh.alpha);
	struct cm_param p = fh_param();

	fh_raise(&fh.alpha, e, CM_EV_DISCONNECTED, 0);
	fh_expect_none(ch);
	CHECK(cma_connect(id, &p) == 0);
	fh_raise(&fh.alpha, e, CM_EV_TIMEWAIT_EXIT, 0);
	fh_expect_none(ch);
	fh_raise(&fh.alpha, e, CM_EV_RESPONSE, 0);
	fh_expect(ch, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	/* The end that confirms knows that the connection stands. */
	fh_raise(&fh.alpha, e, CM_EV_ESTABLISHED, 0);
	fh_expect_none(ch);
	fh_raise(&fh.alpha, e, CM_EV_DISCONNECTED, 0);
	fh_expect(ch, RDMA_CM_EVENT_DISCONNECTED, 0);
	fh_raise(&fh.alpha, e, CM_EV_DISCONNECTED, 0);
	fh_raise(&fh.alpha, e, CM_EV_ESTABLISHED, 0);
	fh_expect_none(ch);
	fh_raise(&fh.alpha, e, CM_EV_TIMEWAIT_EXIT, 0);
	fh_expect(ch, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
}

static void test_failures(void)
{
	static const struct {
		enum cm_event_type type;
		int status, want;
		const char *say;
	} v[] = {
		{ CM_EV_REJECTED, CM_REJ_CONSUMER, RDMA_CM_EVENT_REJECTED, "the program at the peer refused" },
		{ CM_EV_REJECTED, CM_REJ_INVALID_SERVICE_ID, RDMA_CM_EVENT_REJECTED,
		  "no program listens" },
		{ CM_EV_REJECTED, 77, RDMA_CM_EVENT_REJECTED, "reason 77" },
		{ CM_EV_REJECTED, -ECONNREFUSED, RDMA_CM_EVENT_REJECTED, "Connection refused" },
		{ CM_EV_UNREACHABLE, -ETIMEDOUT, RDMA_CM_EVENT_UNREACHABLE, "timed out" },
		{ CM_EV_UNREACHABLE, 1, RDMA_CM_EVENT_UNREACHABLE, "no program serves" },
		{ CM_EV_ERROR, -EPROTO, RDMA_CM_EVENT_CONNECT_ERROR, "Protocol error" },
		{ CM_EV_ALTERNATE, CM_APR_INVALID_LID, RDMA_CM_EVENT_ROUTE_ERROR, "no alternate path was loaded (status 7)" },
		{ CM_EV_ALTERNATE, 200, RDMA_CM_EVENT_ROUTE_ERROR, "IBTA table 117" },
		{ CM_EV_ALTERNATE, -ETIMEDOUT, RDMA_CM_EVENT_ROUTE_ERROR, "timed out: no alternate path" },
		{ CM_EV_ERROR, -99999, RDMA_CM_EVENT_CONNECT_ERROR, "unknown error" },
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct cma_chan *ch = fh_chan();
		struct cma_id *id = fh_routed(ch);
		struct cm_param p = fh_param();
		struct cm_event e;
		char own[64];

		CHECK(cma_connect(id, &p) == 0);
		fh.said[0] = 0;
		snprintf(own, sizeof(own), "10.0.0.1 port %u", fh_ep(&fh.alpha)->ep.local.port);
		fh_raise(&fh.alpha, fh_ep(&fh.alpha), v[i].type, v[i].status);
		CHECK(fh_expect(ch, v[i].want, v[i].status)->id == id);
		/* Both ends and the reason; what is not told is not said either. */
		CHECK_MSG(strstr(fh.said, own) && strstr(fh.said, "10.0.0.9 port 7 ") &&
			  strstr(fh.said, v[i].say), "%s", fh.said);
		fh.said[0] = 0;
		fh_raise(&fh.alpha, fh_ep(&fh.alpha), CM_EV_TIMEWAIT_EXIT, 0);
		CHECK(!fh.said[0]);
		/* Nor twice. */
		e = (struct cm_event){ .type = v[i].type, .status = v[i].status, .said = true,
				       .ep = &fh_ep(&fh.alpha)->ep };
		ut_lock(&fh.alpha.dev.lock);
		fh.alpha.cm.user->event(&fh.alpha.cm, &e);
		ut_unlock(&fh.alpha.dev.lock);
		fh_expect(ch, v[i].want, v[i].status);
		CHECK(!fh.said[0]);
		cma_id_destroy(id);
		CHECK(cma_chan_destroy(ch) == 0);
	}
}

static void resolve_fails(struct cma_chan *ch, enum cm_ps ps, enum ibv_qp_type t,
			  struct sockaddr *src, struct sockaddr *dst, int status)
{
	struct cma_id *id = fh_id(ch, ps, t);

	CHECK(cma_resolve_addr(id, src, dst, 0) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ADDR_ERROR, status);
	/* And another address may be tried. */
	if (ps == CM_PS_TCP && !src) {
		CHECK(cma_resolve_addr(id, NULL, fh_v4("10.0.0.9", 7), 0) == 0);
		fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	}
	cma_id_destroy(id);
}

static void test_resolve(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	struct sockaddr_in *in;
	struct cma_info info;

	/* Both adapters have the address: the first is it. */
	CHECK(cma_resolve_addr(id, NULL, fh_v4("10.0.0.9", 7), 0) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	cma_query(id, &info);
	CHECK(strcmp(info.device, "alpha") == 0 && info.port_num == 1 && !info.routed);
	in = (struct sockaddr_in *)&info.local;
	CHECK(in->sin_family == AF_INET && in->sin_addr.s_addr == htonl(0x0a000001));
	CHECK(ntohs(in->sin_port) == fh_ep(&fh.alpha)->ep.local.port);
	in = (struct sockaddr_in *)&info.remote;
	CHECK(in->sin_addr.s_addr == htonl(0x0a000009) && ntohs(in->sin_port) == 7);
	cma_id_destroy(id);

	resolve_fails(ch, CM_PS_TCP, IBV_QPT_RC, NULL, fh_v4("10.9.0.1", 7), -ENETUNREACH);
	resolve_fails(ch, CM_PS_TCP, IBV_QPT_RC, NULL, fh_v4("10.0.1.5", 7), -ENODEV);
	/* The source is beta's alone, and beta has no UD: no other adapter is tried. */
	id = fh_id(ch, CM_PS_UDP, IBV_QPT_UD);
	CHECK(cma_resolve_addr(id, fh_v4("10.0.0.2", 0), fh_v4("10.0.0.9", 7), 0) == -ENODEV);
	cma_id_destroy(id);
	id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	CHECK(cma_resolve_addr(id, fh_v4("10.0.0.77", 0), fh_v4("10.0.0.9", 7), 0) ==
	      -EADDRNOTAVAIL);
	CHECK(cma_resolve_addr(id, NULL, NULL, 0) == -EINVAL);
	cma_id_destroy(id);
	fh_expect_none(ch);
	CHECK(cma_chan_destroy(ch) == 0);
	fh_check_empty();
}

/* An address that the subnet knows: its port is found by the host's own address of it, and the peer is shown by the one
 * that was asked for. */
static void test_names(void)
{
	static const uint8_t own[16] = { [10] = 0xff, 0xff, 10, 0, 0, 8 };
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = in_state(ch, NAME);
	struct cm_param p = fh_param();
	struct sockaddr_in *in;
	struct cma_info info;

	cma_name_answer(fh.c, fh.asked + 1, 0, own);
	fh_expect_none(ch);
	cma_name_answer(fh.c, fh.asked, 0, own);
	CHECK(fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0)->id == id);
	cma_name_answer(fh.c, fh.asked, 0, own);
	fh_expect_none(ch);
	cma_query(id, &info);
	in = (struct sockaddr_in *)&info.remote;
	CHECK(in->sin_addr.s_addr == htonl(0x0a090001) && ntohs(in->sin_port) == 7);
	CHECK(strcmp(info.device, "alpha") == 0 && !memcmp(info.dgid.raw, own, 16));
	CHECK(cma_resolve_route(id, 1000) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	CHECK(cma_connect(id, &p) == 0);
	CHECK(!memcmp(fh_ep(&fh.alpha)->ep.remote.addr, own, 16) && fh_ep(&fh.alpha)->ep.remote.port == 7);
	cma_id_destroy(id);

	/* Not registered: another address may be tried. */
	id = in_state(ch, NAME);
	cma_name_answer(fh.c, fh.asked, -EHOSTUNREACH, own);
	fh_expect(ch, RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
	CHECK(cma_resolve_addr(id, NULL, fh_v4("10.0.0.9", 7), 0) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	cma_query(id, &info);
	in = (struct sockaddr_in *)&info.remote;
	CHECK(in->sin_addr.s_addr == htonl(0x0a000009));
	cma_id_destroy(id);

	/* Registered for a port that no adapter of the host reaches; and an answer that comes after the identifier's end. */
	id = in_state(ch, NAME);
	cma_name_answer(fh.c, fh.asked, 0, (const uint8_t[16]){ [10] = 0xff, 0xff, 10, 9, 0, 2 });
	fh_expect(ch, RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH);
	cma_id_destroy(id);
	id = in_state(ch, NAME);
	cma_id_destroy(id);
	cma_name_answer(fh.c, fh.asked, 0, own);
	fh_expect_none(ch);
	/* The adapter of a bound identifier goes meanwhile. */
	id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	fh.name_result = -EINPROGRESS;
	CHECK(cma_resolve_addr(id, fh_v4("10.0.0.1", 0), fh_v4("10.9.0.1", 7), 1000) == 0);
	fh.name_result = 0;
	cma_port_gone(fh.c, &fh.alpha.cm);
	fh_expect(ch, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	cma_name_answer(fh.c, fh.asked, -ENODEV, own);
	fh_expect(ch, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	CHECK(cma_resolve_route(id, 1000) == -EINVAL);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
	fh_check_empty();
}

static void test_device_choice(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	struct cma_info info;

	CHECK(cma_option(id, CMA_OPT_DAPPLE, CMA_OPT_DEVICE, "gamma", 5) == -ENODEV);
	CHECK(c_device(id) == 0);
	CHECK(c_resolve(id) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	cma_query(id, &info);
	CHECK(strcmp(info.device, "beta") == 0 && info.moves_qp);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
}

static void test_options(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_routed(ch);
	uint8_t v = 0x28, long_val[2] = { 0 };

	CHECK(cma_option(id, RDMA_OPTION_ID, 9, &v, 1) == -ENOSYS);
	CHECK(cma_option(id, 7, 0, &v, 1) == -ENOSYS);
	CHECK(cma_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, long_val, 2) == -EINVAL);
	CHECK(cma_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &v, 1) == 0);
	v = 17;
	CHECK(cma_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &v, 1) == 0);
	CHECK(fh_ep(&fh.alpha)->ep.opt.tos == 0x28 && fh_ep(&fh.alpha)->ep.opt.ack_timeout == 17);
	cma_id_destroy(id);
	id = fh_id(ch, CM_PS_UDP, IBV_QPT_UD);
	CHECK(cma_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &v, 1) == -EINVAL);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
}

static void test_path_option(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = in_state(ch, ADDR);
	struct ibv_path_data d = { .flags = IBV_PATH_FLAG_GMP };
	struct cma_info info;

	CHECK(cma_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &d, sizeof(d) - 1) == -EINVAL);
	CHECK(cma_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &d, sizeof(d)) == -EINVAL);
	CHECK(c_path(id) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	cma_query(id, &info);
	CHECK(info.routed);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
}

/* An alternate path before the connection goes with the request; on a connection it is loaded, and an event says so. */
static void test_alternate_path(void)
{
	struct ibv_path_data v[2] = {
		{ .flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL,
		  .path = { .slid = htobe16(1), .dlid = htobe16(2) } },
		{ .flags = IBV_PATH_FLAG_ALTERNATE | IBV_PATH_FLAG_BIDIRECTIONAL,
		  .path = { .slid = htobe16(3), .dlid = htobe16(4), .qosclass_sl = htobe16(5) } },
	};
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = in_state(ch, ADDR);
	struct cm_param p = fh_param();
	struct fake_ep *e;

	/* There is no connection yet that it could be loaded into. */
	CHECK(cma_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, v + 1, sizeof(v[1])) == -EINVAL);
	CHECK(cma_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, v, sizeof(v)) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	CHECK(cma_connect(id, &p) == 0);
	e = fh_ep(&fh.alpha);
	CHECK(e->ep.path.dlid == 2 && e->ep.alternate.slid == 3 && e->ep.alternate.dlid == 4 && e->ep.alternate.sl == 5);
	fh_raise(&fh.alpha, e, CM_EV_RESPONSE, 0);
	fh_expect(ch, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	v[1].path.dlid = htobe16(6);
	CHECK(cma_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, v + 1, sizeof(v[1])) == 0 && e->loads == 1);
	CHECK(e->ep.alternate.dlid == 6);
	fh_raise(&fh.alpha, e, CM_EV_ALTERNATE, 0);
	CHECK(fh_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED, 0)->id == id);
	e->load_result = -EBUSY;
	CHECK(cma_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, v + 1, sizeof(v[1])) == -EBUSY);
	/* The primary path of a connection stays as it is. */
	CHECK(cma_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, v, sizeof(v)) == -EINVAL);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
}

/* A subnet administrator answers later: once, with a path or an error, or after the identifier is gone. */
static void test_path_later(void)
{
	struct cm_path path = { .slid = 7, .dlid = 9, .pkey = 0x8002, .sl = 3,
				.mtu_code = IBV_MTU_2048, .rate = IBV_RATE_20_GBPS, .hop_limit = 1 };
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = in_state(ch, QUERY);
	struct cm_param p = fh_param();
	struct cma_info info;

	cma_path_answer(fh.c, fh.asked + 1, 0, &path); /* another's */
	fh_expect_none(ch);
	cma_query(id, &info);
	CHECK(!info.routed && info.path.pkey == 0xffff);
	CHECK(cma_connect(id, &p) == -EINVAL);
	cma_path_answer(fh.c, fh.asked, -ETIMEDOUT, NULL);
	fh_expect(ch, RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT);
	cma_path_answer(fh.c, fh.asked, 0, &path); /* late */
	fh_expect_none(ch);
	fh.path_result = -EINPROGRESS;
	CHECK(cma_resolve_route(id, 10) == 0);
	fh.path_result = 0;
	cma_path_answer(fh.c, fh.asked, 0, &path);
	fh_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	cma_query(id, &info);
	CHECK(info.routed && info.path.slid == 7 && info.path.pkey == 0x8002);
	CHECK(cma_connect(id, &p) == 0);
	CHECK(fh_ep(&fh.alpha)->ep.path.dlid == 9 && fh_ep(&fh.alpha)->ep.path.sl == 3);
	cma_id_destroy(id);
	id = in_state(ch, QUERY);
	cma_id_destroy(id);
	cma_path_answer(fh.c, fh.asked, 0, &path);
	fh_expect_none(ch);
	CHECK(cma_chan_destroy(ch) == 0);
}

/* 16 to serve, 8 to issue (cma_fake.c). */
static void test_depths(void)
{
	static const struct {
		uint8_t rd, init, want_rd, want_init;
	} v[] = { { 0, 0, 0, 0 }, { 1, 2, 1, 2 }, { 17, 9, 16, 8 }, { 0xff, 0xff, 16, 8 } };

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct cma_chan *ch = fh_chan();
		struct cma_id *id = fh_routed(ch);
		struct cm_param p = fh_param(), *got = &fh_ep(&fh.alpha)->param;

		p.responder_resources = v[i].rd;
		p.initiator_depth = v[i].init;
		CHECK(cma_connect(id, &p) == 0);
		CHECK(got->responder_resources == v[i].want_rd);
		CHECK(got->initiator_depth == v[i].want_init);
		cma_id_destroy(id);
		CHECK(cma_chan_destroy(ch) == 0);
	}
}

static void test_connect_fails(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_routed(ch);
	struct cm_param p = fh_param();

	fh.alpha.connect_result = -ENOMEM;
	CHECK(cma_connect(id, &p) == -ENOMEM);
	fh.alpha.connect_result = 0;
	p.private_len = CM_PRIVATE_MAX + 1;
	CHECK(cma_connect(id, &p) == -EINVAL);
	p.private_len = 0;
	CHECK(cma_connect(id, &p) == 0);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
}

static void test_ib_addresses(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_IB, IBV_QPT_RC);
	struct sockaddr_ib ib = { .sib_family = AF_IB, .sib_sid_mask = htobe64(UINT64_MAX),
				  .sib_sid = htobe64(0x013f0000 + 4321) };
	struct sockaddr_ib *got;
	struct cma_info info;

	memcpy(ib.sib_addr.sib_raw, fh.alpha.addrs[0].addr, 16);
	CHECK(cma_bind(id, (struct sockaddr *)&ib) == 0);
	CHECK(fh_ep(&fh.alpha)->ep.service == 0x013f0000 + 4321);
	cma_query(id, &info);
	got = (struct sockaddr_ib *)&info.local;
	CHECK(got->sib_family == AF_IB && got->sib_sid == ib.sib_sid);
	cma_id_destroy(id);
	id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	CHECK(cma_bind(id, (struct sockaddr *)&ib) == -EPROTONOSUPPORT);
	cma_id_destroy(id);
	/* A service ID that is none of a port: whole, and of RDMA_PS_IB alone. */
	ib.sib_sid = htobe64(0x1000000000000123);
	id = fh_id(ch, CM_PS_IB, IBV_QPT_RC);
	CHECK(cma_bind(id, (struct sockaddr *)&ib) == 0);
	CHECK(fh_ep(&fh.alpha)->ep.service == 0x1000000000000123);
	cma_id_destroy(id);
	id = fh_id(ch, CM_PS_IB, IBV_QPT_RC);
	memcpy(ib.sib_addr.sib_raw, (const uint8_t[16]){ [10] = 0xff, 0xff, 10, 0, 0, 9 }, 16);
	CHECK(cma_resolve_addr(id, NULL, (struct sockaddr *)&ib, 1000) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	CHECK(fh_ep(&fh.alpha)->ep.service == 0x1000000000000123);
	cma_query(id, &info);
	CHECK(((struct sockaddr_ib *)&info.remote)->sib_sid == ib.sib_sid);
	cma_id_destroy(id);
	id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	CHECK(cma_resolve_addr(id, NULL, (struct sockaddr *)&ib, 1000) == -EPROTONOSUPPORT);
	ib.sib_sid_mask = htobe64(~0xffffull);
	CHECK(cma_resolve_addr(id, NULL, (struct sockaddr *)&ib, 1000) == -EPROTONOSUPPORT);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
}

static void set_link_layer(struct fake_port *p, uint8_t layer)
{
	ut_lock(&p->dev.lock);
	p->dev.port.link_layer = layer;
	ut_unlock(&p->dev.lock);
}

/* The GID of a port stands for its address, and is shown where the family is AF_IB; path records have it always. */
static void test_gids(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	struct sockaddr_ib ib = { .sib_family = AF_IB, .sib_sid_mask = htobe64(UINT64_MAX), .sib_sid = htobe64(0x01060000 + 7) };
	const uint8_t gid[16] = { 0xfe, 0x80, [8] = 0xda, [15] = 9 }, mapped[16] = { [10] = 0xff, 0xff, 10, 0, 0, 9 };
	struct cma_info info;

	set_link_layer(&fh.alpha, IBV_LINK_LAYER_INFINIBAND);
	memcpy(ib.sib_addr.sib_raw, gid, 16);
	CHECK(cma_resolve_addr(id, NULL, (struct sockaddr *)&ib, 1000) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	cma_query(id, &info);
	CHECK(info.remote.ss_family == AF_IB && !memcmp(((struct sockaddr_ib *)&info.remote)->sib_addr.sib_raw, gid, 16));
	CHECK(!memcmp(info.dgid.raw, gid, 16));
	cma_id_destroy(id);
	id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	CHECK(cma_resolve_addr(id, NULL, fh_v4("10.0.0.9", 7), 1000) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	cma_query(id, &info);
	CHECK(info.remote.ss_family == AF_INET && !memcmp(info.dgid.raw, gid, 16));
	set_link_layer(&fh.alpha, IBV_LINK_LAYER_ETHERNET);
	cma_query(id, &info);
	CHECK(!memcmp(info.dgid.raw, mapped, 16));
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
}

static void test_create(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id;

	CHECK(cma_id_create(ch, NULL, CM_PS_TCP, IBV_QPT_UD, &id) == -EINVAL);
	CHECK(cma_id_create(ch, NULL, CM_PS_UDP, IBV_QPT_RC, &id) == -EINVAL);
	CHECK(cma_id_create(ch, NULL, (enum cm_ps)7, IBV_QPT_RC, &id) == -EINVAL);
	id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	CHECK(cma_chan_destroy(ch) == -EBUSY);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
}

int main(void)
{
	fh_open();
	test_table();
	test_events_by_state();
	test_failures();
	test_resolve();
	test_names();
	test_device_choice();
	test_options();
	test_path_option();
	test_alternate_path();
	test_path_later();
	test_gids();
	test_depths();
	test_connect_fails();
	test_ib_addresses();
	test_create();
	fh_check_empty();
	return 0;
}

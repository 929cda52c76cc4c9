/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules of the IB connection manager one by one: what goes out, what is refused and
 * how, what waits how long, what strangers can cost. */
#include "support/cases.h"
#include "support/check.h"
#include "support/cmworld.h"
#include "util/alloc.h"
#include "util/clock.h"

static struct cmw w;
static struct cmw_user *client, *server;
static uint8_t last[WIRE_MAD_BYTES];

static const struct cm_ops *ops(const struct cmw_user *u)
{
	return u->ep->port->ops;
}

static void pass(uint64_t ns)
{
	cmw_run(&w, ns, NULL);
	server = w.side[1].newest;
}

static void open_world(void)
{
	cmw_open(&w, 77);
	client = server = NULL;
}

static void connected(enum ibv_qp_type type)
{
	struct cm_param p = cmw_param(type);

	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	pass(100 * UT_MS);
	CHECK(cmw_state(client) == IBCM_ESTAB && cmw_state(server) == IBCM_ESTAB);
}

/* The last MAD of an exchange that was taken apart: a REQ as it is sent. */
static uint8_t *make_req(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);
	struct cmw_user *u;

	w.lose_attr = WIRE_CM_ATTR_REQ;
	u = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	memcpy(last, w.last_mad, sizeof(last));
	w.lose_attr = WIRE_CM_ATTR_REJ;
	cmw_destroy(u);
	w.lose_attr = 0;
	/* An ID that nobody waits for here. */
	wire_set_CM_REQ_local_comm_id(last + WIRE_MAD_LEN, 0x01000001);
	return last + WIRE_MAD_LEN;
}

static const uint8_t *answer_to(const uint8_t *mad)
{
	w.last_mad[17] = 0;
	cmw_inject(&w, 1, mad);
	pass(UT_US);
	return w.last_mad + WIRE_MAD_LEN;
}

static unsigned refused_with(const uint8_t *mad)
{
	const uint8_t *m = answer_to(mad);

	if (wire_get_MAD_attr_id(w.last_mad) != WIRE_CM_ATTR_REJ)
		return 0;
	CHECK(wire_get_CM_REJ_local_comm_id(m) == 0 && wire_get_CM_REJ_message(m) == 0);
	CHECK(wire_get_CM_REJ_remote_comm_id(m) == 0x01000001);
	CHECK(wire_get_MAD_tid(w.last_mad) == wire_get_MAD_tid(mad));
	return (unsigned)wire_get_CM_REJ_reason(m);
}

/* --- what goes out --- */

static void req_fields(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);
	const uint8_t *m = w.last_mad + WIRE_MAD_LEN, *h = m + 140;

	open_world();
	p.ece = (struct cm_ece){ 0x123456, 0x789abcde };
	p.private_data = "data";
	p.private_len = 4;
	w.side[0].host->dev.attr.orig_attr.local_ca_ack_delay = 15;
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	CHECK(wire_get_MAD_attr_id(w.last_mad) == WIRE_CM_ATTR_REQ);
	CHECK(wire_get_MAD_attr_mod(w.last_mad) == 0x789abcde);
	CHECK(wire_get_CM_REQ_vendor_id(m) == 0x123456);
	CHECK(wire_get_CM_REQ_local_comm_id(m) >> 24 == 0x40);
	CHECK(wire_get_CM_REQ_service_id(m) == 0x0000000001061c06);
	CHECK(wire_get_CM_REQ_local_ca_guid(m) == 0x0200000000000001);
	CHECK(wire_get_CM_REQ_local_qkey(m) == 0 && wire_get_CM_REQ_local_qpn(m) == p.qpn);
	CHECK(wire_get_CM_REQ_resp_res(m) == 4 && wire_get_CM_REQ_init_depth(m) == 3);
	CHECK(wire_get_CM_REQ_remote_cm_timeout(m) == 20);
	CHECK(wire_get_CM_REQ_local_cm_timeout(m) == 20);
	CHECK(wire_get_CM_REQ_retry_count(m) == 7 && wire_get_CM_REQ_rnr_retry(m) == 6);
	CHECK(wire_get_CM_REQ_path_mtu(m) == 3 && wire_get_CM_REQ_max_cm_retries(m) == 15);
	CHECK(wire_get_CM_REQ_local_lid(m) == 0xffff && wire_get_CM_REQ_remote_lid(m) == 0xffff);
	CHECK(wire_get_CM_REQ_flow_label(m) && wire_get_CM_REQ_hop_limit(m) == 64);
	CHECK(wire_get_CM_REQ_pkey(m) == 0xffff && wire_get_CM_REQ_ack_timeout(m) == 19);
	CHECK(!memcmp(wire_get_CM_REQ_local_gid(m), w.side[0].host->addr, 16));
	CHECK(!memcmp(wire_get_CM_REQ_remote_gid(m), w.side[1].host->addr, 16));
	CHECK(h[0] == 0 && h[1] == 0x40 && wire_get_IP_CM_src_port(h) == client->ep->local.port);
	CHECK(!memcmp(h + 16, w.side[0].host->addr + 12, 4) && !h[14] && !h[15]);
	CHECK(!memcmp(h + 36, "data", 5));
	cmw_close(&w);
}

static void both_ends_agree(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_XRC_SEND };

	for (unsigned k = 0; k < 3; k++) {
		struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR }, b = a, c = a, d = a;
		int ma, mb, common = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
		int reads = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		int initiates = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

		open_world();
		connected(types[k]);
		CHECK(ops(client)->qp_attr(client->ep, &a, &ma) == 0);
		CHECK(ops(server)->qp_attr(server->ep, &b, &mb) == 0);
		CHECK(ma == (types[k] == IBV_QPT_RC ? common | reads : common));
		CHECK(mb == (types[k] == IBV_QPT_UC ? common : common | reads));
		CHECK(a.dest_qp_num == ibcm_of(server->ep)->local_qpn);
		CHECK(b.dest_qp_num == ibcm_of(client->ep)->local_qpn);
		CHECK(a.ah_attr.grh.flow_label == b.ah_attr.grh.flow_label);
		CHECK(a.ah_attr.grh.flow_label && a.path_mtu == b.path_mtu);
		CHECK(!memcmp(a.ah_attr.grh.dgid.raw, w.side[1].host->addr, 16));
		c.qp_state = d.qp_state = IBV_QPS_RTS;
		CHECK(ops(client)->qp_attr(client->ep, &c, &ma) == 0);
		CHECK(ops(server)->qp_attr(server->ep, &d, &mb) == 0);
		CHECK(c.sq_psn == b.rq_psn && d.sq_psn == a.rq_psn && c.sq_psn != d.sq_psn);
		common = IBV_QP_STATE | IBV_QP_SQ_PSN;
		CHECK(ma == (types[k] == IBV_QPT_UC ? common
						    : common | initiates | IBV_QP_TIMEOUT));
		CHECK(mb == (types[k] == IBV_QPT_RC   ? common | initiates | IBV_QP_TIMEOUT
			     : types[k] == IBV_QPT_UC ? common
						      : common | IBV_QP_TIMEOUT));
		if (types[k] == IBV_QPT_RC) {
			CHECK(a.max_dest_rd_atomic == d.max_rd_atomic);
			CHECK(b.max_dest_rd_atomic == c.max_rd_atomic);
			CHECK(c.timeout == 19 && c.retry_cnt == 7 && c.rnr_retry == 6);
		}
		CHECK(server->heard[CM_EV_REQUEST] == 1);
		cmw_close(&w);
	}
}

static void init_attributes(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT };
	struct cm_bind b = { .service = cm_ip_service(CM_PS_TCP, 0) };
	struct cm_ep *ep;
	int mask;

	open_world();
	memcpy(b.local.addr, w.side[0].host->addr, 16);
	CHECK(w.side[0].port.ops->create(&w.side[0].port, &b, &ep) == 0);
	CHECK(ep->port->ops->qp_attr(ep, &a, &mask) == 0 && a.qp_access_flags == 0);
	CHECK(mask == (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	a.qp_state = IBV_QPS_RTR;
	CHECK(ep->port->ops->qp_attr(ep, &a, &mask) == -EINVAL);
	ep->port->ops->destroy(ep);
	b.service = cm_ip_service(CM_PS_UDP, 0);
	CHECK(w.side[0].port.ops->create(&w.side[0].port, &b, &ep) == 0);
	a.qp_state = IBV_QPS_INIT;
	CHECK(ep->port->ops->qp_attr(ep, &a, &mask) == 0 && a.qkey == 0x01234567);
	CHECK(mask == (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	ep->port->ops->destroy(ep);
	connected(IBV_QPT_RC);
	CHECK(ops(server)->qp_attr(server->ep, &a, &mask) == 0);
	CHECK(a.qp_access_flags == (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				    IBV_ACCESS_REMOTE_ATOMIC));
	cmw_close(&w);
}

/* --- private data --- */

static const uint8_t bytes[256] = { [0] = 0xa1, [55] = 1, [91] = 2, [147] = 3, [179] = 4, [195] = 5 };

static void connect_with(enum cm_ps ps, uint64_t service, enum ibv_qp_type type, uint16_t len,
			 int want)
{
	struct cm_bind b = { .service = service ? service : cm_ip_service(ps, 0) };
	struct cm_param p = cmw_param(type);
	struct link_end to = { .port = 9 };
	struct cm_ep *ep;

	p.private_data = bytes;
	p.private_len = len;
	memcpy(b.local.addr, w.side[0].host->addr, 16);
	memcpy(to.addr, w.side[1].host->addr, 16);
	CHECK(w.side[0].port.ops->create(&w.side[0].port, &b, &ep) == 0);
	CHECK(ep->port->ops->connect(ep, &to, &p) == want);
	ep->port->ops->destroy(ep);
}

static void private_sizes(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);

	open_world();
	connect_with(CM_PS_TCP, 0, IBV_QPT_RC, 56, 0);
	connect_with(CM_PS_TCP, 0, IBV_QPT_RC, 57, -EINVAL);
	connect_with(0, 0x1000000000000005ull, IBV_QPT_RC, 92, 0);
	connect_with(0, 0x1000000000000005ull, IBV_QPT_RC, 93, -EINVAL);
	connect_with(CM_PS_UDP, 0, IBV_QPT_UD, 180, 0);
	connect_with(CM_PS_UDP, 0, IBV_QPT_UD, 181, -EINVAL);
	w.side[1].on_request = CMW_WAIT;
	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	p.private_data = bytes;
	p.private_len = 56;
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	pass(100 * UT_MS);
	CHECK(server->last.param.private_len == 56 && !memcmp(server->data, bytes, 56));
	p.private_len = 197;
	CHECK(ops(server)->accept(server->ep, &p) == -EINVAL);
	CHECK(ops(server)->reject(server->ep, CM_REJ_CONSUMER, bytes, 149) == -EINVAL);
	p.private_len = 196;
	w.side[0].on_response = CMW_WAIT;
	CHECK(ops(server)->accept(server->ep, &p) == 0);
	pass(100 * UT_MS);
	CHECK(client->last.param.private_len == 196 && !memcmp(client->data, bytes, 196));
	CHECK(ops(client)->reject(client->ep, CM_REJ_CONSUMER, bytes, 148) == 0);
	pass(100 * UT_MS);
	CHECK(server->last.param.private_len == 148 && !memcmp(server->data, bytes, 148));
	cmw_close(&w);
}

static void enhanced_establishment(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);

	open_world();
	w.side[1].on_request = CMW_WAIT;
	w.side[0].on_response = CMW_WAIT;
	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	p.ece = (struct cm_ece){ 0xabcdef, 7 };
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	pass(100 * UT_MS);
	CHECK(server->last.param.ece.vendor_id == 0xabcdef && server->last.param.ece.options == 7);
	CHECK(server->last.param.responder_resources == p.initiator_depth);
	CHECK(server->last.param.initiator_depth == p.responder_resources);
	p.ece = (struct cm_ece){ 0x010203, 9 };
	p.responder_resources = p.initiator_depth = CM_RD_MAX;
	CHECK(ops(server)->accept(server->ep, &p) == 0);
	pass(100 * UT_MS);
	CHECK(client->last.param.ece.vendor_id == 0x010203 && client->last.param.ece.options == 9);
	CHECK(client->last.param.responder_resources == 4);
	CHECK(client->last.param.initiator_depth == 3);
	/* It is told again with what follows. */
	CHECK(ops(client)->establish(client->ep) == 0);
	pass(100 * UT_MS);
	CHECK(client->heard[CM_EV_ESTABLISHED] && client->last.param.ece.options == 9);
	CHECK(server->heard[CM_EV_ESTABLISHED] && server->last.param.ece.options == 7);
	cmw_close(&w);
}

/* --- refusals --- */

static void bad_requests(void)
{
	static const struct {
		unsigned at, reason;
		uint8_t value;
	} bad[] = {
		{ 43, CM_REJ_INVALID_TRANSPORT, 20 << 3 | 2 << 1 }, { 56 + 15, CM_REJ_INVALID_GID, 9 },
		{ 72 + 15, CM_REJ_INVALID_GID, 9 },  { 50, CM_REJ_INVALID_MTU, 0 },
		{ 50, CM_REJ_INVALID_MTU, 0x40 },    { 140, CM_REJ_CONSUMER, 0x10 },
		{ 141, CM_REJ_CONSUMER, 0x60 },      { 141, CM_REJ_CONSUMER, 0x50 },
		{ 140 + 19, CM_REJ_CONSUMER, 9 },    { 140 + 35, CM_REJ_CONSUMER, 9 },
		{ 15, CM_REJ_INVALID_SERVICE_ID, 9 },
	};
	uint8_t mad[WIRE_MAD_BYTES];

	open_world();
	w.side[1].on_request = CMW_WAIT;
	make_req();
	CHECK(refused_with(last) == CM_REJ_INVALID_SERVICE_ID);
	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	for (unsigned k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
		memcpy(mad, last, sizeof(mad));
		mad[WIRE_MAD_LEN + bad[k].at] = bad[k].value;
		CHECK_MSG(refused_with(mad) == bad[k].reason, "byte %u", bad[k].at);
	}
	memcpy(mad, last, sizeof(mad));
	mad[2] = 3;
	CHECK(refused_with(mad) == CM_REJ_CLASS_VERSION);
	CHECK(!w.side[1].newest);
	CHECK(refused_with(last) == 0 && w.side[1].newest);
	cmw_close(&w);
}

static void unknown_ids(void)
{
	uint8_t mad[WIRE_MAD_BYTES], *m;
	const uint8_t *a = w.last_mad + WIRE_MAD_LEN;

	open_world();
	m = ibcm_mad(mad, WIRE_CM_ATTR_DREQ, 5);
	wire_set_CM_DREQ_local_comm_id(m, 0x11);
	wire_set_CM_DREQ_remote_comm_id(m, 0x22);
	answer_to(mad);
	CHECK(wire_get_MAD_attr_id(w.last_mad) == WIRE_CM_ATTR_DREP);
	CHECK(wire_get_CM_DREP_local_comm_id(a) == 0x22 && wire_get_MAD_tid(w.last_mad) == 5);
	CHECK(wire_get_CM_DREP_remote_comm_id(a) == 0x11);
	m = ibcm_mad(mad, WIRE_CM_ATTR_REP, 6);
	wire_set_CM_REP_local_comm_id(m, 0x33);
	wire_set_CM_REP_remote_comm_id(m, 0x44);
	answer_to(mad);
	CHECK(wire_get_MAD_attr_id(w.last_mad) == WIRE_CM_ATTR_REJ);
	CHECK(wire_get_CM_REJ_reason(a) == CM_REJ_INVALID_COMM_ID);
	CHECK(wire_get_CM_REJ_message(a) == 1 && wire_get_CM_REJ_remote_comm_id(a) == 0x33);
	cmw_close(&w);
}

static void load_path_is_refused(void)
{
	uint8_t mad[WIRE_MAD_BYTES], *m;
	const uint8_t *a = w.last_mad + WIRE_MAD_LEN;

	open_world();
	connected(IBV_QPT_RC);
	m = ibcm_mad(mad, WIRE_CM_ATTR_LAP, 6);
	wire_set_CM_LAP_local_comm_id(m, ibcm_of(client->ep)->local_id);
	wire_set_CM_LAP_remote_comm_id(m, ibcm_of(server->ep)->local_id);
	answer_to(mad);
	CHECK(wire_get_MAD_attr_id(w.last_mad) == WIRE_CM_ATTR_APR && wire_get_CM_APR_status(a) == 2);
	CHECK(cmw_state(server) == IBCM_ESTAB);
	cmw_close(&w);
}

/* IBTA 12.9.8.3.1: the peer's QP has a connection here that the peer knows nothing of. */
static void stale_connection(void)
{
	struct cmw_user *old;

	open_world();
	connected(IBV_QPT_RC);
	make_req();
	wire_set_CM_REQ_local_qpn(last + WIRE_MAD_LEN, ibcm_of(client->ep)->local_qpn);
	w.lose_attr = WIRE_CM_ATTR_DREQ;
	w.sent_of[2] = 0;
	cmw_inject(&w, 1, last);
	pass(UT_US);
	CHECK(w.sent_of[2] == 1);
	CHECK(server->heard[CM_EV_DISCONNECTED] == 1 && cmw_state(server) == IBCM_TIMEWAIT);
	pass(3 * UT_S);
	CHECK(server->heard[CM_EV_TIMEWAIT_EXIT] == 1);
	/* Now there is nothing in its way. */
	old = server;
	CHECK(refused_with(last) == 0 && server != old);
	cmw_close(&w);
}

static void strangers_touch_nothing(void)
{
	uint8_t mad[WIRE_MAD_BYTES], *m;
	uint8_t other[16];

	open_world();
	connected(IBV_QPT_RC);
	memcpy(other, w.side[0].host->addr, 16);
	other[15] = 99;
	for (unsigned attr = WIRE_CM_ATTR_MRA; attr <= WIRE_CM_ATTR_APR; attr++) {
		m = ibcm_mad(mad, attr, 1);
		wire_set_CM_DREQ_local_comm_id(m, ibcm_of(client->ep)->local_id);
		wire_set_CM_DREQ_remote_comm_id(m, ibcm_of(server->ep)->local_id);
		wire_set_CM_DREQ_remote_qpn(m, ibcm_of(server->ep)->local_qpn);
		cmw_inject_from(&w, 1, mad, other);
		pass(UT_US);
		CHECK(cmw_state(server) == IBCM_ESTAB);
	}
	/* From the right place, but about another QP. */
	m = ibcm_mad(mad, WIRE_CM_ATTR_DREQ, 1);
	wire_set_CM_DREQ_local_comm_id(m, ibcm_of(client->ep)->local_id);
	wire_set_CM_DREQ_remote_comm_id(m, ibcm_of(server->ep)->local_id);
	wire_set_CM_DREQ_remote_qpn(m, 0x999);
	cmw_inject(&w, 1, mad);
	pass(UT_US);
	CHECK(cmw_state(server) == IBCM_ESTAB);
	cmw_close(&w);
}

/* --- time --- */

static bool client_done(struct cmw *x)
{
	return client->heard[CM_EV_UNREACHABLE] || client->heard[CM_EV_DISCONNECTED];
}

static void nobody_answers(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);
	uint64_t from;

	open_world();
	w.side[1].deaf = true;
	from = w.now;
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	CHECK(cmw_run(&w, 200 * UT_S, client_done));
	CHECK(client->status == -ETIMEDOUT && w.sent_of[0] == 16);
	/* 0.25 + 0.5 + 1 + 2 + 4 and eleven full timeouts. */
	CHECK(w.now - from == 31 * IBCM_FIRST_NS + 11 * ibcm_ns(20));
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
	/* Those who share: one may listen, nobody joins a listener. */
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
	{ "-", "a REQ as rdma_cm sends it", req_fields },
	{ "-", "QP attributes of both ends agree", both_ends_agree },
	{ "-", "attributes for INIT", init_attributes },
	{ "-", "sizes of private data", private_sizes },
	{ "-", "ECE and read resources both ways", enhanced_establishment },
	{ "-", "bad requests and their reasons", bad_requests },
	{ "-", "unknown communication IDs", unknown_ids },
	{ "-", "LAP", load_path_is_refused },
	{ "-", "stale connection", stale_connection },
	{ "-", "strangers touch nothing", strangers_touch_nothing },
	{ "-", "nobody answers", nobody_answers },
	{ "-", "a slow server", slow_server },
	{ "-", "a slow client", slow_client },
	{ "-", "data before the RTU", data_before_rtu },
	{ "-", "a closed port", port_closed },
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

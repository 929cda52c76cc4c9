/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connection manager's messages, its demands on QPs, and its refusals. */
#include "ibcm_case.h"
#include "cm/ibcm/msg.h"

/* --- messages that go out --- */

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

/* The REQ says the path that its user chose, and the passive end knows it from there, turned round. */
static void path_travels(void)
{
	const uint8_t *m = w.last_mad + WIRE_MAD_LEN;
	struct cm_param p = cmw_param(IBV_QPT_RC);
	const struct cm_path *far;

	open_world();
	w.path = (struct cm_path){ .slid = 0x11, .dlid = 0x22, .pkey = 0x8003, .sl = 5,
				   .mtu_code = IBV_MTU_512, .rate = IBV_RATE_40_GBPS, .life = 18,
				   .hop_limit = 9 };
	w.side[1].on_request = CMW_WAIT;
	server = cmw_listen(&w, CM_PS_TCP, CMW_PORT, 1);
	client = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	CHECK(wire_get_CM_REQ_local_lid(m) == 0x11 && wire_get_CM_REQ_remote_lid(m) == 0x22);
	CHECK(wire_get_CM_REQ_pkey(m) == 0x8003 && wire_get_CM_REQ_sl(m) == 5);
	CHECK(wire_get_CM_REQ_path_mtu(m) == IBV_MTU_512);
	CHECK(wire_get_CM_REQ_rate(m) == IBV_RATE_40_GBPS && wire_get_CM_REQ_hop_limit(m) == 9);
	cmw_run(&w, UT_MS, NULL);
	CHECK(w.side[1].newest);
	far = &w.side[1].newest->ep->path;
	CHECK(far->slid == 0x22 && far->dlid == 0x11 && far->pkey == 0x8003 && far->sl == 5);
	CHECK(far->mtu_code == IBV_MTU_512 && far->rate == IBV_RATE_40_GBPS);
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
		w.side[1].host->said[0] = 0;
		CHECK_MSG(refused_with(mad) == bad[k].reason, "byte %u", bad[k].at);
		/* Without a listener the user who was asked rejects. */
		if (bad[k].reason == CM_REJ_INVALID_SERVICE_ID)
			CHECK(!w.side[1].host->said[0]);
		else
			said(1, "request was refused");
	}
	memcpy(mad, last, sizeof(mad));
	mad[2] = 3;
	CHECK(refused_with(mad) == CM_REJ_CLASS_VERSION);
	CHECK(!w.side[1].newest);
	CHECK(refused_with(last) == 0 && w.side[1].newest);
	cmw_close(&w);
}

/* An ID of the peer's is one connection's, until that is over. */
static void id_in_use(void)
{
	uint8_t mad[WIRE_MAD_BYTES];
	struct cmw_user *first;

	open_world();
	w.side[1].on_request = CMW_WAIT;
	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 0);
	make_req();
	CHECK(refused_with(last) == 0 && w.side[1].newest);
	first = server;
	/* The same again is a repetition: MRA. */
	CHECK(refused_with(last) == 0 && w.sent_of[WIRE_CM_ATTR_MRA - 0x10] == 1);
	memcpy(mad, last, sizeof(mad));
	wire_set_CM_REQ_local_qpn(mad + WIRE_MAD_LEN, 0x777);
	CHECK(refused_with(mad) == CM_REJ_DUPLICATE_COMM_ID);
	memcpy(mad, last, sizeof(mad));
	wire_set_MAD_tid(mad, 0x123);
	CHECK(refused_with(mad) == CM_REJ_DUPLICATE_COMM_ID);
	CHECK(server == first);
	CHECK(ops(first)->reject(first->ep, CM_REJ_CONSUMER, NULL, 0) == 0);
	CHECK(wire_get_CM_REJ_reason(answer_to(last)) == CM_REJ_CONSUMER);
	/* A refused connection is over for the peer, too. */
	wire_set_CM_REQ_local_qpn(mad + WIRE_MAD_LEN, 0x777);
	CHECK(refused_with(mad) == 0 && server != first);
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
	said(1, "asks for a new connection");
	/* Now there is nothing in its way. */
	old = server;
	CHECK(refused_with(last) == 0 && server != old);
	pass(3 * UT_S);
	CHECK(old->heard[CM_EV_TIMEWAIT_EXIT] == 1);
	cmw_close(&w);
}

/* Two processes at one address whose programs name the same numbers: a REQ that a member passes on ends no connection. */
static void passed_on_is_not_stale(void)
{
	struct ibcm_ep *e;
	const uint8_t *here;

	open_world();
	connected(IBV_QPT_RC);
	e = ibcm_of(client->ep);
	here = w.side[0].host->addr;
	/* as if the peer were at the client's address */
	ut_list_del(&e->key[IBCM_BY_QPN].node);
	ibcm_key_add(e, IBCM_BY_QPN, here, e->remote_guid, e->remote_qpn);
	make_req();
	wire_set_CM_REQ_local_qpn(last + WIRE_MAD_LEN, e->remote_qpn);
	wire_set_CM_REQ_local_ca_guid(last + WIRE_MAD_LEN, e->remote_guid);
	w.side[0].pass_result = 1;
	w.sent_of[WIRE_CM_ATTR_REJ - 0x10] = w.side[0].passed_on = 0;
	cmw_inject_from(&w, 0, last, here);
	pass(UT_US);
	CHECK(w.side[0].passed_on == 1 && !w.sent_of[WIRE_CM_ATTR_REJ - 0x10]);
	CHECK(cmw_state(client) == IBCM_ESTAB && !client->heard[CM_EV_DISCONNECTED]);
	cmw_close(&w);
}

/* The process that had the QPN died without a word; the next one is given its number. */
static void number_of_a_dead_process(void)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);
	struct cmw_user *old, *heir;

	open_world();
	connected(IBV_QPT_RC);
	old = server;
	p.qpn = ibcm_of(client->ep)->local_qpn;
	w.lose_attr = WIRE_CM_ATTR_DREQ;
	cmw_destroy(client);
	heir = cmw_connect(&w, CM_PS_TCP, CMW_PORT, &p);
	pass(100 * UT_MS);
	CHECK(cmw_state(old) == IBCM_TIMEWAIT && old->heard[CM_EV_DISCONNECTED] == 1);
	CHECK(cmw_state(heir) == IBCM_ESTAB && server != old && cmw_state(server) == IBCM_ESTAB);
	CHECK(!heir->heard[CM_EV_REJECTED] && w.sent_of[2] == 1);
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

/* The process ends, and of its last messages the first copy is lost: the peer learns of the end all the same. */
static void leaves_with_a_loss(int side)
{
	w.fault = CMW_LOSE;
	w.fault_at = w.sent + 1;
	if (side == 1 && cmw_state(server) == IBCM_DREQ_RCVD)
		cmw_destroy(server); /* DREP, before the process ends */
	ibcm_leave(&w.side[side].port);
	w.side[side].deaf = true; /* no process is there any more */
	pass(UT_S);
	w.side[side].deaf = false;
}

static void last_drep_is_lost(void)
{
	open_world();
	w.strangers = true;
	connected(IBV_QPT_RC);
	w.side[1].on_disconnected = CMW_KEEP;
	CHECK(ops(client)->disconnect(client->ep) == 0);
	pass(UT_MS);
	CHECK(cmw_state(server) == IBCM_DREQ_RCVD && !client->heard[CM_EV_DISCONNECTED]);
	leaves_with_a_loss(1);
	CHECK(client->heard[CM_EV_DISCONNECTED] == 1);
	cmw_close(&w);
}

static void last_dreq_is_lost(void)
{
	open_world();
	w.strangers = true;
	connected(IBV_QPT_RC);
	leaves_with_a_loss(0);
	CHECK(server->heard[CM_EV_DISCONNECTED] == 1);
	cmw_close(&w);
}

/* Nothing is lost within a host, so nothing is sent twice there. */
static void last_message_within_a_host(void)
{
	open_world();
	connected(IBV_QPT_RC);
	ibcm_leave(&w.side[0].port);
	CHECK(w.sent_of[WIRE_CM_ATTR_DREQ - 0x10] == 1);
	pass(UT_S);
	cmw_close(&w);
}

static const struct test_case cases[] = {
	{ "-", "a REQ as rdma_cm sends it", req_fields },
	{ "-", "a path record", path_travels },
	{ "-", "QP attributes of both ends agree", both_ends_agree },
	{ "-", "attributes for INIT", init_attributes },
	{ "-", "sizes of private data", private_sizes },
	{ "-", "ECE and read resources both ways", enhanced_establishment },
	{ "-", "bad requests and their reasons", bad_requests },
	{ "-", "a communication ID in use", id_in_use },
	{ "-", "unknown communication IDs", unknown_ids },
	{ "-", "LAP", load_path_is_refused },
	{ "-", "stale connection", stale_connection },
	{ "-", "a REQ passed on is not stale", passed_on_is_not_stale },
	{ "-", "the QPN of a process that died", number_of_a_dead_process },
	{ "-", "foreign MADs change nothing", strangers_touch_nothing },
	{ "-", "a process ends, its last DREP is lost", last_drep_is_lost },
	{ "-", "a process ends, its last DREQ is lost", last_dreq_is_lost },
	{ "-", "a process ends, its peer is on this host", last_message_within_a_host },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Alternate paths of connections: LAP and APR from either end, lost, doubled, late and forged; the first path in a REQ. */
#include "ibcm_case.h"
#include "cm/ibcm/msg.h"

#define LID 0x10 /* side 0 has 0x10 and 0x11, side 1 has 0x12 and 0x13 */

enum { NR_LAP = WIRE_CM_ATTR_LAP - 0x10, NR_APR = WIRE_CM_ATTR_APR - 0x10 };

static struct cm_path path_from(int side, unsigned bit, uint8_t sl)
{
	return (struct cm_path){ .slid = (uint16_t)(LID + 2 * side + bit), .dlid = (uint16_t)(LID + 2 * !side + bit), .sl = sl,
				 .rate = IBV_RATE_10_GBPS, .hop_limit = 1, .flow_label = 0x54321, .traffic_class = 7 };
}

static struct cmw_user *end(int side)
{
	return side ? server : client;
}

/* The users' notes of the newest event; earlier ones of the same kind are counted. */
static int loaded(int side)
{
	CHECK(end(side)->heard[CM_EV_ALTERNATE]);
	end(side)->heard[CM_EV_ALTERNATE] = 0;
	return end(side)->status;
}

static void meet(enum ibv_qp_type type)
{
	open_world();
	w.lid = LID;
	connected(type);
}

static int load(int side, unsigned bit, uint8_t sl)
{
	struct cm_path path = path_from(side, bit, sl);

	return ops(end(side))->load_path(end(side)->ep, &path);
}

static bool has_path(int side, unsigned bit, uint8_t sl)
{
	const struct ibv_qp_attr *a = &w.side[side].loaded;
	const struct cm_path *p = &end(side)->ep->alternate;

	return a->alt_ah_attr.dlid == LID + 2 * !side + bit && a->alt_ah_attr.src_path_bits == bit &&
	       a->alt_ah_attr.sl == sl && a->alt_port_num == 1 && a->alt_timeout &&
	       w.side[side].loaded_qpn == ibcm_of(end(side)->ep)->local_qpn &&
	       p->slid == LID + 2 * side + bit && p->dlid == a->alt_ah_attr.dlid;
}

/* The asking end hears the status once, the other nothing; both have one path. */
static void either_end_loads(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_XRC_SEND };

	for (unsigned k = 0; k < 3; k++)
		for (int side = 0; side < 2; side++) {
			const uint8_t *m = w.last_mad + WIRE_MAD_LEN;

			meet(types[k]);
			CHECK(load(side, 1, 3) == 0 && cmw_state(end(side)) == IBCM_LAP_SENT);
			CHECK(wire_get_MAD_attr_id(w.last_mad) == WIRE_CM_ATTR_LAP);
			CHECK(wire_get_CM_LAP_local_comm_id(m) == ibcm_of(end(side)->ep)->local_id);
			CHECK(wire_get_CM_LAP_remote_comm_id(m) == ibcm_of(end(!side)->ep)->local_id);
			CHECK(wire_get_CM_LAP_remote_qpn(m) == ibcm_of(end(!side)->ep)->local_qpn);
			CHECK(wire_get_CM_LAP_alt_local_lid(m) == LID + 2u * side + 1);
			CHECK(wire_get_CM_LAP_alt_remote_lid(m) == LID + 2u * !side + 1);
			CHECK(!memcmp(wire_get_CM_LAP_alt_local_gid(m), w.side[side].host->addr, 16));
			CHECK(!memcmp(wire_get_CM_LAP_alt_remote_gid(m), w.side[!side].host->addr, 16));
			CHECK(wire_get_CM_LAP_alt_flow_label(m) == 0x54321 && wire_get_CM_LAP_alt_tclass(m) == 7);
			CHECK(wire_get_CM_LAP_alt_hop_limit(m) == 1 && wire_get_CM_LAP_alt_rate(m) == IBV_RATE_10_GBPS);
			CHECK(wire_get_CM_LAP_alt_sl(m) == 3 && wire_get_CM_LAP_alt_subnet_local(m) == 1);
			CHECK(wire_get_CM_LAP_remote_cm_timeout(m) == 20 && wire_get_CM_LAP_alt_ack_timeout(m) == 19);
			CHECK(load(side, 1, 4) == -EBUSY);
			pass(UT_MS);
			CHECK(loaded(side) == 0 && !end(!side)->heard[CM_EV_ALTERNATE]);
			CHECK(has_path(0, 1, 3) && has_path(1, 1, 3) && w.side[0].loads == 1 && w.side[1].loads == 1);
			CHECK(w.sent_of[NR_LAP] == 1 && w.sent_of[NR_APR] == 1);
			/* As often as wanted. */
			CHECK(load(side, 0, 5) == 0);
			pass(UT_MS);
			CHECK(loaded(side) == 0 && has_path(0, 0, 5) && has_path(1, 0, 5));
			CHECK(cmw_state(client) == IBCM_ESTAB && cmw_state(server) == IBCM_ESTAB);
			cmw_close(&w);
		}
}

/* Each of both messages is lost, doubled or late: one load at each end, one event. */
static void weather(void)
{
	for (int side = 0; side < 2; side++)
		for (unsigned at = 1; at <= 2; at++)
			for (enum cmw_fault f = CMW_LOSE; f <= CMW_LATER; f++) {
				meet(IBV_QPT_RC);
				w.fault = f;
				w.fault_at = w.sent + at;
				CHECK(load(side, 1, 2) == 0);
				pass(20 * UT_S);
				CHECK(end(side)->heard[CM_EV_ALTERNATE] == 1 && loaded(side) == 0);
				CHECK(w.side[0].loads == 1 && w.side[1].loads == 1 && has_path(0, 1, 2) && has_path(1, 1, 2));
				CHECK(cmw_state(end(side)) == IBCM_ESTAB);
				cmw_close(&w);
			}
}

static void no_answer(void)
{
	meet(IBV_QPT_RC);
	w.lose_attr = WIRE_CM_ATTR_APR;
	CHECK(load(0, 1, 2) == 0);
	pass(120 * UT_S);
	CHECK(loaded(0) == -ETIMEDOUT && w.sent_of[NR_LAP] == 1 + IBCM_RETRIES && w.side[1].loads == 1 && !w.side[0].loads);
	CHECK(cmw_state(client) == IBCM_ESTAB && cmw_state(server) == IBCM_ESTAB);
	w.lose_attr = 0;
	CHECK(load(0, 0, 3) == 0);
	pass(UT_MS);
	CHECK(loaded(0) == 0 && has_path(0, 0, 3) && has_path(1, 0, 3));
	/* The peer's host reports that no socket is there: the path is not loaded, which ends no connection. */
	w.side[1].deaf = true;
	CHECK(load(0, 1, 4) == 0);
	ibcm_unreachable(&w.side[0].port, w.side[1].host->addr, ECONNREFUSED, w.now);
	CHECK(loaded(0) == -ECONNREFUSED && cmw_state(client) == IBCM_ESTAB);
	w.side[1].deaf = false;
	cmw_close(&w);
}

/* A LAP that comes once more after a newer one loads nothing. */
static void old_lap_again(void)
{
	uint8_t old[WIRE_MAD_BYTES];

	meet(IBV_QPT_RC);
	for (unsigned n = 0; n < 3; n++) {
		CHECK(load(0, n & 1, (uint8_t)(n + 1)) == 0);
		if (n == 0)
			memcpy(old, w.last_mad, sizeof(old));
		pass(UT_MS);
		CHECK(loaded(0) == 0);
	}
	cmw_inject(&w, 1, old);
	pass(UT_MS);
	CHECK(w.side[1].loads == 3 && has_path(1, 0, 3) && w.sent_of[NR_APR] == 3);
	cmw_close(&w);
}

/* Both at once: the active end's path is loaded at both ends, and the passive end hears that its own was not. */
static void both_ask(void)
{
	for (unsigned first = 0; first < 2; first++) {
		meet(IBV_QPT_RC);
		CHECK(load((int)first, first, (uint8_t)(1 + first)) == 0 && load(!first, !first, (uint8_t)(1 + !first)) == 0);
		pass(UT_S);
		CHECK(loaded(0) == 0 && loaded(1) == CM_APR_REJECTED);
		CHECK(has_path(0, 0, 1) && has_path(1, 0, 1));
		cmw_close(&w);
	}
}

/* --- refusals --- */

static unsigned apr_to(const uint8_t *mad)
{
	const uint8_t *m = answer_to(mad);

	CHECK(wire_get_MAD_attr_id(w.last_mad) == WIRE_CM_ATTR_APR && wire_get_MAD_tid(w.last_mad) == wire_get_MAD_tid(mad));
	CHECK(wire_get_CM_APR_remote_comm_id(m) == wire_get_CM_LAP_local_comm_id(mad + WIRE_MAD_LEN));
	return (unsigned)wire_get_CM_APR_status(m);
}

/* A LAP of the client as it is sent, under a TID of its own, and never answered to it. */
static uint8_t *make_lap(void)
{
	static uint64_t tid = 0x1000;

	w.lose_attr = WIRE_CM_ATTR_LAP;
	if (cmw_state(client) == IBCM_ESTAB)
		CHECK(load(0, 1, 2) == 0);
	memcpy(last, ibcm_of(client->ep)->mad, sizeof(last));
	wire_set_MAD_tid(last, ++tid);
	return last + WIRE_MAD_LEN;
}

static void bad_laps(void)
{
	meet(IBV_QPT_RC);
	wire_set_CM_LAP_remote_qpn(make_lap(), 0x123456);
	CHECK(apr_to(last) == CM_APR_INVALID_QPN);
	((uint8_t *)wire_get_CM_LAP_alt_local_gid(make_lap()))[15] ^= 1;
	CHECK(apr_to(last) == CM_APR_INVALID_GID);
	((uint8_t *)wire_get_CM_LAP_alt_remote_gid(make_lap()))[0] ^= 1;
	CHECK(apr_to(last) == CM_APR_INVALID_GID);
	static const uint16_t foreign[] = { 0, 1, LID + 2, LID + 4, 0xc001, 0xffff };

	for (unsigned i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		wire_set_CM_LAP_alt_local_lid(make_lap(), foreign[i]);
		CHECK(apr_to(last) == CM_APR_INVALID_LID);
	}
	wire_set_CM_LAP_alt_remote_lid(make_lap(), LID);
	CHECK(apr_to(last) == CM_APR_INVALID_LID);
	wire_set_CM_LAP_remote_comm_id(make_lap(), 0x40123456);
	CHECK(apr_to(last) == CM_APR_INVALID_COMM_ID);
	/* The QP cannot take a path now, or has it. */
	w.side[1].load_result = -EINVAL;
	make_lap();
	CHECK(apr_to(last) == CM_APR_REJECTED);
	w.side[1].load_result = -EALREADY;
	make_lap();
	CHECK(apr_to(last) == CM_APR_IS_CURRENT);
	CHECK(!w.side[1].loads && !server->ep->alternate.dlid && cmw_state(server) == IBCM_ESTAB);
	w.lose_attr = 0;
	cmw_close(&w);
}

/* Each octet of a LAP spoilt: nothing but the paths of the two ends is ever loaded. */
static void spoilt_laps(void)
{
	meet(IBV_QPT_RC);
	for (unsigned at = 0; at < WIRE_MAD_BYTES; at++)
		for (unsigned bits = 1; bits < 256; bits <<= 1) {
			make_lap();
			last[at] ^= (uint8_t)bits;
			cmw_inject(&w, 1, last);
			pass(UT_US);
			CHECK(cmw_state(server) == IBCM_ESTAB || at == 17); /* another message, perhaps */
			if (at == 17)
				break;
			CHECK(!w.side[1].loads || (w.side[1].loaded.alt_ah_attr.dlid & ~1u) == LID);
		}
	w.lose_attr = 0;
	cmw_close(&w);
}

static void strangers(void)
{
	uint8_t other[16];
	uint8_t mad[WIRE_MAD_BYTES], *m;

	meet(IBV_QPT_RC);
	memcpy(other, w.side[0].host->addr, 16);
	other[15] = 99;
	make_lap();
	cmw_inject_from(&w, 1, last, other);
	pass(UT_US);
	CHECK(!w.side[1].loads);
	/* APRs that answer nothing: another TID, another sender. */
	m = ibcm_mad(mad, WIRE_CM_ATTR_APR, ibcm_of(client->ep)->lap_tid + 1);
	wire_set_CM_APR_local_comm_id(m, ibcm_of(server->ep)->local_id);
	wire_set_CM_APR_remote_comm_id(m, ibcm_of(client->ep)->local_id);
	cmw_inject(&w, 0, mad);
	wire_set_MAD_tid(mad, ibcm_of(client->ep)->lap_tid);
	cmw_inject_from(&w, 0, mad, other);
	pass(UT_US);
	CHECK(!w.side[0].loads && cmw_state(client) == IBCM_LAP_SENT && !client->heard[CM_EV_ALTERNATE]);
	/* The right one, with each status. */
	wire_set_CM_APR_status(m, 200);
	cmw_inject(&w, 0, mad);
	pass(UT_US);
	CHECK(loaded(0) == 200 && !w.side[0].loads && cmw_state(client) == IBCM_ESTAB);
	cmw_inject(&w, 0, mad);
	pass(UT_US);
	CHECK(!client->heard[CM_EV_ALTERNATE]);
	w.lose_attr = 0;
	cmw_close(&w);
}

static void wrong_calls(void)
{
	struct cm_path path = path_from(0, 1, 0);

	meet(IBV_QPT_RC);
	path.dlid = LID + 1;
	CHECK(ops(client)->load_path(client->ep, &path) == -EINVAL);
	path.dlid = 0;
	CHECK(ops(client)->load_path(client->ep, &path) == -EINVAL);
	/* The peer takes it, but the own QP does not: no path. */
	w.side[0].load_result = -EINVAL;
	CHECK(load(0, 1, 2) == 0);
	pass(UT_MS);
	CHECK(loaded(0) == CM_APR_REJECTED && !client->ep->alternate.dlid);
	CHECK(ops(client)->disconnect(client->ep) == 0);
	CHECK(load(0, 1, 2) == -EINVAL);
	pass(UT_S);
	cmw_close(&w);
	/* Ethernet has no LIDs. */
	open_world();
	connected(IBV_QPT_RC);
	CHECK(load(0, 1, 2) == -EOPNOTSUPP);
	cmw_close(&w);
}

/* The peer asks for time. */
static void mra(void)
{
	uint8_t mad[WIRE_MAD_BYTES], *m;

	meet(IBV_QPT_RC);
	w.lose_attr = WIRE_CM_ATTR_APR;
	CHECK(load(0, 1, 2) == 0);
	m = ibcm_mad(mad, WIRE_CM_ATTR_MRA, 1);
	wire_set_CM_MRA_local_comm_id(m, ibcm_of(server->ep)->local_id);
	wire_set_CM_MRA_remote_comm_id(m, ibcm_of(client->ep)->local_id);
	wire_set_CM_MRA_message(m, 2);
	wire_set_CM_MRA_service_timeout(m, 24);
	cmw_inject(&w, 0, mad);
	/* All repetitions together last 51 s, but for the 69 s that it asks for. */
	pass(100 * UT_S);
	CHECK(cmw_state(client) == IBCM_LAP_SENT && !client->heard[CM_EV_ALTERNATE]);
	w.lose_attr = 0;
	pass(10 * UT_S);
	CHECK(loaded(0) == 0);
	cmw_close(&w);
}

/* --- the first alternate path, in the REQ --- */

static int rtr_mask(const struct cmw_user *u, struct ibv_qp_attr *a)
{
	int mask;

	*a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR };
	CHECK(ops(u)->qp_attr(u->ep, a, &mask) == 0);
	return mask;
}

static int rts_mask(const struct cmw_user *u, struct ibv_qp_attr *a)
{
	int mask;

	*a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS };
	CHECK(ops(u)->qp_attr(u->ep, a, &mask) == 0);
	return mask;
}

static void with_request(uint16_t lid, struct cm_path alternate)
{
	open_world();
	w.lid = lid;
	w.path = path_from(0, 0, 1);
	w.path.pkey = 0xffff;
	w.alternate = alternate;
	connected(IBV_QPT_RC);
}

static void in_the_request(void)
{
	struct ibv_qp_attr a;

	with_request(LID, path_from(0, 1, 6));
	for (int side = 0; side < 2; side++) {
		CHECK(rtr_mask(end(side), &a) & IBV_QP_ALT_PATH);
		CHECK(a.ah_attr.dlid == LID + 2 * !side && a.ah_attr.sl == 1 && !a.ah_attr.src_path_bits);
		CHECK(a.alt_ah_attr.dlid == LID + 2 * !side + 1 && a.alt_ah_attr.src_path_bits == 1);
		CHECK(a.alt_ah_attr.sl == 6 && a.alt_timeout == 19 && a.alt_port_num == 1);
		CHECK(rts_mask(end(side), &a) & IBV_QP_PATH_MIG_STATE && a.path_mig_state == IBV_MIG_REARM);
		/* The QP migrates, and its user says so: the path is the other one. */
		CHECK(ops(end(side))->notify(end(side)->ep, IBV_EVENT_PATH_MIG) == 0);
		CHECK(end(side)->ep->path.dlid == LID + 2 * !side + 1 && !end(side)->ep->alternate.dlid);
		CHECK(ops(end(side))->notify(end(side)->ep, IBV_EVENT_PATH_MIG) == -EINVAL);
		CHECK(!(rts_mask(end(side), &a) & IBV_QP_PATH_MIG_STATE));
	}
	cmw_close(&w);
}

/* The connection is made without it, at both ends. */
static void request_with_a_bad_one(void)
{
	struct cm_path bad = path_from(0, 1, 6);
	struct ibv_qp_attr a;

	bad.dlid = 0x77;
	for (unsigned k = 0; k < 2; k++) {
		if (k == 0)
			with_request(LID, bad);
		else
			with_request(0, path_from(0, 1, 6));
		CHECK(ibcm_of(server->ep)->failover == (k == 0 ? 2 : 1));
		for (int side = 0; side < 2; side++) {
			CHECK(!end(side)->ep->alternate.dlid && !(rtr_mask(end(side), &a) & IBV_QP_ALT_PATH));
			CHECK(!(rts_mask(end(side), &a) & IBV_QP_PATH_MIG_STATE));
		}
		cmw_close(&w);
	}
}

static const struct test_case cases[] = {
	{ "-", "either end loads a path", either_end_loads },
	{ "-", "each message lost, doubled, late", weather },
	{ "-", "no answer, and a closed port", no_answer },
	{ "-", "an old LAP once more", old_lap_again },
	{ "-", "both ends ask", both_ask },
	{ "-", "bad LAPs and their statuses", bad_laps },
	{ "-", "each bit of a LAP spoilt", spoilt_laps },
	{ "-", "forged LAPs and APRs", strangers },
	{ "-", "wrong calls", wrong_calls },
	{ "-", "MRA of a LAP", mra },
	{ "-", "an alternate path in the REQ", in_the_request },
	{ "-", "a bad one in the REQ", request_with_a_bad_one },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

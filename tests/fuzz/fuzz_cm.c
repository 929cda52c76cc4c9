/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connection manager's receiver against MADs from the input. A host with a listener of each
 * kind and an endpoint in each state receives from one hostile peer. Users must get each event once
 * and in order, and after the timeouts no object may be left.
 *
 * The input is a list of records of 8 bytes of control and a MAD of up to 256 bytes. Control says
 * which fields are corrected on the way - header, IDs of a live endpoint, addresses, service, IP
 * header - so that deep code is reached, how the users answer, and how much time passes.
 */
#include "support/check.h"
#include "support/cmworld.h"
#include "util/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

#define RECORD 8u

/* data[0]: the user; data[1]: corrected fields; data[2]: time and behaviour; data[3]: an
 * operation of the user after it; data[4..5]: length. */
enum { FIX_MAD = 1, FIX_IDS = 2, FIX_PATH = 4, FIX_SERVICE = 8, FIX_IP = 16, FIX_QPN = 32,
       STRANGER = 64 };

static struct cmw w;

static void start(enum cm_ps ps, enum ibv_qp_type type)
{
	struct cm_param p = cmw_param(type);

	cmw_connect(&w, ps, CMW_PORT, &p);
	cmw_run(&w, UT_MS, NULL);
}

/* Users of both sides in all states; the fuzzed side has both roles. */
static void setup(void)
{
	cmw_open(&w, 5);
	cmw_listen(&w, CM_PS_TCP, CMW_PORT, 4);
	cmw_listen(&w, CM_PS_UDP, CMW_PORT, 4);
	start(CM_PS_TCP, IBV_QPT_RC);
	start(CM_PS_TCP, IBV_QPT_XRC_SEND);
	w.lose_attr = WIRE_CM_ATTR_RTU;
	start(CM_PS_TCP, IBV_QPT_UC);
	w.lose_attr = WIRE_CM_ATTR_REP;
	start(CM_PS_TCP, IBV_QPT_RC);
	w.lose_attr = WIRE_CM_ATTR_SIDR_REP;
	start(CM_PS_UDP, IBV_QPT_UD);
	w.lose_attr = 0;
	w.side[0].on_response = CMW_WAIT;
	start(CM_PS_TCP, IBV_QPT_RC);
	w.side[1].on_request = CMW_WAIT;
	start(CM_PS_TCP, IBV_QPT_RC);
	start(CM_PS_UDP, IBV_QPT_UD);
}

static void fix_ids(uint8_t *m, unsigned attr, const struct ibcm_ep *e)
{
	if (attr == WIRE_CM_ATTR_REQ) {
		if (e->state != IBCM_LISTEN && !e->active) {
			wire_set_CM_REQ_local_comm_id(m, e->remote_id);
			wire_set_CM_REQ_local_ca_guid(m, e->remote_guid);
		}
		return;
	}
	wire_set_CM_RTU_local_comm_id(m, e->remote_id);
	wire_set_CM_RTU_remote_comm_id(m, e->local_id);
	if (attr == WIRE_CM_ATTR_SIDR_REP)
		wire_set_CM_SIDR_REP_request_id(m, e->local_id);
	if (attr == WIRE_CM_ATTR_SIDR_REP)
		wire_set_CM_SIDR_REP_service_id(m, e->dest_service);
	if (attr == WIRE_CM_ATTR_DREQ)
		wire_set_CM_DREQ_remote_qpn(m, e->local_qpn);
}

static void fix_request(uint8_t *m, unsigned attr, uint8_t fix, int to)
{
	const uint8_t *src = w.side[!to].host->addr, *dst = w.side[to].host->addr;
	bool sidr = attr == WIRE_CM_ATTR_SIDR_REQ;
	uint8_t *h = m + (sidr ? 16 : 140);

	if (fix & FIX_SERVICE)
		wire_set_CM_REQ_service_id(m, cm_ip_service(sidr ? CM_PS_UDP : CM_PS_TCP, CMW_PORT));
	if (fix & FIX_PATH && !sidr) {
		wire_set_CM_REQ_local_gid(m, src);
		wire_set_CM_REQ_remote_gid(m, dst);
		wire_set_CM_REQ_path_mtu(m, 1 + m[50] % 3);
		wire_set_CM_REQ_transport(m, m[43] >> 1 & 1);
	}
	if (fix & FIX_IP) {
		h[0] = 0;
		h[1] = 0x40;
		memcpy(h + 16, src + 12, 4);
		memcpy(h + 32, dst + 12, 4);
	}
}

static struct cmw_user *pick(uint8_t which)
{
	struct cmw_user *u = w.users[which % w.n_users];

	return u->ep ? u : NULL;
}

static void receive(const uint8_t *ctl, const uint8_t *bytes, size_t len)
{
	static const uint8_t stranger[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 98 };
	uint8_t mad[WIRE_MAD_BYTES] = { 0 };
	struct cmw_user *u = pick(ctl[0]);
	unsigned attr;
	int to = u ? u->side : 1;

	memcpy(mad, bytes, len);
	attr = (unsigned)wire_get_MAD_attr_id(mad);
	if (ctl[1] & FIX_MAD) {
		attr = WIRE_CM_ATTR_REQ + mad[17] % 11;
		wire_put32(mad, 0x01070203);
		wire_set_MAD_attr_id(mad, attr);
	}
	if (ctl[1] & FIX_IDS && u)
		fix_ids(mad + WIRE_MAD_LEN, attr, ibcm_of(u->ep));
	if (attr == WIRE_CM_ATTR_REQ || attr == WIRE_CM_ATTR_SIDR_REQ)
		fix_request(mad + WIRE_MAD_LEN, attr, ctl[1], to);
	if (ctl[1] & STRANGER)
		cmw_inject_from(&w, to, mad, stranger);
	else
		cmw_inject(&w, to, mad);
}

/* Operations that a user may do at any time; results are ignored, the order of events is checked. */
static void operate(uint8_t what, struct cmw_user *u)
{
	struct cm_param p = cmw_param(IBV_QPT_RC);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT + what % 3 };
	const struct cm_ops *o = u->ep->port->ops;
	int mask;

	switch (what % 16) {
	case 1:
		o->accept(u->ep, &p);
		break;
	case 2:
		o->reject(u->ep, CM_REJ_CONSUMER, "x", 1);
		break;
	case 3:
		o->establish(u->ep);
		break;
	case 4:
		o->disconnect(u->ep);
		break;
	case 5:
		cmw_destroy(u);
		break;
	case 6:
		o->notify(u->ep, IBV_EVENT_COMM_EST);
		break;
	case 7:
		ibcm_unreachable(u->ep->port, w.side[!u->side].host->addr, ECONNREFUSED, w.now);
		break;
	default:
		o->qp_attr(u->ep, &a, &mask);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t steps[] = { UT_US, 300 * UT_MS, 5 * UT_S, 70 * UT_S };

	setup();
	for (unsigned n = 0; size >= RECORD && n < 64; n++) {
		size_t len = data[4] | (size_t)(data[5] & 1) << 8;
		struct cmw_user *u;

		len = len < WIRE_MAD_BYTES ? len : WIRE_MAD_BYTES;
		len = len < size - RECORD ? len : size - RECORD;
		w.side[0].on_response = data[2] & 4 ? CMW_ACCEPT : CMW_WAIT;
		w.side[1].on_request = data[2] >> 3 & 3;
		receive(data, data + RECORD, len);
		cmw_run(&w, steps[data[2] & 3], NULL);
		u = pick(data[0]);
		if (data[3] && u)
			operate(data[3], u);
		data += RECORD + len;
		size -= RECORD + len;
	}
	cmw_close(&w);
	return 0;
}

static uint32_t next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	return *state ^= *state << 5;
}

/* Another control for one record, or one more at the end. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint32_t rnd = seed * 2654435761u | 1;
	size_t at = 0, skip = next(&rnd) % 8;
	uint8_t *r;

	for (; skip && at + RECORD <= size; skip--)
		at += RECORD + (data[at + 4] | (size_t)(data[at + 5] & 1) << 8);
	if (at + RECORD + WIRE_MAD_BYTES > size) {
		if (size + RECORD + WIRE_MAD_BYTES > max)
			return size;
		at = size;
		size += RECORD + WIRE_MAD_BYTES;
		for (size_t i = at; i < size; i++)
			data[i] = (uint8_t)next(&rnd);
		data[at + 4] = 0;
		data[at + 5] = 1;
	}
	r = data + at;
	r[0] = (uint8_t)next(&rnd);
	r[1] = next(&rnd) % 4 ? FIX_MAD | FIX_IDS | FIX_PATH | FIX_SERVICE | FIX_IP | FIX_QPN
			      : (uint8_t)next(&rnd);
	r[2] = (uint8_t)next(&rnd) & (next(&rnd) % 4 ? 0xfc : 0xff);
	r[3] = next(&rnd) % 2 ? 0 : (uint8_t)next(&rnd);
	r[RECORD + 17] = (uint8_t)next(&rnd);
	return size;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* QP1 as a program's queue pair: the MADs that it sends, those that it gets, and those that stay
 * the manager's. */
#include "engine/mr.h"
#include "engine/qp_state.h"
#include "proto/ib/gsi.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/simhost.h"

#include "engine/mcast.h"
#include "util/clock.h"
#include "wire/cm_fields.h"

#include <errno.h>
#include <string.h>

#define MAD ENG_GSI_BYTES
#define GRH 40u
#define VENDOR 0x30

static int manager_got;

static void received(struct eng_dev *dev, const struct gsi_rx *rx, uint64_t now)
{
	CHECK(rx->mad[1] == WIRE_MAD_CLASS_CM && now > 0 && dev);
	manager_got++;
}

static const struct gsi_user manager = { .mgmt_class = WIRE_MAD_CLASS_CM, .received = received };

/* Each host has QP1. */
struct world {
	struct sim_world w;
	struct sim_end a, b;
	struct eng_ah *ah; /* of a, to b's host */
};

static const struct sim_qp_options qp1 = { .type = IBV_QPT_UD, .gsi = true, .inline_data = MAD };

static struct eng_ah *ah_to(struct sim_host *from, const struct sim_host *to)
{
	struct ibv_ah_attr a = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	struct eng_ah *ah;

	memcpy(a.grh.dgid.raw, to->addr, 16);
	CHECK(eng_ah_create(from->pd, &a, &ah) == 0);
	return ah;
}

static struct world *begin(bool ipv6)
{
	static struct world x;

	memset(&x, 0, sizeof(x));
	manager_got = 0;
	sim_world_open(&x.w, &(struct sim_options){ .seed = 7, .hosts = 2, .gsi = &manager,
						    .ipv6 = ipv6 });
	sim_pair(&x.a, &x.w.host[0], &x.b, &x.w.host[1], &qp1);
	sim_end_memory(&x.a, 65536);
	sim_end_memory(&x.b, 65536);
	x.ah = ah_to(x.a.h, x.b.h);
	return &x;
}

static void end(struct world *x)
{
	eng_ah_destroy(x->ah);
	sim_end_close(&x->a);
	sim_end_close(&x->b);
	sim_world_close(&x->w);
}

static uint8_t *fill(struct world *x, uint8_t class, uint8_t salt)
{
	for (unsigned i = 0; i < MAD; i++)
		x->a.mem[i] = (uint8_t)(i * 3 + salt);
	x->a.mem[1] = class;
	return x->a.mem;
}

static int post(struct world *x, uint32_t len, uint32_t qpn, uint32_t qkey, unsigned flags)
{
	return sim_post(&x->a, &(struct sim_op){ .code = IBV_WR_SEND, .id = 9, .at = x->a.mem,
						 .len = len, .ah = x->ah, .qpn = qpn,
						 .qkey = qkey, .flags = flags });
}

static void send_mad(struct world *x, uint8_t class, uint8_t salt, uint32_t qkey)
{
	fill(x, class, salt);
	CHECK(post(x, MAD, 1, qkey, 0) == 0);
	sim_wc_is(&x->w, x->a.scq, IBV_WC_SUCCESS);
}

/* Each class but the manager's, whatever Q_Key the request names. */
static void exchanged(void)
{
	static const uint8_t classes[] = { 0x03, 0x04, 0x06, 0x08, 0x09, 0x0f, 0x21, 0x30, 0x4f, 0xff };
	static const uint32_t keys[] = { ENG_GSI_QKEY, 0, 0x11, 0xffffffff };

	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		struct world *x = begin(ipv6);

		for (uint8_t i = 0; i < sizeof(classes); i++) {
			struct ibv_wc wc;

			CHECK(sim_post_recv(&x->b, i, x->b.mem, 512) == 0);
			send_mad(x, classes[i], i, keys[i & 3]);
			wc = sim_wc_is(&x->w, x->b.rcq, IBV_WC_SUCCESS);
			CHECK(wc.wr_id == i && wc.byte_len == MAD + GRH && wc.qp_num == 1);
			CHECK(wc.src_qp == 1 && wc.opcode == IBV_WC_RECV && wc.pkey_index == 0);
			CHECK(wc.wc_flags == IBV_WC_GRH);
			CHECK(memcmp(x->b.mem + GRH, x->a.mem, MAD) == 0);
		}
		CHECK(manager_got == 0);
		end(x);
	}
}

static void managers(void)
{
	struct world *x = begin(false);

	CHECK(sim_post_recv(&x->b, 1, x->b.mem, 512) == 0);
	send_mad(x, WIRE_MAD_CLASS_CM, 0, 0);
	sim_no_wc(&x->w, x->b.rcq, UT_MS);
	CHECK(manager_got == 1);
	send_mad(x, VENDOR, 0, 0);
	sim_wc_is(&x->w, x->b.rcq, IBV_WC_SUCCESS);
	CHECK(manager_got == 1);
	end(x);
}

static void dropped(void)
{
	struct world *x = begin(false);
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };

	send_mad(x, VENDOR, 0, 0); /* no receive */
	sim_no_wc(&x->w, x->b.rcq, UT_MS);
	CHECK(sim_counter(x->b.h, ENG_C_rx_no_wqe) == 1);
	CHECK(sim_post_recv(&x->b, 1, x->b.mem, MAD + GRH - 1) == 0); /* too small a one */
	send_mad(x, VENDOR, 0, 0);
	sim_no_wc(&x->w, x->b.rcq, UT_MS);
	CHECK(sim_counter(x->b.h, ENG_C_rx_no_wqe) == 2);
	CHECK(eng_qp_state(x->b.qp) == IBV_QPS_RTS);
	CHECK(eng_qp_modify(x->b.qp, &reset, IBV_QP_STATE) == 0); /* not a state that receives */
	send_mad(x, VENDOR, 0, 0);
	sim_no_wc(&x->w, x->b.rcq, UT_MS);
	CHECK(sim_counter(x->b.h, ENG_C_rx_no_qp) == 1);
	CHECK(eng_qp_destroy(x->b.qp) == 0); /* no queue pair */
	send_mad(x, VENDOR, 0, 0);
	sim_no_wc(&x->w, x->b.rcq, UT_MS);
	CHECK(sim_counter(x->b.h, ENG_C_rx_no_qp) == 2 && manager_got == 0);
	eng_cq_destroy(x->b.scq);
	eng_cq_destroy(x->b.rcq);
	CHECK(eng_mr_dereg(x->b.mr) == 0);
	sim_end_create(&x->b, x->b.h, &qp1);
	sim_end_memory(&x->b, 4096);
	end(x);
}

static void misused(void)
{
	struct world *x = begin(false);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS };
	struct sim_op imm = { .code = IBV_WR_SEND_WITH_IMM, .at = x->a.mem, .len = MAD,
			      .ah = x->ah, .qpn = 1 };
	union ibv_gid group = { .raw = { 0xff, 0x0e, [15] = 9 } };
	static const uint32_t sizes[] = { 0, 255, 257 };

	fill(x, VENDOR, 1);
	CHECK(sim_post(&x->a, &imm) == -EINVAL);
	imm.code = IBV_WR_RDMA_WRITE;
	CHECK(sim_post(&x->a, &imm) == -EINVAL);
	CHECK(eng_mcast_attach(x->a.qp, &group) == -EINVAL);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		CHECK(post(x, sizes[i], 1, 0, i == 1 ? IBV_SEND_INLINE : 0) == 0);
		sim_wc_is(&x->w, x->a.scq, IBV_WC_LOC_LEN_ERR);
		CHECK(eng_qp_state(x->a.qp) == IBV_QPS_SQE);
		CHECK(eng_qp_modify(x->a.qp, &a, IBV_QP_STATE) == 0);
	}
	CHECK(sim_post_recv(&x->b, 1, x->b.mem, 512) == 0);
	CHECK(post(x, MAD, 1, 0, IBV_SEND_INLINE) == 0);
	sim_wc_is(&x->w, x->a.scq, IBV_WC_SUCCESS);
	sim_wc_is(&x->w, x->b.rcq, IBV_WC_SUCCESS);
	end(x);
}

static int modify(struct world *x, enum ibv_qp_state to, uint32_t qkey, int mask)
{
	struct ibv_qp_attr a = { .qp_state = to, .qkey = qkey, .port_num = 1 };

	return eng_qp_modify(x->a.qp, &a, IBV_QP_STATE | mask);
}

static void states(void)
{
	const int pki = IBV_QP_PKEY_INDEX, qk = IBV_QP_QKEY, port = IBV_QP_PORT;
	struct world *x = begin(false);
	struct ibv_qp_attr now;

	CHECK(modify(x, IBV_QPS_RESET, 0, 0) == 0);
	CHECK(eng_qp_query(x->a.qp, &now, IBV_QP_PORT) == 0 && now.port_num == 1);
	CHECK(modify(x, IBV_QPS_INIT, ENG_GSI_QKEY, qk) == -EINVAL);
	CHECK(modify(x, IBV_QPS_INIT, ENG_GSI_QKEY, pki) == -EINVAL);
	CHECK(modify(x, IBV_QPS_INIT, ENG_GSI_QKEY + 1, pki | qk) == -EINVAL);
	CHECK(modify(x, IBV_QPS_INIT, 0, pki | qk) == -EINVAL);
	CHECK(modify(x, IBV_QPS_INIT, ENG_GSI_QKEY, pki | qk | IBV_QP_ACCESS_FLAGS) == -EINVAL);
	CHECK(modify(x, IBV_QPS_INIT, ENG_GSI_QKEY, pki | qk | port) == 0);
	CHECK(modify(x, IBV_QPS_RESET, 0, 0) == 0);
	CHECK(modify(x, IBV_QPS_INIT, ENG_GSI_QKEY, pki | qk) == 0);
	CHECK(modify(x, IBV_QPS_RTR, 0, IBV_QP_AV) == -EINVAL);
	CHECK(modify(x, IBV_QPS_RTR, 0, 0) == 0);
	CHECK(modify(x, IBV_QPS_RTS, 0, 0) == -EINVAL);
	CHECK(modify(x, IBV_QPS_RTS, 7, IBV_QP_SQ_PSN | qk) == -EINVAL);
	CHECK(modify(x, IBV_QPS_RTS, 0, IBV_QP_SQ_PSN) == 0);
	CHECK(modify(x, IBV_QPS_SQD, 0, 0) == 0 && modify(x, IBV_QPS_RTS, 0, 0) == 0);
	CHECK(modify(x, IBV_QPS_ERR, 0, 0) == 0);
	end(x);
}

static int another(struct sim_end *e)
{
	struct eng_qp_spec s = { .type = IBV_QPT_UD, .gsi = true, .pd = e->h->pd,
				 .send_cq = e->scq, .recv_cq = e->rcq,
				 .cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
					  .max_recv_sge = 1 } };
	struct eng_qp *qp;
	int r = eng_qp_create(e->h->ctx, &s, &qp);

	return r < 0 ? r : eng_qp_destroy(qp);
}

/* One at a time, here and where the link knows of others; and at each address that comes. */
static void claimed(void)
{
	static const uint8_t later[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 7, 7 };
	const uint64_t service = 0x02646170706c6501ull;
	struct world *x = begin(false);
	struct link *l = x->a.h->link;
	struct eng_dev *dev = &x->a.h->dev;

	CHECK(another(&x->a) == -EBUSY);
	CHECK(l->ops->claim(l, x->a.h->addr, service) == -EADDRINUSE);
	ut_lock(&dev->lock);
	CHECK(l->ops->add_addr(l, later, 0) == 0);
	ibp_gsi_addr(dev, later, true);
	CHECK(l->ops->claim(l, later, service) == -EADDRINUSE);
	ibp_gsi_addr(dev, later, false);
	CHECK(l->ops->claim(l, later, service) == 0);
	ibp_gsi_addr(dev, later, true); /* taken meanwhile: a line in the log is all */
	l->ops->del_addr(l, later);
	ut_unlock(&dev->lock);
	CHECK(eng_qp_destroy(x->a.qp) == 0);
	CHECK(another(&x->a) == 0);
	CHECK(l->ops->claim(l, x->a.h->addr, service) == 0);
	CHECK(another(&x->a) == -EBUSY);
	l->ops->unclaim(l, x->a.h->addr, service);
	CHECK(eng_cq_destroy(x->a.scq) == 0 && eng_cq_destroy(x->a.rcq) == 0);
	CHECK(eng_mr_dereg(x->a.mr) == 0);
	sim_end_create(&x->a, x->a.h, &qp1);
	sim_end_memory(&x->a, 4096);
	end(x);
}

/* A datagram queue pair with the key reaches QP1, and is reached by its answer. */
static void from_another_qp(void)
{
	static const struct sim_qp_options plain = { .type = IBV_QPT_UD };
	struct world *x = begin(false);
	struct ibv_qp_attr key = { .qkey = ENG_GSI_QKEY };
	struct eng_ah *back = ah_to(x->b.h, x->a.h);
	struct sim_op o = { .code = IBV_WR_SEND, .len = MAD, .ah = back, .qpn = 1,
			    .qkey = 0x80000000u };
	struct sim_end u;
	struct ibv_wc wc;

	sim_end_create(&u, x->b.h, &plain);
	sim_end_memory(&u, 4096);
	sim_end_aim(&u, x->a.h->addr, 1, 0, 0, &plain);
	u.qp->attr.qkey = key.qkey; /* only root may ask for that one */
	memset(u.mem, VENDOR, MAD);
	o.at = u.mem;
	CHECK(sim_post_recv(&x->a, 1, x->a.mem, 512) == 0 && sim_post(&u, &o) == 0);
	wc = sim_wc_is(&x->w, x->a.rcq, IBV_WC_SUCCESS);
	CHECK(wc.src_qp == u.qp->qpn);
	CHECK(sim_post_recv(&u, 1, u.mem, 512) == 0);
	fill(x, VENDOR, 8);
	CHECK(post(x, MAD, wc.src_qp, 5, 0) == 0);
	wc = sim_wc_is(&x->w, u.rcq, IBV_WC_SUCCESS);
	CHECK(wc.src_qp == 1 && wc.byte_len == MAD + GRH && !memcmp(u.mem + GRH, x->a.mem, MAD));
	sim_end_close(&u);
	eng_ah_destroy(back);
	end(x);
}

static const struct test_case cases[] = {
	{ "-", "MADs of all classes between two", exchanged },
	{ "-", "the manager's class is the manager's", managers },
	{ "-", "datagrams that are dropped, and counted", dropped },
	{ "-", "requests that QP1 does not take", misused },
	{ "-", "states and attributes", states },
	{ "-", "one owner", claimed },
	{ "-", "another queue pair and QP1", from_another_qp },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

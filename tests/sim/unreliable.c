/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* UC, UD and XRC: packets that are dropped silently, and packets that must not be. */
#include "engine/pending.h"
#include "engine/post.h"
#include "engine/xrcd.h"
#include "proto/ib/coalesce.h"
#include "proto/ib/ibp.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/crafted.h"
#include "support/tape.h"

#include "util/clock.h"
#include "wire/grh.h"

#define MTU 1024u
#define GRH 40u

static enum ibv_qp_state state(const struct sim_end *e)
{
	return eng_qp_state(e->qp);
}

/* Each packet of the middle one of three messages is lost in turn (62). */
static void uc_loss(void)
{
	for (int write = 0; write < 2; write++)
		for (int k = 0; k < 4; k++) {
			struct rig *r = rig_open(&(struct sim_qp_options){ .type = IBV_QPT_UC }, 65536);
			enum ibv_wr_opcode op = write ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND;

			r->tape.judge = tape_drop;
			r->tape.k = 4 + k;
			for (uint64_t i = 0; i < 3; i++) {
				pattern_fill(r->a.mem + i * 4096, 4096, (unsigned)i);
				rig_recv(r, i, i * 8192, 8192);
			}
			for (uint64_t i = 0; i < 3; i++)
				rig_op(r, op, i, i * 4096, 32768 + i * 4096, 4096, 0);
			for (uint64_t i = 0; i < 3; i++)
				CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS).wr_id == i);
			CHECK(sim_wc_is(&r->w, r->b.rcq, IBV_WC_SUCCESS).wr_id == 0);
			/* Its receive serves the next message. */
			CHECK(sim_wc_is(&r->w, r->b.rcq, IBV_WC_SUCCESS).wr_id == 1);
			sim_no_wc(&r->w, r->b.rcq, UT_S);
			pattern_check(r->b.mem + (write ? 32768 + 8192 : 8192), 4096, 2);
			CHECK(state(&r->b) == IBV_QPS_RTS && r->tape.n == 12);
			rig_close(r);
		}
}

static void uc_silence(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ .type = IBV_QPT_UC }, 65536);
	struct sim_op o = { .code = IBV_WR_RDMA_WRITE, .id = 2, .at = r->a.mem, .len = 100,
			    .remote = r->b.mem, .rkey = r->b.mr->key ^ 0x100 };

	memset(r->a.mem, 1, 8192);
	rig_op(r, IBV_WR_SEND, 1, 0, 0, 100, 0); /* no receive */
	sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS);
	CHECK(sim_post(&r->a, &o) == 0); /* bad key */
	sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS);
	rig_recv(r, 0, 4096, 50);
	rig_op(r, IBV_WR_SEND, 3, 0, 0, 100, 0); /* too long for it */
	sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS);
	sim_no_wc(&r->w, r->b.rcq, UT_S);
	bytes_are(r->b.mem, 4096, 0);
	CHECK(state(&r->b) == IBV_QPS_RTS && r->tape.n == 3);
	rig_op(r, IBV_WR_SEND, 4, 0, 0, 50, 0); /* the receive is as good as new */
	CHECK(sim_wc_is(&r->w, r->b.rcq, IBV_WC_SUCCESS).byte_len == 50);
	rig_close(r);
}

struct ud {
	struct rig *r;
	struct eng_ah *ah;
};

static struct ud ud_open(bool ipv6)
{
	struct ibv_ah_attr a = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64,
				 .traffic_class = 0x20 } };
	struct ud u = { .r = rig_open_on(&(struct sim_options){ .seed = 1, .ipv6 = ipv6,
								.mtu_max = MTU },
					 &(struct sim_qp_options){ .type = IBV_QPT_UD }, 65536) };

	memcpy(a.grh.dgid.raw, u.r->b.h->addr, 16);
	CHECK(eng_ah_create(u.r->a.h->pd, &a, &u.ah) == 0);
	pattern_fill(u.r->a.mem, 8192, 5);
	return u;
}

static void ud_close(struct ud *u)
{
	eng_ah_destroy(u->ah);
	rig_close(u->r);
}

static int ud_send(struct ud *u, uint64_t id, uint32_t len, uint32_t qpn, uint32_t qkey)
{
	struct sim_op o = { .code = IBV_WR_SEND_WITH_IMM, .id = id, .at = u->r->a.mem, .len = len,
			    .ah = u->ah, .qpn = qpn ? qpn : u->r->b.qp->qpn, .qkey = qkey,
			    .imm = 0x11223344 };

	return sim_post(&u->r->a, &o);
}

/* Posts as a thread that holds the progress lock. Returns whether the datagram waits for others. */
static bool ud_waits(struct ud *u, struct eng_dev *dev, bool more, bool batch)
{
	struct eng_qp *qp;

	CHECK(ud_send(u, 1, 64, 0, 0) == 0);
	eng_dev_held(dev);
	qp = eng_dev_pop_pending(dev);
	CHECK(qp == u->r->a.qp);
	if (more && ibp_coalesce_more(qp))
		return true;
	dev->proto->qp_kick(qp);
	return ibp_may_coalesce(dev, batch);
}

/* A program that posts many before it polls: they wait, and leave together; else each leaves at once. */
static void ud_batch(void)
{
	struct ud u = ud_open(false);
	struct eng_dev *dev = &u.r->a.h->dev;

	ut_lock(&dev->lock);
	CHECK(!ud_waits(&u, dev, false, false));
	ibp_transmit(dev, u.r->w.now, ENG_ACKS_NOW);
	for (int i = 0; i < 31; i++)
		CHECK_MSG(ud_waits(&u, dev, i, true), "datagram %d", i);
	CHECK(!ud_waits(&u, dev, true, true));
	ibp_transmit(dev, u.r->w.now, ENG_ACKS_NOW);
	ut_unlock(&dev->lock);
	for (int i = 0; i < 33; i++)
		sim_wc_is(&u.r->w, u.r->a.scq, IBV_WC_SUCCESS);
	ud_close(&u);
}

/* Returns whether the host took a Send with this identification. */
static bool takes_id(struct crafted *c, uint16_t id, const uint8_t *from)
{
	uint64_t before = sim_counter(c->e.h, ENG_C_rx_icrc_errors);
	struct ibv_wc wc;

	CHECK(sim_post_recv(&c->e, 1, c->e.mem, 4096) == 0);
	c->id = id;
	c->from = from;
	CRAFT(c, "12345678", 8, .shape = wire_ib_shape(0x64), .opcode = 0x64, .qkey = 0x1234, .src_qpn = 9);
	if (eng_cq_poll(c->e.rcq, 1, &wc) == 1)
		return true;
	CHECK(sim_counter(c->e.h, ENG_C_rx_icrc_errors) == before + 1);
	return false;
}

/* A damaged datagram may have an ICRC that is right for another identification, which the socket does not show. */
static void ud_identifications(void)
{
	struct crafted *c = crafted_open(&(struct sim_qp_options){ .type = IBV_QPT_UD, .depth = 64 });
	uint8_t other[16];

	memcpy(other, c->addr, 16);
	other[15]++;
	CHECK(c->link->ops->add_addr(c->link, other, 0) == 0);
	CHECK(takes_id(c, 0, NULL) && takes_id(c, 100, NULL) && takes_id(c, 3, NULL));
	CHECK(!takes_id(c, 0x7777, NULL) && takes_id(c, 1, NULL));
	CHECK(!takes_id(c, 4000, NULL));
	/* Another peer, with a counter. */
	CHECK(takes_id(c, 0x7777, other) && takes_id(c, 0x7778, other) && takes_id(c, 0x7900, other));
	CHECK(!takes_id(c, 0x7700, other) && !takes_id(c, 0xa000, other));
	/* It moves on in silence. */
	crafted_run(c, 20 * UT_S);
	CHECK(takes_id(c, 0xe000, other));
	CHECK(takes_id(c, 0xe001, other));
	CHECK(!takes_id(c, 0x1002, other));
	/* It comes round. */
	for (int i = 0; i < 7; i++)
		takes_id(c, 0xffff, other);
	CHECK(takes_id(c, 0xffff, other) && takes_id(c, 127, other) && takes_id(c, 128, other) && takes_id(c, 400, other));
	crafted_close(c);
}

static void ud_sizes(void)
{
	static const uint32_t sizes[] = { 0, 1, 3, 64, MTU - 1, MTU };

	for (int ipv6 = 0; ipv6 < 2; ipv6++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			struct ud u = ud_open(ipv6);
			uint8_t *at = u.r->b.mem;
			struct ibv_wc wc;

			rig_recv(u.r, 3, 0, 4096);
			CHECK(ud_send(&u, i, sizes[i], 0, 0x1234) == 0);
			sim_wc_is(&u.r->w, u.r->a.scq, IBV_WC_SUCCESS);
			wc = sim_wc_is(&u.r->w, u.r->b.rcq, IBV_WC_SUCCESS);
			CHECK(wc.byte_len == sizes[i] + GRH && wc.src_qp == u.r->a.qp->qpn);
			CHECK((wc.wc_flags & IBV_WC_GRH) && (wc.wc_flags & IBV_WC_WITH_IMM));
			CHECK(wc.imm_data == 0x11223344);
			pattern_check(at + GRH, sizes[i], 5);
			bytes_are(at + GRH + sizes[i], 16, 0);
			if (ipv6) {
				CHECK(at[0] >> 4 == 6 && !memcmp(at + 8, u.r->a.h->addr, 16));
				CHECK(!memcmp(at + 24, u.r->b.h->addr, 16));
			} else {
				bytes_are(at, 20, 0);
				CHECK(at[20] == 0x45 && !memcmp(at + 32, u.r->a.h->addr + 12, 4));
				CHECK(at[28] == 64);
				CHECK((at[30] << 8 | at[31]) == wire_ipv4_checksum(at + 20));
			}
			ud_close(&u);
		}
}

static void ud_drops(void)
{
	struct ud u = ud_open(false);
	struct sim_world *w = &u.r->w;

	CHECK(ud_send(&u, 1, MTU + 1, 0, 0x1234) == 0);
	sim_wc_is(w, u.r->a.scq, IBV_WC_LOC_LEN_ERR);
	CHECK(u.r->tape.n == 0);
	ud_close(&u);
	u = ud_open(false);
	w = &u.r->w;
	CHECK(ud_send(&u, 0, 10, 0, 0x1234) == 0); /* no receive */
	sim_wc_is(w, u.r->a.scq, IBV_WC_SUCCESS);
	rig_run(u.r, UT_MS);
	rig_recv(u.r, 7, 0, GRH + 20);
	CHECK(ud_send(&u, 1, 21, 0, 0x1234) == 0); /* one byte too many */
	CHECK(ud_send(&u, 2, 10, 0, 0x1235) == 0); /* Q_Key */
	CHECK(ud_send(&u, 3, 10, u.r->b.qp->qpn ^ 1, 0x1234) == 0);
	for (int i = 0; i < 3; i++)
		sim_wc_is(w, u.r->a.scq, IBV_WC_SUCCESS);
	sim_no_wc(w, u.r->b.rcq, UT_S);
	CHECK(state(&u.r->b) == IBV_QPS_RTS);
	CHECK(sim_counter(u.r->b.h, ENG_C_rx_bad_qkey) == 1);
	CHECK(sim_counter(u.r->b.h, ENG_C_rx_no_wqe) == 2);
	CHECK(sim_counter(u.r->b.h, ENG_C_rx_no_qp) == 1);
	CHECK(ud_send(&u, 4, 20, 0, 0x1234) == 0);
	CHECK(sim_wc_is(w, u.r->b.rcq, IBV_WC_SUCCESS).wr_id == 7);
	ud_close(&u);
}

static void ud_fields(void)
{
	struct ud u = ud_open(false);
	uint32_t qpn = u.r->a.qp->qpn;

	/* With a controlled Q_Key the QP's own is sent. */
	CHECK(ud_send(&u, 1, 8, 0, 0x80000001) == 0);
	CHECK(ud_send(&u, 2, 8, 0, 0x77) == 0);
	sim_wc_is(&u.r->w, u.r->a.scq, IBV_WC_SUCCESS);
	CHECK(u.r->tape.v[0].p.qkey == 0x1234 && u.r->tape.v[1].p.qkey == 0x77);
	CHECK(u.r->tape.v[0].p.src_qpn == qpn && u.r->tape.v[0].tos == 0x20);
	CHECK(u.r->tape.v[1].p.psn == ((u.r->tape.v[0].p.psn + 1) & 0xffffff));
	CHECK(u.r->tape.v[0].sport ==
	      0xc000 + (uint16_t)((uint32_t)(qpn * 0x61c88647u) >> 18));
	ud_close(&u);
}

/* --- XRC --- */

struct xrc {
	struct sim_world w;
	struct tape tape;
	struct sim_end a, b;
	struct eng_xrcd *xrcd;
	struct eng_cq *cq[2];
	struct eng_srq *srq[2];
};

static struct xrc *xrc_open(void)
{
	struct xrc *x = calloc(1, sizeof(*x));
	struct sim_qp_options o = { .type = IBV_QPT_XRC_SEND };

	CHECK(x);
	sim_world_open(&x->w, &(struct sim_options){ .seed = 4 });
	tape_start(&x->tape, &x->w);
	sim_end_create(&x->a, &x->w.host[0], &o);
	CHECK(eng_xrcd_open(&x->w.host[1].dev, -1, 0, &x->xrcd) == 0);
	o.type = IBV_QPT_XRC_RECV;
	o.xrcd = x->xrcd;
	sim_end_create(&x->b, &x->w.host[1], &o);
	sim_end_connect(&x->a, &x->b, 5, 9, &o);
	sim_end_connect(&x->b, &x->a, 9, 5, &o);
	sim_end_memory(&x->a, 65536);
	sim_end_memory(&x->b, 65536);
	for (int i = 0; i < 2; i++) {
		struct eng_srq_spec s = { .pd = x->b.h->pd, .xrcd = x->xrcd,
					  .attr = { .max_wr = 8, .max_sge = 1 } };

		CHECK(eng_cq_create(x->b.h->ctx, 16, NULL, false, &x->cq[i]) == 0);
		s.cq = x->cq[i];
		CHECK(eng_srq_create(x->b.h->ctx, &s, &x->srq[i]) == 0);
	}
	return x;
}

static void xrc_close(struct xrc *x)
{
	sim_end_close(&x->a);
	sim_end_close(&x->b);
	for (int i = 0; i < 2; i++) {
		if (x->srq[i])
			CHECK(eng_srq_destroy(x->srq[i]) == 0);
		if (x->cq[i])
			CHECK(eng_cq_destroy(x->cq[i]) == 0);
	}
	CHECK(eng_xrcd_close(x->xrcd) == 0);
	sim_world_close(&x->w);
	free(x);
}

static void xrc_send(struct xrc *x, uint64_t id, uint32_t srqn, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)x->a.mem, len, x->a.mr->key };
	struct ibv_send_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1,
					.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };

	wr.qp_type.xrc.remote_srqn = srqn;
	CHECK(eng_post_send(x->a.qp, &wr, &bad) == 0);
}

static void xrc_recv(struct xrc *x, int i, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)x->b.mem + id * 8192, 8192, x->b.mr->key };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	CHECK(eng_srq_post(x->srq[i], &wr, &bad) == 0);
}

static void xrc_two_queues(void)
{
	struct xrc *x = xrc_open();

	pattern_fill(x->a.mem, 4096, 9);
	xrc_recv(x, 0, 0);
	xrc_recv(x, 1, 1);
	xrc_send(x, 1, x->srq[1]->number, 3000);
	xrc_send(x, 2, x->srq[0]->number, 100);
	CHECK(sim_wc_is(&x->w, x->cq[1], IBV_WC_SUCCESS).wr_id == 1);
	CHECK(sim_wc_is(&x->w, x->cq[0], IBV_WC_SUCCESS).wr_id == 0);
	pattern_check(x->b.mem + 8192, 3000, 9);
	pattern_check(x->b.mem, 100, 9);
	sim_wc_is(&x->w, x->a.scq, IBV_WC_SUCCESS);
	sim_wc_is(&x->w, x->a.scq, IBV_WC_SUCCESS);
	for (int i = 0; i < x->tape.n; i++) {
		const struct wire_ib_packet *p = &x->tape.v[i].p;

		if (p->shape->flags & WIRE_F_REQ) /* in every request packet */
			CHECK(p->srqn == x->srq[p->opcode != WIRE_XRC_SEND_ONLY]->number);
		else
			CHECK(p->opcode == WIRE_XRC_ACKNOWLEDGE && p->syndrome == 0x1f);
	}
	xrc_send(x, 3, x->srq[0]->number, 10); /* empty: RNR until there is one */
	sim_run(&x->w, 5 * UT_MS, NULL, NULL);
	xrc_recv(x, 0, 2);
	CHECK(sim_wc_is(&x->w, x->cq[0], IBV_WC_SUCCESS).wr_id == 2);
	sim_wc_is(&x->w, x->a.scq, IBV_WC_SUCCESS);
	xrc_send(x, 4, x->srq[0]->number ^ 0x5555, 10);
	CHECK(sim_wc_is(&x->w, x->a.scq, IBV_WC_REM_INV_REQ_ERR).wr_id == 4);
	xrc_close(x);
}

static int drop_last(struct tape *t, const struct tape_packet *p, struct sim_packet *raw)
{
	return p->p.opcode != WIRE_XRC_SEND_LAST;
}

/* The queue goes away while a message of it is half received. */
static void xrc_queue_gone(void)
{
	struct xrc *x = xrc_open();

	xrc_recv(x, 0, 0);
	x->tape.judge = drop_last;
	xrc_send(x, 1, x->srq[0]->number, 3000);
	sim_run(&x->w, 100 * UT_US, NULL, NULL);
	CHECK(eng_srq_destroy(x->srq[0]) == 0);
	CHECK(eng_cq_destroy(x->cq[0]) == 0);
	x->srq[0] = NULL;
	x->cq[0] = NULL;
	x->tape.judge = NULL;
	sim_wc_is(&x->w, x->a.scq, IBV_WC_REM_INV_REQ_ERR);
	xrc_close(x);
}

static const struct test_case cases[] = {
	{ "62", "UC: a message that loses a packet is gone, its receive serves the next", uc_loss },
	{ "62", "UC: silence about everything the peer did wrong", uc_silence },
	{ "-", "UD: datagrams of a batch leave together", ud_batch },
	{ "63 64", "UD: sizes, the 40 bytes before the payload", ud_sizes },
	{ "63", "UD: drops", ud_drops },
	{ "63", "UD: identifications that do not follow from the peer's others", ud_identifications },
	{ "65 95", "UD: Q_Key, PSN, source port on the wire", ud_fields },
	{ "68", "XRC: two queues by number, RNR, unknown number", xrc_two_queues },
	{ "68", "XRC: the queue goes away within a message", xrc_queue_gone },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

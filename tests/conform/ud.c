/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams: sizes, drops, the 40 bytes in front, Q_Keys, address handles. */
#include "conf.h"

#include <string.h>

#define GRH 40

struct ud {
	struct cf_side a, b;
	struct ibv_ah *ah;
};

static void pair(struct ud *u)
{
	struct cf_opt o = cf_opt();

	o.type = IBV_QPT_UD;
	o.len = 1 << 20;
	cf_pair(&u->a, &u->b, &o);
	u->ah = cf_ah(u->a.pd);
}

static void send_q(struct ud *u, uint64_t id, uint32_t len, uint32_t qpn, uint32_t qkey)
{
	cf_post(&u->a, .op = IBV_WR_SEND, .id = id, .len = len, .ah = u->ah, .qpn = qpn, .qkey = qkey);
}

static void send(struct ud *u, uint64_t id, uint32_t len)
{
	send_q(u, id, len, u->b.qp->qp_num, u->b.o.qkey);
}

/* The next datagram arrives in the expected receive, so earlier ones are done. */
static struct ibv_wc arrives(struct ud *u, uint64_t recv_id, uint32_t len)
{
	struct ibv_wc wc;

	send(u, 999, len);
	cf_wc(u->a.scq, 999, SUCCESS);
	wc = cf_wc(u->b.rcq, recv_id, SUCCESS);
	CF_EQ(wc.byte_len, len + GRH);
	CF_EQ(cf_state(u->b.qp), IBV_QPS_RTS);
	return wc;
}

static void sizes(void)
{
	struct ud u;
	uint32_t mtu;

	pair(&u);
	mtu = 128u << cf.port.active_mtu;
	const uint32_t n[] = { 0, 1, 2, 3, 4, 255, mtu - 1, mtu };

	for (unsigned i = 0; i < sizeof(n) / sizeof(*n); i++) {
		cf_fill(u.a.buf, n[i], i);
		cf_recv(&u.b, i, 0, GRH + n[i]);
		struct ibv_wc wc = arrives(&u, i, n[i]);

		CF_EQ(wc.opcode, IBV_WC_RECV);
		CF_EQ(wc.src_qp, u.a.qp->qp_num);
		CF_EQ(wc.qp_num, u.b.qp->qp_num);
		cf_verify(u.b.buf + GRH, n[i], i);
	}
	send(&u, 5, mtu + 1);
	cf_wc(u.a.scq, 5, LOC_LEN_ERR);
	cf_await_state(u.a.qp, IBV_QPS_SQE);
}

static void drops(void)
{
	struct ud u;

	pair(&u);
	send(&u, 1, 64); /* no receive */
	cf_wc(u.a.scq, 1, SUCCESS);
	cf_quiet(u.b.rcq);
	cf_recv(&u.b, 10, 0, GRH + 100);
	send(&u, 2, 101); /* too small: kept for the next */
	cf_wc(u.a.scq, 2, SUCCESS);
	arrives(&u, 10, 100);
	cf_recv(&u.b, 11, 0, GRH + 100);
	send_q(&u, 3, 50, u.b.qp->qp_num, u.b.o.qkey ^ 1); /* wrong Q_Key */
	cf_wc(u.a.scq, 3, SUCCESS);
	arrives(&u, 11, 60);
	cf_recv(&u.b, 12, 0, GRH + 100);
	send_q(&u, 4, 50, u.b.qp->qp_num ^ 0x5a, u.b.o.qkey); /* no queue pair */
	cf_wc(u.a.scq, 4, SUCCESS);
	arrives(&u, 12, 61);
	cf_no_event(u.b.ctx);
}

static uint16_t ip_sum(const uint8_t *h)
{
	uint32_t s = 0;

	for (int i = 0; i < 20; i += 2)
		s += h[i] << 8 | h[i + 1];
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

/* On InfiniBand links a GRH is the sender's choice. */
static void put_grh(struct ud *u)
{
	struct ibv_ah_attr a = cf_ah_attr();

	if (a.is_global)
		return;
	a.is_global = 1;
	a.grh = (struct ibv_global_route){ .dgid = cf.gid, .sgid_index = cf.gid_index, .hop_limit = 64 };
	u->ah = ibv_create_ah(u->a.pd, &a);
	CF_TRUE(u->ah);
	cf_keep((cf_undo)ibv_destroy_ah, u->ah, "ibv_destroy_ah");
}

static void grh(void)
{
	struct ud u;
	struct ibv_ah_attr attr;
	struct ibv_wc wc;
	struct ibv_ah *back;
	uint8_t *h;

	pair(&u);
	put_grh(&u);
	memset(u.b.buf, 0xff, 200);
	cf_recv(&u.b, 1, 0, GRH + 100);
	wc = arrives(&u, 1, 100);
	CF_TRUE(wc.wc_flags & IBV_WC_GRH);
	CF_TRUE(!(wc.wc_flags & IBV_WC_WITH_IMM));
	h = u.b.buf;
	if (!memcmp(cf.gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12)) {
		CF_TRUE(h[0] >> 4 != 6);
		CF_EQ(h[20], 0x45);
		CF_EQ(ip_sum(h + 20), 0xffff);
		CF_EQ(h[29], 17);
		CF_TRUE(!memcmp(h + 32, cf.gid.raw + 12, 4)); /* source */
		CF_TRUE(!memcmp(h + 36, cf.gid.raw + 12, 4)); /* destination */
	} else {
		CF_EQ(h[0] >> 4, 6);
		CF_TRUE(!memcmp(h + 8, &cf.gid, 16) && !memcmp(h + 24, &cf.gid, 16));
	}
	CF_OK(ibv_init_ah_from_wc(u.b.ctx, 1, &wc, (struct ibv_grh *)h, &attr));
	CF_TRUE(!memcmp(&attr.grh.dgid, &cf.gid, 16));
	CF_EQ(attr.is_global, 1);
	CF_EQ(attr.grh.sgid_index, cf.gid_index);
	back = ibv_create_ah_from_wc(u.b.pd, &wc, (struct ibv_grh *)h, 1);
	CF_TRUE(back != NULL);
	cf_recv(&u.a, 2, 0, 200);
	cf_post(&u.b, .op = IBV_WR_SEND_WITH_IMM, .id = 3, .len = 100, .ah = back, .qpn = wc.src_qp,
		.qkey = u.a.o.qkey, .imm = htobe32(5));
	cf_wc(u.b.scq, 3, SUCCESS);
	wc = cf_wc(u.a.rcq, 2, SUCCESS);
	CF_EQ(be32toh(wc.imm_data), 5);
	CF_TRUE(wc.wc_flags & IBV_WC_WITH_IMM);
	CF_OK(ibv_destroy_ah(back));
}

/* The top bit of the request's Q_Key means: the QP's own. */
static void own_qkey(void)
{
	struct ud u;

	pair(&u);
	cf_recv(&u.b, 1, 0, 200);
	send_q(&u, 2, 64, u.b.qp->qp_num, 0x80000000);
	cf_wc(u.a.scq, 2, SUCCESS);
	cf_wc(u.b.rcq, 1, SUCCESS);
}

static void foreign_ah(void)
{
	struct ud u;

	pair(&u);
	u.ah = cf_ah(cf_pd(u.a.ctx));
	cf_recv(&u.b, 1, 0, 200);
	send(&u, 2, 64);
	cf_wc(u.a.scq, 2, LOC_QP_OP_ERR);
	cf_quiet(u.b.rcq);
}

static void bad_ah(void)
{
	struct ibv_context *ctx = cf_open();
	struct ibv_pd *pd = cf_pd(ctx);
	struct ibv_ah_attr a = cf_ah_attr();
	struct ibv_ah *ah;

	a.port_num = 0;
	CF_NULL(ibv_create_ah(pd, &a), EINVAL);
	a.port_num = cf.dev.orig_attr.phys_port_cnt + 1;
	CF_NULL(ibv_create_ah(pd, &a), EINVAL);
	if (cf.port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return;
	a = cf_ah_attr();
	a.is_global = 0;
	CF_NULL(ibv_create_ah(pd, &a), EINVAL);
	a = cf_ah_attr();
	a.grh.sgid_index = cf.port.gid_tbl_len - 1; /* empty */
	ah = ibv_create_ah(pd, &a);
	if (ah || (errno != ENODATA && errno != EINVAL))
		CF_DIE("an AH from an empty GID index: %s", ah ? "made" : strerror(errno));
}

static void opcodes(void)
{
	struct ud u;
	static const int ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
				   IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_SEND_WITH_INV, IBV_WR_BIND_MW,
				   IBV_WR_LOCAL_INV };

	pair(&u);
	for (unsigned i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		CF_ERR(cf_post_try(&u.a, &(struct cf_wr){ .op = ops[i], .len = 8, .ah = u.ah,
							  .qpn = u.b.qp->qp_num }), EINVAL);
	cf_recv(&u.b, 1, 0, 100);
	arrives(&u, 1, 8);
}

/* More datagrams than receives: only whole ones, none twice. */
static void flood(void)
{
	struct ud u;
	struct ibv_wc wc;
	static bool seen[2001];
	uint32_t got = 0;

	pair(&u);
	for (int i = 0; i < 16; i++)
		cf_recv(&u.b, i, i * 1024, 1024);
	for (uint32_t i = 1; i <= 2000; i++) {
		memcpy(u.a.buf, &i, 4);
		send(&u, i, 500);
		cf_wc(u.a.scq, i, SUCCESS);
		while (ibv_poll_cq(u.b.rcq, 1, &wc) > 0) {
			uint32_t n;

			CF_EQ(wc.status, IBV_WC_SUCCESS);
			memcpy(&n, u.b.buf + wc.wr_id * 1024 + GRH, 4);
			CF_TRUE(n >= 1 && n <= i && !seen[n]); /* order is not promised */
			seen[n] = true;
			got++;
			cf_recv(&u.b, wc.wr_id, wc.wr_id * 1024, 1024);
		}
	}
	CF_TRUE(got > 0);
}

const struct cf_check cf_checks[] = {
	{ "63", "datagrams up to the MTU, and one more", CF_UD, sizes },
	{ "63 90", "no receive, too small, Q_Key, QPN: dropped", CF_UD, drops },
	{ "64", "the 40 bytes, and the way back", CF_UD, grh },
	{ "65", "a Q_Key with the top bit is the QP's own", CF_UD, own_qkey },
	{ "66", "an address handle of another domain", CF_UD, foreign_ah },
	{ "66", "address handles that cannot be", CF_UD, bad_ah },
	{ "+", "only sends on UD", CF_UD, opcodes },
	{ "+", "a flood loses whole datagrams only", CF_UD, flood },
	{ 0 },
};

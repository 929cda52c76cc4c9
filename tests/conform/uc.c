/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Unreliable connections: whole messages or nothing, and the queue pair survives. */
#include "conf.h"

#include <string.h>

static struct cf_opt uc(void)
{
	struct cf_opt o = cf_opt();

	o.type = IBV_QPT_UC;
	o.len = 2 << 20;
	return o;
}

static void sizes(void)
{
	struct cf_opt o = uc();
	struct cf_side a, b;
	const uint32_t n[] = { 0, 1, 3, 255, 256, 257, 4095, 4096, 4097, 65537 };

	cf_pair(&a, &b, &o);
	for (unsigned i = 0; i < sizeof(n) / sizeof(*n); i++) {
		cf_fill(a.buf, n[i], i);
		cf_recv(&b, i, 0, n[i]);
		cf_post(&a, .op = IBV_WR_SEND_WITH_IMM, .id = i, .len = n[i], .imm = i);
		cf_wc(a.scq, i, SUCCESS);
		struct ibv_wc wc = cf_wc(b.rcq, i, SUCCESS);

		CF_EQ(wc.byte_len, n[i]);
		CF_EQ(wc.imm_data, i);
		cf_verify(b.buf, n[i], i);
		cf_recv(&b, i, 0, 0);
		cf_post(&a, .op = IBV_WR_RDMA_WRITE_WITH_IMM, .id = i, .len = n[i], .to = &b,
			.roff = 1 << 20, .imm = i);
		cf_wc(a.scq, i, SUCCESS);
		CF_EQ(cf_wc(b.rcq, i, SUCCESS).byte_len, n[i]);
		cf_verify(b.buf + (1 << 20), n[i], i);
	}
}

/* A later message proves that the earlier one has been dealt with: the path keeps order here. */
static void proof(struct cf_side *a, struct cf_side *b, uint64_t id)
{
	cf_fill(a->buf + 100000, 500, id);
	cf_post(a, .op = IBV_WR_SEND, .id = id, .off = 100000, .len = 500);
	cf_wc(a->scq, id, SUCCESS);
	CF_EQ(cf_wc(b->rcq, id, SUCCESS).byte_len, 500);
	cf_verify(b->buf + 100000, 500, id);
	CF_EQ(cf_state(b->qp), IBV_QPS_RTS);
}

static void no_receive(void)
{
	struct cf_opt o = uc();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	cf_fill(a.buf, 20000, 1);
	cf_post(&a, .op = IBV_WR_SEND, .id = 1, .len = 20000);
	cf_wc(a.scq, 1, SUCCESS);
	/* Delivered or dropped: a WRITE behind it is seen in memory. */
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, .to = &b, .roff = 200000);
	cf_wc(a.scq, 2, SUCCESS);
	for (uint64_t end = cf_ns() + 1000000ull * CF_WAIT_MS; memcmp(b.buf + 200000, a.buf, 8);) {
		cf_quiet_for(b.rcq, 1);
		if (cf_ns() > end)
			CF_DIE("the WRITE behind the lost send did not arrive");
	}
	cf_recv(&b, 3, 100000, 500);
	proof(&a, &b, 3);
	cf_no_event(b.ctx);
}

static void bad_remote(void)
{
	struct cf_opt o = uc();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	cf_fill(a.buf, 20000, 1);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 1, .len = 20000, .to = &b,
		.rkey = b.mr->rkey ^ 0xff0000);
	cf_wc(a.scq, 1, SUCCESS);
	cf_recv(&b, 2, 100000, 500);
	proof(&a, &b, 2);
	cf_all_zero(b.buf, 20000);
	/* Too long for the receive: the receive stays for the next. */
	cf_recv(&b, 4, 100000, 500);
	cf_post(&a, .op = IBV_WR_SEND, .id = 3, .len = 20000);
	cf_wc(a.scq, 3, SUCCESS);
	proof(&a, &b, 4);
	cf_no_event(b.ctx);
}

static void bad_receive(void)
{
	struct cf_opt o = uc();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	CF_OK(cf_recv_try(&b, 1, 0, 100, b.mr->lkey ^ 0xff0000));
	cf_post(&a, .op = IBV_WR_SEND, .id = 2, .len = 100);
	cf_wc(a.scq, 2, SUCCESS);
	cf_wc(b.rcq, 1, LOC_PROT_ERR);
	cf_await_state(b.qp, IBV_QPS_ERR);
	CF_EQ(cf_state(a.qp), IBV_QPS_RTS);
}

/* --- the order of requests --- */

enum { ROUNDS = 500, BYTES = 64, FLAG = 4096 };

static void begin(struct cf_party *p, struct cf_side *s, struct cf_addr *ret_other)
{
	struct cf_opt o = uc();

	cf_side(s, &o);
	*ret_other = cf_connect(p, s);
	if (!p->first)
		cf_recv(s, 0, 0, BYTES);
	cf_meet(p);
}

static void sends_and_writes(struct cf_party *p)
{
	struct cf_addr other;
	struct cf_side s;

	begin(p, &s, &other);
	for (int i = 0; i < ROUNDS; i++) {
		memset(s.buf, i % 255 + 1, BYTES);
		cf_post(&s, .op = IBV_WR_SEND, .id = 2 * i, .len = BYTES);
		cf_wc(s.scq, 2 * i, SUCCESS);
		cf_post(&s, .op = IBV_WR_RDMA_WRITE, .id = 2 * i + 1, .len = 8, .raddr = other.addr + FLAG, .rkey = other.rkey);
		cf_wc(s.scq, 2 * i + 1, SUCCESS);
		cf_meet(p);
	}
}

/* Looks at memory alone until the Write is there. */
static void watches(struct cf_party *p)
{
	volatile uint8_t *flag;
	struct cf_addr other;
	struct cf_side s;

	begin(p, &s, &other);
	flag = s.buf + FLAG;
	for (int i = 0; i < ROUNDS; i++) {
		for (uint64_t end = cf_ns() + 1000000ull * CF_WAIT_MS; *flag != i % 255 + 1;)
			if (cf_ns() > end)
				CF_DIE("Write %d did not arrive", i);
		CF_EQ(((volatile uint8_t *)s.buf)[BYTES - 1], i % 255 + 1);
		cf_wc(s.rcq, i, SUCCESS);
		if (i + 1 < ROUNDS)
			cf_recv(&s, i + 1, 0, BYTES);
		cf_meet(p);
	}
}

static void order(void)
{
	cf_processes(sends_and_writes, watches);
}

const struct cf_check cf_checks[] = {
	{ "62", "UC messages of all sizes", CF_UC, sizes },
	{ "62", "UC without a receive: silent, the next one arrives", CF_UC, no_receive },
	{ "62", "UC bad key, too long: dropped, the receive is kept", CF_UC, bad_remote },
	{ "62", "UC receive with a bad key: the receiver fails", CF_UC, bad_receive },
	{ "62", "UC Write behind a Send: not before it", CF_UC, order },
	{ "62", "UC loss inside a message", 0, NULL, "sim" },
	{ 0 },
};

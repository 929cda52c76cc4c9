/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RC moves the right bytes, in the right order, at every size around the packet borders. */
#include "conf.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BIG ((2u << 20) + 8)
#define GUARD 16

static uint32_t mtu_bytes(enum ibv_mtu m)
{
	return 128u << m;
}

/* One message of n bytes; the bytes behind it in the target must stay. */
static void one_message(struct cf_side *a, struct cf_side *b, enum ibv_wr_opcode op, uint32_t n,
			uint64_t seed)
{
	struct cf_side *from = op == IBV_WR_RDMA_READ ? b : a, *to = op == IBV_WR_RDMA_READ ? a : b;
	bool send = op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM;
	bool recv = send || op == IBV_WR_RDMA_WRITE_WITH_IMM;
	uint32_t off = seed % 7; /* odd addresses */
	struct ibv_wc wc;

	cf_fill(from->buf + off, n, seed);
	memset(to->buf + off, 0, n + GUARD);
	if (recv)
		cf_recv(b, seed, off, send ? n : 0);
	cf_post(a, .op = op, .id = seed, .off = off, .len = n, .to = b, .roff = off,
		.imm = htobe32(0xabcd0000 + (seed & 0xffff)));
	cf_wc(a->scq, seed, SUCCESS);
	if (recv) {
		wc = cf_wc(b->rcq, seed, SUCCESS);
		CF_EQ(wc.byte_len, n);
		CF_EQ(wc.opcode, send ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM);
		CF_EQ(wc.qp_num, b->qp->qp_num);
		CF_EQ(!!(wc.wc_flags & IBV_WC_WITH_IMM), op != IBV_WR_SEND);
		if (op != IBV_WR_SEND)
			CF_EQ(be32toh(wc.imm_data), 0xabcd0000 + (seed & 0xffff));
	} else {
		cf_landed(a, b);
	}
	cf_verify(to->buf + off, n, seed);
	cf_all_zero(to->buf + off + n, GUARD);
}

static void sizes_at(enum ibv_mtu m, uint32_t largest)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	uint32_t u = mtu_bytes(m);
	const uint32_t sizes[] = { 0, 1, 2, 3, 4, 5, u - 1, u, u + 1, 2 * u - 1, 2 * u, 2 * u + 1,
				   7 * u + 3, 65535, largest };
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	uint64_t seed = m * 1000;

	o.len = BIG;
	o.mtu = m;
	cf_pair(&a, &b, &o);
	for (unsigned i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		if (cf.iwarp && ops[i] == IBV_WR_SEND_WITH_IMM)
			continue; /* no such message; refused in iwarp.c */
		for (unsigned j = 0; j < sizeof(sizes) / sizeof(*sizes); j++)
			one_message(&a, &b, ops[i], sizes[j], ++seed);
	}
}

static void sizes(void)
{
	struct ibv_context *ctx = cf_open();

	(void)ctx;
	for (int m = IBV_MTU_256; m <= (int)cf.port.active_mtu; m++)
		sizes_at(m, m == (int)cf.port.active_mtu ? (1u << 20) + 1 : 100001);
}

static void psn_wrap(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.psn = 0xfffff0;
	o.mtu = IBV_MTU_256;
	cf_pair(&a, &b, &o);
	for (int i = 0; i < 64; i++)
		one_message(&a, &b, i % 3 == 0 ? IBV_WR_SEND : i % 3 == 1 ? IBV_WR_RDMA_WRITE :
			    IBV_WR_RDMA_READ, 600, 1 + i);
	for (int i = 0; i < 20; i++)
		one_message(&b, &a, IBV_WR_SEND, 300, 200 + i);
}

/* A full queue in flight; every message in its own receive, in order. */
static void pipelined(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.len = 32 * 3000;
	cf_pair(&a, &b, &o);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 32; i++) {
			cf_fill(a.buf + 3000 * i, 3000, round * 32 + i);
			cf_recv(&b, i, 3000 * i, 3000);
		}
		for (int i = 0; i < 32; i++)
			cf_post(&a, .op = IBV_WR_SEND, .id = i, .off = 3000 * i, .len = 90 * i);
		for (int i = 0; i < 32; i++) {
			CF_EQ(cf_wc(b.rcq, i, SUCCESS).byte_len, 90 * i);
			cf_verify(b.buf + 3000 * i, 90 * i, round * 32 + i);
			cf_wc(a.scq, i, SUCCESS);
		}
	}
}

/* The fenced WRITE sends the bytes that the READ before it placed in its source. */
static void fence(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	const uint32_t n = 64 << 10;

	o.len = 3 * n;
	cf_pair(&a, &b, &o);
	for (int i = 1; i <= 100; i++) {
		cf_fill(b.buf, n, i);
		memset(a.buf, 0, n);
		cf_post(&a, .op = IBV_WR_RDMA_READ, .id = 1, .len = n, .to = &b, .quiet = true);
		cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 2, .len = n, .to = &b, .roff = 2 * n,
			.flags = IBV_SEND_FENCE);
		cf_wc(a.scq, 2, SUCCESS);
		cf_landed(&a, &b);
		cf_verify(b.buf + 2 * n, n, i);
	}
}

static void order(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.len = BIG;
	o.rd = 2;
	cf_pair(&a, &b, &o);
	for (int i = 0; i < 10; i++) {
		cf_recv(&b, i, BIG - 64, 64);
		cf_post(&a, .op = IBV_WR_RDMA_READ, .id = 3 * i, .len = 1 << 20, .to = &b);
		cf_post(&a, .op = IBV_WR_SEND, .id = 3 * i + 1, .off = BIG - 64, .len = 64);
		cf_post(&a, .op = IBV_WR_RDMA_READ, .id = 3 * i + 2, .len = 64, .to = &b);
	}
	for (int i = 0; i < 30; i++) {
		struct ibv_wc wc = cf_wc(a.scq, i, SUCCESS);

		CF_EQ(wc.opcode, i % 3 == 1 ? IBV_WC_SEND : IBV_WC_RDMA_READ);
		if (i % 3 != 1)
			CF_EQ(wc.byte_len, i % 3 ? 64 : 1 << 20);
	}
}

/* More READs than may be in flight are kept back, not failed. */
static void many_reads(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.rd = 1;
	cf_pair(&a, &b, &o);
	cf_fill(b.buf, 32 * 1024, 3);
	for (int i = 0; i < 32; i++)
		cf_post(&a, .op = IBV_WR_RDMA_READ, .id = i, .off = i * 1024, .len = 1024, .to = &b,
			.roff = i * 1024);
	for (int i = 0; i < 32; i++)
		cf_wc(a.scq, i, SUCCESS);
	cf_verify(a.buf, 32 * 1024, 3);
}

/* READs see earlier WRITEs of the queue; both ends at work at once. */
static void read_after_write(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	for (int i = 0; i < 200; i++) {
		cf_fill(a.buf, 5000, i);
		cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 1, .len = 5000, .to = &b, .quiet = true);
		cf_post(&a, .op = IBV_WR_RDMA_READ, .id = 2, .off = 10000, .len = 5000, .to = &b);
		cf_post(&b, .op = IBV_WR_RDMA_WRITE, .id = 3, .off = 20000, .len = 5000, .to = &a,
			.roff = 20000);
		cf_wc(a.scq, 2, SUCCESS);
		cf_wc(b.scq, 3, SUCCESS);
		cf_verify(a.buf + 10000, 5000, i);
	}
}

/* --- two roles --- */

enum { ROLE_N = 300, ROLE_SLOT = 20000 }; /* the shared page counts the receives posted */

static void receiver(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;

	o.len = 16 * ROLE_SLOT;
	cf_side(&s, &o);
	cf_up(&s, IBV_QPS_INIT, NULL);
	for (int i = 0; i < 16; i++)
		cf_recv(&s, i, i * ROLE_SLOT, ROLE_SLOT);
	atomic_store((_Atomic int *)p->shared, 16);
	cf_connect(p, &s);
	for (int i = 0; i < ROLE_N; i++) {
		struct ibv_wc wc = cf_wc(s.rcq, i, SUCCESS);
		uint32_t off = i % 16 * ROLE_SLOT;

		CF_EQ(wc.byte_len, i * 61 % ROLE_SLOT);
		cf_verify(s.buf + off, wc.byte_len, i);
		cf_recv(&s, i + 16, off, ROLE_SLOT);
		atomic_fetch_add((_Atomic int *)p->shared, 1);
	}
	cf_meet(p);
}

static void sender(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;

	o.len = 16 * ROLE_SLOT;
	cf_side(&s, &o);
	cf_connect(p, &s);
	for (int i = 0; i < ROLE_N; i++) {
		uint32_t off = i % 16 * ROLE_SLOT;

		if (i >= 16)
			cf_wc(s.scq, i - 16, SUCCESS);
		cf_fill(s.buf + off, i * 61 % ROLE_SLOT, i);
		cf_credit(p->shared, i);
		cf_post(&s, .op = IBV_WR_SEND, .id = i, .off = off, .len = i * 61 % ROLE_SLOT);
	}
	for (int i = ROLE_N - 16; i < ROLE_N; i++)
		cf_wc(s.scq, i, SUCCESS);
	cf_meet(p);
}

static void two_roles(void)
{
	cf_roles(sender, receiver);
}

static void two_processes(void)
{
	cf_processes(sender, receiver);
}

enum { ADAPTERS = 20, LOOPS = 10 };

/* Returns how many Writes of a process to itself, the first ones of its adapter, were there when their posts returned. */
static int there_at_once(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	int there = 0;

	cf_pair(&a, &b, &o);
	for (int i = 1; i <= LOOPS; i++) {
		a.buf[0] = (uint8_t)i;
		cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = i, .len = 1, .to = &b);
		there += *(volatile uint8_t *)b.buf == (uint8_t)i;
		cf_wc(a.scq, i, SUCCESS);
	}
	cf_undo_all();
	return there;
}

/*
 * An adapter executes a Write between two of its queue pairs whether the program polls or not. The background thread may
 * have the adapter at a post, and do it a moment later: so not each Write is there when the post returns.
 */
static void loop_back(void)
{
	const char *local = getenv("DAPPLE_LOCAL");
	int there = 0;

	cf_open();
	if (cf.iwarp || (local && (!strcmp(local, "off") || !strcmp(local, "packets"))))
		cf_skip("messages of a process to itself take the wire here");
	for (int i = 0; i < ADAPTERS; i++)
		there += there_at_once();
	if (there <= ADAPTERS * LOOPS * 3 / 4)
		CF_DIE("%d of %d Writes were there when their post returned", there, ADAPTERS * LOOPS);
}

const struct cf_check cf_checks[] = {
	{ "20", "every size around the borders, every MTU, every opcode", 0, sizes },
	{ "20", "a stream between two roles", 0, two_roles },
	{ "20", "a stream between two processes", 0, two_processes },
	{ "20 32", "a full queue of sends in flight", 0, pipelined },
	{ "21", "PSNs wrap", CF_PSN, psn_wrap },
	{ "37", "more READs than may be in flight", 0, many_reads },
	{ "38", "a fence holds a WRITE back behind a READ", 0, fence },
	{ "39", "completions come in posting order", 0, order },
	{ "+", "READ sees the WRITE before it", 0, read_after_write },
	{ "+", "a WRITE of a process to itself needs no poll", 0, loop_back },
	{ "22", "READ of n packets advances the PSN by n", 0, NULL, "sim" },
	{ "23", "loss of each packet of an exchange", 0, NULL, "sim" },
	{ "24", "duplicates, reordering, one NAK per gap", 0, NULL, "sim" },
	{ "27", "the retry counter is restored by progress", 0, NULL, "sim" },
	{ "30", "a sequence NAK does not shorten an RNR wait", 0, NULL, "sim" },
	{ "33", "implicit NAK", 0, NULL, "sim" },
	{ "34", "partial READ retry", 0, NULL, "sim" },
	{ "35", "lost atomic answer: executed once", 0, NULL, "sim" },
	{ "36", "atomic replay after its resource was reused", 0, NULL, "sim" },
	{ "40", "end-to-end credits", 0, NULL, "sim" },
	{ "41", "repeated ACK with credits", 0, NULL, "sim" },
	{ "42", "old and foreign ACKs, reserved syndromes", 0, NULL, "sim" },
	{ "43", "answers of the wrong kind or length", 0, NULL, "sim" },
	{ "54", "opcode sequences", 0, NULL, "sim" },
	{ "55", "payload lengths and padding", 0, NULL, "sim" },
	{ "57", "silent drops", 0, NULL, "sim" },
	{ "58", "duplicate READs outside or after deregistration", 0, NULL, "sim" },
	{ "60", "message sequence numbers", 0, NULL, "sim" },
	{ "95", "UDP source port", 0, NULL, "sim" },
	{ "96", "congestion marks and notifications", 0, NULL, "sim" },
	{ "97", "peer rxe", 0, NULL, "kernel" },
	{ "98", "peer rxe under loss", 0, NULL, "kernel" },
	{ 0 },
};

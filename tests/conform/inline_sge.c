/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Inline data, gather and scatter lists, full queues, signaling. */
#include "conf.h"

#include <string.h>

static void inline_data(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	uint32_t cap;

	o.inl = 256;
	cf_pair(&a, &b, &o);
	cap = a.cap.max_inline_data;
	CF_TRUE(cap >= 256);
	for (uint32_t n = 0; n <= cap; n = n < 8 || n + 1 == cap ? n + 1 : n * 2 < cap ? n * 2 : cap) {
		cf_recv(&b, n, 0, cap);
		cf_fill(a.buf, n, n);
		cf_post(&a, .op = IBV_WR_SEND, .id = n, .len = n, .flags = IBV_SEND_INLINE,
			.lkey = 0xdeadbeef);
		memset(a.buf, 0xff, n); /* free again when the call returns */
		cf_wc(a.scq, n, SUCCESS);
		CF_EQ(cf_wc(b.rcq, n, SUCCESS).byte_len, n);
		cf_verify(b.buf, n, n);
		if (n == cap)
			break;
	}
	CF_ERR(cf_post_try(&a, &(struct cf_wr){ .op = IBV_WR_SEND, .len = cap + 1,
						.flags = IBV_SEND_INLINE }), EINVAL);
	CF_ERR(cf_post_try(&a, &(struct cf_wr){ .op = IBV_WR_RDMA_READ, .len = 8, .to = &b,
						.flags = IBV_SEND_INLINE }), EINVAL);
	cf_fill(a.buf, 100, 3);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 5, .len = 100, .to = &b, .roff = 1000,
		.flags = IBV_SEND_INLINE);
	memset(a.buf, 0, 100);
	cf_wc(a.scq, 5, SUCCESS);
	cf_landed(&a, &b);
	cf_verify(b.buf + 1000, 100, 3);
}

/* The buffer is free even while the peer is not ready. */
static void inline_kept(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.inl = 64;
	cf_pair(&a, &b, &o);
	for (int i = 0; i < 16; i++) {
		memset(a.buf, i, 64);
		cf_post(&a, .op = IBV_WR_SEND, .id = i, .len = 64, .flags = IBV_SEND_INLINE);
	}
	memset(a.buf, 0xff, 64);
	for (int i = 0; i < 16; i++) {
		cf_recv(&b, i, 64 * i, 64);
		cf_wc(b.rcq, i, SUCCESS);
		CF_EQ(b.buf[64 * i + 63], i);
		cf_wc(a.scq, i, SUCCESS);
	}
}

static void sge_caps(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_sge sge[256];
	struct ibv_recv_wr rwr = { .sg_list = sge }, *bad = NULL;
	int cap;

	o.sge = 3;
	cf_pair(&a, &b, &o);
	cap = a.cap.max_send_sge;
	CF_TRUE(cap >= 3 && cap < 255);
	for (int i = 0; i < 256; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)a.buf + i, 1, a.mr->lkey };
	CF_ERR(cf_post_try(&a, &(struct cf_wr){ .op = IBV_WR_SEND, .sge = sge, .n = cap + 1 }), EINVAL);
	CF_ERR(cf_post_try(&a, &(struct cf_wr){ .op = IBV_WR_SEND, .sge = sge, .n = -1 }), EINVAL);
	rwr.num_sge = b.cap.max_recv_sge + 1;
	CF_ERR(ibv_post_recv(b.qp, &rwr, &bad), EINVAL);
	CF_TRUE(bad == &rwr);
	cf_recv(&b, 1, 0, 100);
	cf_post(&a, .op = IBV_WR_SEND, .id = 2, .sge = sge, .n = cap);
	cf_wc(a.scq, 2, SUCCESS);
	CF_EQ(cf_wc(b.rcq, 1, SUCCESS).byte_len, cap);
	cf_recv(&b, 3, 0, 0);
	cf_post(&a, .op = IBV_WR_SEND, .id = 4, .sge = sge, .n = 0);
	cf_wc(a.scq, 4, SUCCESS);
	CF_EQ(cf_wc(b.rcq, 3, SUCCESS).byte_len, 0);
}

/* Entries of length 0 are skipped and their keys unread. */
static void empty_entries(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_sge s[4], r[4];
	struct ibv_recv_wr rwr = { .wr_id = 1, .sg_list = r, .num_sge = 4 }, *bad;

	cf_pair(&a, &b, &o);
	for (int i = 0; i < 4; i++) {
		s[i] = (struct ibv_sge){ (uintptr_t)a.buf + 100 * i, i & 1 ? 50 : 0,
					 i & 1 ? a.mr->lkey : 0xdeadbeef };
		r[i] = (struct ibv_sge){ (uintptr_t)b.buf + 100 * i, i & 1 ? 0 : 50,
					 i & 1 ? 0xdeadbeef : b.mr->lkey };
	}
	cf_fill(a.buf + 100, 50, 1);
	cf_fill(a.buf + 300, 50, 2);
	CF_OK(ibv_post_recv(b.qp, &rwr, &bad));
	cf_post(&a, .op = IBV_WR_SEND, .id = 2, .sge = s, .n = 4);
	cf_wc(a.scq, 2, SUCCESS);
	CF_EQ(cf_wc(b.rcq, 1, SUCCESS).byte_len, 100);
	cf_verify(b.buf, 50, 1);
	cf_verify(b.buf + 200, 50, 2);
}

/* As many entries as the adapter has, of odd sizes, cut differently at both ends. */
static void odd_entries(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_sge s[64], r[64];
	struct ibv_recv_wr rwr = { .wr_id = 1, .sg_list = r }, *bad;
	uint32_t n, total = 0, so = 0, ro = 0;
	uint8_t flat[64 * 300];

	o.len = 1 << 20;
	cf_pair(&a, &b, &o);
	n = cf.dev.orig_attr.max_sge > 32 ? 32 : cf.dev.orig_attr.max_sge;
	o.sge = n;
	cf_pair(&a, &b, &o);
	cf_fill(flat, sizeof(flat), 8);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t len = 1 + i * 37 % 251;

		s[i] = (struct ibv_sge){ (uintptr_t)a.buf + so, len, a.mr->lkey };
		memcpy(a.buf + so, flat + total, len);
		so += len + 13;
		total += len;
	}
	for (uint32_t i = 0, left = total; i < n; i++) {
		uint32_t len = i + 1 == n ? left : left < 7 + i * 11 % 90 ? left : 7 + i * 11 % 90;

		r[i] = (struct ibv_sge){ (uintptr_t)b.buf + ro, len, b.mr->lkey };
		ro += len + 5;
		left -= len;
	}
	rwr.num_sge = n;
	for (int mtu = IBV_MTU_256; mtu <= (int)cf.port.active_mtu; mtu++) {
		a.o.mtu = b.o.mtu = mtu;
		cf_again(&a, &b);
		memset(b.buf, 0, ro);
		CF_OK(ibv_post_recv(b.qp, &rwr, &bad));
		cf_post(&a, .op = IBV_WR_SEND, .id = 2, .sge = s, .n = n);
		cf_wc(a.scq, 2, SUCCESS);
		CF_EQ(cf_wc(b.rcq, 1, SUCCESS).byte_len, total);
		for (uint32_t i = 0, at = 0; i < n; at += r[i++].length)
			CF_TRUE(!memcmp((void *)(uintptr_t)r[i].addr, flat + at, r[i].length));
		/* And back by READ into the same pieces. */
		memset(b.buf + 500000, 0, total);
		cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 3, .sge = s, .n = n, .to = &b, .roff = 500000);
		cf_wc(a.scq, 3, SUCCESS);
		cf_landed(&a, &b);
		CF_TRUE(!memcmp(b.buf + 500000, flat, total));
		for (uint32_t i = 0; i < n; i++)
			memset((void *)(uintptr_t)s[i].addr, 0, s[i].length);
		cf_post(&a, .op = IBV_WR_RDMA_READ, .id = 4, .sge = s, .n = n, .to = &b, .roff = 500000);
		cf_wc(a.scq, 4, SUCCESS);
		for (uint32_t i = 0, at = 0; i < n; at += s[i++].length)
			CF_TRUE(!memcmp((void *)(uintptr_t)s[i].addr, flat + at, s[i].length));
	}
}

/* More than the queue holds: the first one too many is named, the others complete. */
static void full_queue(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_send_wr wr[600], *bad = NULL;
	struct ibv_recv_wr rwr[600], *rbad = NULL;
	uint32_t cap, n = 600;

	o.sq = o.rq = 16;
	o.cqe = 2000;
	cf_pair(&a, &b, &o);
	cap = a.cap.max_send_wr;
	CF_TRUE(cap < n && b.cap.max_recv_wr < n);
	memset(wr, 0, sizeof(wr));
	memset(rwr, 0, sizeof(rwr));
	for (uint32_t i = 0; i < n; i++) {
		wr[i] = (struct ibv_send_wr){ .wr_id = i, .opcode = IBV_WR_SEND,
					      .send_flags = IBV_SEND_SIGNALED,
					      .next = i + 1 < n ? &wr[i + 1] : NULL };
		rwr[i] = (struct ibv_recv_wr){ .wr_id = i, .next = i + 1 < n ? &rwr[i + 1] : NULL };
	}
	CF_ERR(ibv_post_send(a.qp, wr, &bad), ENOMEM); /* b has no receive: nothing leaves */
	CF_EQ(bad - wr, cap);
	CF_ERR(ibv_post_recv(b.qp, rwr, &rbad), ENOMEM);
	CF_TRUE(rbad - rwr >= b.cap.max_recv_wr);
	uint32_t both = rbad - rwr < bad - wr ? rbad - rwr : bad - wr;

	for (uint32_t i = 0; i < both; i++)
		cf_wc(a.scq, i, SUCCESS);
	for (uint32_t i = 0; i < both; i++)
		cf_wc(b.rcq, i, SUCCESS);
}

static void bad_in_list(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_send_wr wr[3] = { 0 }, *bad = NULL;

	cf_pair(&a, &b, &o);
	for (int i = 0; i < 3; i++) {
		cf_recv(&b, i, 0, 8);
		wr[i] = (struct ibv_send_wr){ .wr_id = i, .opcode = i == 1 ? 99 : IBV_WR_SEND,
					      .send_flags = IBV_SEND_SIGNALED,
					      .next = i < 2 ? &wr[i + 1] : NULL };
	}
	CF_ERR(ibv_post_send(a.qp, wr, &bad), EINVAL);
	CF_TRUE(bad == &wr[1]);
	cf_wc(a.scq, 0, SUCCESS);
	cf_wc(b.rcq, 0, SUCCESS);
	cf_quiet(b.rcq);
}

static void unsignaled(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	uint32_t cap;

	o.sq = 16;
	cf_pair(&a, &b, &o);
	cap = a.cap.max_send_wr;
	for (int round = 0; round < 10; round++) {
		for (uint32_t i = 0; i + 1 < cap; i++)
			cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, .to = &b, .quiet = true);
		cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, .to = &b);
		cf_wc(a.scq, 2, SUCCESS); /* only this one, and all slots are free */
	}
	cf_quiet(a.scq);
	cf_post(&a, .op = IBV_WR_RDMA_READ, .id = 3, .len = 8, .to = &b, .quiet = true,
		.rkey = b.mr->rkey ^ 0xff0000);
	cf_wc(a.scq, 3, REM_ACCESS_ERR); /* errors always */
}

static void all_signaled(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.sig_all = true;
	cf_pair(&a, &b, &o);
	for (int i = 0; i < 5; i++)
		cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = i, .len = 8, .to = &b, .quiet = true);
	for (int i = 0; i < 5; i++)
		cf_wc(a.scq, i, SUCCESS);
}

const struct cf_check cf_checks[] = {
	{ "79", "inline: sizes, keys, buffer reuse, READ", 0, inline_data },
	{ "79", "inline data is kept while the peer is not ready", CF_RNR, inline_kept },
	{ "80", "entries: none, as many as there may be, one more", 0, sge_caps },
	{ "80", "empty entries with bad keys", 0, empty_entries },
	{ "80", "32 entries of odd sizes at every MTU", 0, odd_entries },
	{ "81", "a full queue names the first one too many", CF_RNR, full_queue },
	{ "81", "a bad request in a list", 0, bad_in_list },
	{ "82", "unsignaled work", 0, unsignaled },
	{ "82", "sq_sig_all", 0, all_signaled },
	{ 0 },
};

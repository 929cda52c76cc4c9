/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The iWARP stream receiver against any bytes in any cut. No byte outside the region may change, each
 * request completes at most once, and the end of the stream leaves no object behind.
 *
 * First byte: 1 = CRC, 2 = markers are received, 4 = the receiver is the initiator, 8 = the rest is
 * the stream as it is; otherwise it is messages, each behind a byte of length, which get length, pad
 * and CRC here. 16 = little room to send, 32 = through shared memory (without markers). Second byte:
 * bytes that arrive at a time, odd = at most. In messages 4b4b4b4b stands for the region's key,
 * 52525252 for the oldest read's sink, and an address that begins with aaaa for the region's.
 */
#include "engine/mr.h"
#include "proto/iwarp/port.h"
#include "support/check.h"
#include "support/iwworld.h"
#include "util/clock.h"

enum { MEMORY = 3 * 4096, RECEIVES = 6, SENDS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
	struct iw_world *w;
	struct iw_end e;
	struct pipe_stream *peer;
	struct eng_mkey *target; /* the page in the middle */
	int sent[SENDS], received[RECEIVES];
};

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* A 64-bit number may be an address. */
static void names(struct run *r, uint8_t *p, size_t n)
{
	const struct iwp_qp *q = iwp_of(r->e.qp);

	for (size_t i = 0; i + 4 <= n; i += 2) {
		uint64_t at;

		if (get32(p + i) == 0x4b4b4b4b)
			put32(p + i, r->target->key);
		if (get32(p + i) == 0x52525252)
			put32(p + i, q->rd[q->rd_head].stag);
		if (i + 8 > n || p[i] != 0xaa || p[i + 1] != 0xaa)
			continue;
		at = iw_at(&r->e, 4096) + (get32(p + i + 4) & 0x1fff);
		put32(p + i, (uint32_t)(at >> 32));
		put32(p + i + 4, (uint32_t)at);
	}
}

static void feed(struct run *r, const uint8_t *data, size_t size)
{
	uint8_t ulpdu[256];

	while (size) {
		size_t n = *data++;

		size--;
		n = n < size ? n : size;
		memcpy(ulpdu, data, n);
		names(r, ulpdu, n);
		iw_put_bytes(r->peer, ulpdu, n);
		data += n;
		size -= n;
		iw_run(r->w);
	}
}

static void start(struct run *r, uint8_t flags, uint8_t cut)
{
	struct iw_options o = { .no_crc = !(flags & 1), .markers_b = flags & 2,
				.initiator_b = !(flags & 4), .local = flags & 32, .ird = 2, .ord = 4 };
	struct eng_mr_spec s = { .length = 4096, .access = 15 };
	static const enum ibv_wr_opcode codes[SENDS] = {
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND, IBV_WR_RDMA_READ,
	};

	r->w = iw_open(9, 0);
	r->w->net.cut = cut;
	r->w->net.ragged = cut & 1;
	r->peer = iw_solo(r->w, &r->e, &o, 16 * 4096);
	s.addr = s.iova = iw_at(&r->e, 4096);
	CHECK(eng_mr_reg(r->e.h->pd, &s, &r->target) == 0);
	memset(r->e.mem, 0xcc, MEMORY);
	for (uint64_t i = 0; i < RECEIVES; i++)
		CHECK(iw_recv(&r->e, i, MEMORY + 256 * i, i == 5 ? 0 : 200) == 0);
	if (flags & 16)
		pipe_of(r->e.s)->room = 100;
	for (uint64_t i = 0; i < SENDS; i++)
		CHECK(iw_post(&r->e, &(struct iw_op){ .code = codes[i], .id = i, .at = MEMORY + 8192,
						      .len = 8, .rkey = 1, .remote = 8 }) == 0);
	iw_run(r->w);
}

static void count(struct eng_cq *cq, int *ended, unsigned max)
{
	struct ibv_wc wc;

	while (eng_cq_poll(cq, 1, &wc) == 1)
		CHECK(wc.wr_id < max && ++ended[wc.wr_id] == 1);
}

static void check(struct run *r)
{
	for (size_t i = 0; i < 4096; i++)
		CHECK(r->e.mem[i] == 0xcc && r->e.mem[8192 + i] == 0xcc);
	count(r->e.scq, r->sent, SENDS);
	count(r->e.rcq, r->received, RECEIVES);
	CHECK(r->e.ready <= 1 && r->e.ended <= 1);
	CHECK(!r->e.ended == (iw_state(&r->e) == IBV_QPS_RTS));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run r = { 0 };

	if (size < 2)
		return 0;
	start(&r, data[0], data[1]);
	if (data[0] & 8)
		pipe_put(r.peer, data + 2, size - 2);
	else
		feed(&r, data + 2, size - 2);
	iw_run(r.w);
	check(&r);
	pipe_end(r.peer, size & 1);
	iw_pass(r.w, 10 * UT_S);
	check(&r);
	CHECK(r.e.ended == 1);
	for (int i = 0; i < SENDS; i++)
		CHECK(r.sent[i] == 1);
	for (int i = 0; i < RECEIVES; i++)
		CHECK(r.received[i] == 1);
	CHECK(eng_mr_dereg(r.target) == 0);
	iw_end_close(&r.e);
	iw_close(r.w);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two iWARP ends: every kind of request in every size around what a segment holds, with and
 * without markers and CRC, in every cut; atomics, windows, order, fences, shared receive queues.
 */
#include "engine/mr.h"
#include "engine/mw.h"
#include "engine/pending.h"
#include "engine/post.h"
#include "proto/iwarp/port.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/iwworld.h"
#include "util/clock.h"

#define MEM (4u << 20)
#define LOCAL 64u
#define REMOTE (2u << 20)

static struct iw_world *w;
static struct iw_end a, b;

static void begin(const struct iw_options *o, size_t memory)
{
	w = iw_open(11, 0);
	iw_pair(w, &a, &b, o, memory);
}

static void end(void)
{
	iw_end_close(&a);
	iw_end_close(&b);
	iw_close(w);
}

static void pattern(uint8_t *p, size_t n, uint32_t seed)
{
	struct ut_rng r = { seed };

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)ut_rng_u64(&r);
}

static struct iw_op op(enum ibv_wr_opcode code, uint64_t id, uint32_t len)
{
	return (struct iw_op){ .code = code, .id = id, .at = LOCAL, .len = len,
			       .rkey = b.mr->key, .remote = iw_at(&b, REMOTE) };
}

/* --- sizes --- */

static const enum ibv_wr_opcode kinds[] = {
	IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
};

static void check_receive(const struct iw_op *o)
{
	bool imm = o->code == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_wc wc;

	if (o->code != IBV_WR_SEND && !imm)
		return;
	wc = iw_wc(&b, b.rcq, 1, IBV_WC_SUCCESS);
	CHECK(wc.byte_len == o->len);
	CHECK(wc.opcode == (imm ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV));
	CHECK(!imm || (wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == o->imm));
}

static void one(enum ibv_wr_opcode code, uint32_t len, int pieces)
{
	struct iw_op o = op(code, 5, len);
	bool read = code == IBV_WR_RDMA_READ;
	uint8_t *from = read ? b.mem + REMOTE : a.mem + LOCAL;
	uint8_t *to = read ? a.mem + LOCAL : b.mem + REMOTE;

	o.pieces = pieces;
	o.imm = len * 3;
	pattern(from, len, len + 1);
	memset(to - 8, 0x77, len + 16);
	if (code == IBV_WR_SEND)
		CHECK(iw_recv(&b, 1, REMOTE, len) == 0);
	if (code == IBV_WR_RDMA_WRITE_WITH_IMM)
		CHECK(iw_recv(&b, 1, 0, 0) == 0);
	CHECK(iw_post(&a, &o) == 0);
	CHECK(iw_wc(&a, a.scq, 5, IBV_WC_SUCCESS).byte_len == len);
	check_receive(&o);
	CHECK_MSG(!memcmp(from, to, len), "opcode %d of %u octets", code, len);
	for (int i = 0; i < 8; i++)
		CHECK(to[-1 - i] == 0x77 && to[len + (uint32_t)i] == 0x77);
}

static void all_sizes(const struct iw_options *o, size_t cut, bool big)
{
	begin(o, MEM);
	w->net.cut = cut;
	w->net.ragged = cut > 1;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		uint32_t sizes[] = { 0, 1, 2, 3, 4, 5, 1410, 1411, 1412, 1413, 1414, 1415, 1416, 1417,
				     1423, 1424, 1425, 1427, 1428, 1429, 2856, 65536, 1u << 20 };

		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			if (sizes[i] < 65536 || big)
				one(kinds[k], sizes[i], i % 3 ? 0 : 3);
	}
	CHECK(iw_state(&a) == IBV_QPS_RTS && iw_state(&b) == IBV_QPS_RTS);
	end();
}

static void sizes(void)
{
	static const size_t cuts[] = { 0, 1, 7, 700, 5000 };

	for (int i = 0; i < 8; i++)
		for (size_t c = 0; c < sizeof(cuts) / sizeof(*cuts); c++) {
			struct iw_options o = { .markers_a = i & 1, .markers_b = i & 2,
						.no_crc = i & 4 };

			all_sizes(&o, cuts[c], c == 0 || c == 3);
		}
}

/* The smallest segments, and the largest with markers. */
static void segments(void)
{
	static const uint32_t mss[] = { 1, 128, 536, 1460, 8948, 65483, 70000 };

	for (size_t m = 0; m < sizeof(mss) / sizeof(*mss); m++)
		for (int i = 0; i < 4; i++) {
			struct iw_options o = { .markers_a = i & 1, .markers_b = i & 2 };

			begin(&o, MEM);
			w->net.mss = mss[m];
			w->net.cut = 30011;
			w->net.window = i & 1 ? 0 : 66000; /* a whole FPDU must fit */
			for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
				one(kinds[k], 1u << 20, 8);
				one(kinds[k], 64768, 0);
			}
			end();
		}
}

/* Messages that wait for room share chunks, whose last FPDU is cut to fill them: no octet is kept aside. */
static void full_chunks(void)
{
	static const uint32_t len = 65537, messages = 12;
	struct iw_options o = { 0 };

	begin(&o, MEM);
	w->net.mss = 65483;
	pipe_of(a.s)->room = 0;
	pattern(a.mem + LOCAL, messages * len, 3);
	for (uint32_t i = 0; i < messages; i++) {
		struct iw_op x = op(IBV_WR_RDMA_WRITE, i, len);

		x.at += i * len;
		x.remote += i * len;
		CHECK(iw_post(&a, &x) == 0);
	}
	iw_no_wc(&a, a.scq);
	pipe_of(a.s)->room = 259104; /* four FPDUs of 64,768 octets, with length, pad and CRC */
	iw_run(w);
	CHECK(a.s->shm || (pipe_of(a.s)->room == 0 && iwp_of(a.qp)->rest_len == 0));
	pipe_of(a.s)->room = SIZE_MAX;
	for (uint32_t i = 0; i < messages; i++)
		iw_wc(&a, a.scq, i, IBV_WC_SUCCESS);
	CHECK(!memcmp(a.mem + LOCAL, b.mem + REMOTE, messages * len));
	end();
}

/* Posts one that no round sends, since a test asks first whether it may wait. */
static void post_unsent(struct iw_end *e, const struct iw_op *o)
{
	iwp_of(e->qp)->awaits_first = true;
	CHECK(iw_post(e, o) == 0);
	iwp_of(e->qp)->awaits_first = false;
	ut_lock(&w->h[0].dev.lock);
	while (eng_dev_pop_pending(&w->h[0].dev))
		;
	ut_unlock(&w->h[0].dev.lock);
}

static bool may_coalesce(bool batch)
{
	bool may;

	ut_lock(&w->h[0].dev.lock);
	iwp_activate(iwp_of(a.qp));
	may = iwp_may_coalesce(&w->h[0].dev, batch);
	ut_unlock(&w->h[0].dev.lock);
	return may;
}

static bool coalesce_more(struct iw_end *e)
{
	bool more;

	ut_lock(&w->h[0].dev.lock);
	more = iwp_coalesce_more(e->qp);
	ut_unlock(&w->h[0].dev.lock);
	return more;
}

/* Requests of a batch wait for each other, 64 of a queue pair; the first of another one joins them without a round, and leaves
 * with the next. */
static void batch(void)
{
	struct iw_options o = { .depth = 128 };
	struct iw_end c, d;
	struct iw_op x, y;

	begin(&o, MEM);
	iw_pair(w, &c, &d, &o, MEM);
	x = op(IBV_WR_RDMA_WRITE, 1, 64);
	y = op(IBV_WR_RDMA_WRITE, 1, 64);
	y.rkey = d.mr->key;
	y.remote = iw_at(&d, REMOTE);
	post_unsent(&c, &y);
	for (int n = 1; n <= 64; n++) {
		post_unsent(&a, &x);
		CHECK(may_coalesce(true) == (n < 64));
		CHECK(n != 63 || (coalesce_more(&c) && !ut_list_empty(&iwp_of(c.qp)->active)));
	}
	for (int n = 1; n <= 64; n++)
		iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
	iw_wc(&c, c.scq, 1, IBV_WC_SUCCESS);
	iw_end_close(&c);
	iw_end_close(&d);
	end();
}

/* A program that leaves completions in its queue comes back for them, so long requests may wait for more of them: on a
 * path with long segments, up to half a MiB, and no Reads. */
static void behind(void)
{
	static const uint32_t mss[] = { 65483, 1460 };
	struct iw_options o = { 0 };

	for (int m = 0; m < 2; m++)
		for (unsigned taken = 15; taken <= 16; taken++) {
			struct iw_op x;
			bool wait;

			begin(&o, MEM);
			wait = m == 0 && taken == 16 && !a.s->shm;
			w->net.mss = mss[m];
			x = op(IBV_WR_RDMA_WRITE, 1, 65536);
			for (unsigned i = 0; i < taken; i++)
				CHECK(iw_post(&a, &x) == 0);
			iw_run(w);
			for (unsigned n = 1; n <= 9; n++)
				CHECK((post_unsent(&a, &x), may_coalesce(false)) == (wait && n <= 8));
			iw_run(w);
			x.code = IBV_WR_RDMA_READ;
			CHECK((post_unsent(&a, &x), !may_coalesce(false)));
			for (unsigned i = 0; i < taken + 10; i++)
				iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
			end();
		}
}

/* --- atomics --- */

static void atomics(void)
{
	struct iw_options o = { 0 };
	uint64_t *there, *here;

	begin(&o, MEM);
	there = (uint64_t *)(b.mem + REMOTE);
	here = (uint64_t *)(a.mem + LOCAL);
	*there = ~0ull;
	for (int i = 0; i < 20; i++) {
		struct iw_op f = op(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 8);

		f.add = 2;
		CHECK(iw_post(&a, &f) == 0);
		CHECK(iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS).opcode == IBV_WC_FETCH_ADD);
		CHECK(*here == 2ull * (uint64_t)i - 1);
	}
	for (uint64_t i = 0; i < 3; i++) {
		struct iw_op c = op(IBV_WR_ATOMIC_CMP_AND_SWP, 2, 8);

		c.add = i == 1 ? 5 : *there;
		c.swap = 1000 + i;
		CHECK(iw_post(&a, &c) == 0);
		iw_wc(&a, a.scq, 2, IBV_WC_SUCCESS);
		CHECK(*there == (i == 1 ? 1000 : 1000 + i) && *here == (i == 0 ? 39 : 1000));
	}
	end();
}

/* --- order --- */

/* A read waits, its followers do not, but complete behind it; a fence holds them. */
static void order(void)
{
	struct iw_options o = { 0 };

	begin(&o, MEM);
	pipe_of(b.s)->room = 0; /* no answer leaves */
	for (uint64_t i = 1; i <= 6; i++) {
		struct iw_op x = op(i == 1 ? IBV_WR_RDMA_READ : i == 3 ? IBV_WR_SEND
							      : IBV_WR_RDMA_WRITE, i, 4);

		x.at = LOCAL + 64 * i;
		x.remote += 64 * i;
		x.flags = i == 5 ? IBV_SEND_FENCE : 0;
		x.quiet = i == 2;
		memset(a.mem + x.at, (int)i, 4);
		CHECK(iw_post(&a, &x) == 0);
	}
	CHECK(iw_recv(&b, 9, 0, 8) == 0);
	iw_wc(&b, b.rcq, 9, IBV_WC_SUCCESS);
	iw_no_wc(&a, a.scq);
	CHECK(b.mem[REMOTE + 64 * 4] == 4 && b.mem[REMOTE + 64 * 5] == 0);
	pipe_of(b.s)->room = SIZE_MAX;
	iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
	for (uint64_t i = 3; i <= 6; i++)
		iw_wc(&a, a.scq, i, IBV_WC_SUCCESS);
	CHECK(b.mem[REMOTE + 64 * 5] == 5 && b.mem[REMOTE + 64 * 6] == 6);
	end();
}

/* Positions and numbers go far while a read waits. */
static void wraps(void)
{
	struct iw_options o = { .markers_a = true };
	struct iwp_qp *qa, *qb;

	begin(&o, MEM);
	iw_run(w);
	qa = iwp_of(a.qp);
	qb = iwp_of(b.qp);
	qa->tx_pos = qb->rx_pos = 0xffffff00ull - 256;
	qa->send_msn = qb->rx_msn0 = 0xfffffffe;
	qa->read_msn = qb->rx_msn1 = 0xfffffffe;
	qb->resp_msn = qa->rx_msn3 = 0xfffffffe;
	for (int i = 0; i < 6; i++) {
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
			one(kinds[k], 3000, 0);
		CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8,
						   .rkey = b.mr->key, .remote = iw_at(&b, 8) }) == 0);
		iw_wc(&a, a.scq, 0, IBV_WC_SUCCESS);
	}
	CHECK(qa->tx_pos > 1ull << 32 && qa->send_msn < 100);
	pipe_of(b.s)->room = 0;
	CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_RDMA_READ, .id = 1, .len = 8,
					   .rkey = b.mr->key, .remote = iw_at(&b, 8) }) == 0);
	CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_RDMA_WRITE, .id = 2, .len = 8,
					   .rkey = b.mr->key, .remote = iw_at(&b, 8) }) == 0);
	iw_run(w);
	qa->tx_pos += 3ull << 30; /* as if so much had followed */
	qb->rx_pos += 3ull << 30;
	pipe_of(b.s)->room = SIZE_MAX;
	iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
	iw_wc(&a, a.scq, 2, IBV_WC_SUCCESS);
	end();
}

/* --- windows, invalidation --- */

static void bind(struct iw_end *e, struct eng_mkey *mw, uint32_t key, size_t off, size_t len)
{
	struct ibv_send_wr *bad, wr = { .wr_id = 70, .opcode = IBV_WR_BIND_MW,
					.send_flags = IBV_SEND_SIGNALED };

	wr.bind_mw.mw = (struct ibv_mw *)mw;
	wr.bind_mw.rkey = key;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = (struct ibv_mr *)e->mr, .addr = iw_at(e, off), .length = len,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	CHECK(eng_post_send(e->qp, &wr, &bad) == 0);
	iw_wc(e, e->scq, 70, IBV_WC_SUCCESS);
}

static void windows(void)
{
	struct iw_options o = { 0 };
	struct eng_mkey *mw;
	struct iw_op x;
	struct ibv_wc wc;

	begin(&o, MEM);
	CHECK(eng_mw_alloc(b.h->pd, IBV_MW_TYPE_2, &mw) == 0);
	for (uint32_t i = 1; i < 4; i++) {
		bind(&b, mw, (mw->key & ~255u) | i, REMOTE, 4096);
		x = op(IBV_WR_RDMA_WRITE, 1, 4096);
		x.rkey = mw->key;
		pattern(a.mem + LOCAL, 4096, i);
		CHECK(iw_post(&a, &x) == 0);
		iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
		CHECK(!memcmp(a.mem + LOCAL, b.mem + REMOTE, 4096));
		CHECK(iw_recv(&b, 8, 0, 8) == 0);
		x = op(IBV_WR_SEND_WITH_INV, 2, 5);
		x.imm = mw->key;
		CHECK(iw_post(&a, &x) == 0);
		iw_wc(&a, a.scq, 2, IBV_WC_SUCCESS);
		wc = iw_wc(&b, b.rcq, 8, IBV_WC_SUCCESS);
		CHECK(wc.wc_flags == IBV_WC_WITH_INV && wc.invalidated_rkey == mw->key);
		CHECK(!mw->valid);
	}
	x = op(IBV_WR_RDMA_READ, 3, 8);
	x.rkey = mw->key;
	CHECK(iw_post(&a, &x) == 0);
	iw_wc(&a, a.scq, 3, IBV_WC_REM_ACCESS_ERR);
	iw_event(b.h, IBV_EVENT_QP_ACCESS_ERR);
	iw_event(a.h, IBV_EVENT_QP_FATAL);
	CHECK(eng_mw_dealloc(mw) == 0);
	end();
}

/* A window of type 2 is of one connection only. */
static void foreign_window(void)
{
	struct iw_options o = { 0 };
	struct iw_end c, d;
	struct eng_mkey *mw;
	struct iw_op x;

	begin(&o, MEM);
	iw_pair(w, &c, &d, &o, 4096);
	CHECK(eng_mw_alloc(b.h->pd, IBV_MW_TYPE_2, &mw) == 0);
	bind(&b, mw, mw->key + 1, REMOTE, 4096);
	x = (struct iw_op){ .code = IBV_WR_RDMA_READ, .id = 3, .len = 8, .rkey = mw->key,
			    .remote = iw_at(&b, REMOTE) };
	CHECK(iw_post(&c, &x) == 0);
	iw_wc(&c, c.scq, 3, IBV_WC_REM_ACCESS_ERR);
	CHECK(iw_state(&a) == IBV_QPS_RTS && iw_state(&d) == IBV_QPS_ERR);
	iw_end_close(&c);
	iw_end_close(&d);
	CHECK(eng_mw_dealloc(mw) == 0);
	end();
}

/* --- shared receives --- */

static void shared(void)
{
	struct iw_options o = { 0 };
	struct eng_srq_spec spec = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct eng_srq *srq;
	struct ibv_srq_attr limit = { .srq_limit = 2 };

	w = iw_open(3, 0);
	spec.pd = w->h[1].pd;
	CHECK(eng_srq_create(w->h[1].ctx, &spec, &srq) == 0);
	o.srq_b = srq;
	iw_pair(w, &a, &b, &o, 65536);
	for (uint64_t i = 1; i <= 3; i++) {
		struct ibv_sge sge = { iw_at(&b, 64 * i), 64, b.mr->key };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		CHECK(eng_srq_post(srq, &wr, &bad) == 0);
	}
	CHECK(eng_srq_modify(srq, &limit, IBV_SRQ_LIMIT) == 0);
	for (uint64_t i = 1; i <= 2; i++) {
		CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_SEND, .id = i, .len = 3 }) == 0);
		iw_wc(&a, a.scq, i, IBV_WC_SUCCESS);
		CHECK(iw_wc(&b, b.rcq, i, IBV_WC_SUCCESS).byte_len == 3);
	}
	iw_event(b.h, IBV_EVENT_SRQ_LIMIT_REACHED);
	/* The third is taken by half a message; no more comes. */
	w->net.last = w->net.passed + 40;
	CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_SEND, .id = 3, .len = 64 }) == 0);
	iw_run(w);
	iw_event(b.h, IBV_EVENT_QP_LAST_WQE_REACHED);
	iw_event(b.h, -1);
	iw_no_wc(&b, b.rcq); /* not a whole FPDU: nothing was taken */
	iw_end_close(&a);
	iw_end_close(&b);
	CHECK(eng_srq_destroy(srq) == 0);
	iw_close(w);
}

/* --- large reads --- */

static void large_read(void)
{
	struct iw_options o = { 0 };
	size_t big = 1u << 30, step = 32u << 20;
	struct eng_mr_spec s = { .length = big, .null = false, .access = 7 };
	struct eng_mkey *mr;

	begin(&o, step + 4096);
	w->net.mss = 65483;
	s.pages = NULL;
	/* The region lies over the same memory; the check reads the place, not the content. */
	s.addr = s.iova = (uintptr_t)b.mem;
	s.length = step;
	CHECK(eng_mr_reg(b.h->pd, &s, &mr) == 0);
	pattern(b.mem, 4096, 1);
	for (size_t off = 0; off < big; off += step) {
		struct iw_op x = { .code = IBV_WR_RDMA_READ, .id = off, .len = (uint32_t)step,
				   .rkey = mr->key, .remote = s.iova };

		memcpy(b.mem + off % 65536, &off, 8);
		CHECK(iw_post(&a, &x) == 0);
		iw_wc(&a, a.scq, off, IBV_WC_SUCCESS);
		CHECK(!memcmp(a.mem, b.mem, step));
	}
	CHECK(eng_mr_dereg(mr) == 0);
	end();
}

/* A region of pages that lie apart is read and written as one. */
static void paged(void)
{
	enum { PAGES = 256 };
	struct iw_options o = { 0 };
	uint64_t pages[PAGES];
	struct eng_mr_spec s = { .iova = 0x1000, .length = PAGES * 4096, .access = 7, .pages = pages,
				 .n_pages = PAGES, .page_size = 4096 };
	struct eng_mkey *mr;
	struct iw_op x;

	begin(&o, MEM);
	w->net.mss = 65483;
	for (size_t i = 0; i < PAGES; i++)
		pages[i] = iw_at(&b, (PAGES - 1 - i) * 4096);
	CHECK(eng_mr_reg(b.h->pd, &s, &mr) == 0);
	pattern(b.mem, PAGES * 4096, 3);
	x = (struct iw_op){ .code = IBV_WR_RDMA_READ, .id = 1, .len = PAGES * 4096, .rkey = mr->key,
			    .remote = 0x1000 };
	CHECK(iw_post(&a, &x) == 0);
	iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
	for (size_t i = 0; i < PAGES; i++)
		CHECK(!memcmp(a.mem + i * 4096, b.mem + (PAGES - 1 - i) * 4096, 4096));
	pattern(a.mem, PAGES * 4096, 4);
	x.code = IBV_WR_RDMA_WRITE;
	CHECK(iw_post(&a, &x) == 0);
	iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
	for (size_t i = 0; i < PAGES; i++)
		CHECK(!memcmp(a.mem + i * 4096, b.mem + (PAGES - 1 - i) * 4096, 4096));
	CHECK(eng_mr_dereg(mr) == 0);
	end();
}

/* --- inline, and refused requests --- */

static void refused(void)
{
	struct iw_options o = { 0 };
	struct iw_op x;

	begin(&o, MEM);
	x = op(IBV_WR_SEND_WITH_IMM, 1, 4);
	CHECK(iw_post(&a, &x) == -EINVAL);
	x = op(IBV_WR_SEND, 1, 64);
	x.flags = IBV_SEND_INLINE;
	pattern(a.mem + LOCAL, 64, 1);
	CHECK(iw_recv(&b, 2, REMOTE, 64) == 0);
	pipe_of(a.s)->room = 0;
	CHECK(iw_post(&a, &x) == 0);
	pattern(a.mem + LOCAL, 64, 2); /* the buffer is ours again at once */
	pipe_of(a.s)->room = SIZE_MAX;
	iw_wc(&b, b.rcq, 2, IBV_WC_SUCCESS);
	pattern(a.mem + LOCAL, 64, 1);
	CHECK(!memcmp(a.mem + LOCAL, b.mem + REMOTE, 64));
	end();
	o.zero_depth = true;
	begin(&o, MEM);
	x = op(IBV_WR_RDMA_READ, 1, 4);
	CHECK(iw_post(&a, &x) == -EINVAL);
	end();
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "-", "sizes", sizes },
		{ "-", "segments", segments },
		{ "-", "full chunks", full_chunks },
		{ "-", "batch", batch },
		{ "-", "behind with completions", behind },
		{ "-", "atomics", atomics },
		{ "-", "order and fences", order },
		{ "-", "numbers that wrap", wraps },
		{ "-", "windows and invalidation", windows },
		{ "-", "a foreign window", foreign_window },
		{ "-", "shared receives", shared },
		{ "-", "a GiB of reads", large_read },
		{ "-", "pages apart", paged },
		{ "-", "refused and inline", refused },
	};

	return RUN_CASES(cases, argc, argv);
}

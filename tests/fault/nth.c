/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The n-th allocation of a program's life fails, for every n until a life comes
 * through without: opening, objects of every kind, connecting, transfer,
 * events, destroying. Two kinds of trouble:
 *
 *   once    the failed call says so, the same call right after succeeds,
 *           and the rest of the life is as good as any (lost packets of UC and
 *           UD and lost asynchronous events excepted).
 *   sticky  nothing can be had any more: every call says so or succeeds, each
 *           posted request still completes, and all there is can be destroyed
 *           without memory.
 *
 * After each, blocks and descriptors are as many as before, and a life without
 * trouble follows. Virtual time: a hanging call ends at the limit of a wait.
 */
#include "blocks.h"
#include "engine/chan.h"
#include "engine/mr.h"
#include "engine/mw.h"
#include "engine/post.h"
#include "engine/qp_state.h"
#include "engine/xrcd.h"
#include "support/engine.h"

#include "support/cases.h"
#include "support/check.h"
#include "support/tape.h"

#include "engine/mcast.h"
#include "engine/srq.h"
#include "util/alloc.h"
#include "util/clock.h"

#include <sys/mman.h>

#define BYTES 65536u
#define HALF (BYTES / 2)
#define QKEY 0x1234
#define GRH 40u
#define WAIT (100 * UT_S)

/* --- a life --- */

struct side {
	struct sim_end e;
	struct eng_chan *chan;
	struct eng_mkey *paged, *mw;
	struct eng_xrcd *xrcd;
	struct eng_srq *srq;
	struct eng_ah *ah;
	bool grouped;
};

struct life {
	enum ibv_qp_type type; /* XRC_SEND stands for the pair */
	bool armed, sticky;
	bool failed; /* a call has said so */
	struct sim_world w;
	struct side s[2];
};

/* Descriptors have fault points too, and a fault of their own. */
static bool refusal(int r)
{
	return r == -ENOMEM || r == -EMFILE;
}

/* 0, or in a sticky life the refusal, which ends it. */
#define TRY(x, call)                                                                  \
	do {                                                                          \
		int try_ = (call);                                                    \
                                                                                      \
		if (refusal(try_) && (x)->armed && !(x)->sticky && !(x)->failed) {    \
			(x)->failed = true;                                           \
			try_ = (call);                                                \
		}                                                                     \
		CHECK_MSG(try_ == 0 || (refusal(try_) && (x)->armed && (x)->sticky),  \
			  "%d", try_);                                                \
		if (try_ < 0)                                                         \
			return try_;                                                  \
	} while (0)

static bool reliable(const struct life *x)
{
	return x->type == IBV_QPT_RC || x->type == IBV_QPT_XRC_SEND;
}

static bool xrc(const struct life *x)
{
	return x->type == IBV_QPT_XRC_SEND;
}

static int make_memory(struct life *x, struct side *s)
{
	struct eng_mr_spec spec = {
		.addr = (uintptr_t)s->e.mem, .iova = (uintptr_t)s->e.mem, .length = BYTES,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND,
	};
	uint64_t pages[2] = { (uintptr_t)s->e.mem, (uintptr_t)s->e.mem + 8192 };
	struct eng_mr_spec paged = spec;

	TRY(x, eng_mr_reg(s->e.h->pd, &spec, &s->e.mr));
	paged.pages = pages;
	paged.n_pages = 2;
	paged.page_size = 4096;
	paged.length = 8192;
	TRY(x, eng_mr_reg(s->e.h->pd, &paged, &s->paged));
	TRY(x, eng_mw_alloc(s->e.h->pd, IBV_MW_TYPE_2, &s->mw));
	return 0;
}

static int make_srq(struct life *x, struct side *s)
{
	struct eng_srq_spec spec = { .pd = s->e.h->pd, .attr = { .max_wr = 8, .max_sge = 2 } };
	struct ibv_srq_attr more = { .max_wr = 32, .srq_limit = 1 };

	if (x->type == IBV_QPT_UC || x->type == IBV_QPT_UD)
		return 0;
	if (xrc(x)) {
		TRY(x, eng_xrcd_open(&s->e.h->dev, -1, 0, &s->xrcd));
		spec.xrcd = s->xrcd;
		spec.cq = s->e.rcq;
	}
	TRY(x, eng_srq_create(s->e.h->ctx, &spec, &s->srq));
	TRY(x, eng_srq_modify(s->srq, &more, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
	return 0;
}

static int make_qp(struct life *x, struct side *s)
{
	bool target = xrc(x) && s == &x->s[1];
	struct eng_qp_spec spec = {
		.type = target ? IBV_QPT_XRC_RECV : x->type,
		.pd = target ? NULL : s->e.h->pd, .send_cq = target ? NULL : s->e.scq,
		.recv_cq = xrc(x) ? NULL : s->e.rcq, .srq = xrc(x) ? NULL : s->srq,
		.xrcd = target ? s->xrcd : NULL,
		.cap = { .max_send_wr = 16, .max_recv_wr = s->srq ? 0 : 16, .max_send_sge = 2,
			 .max_recv_sge = 2, .max_inline_data = 64 },
	};
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	TRY(x, eng_qp_create(s->e.h->ctx, &spec, &s->e.qp));
	init.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	if (reliable(x))
		init.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	TRY(x, eng_qp_modify(s->e.qp, &init, mask | (x->type == IBV_QPT_UD ? IBV_QP_QKEY :
						    IBV_QP_ACCESS_FLAGS)));
	return 0;
}

static int make_side(struct life *x, struct side *s)
{
	int r;

	TRY(x, eng_chan_create(s->e.h->ctx, &s->chan));
	TRY(x, eng_cq_create(s->e.h->ctx, 64, NULL, false, &s->e.scq));
	TRY(x, eng_cq_create(s->e.h->ctx, 16, s->chan, false, &s->e.rcq));
	TRY(x, eng_cq_resize(s->e.rcq, 64));
	r = make_memory(x, s);
	if (r == 0)
		r = make_srq(x, s);
	return r < 0 ? r : make_qp(x, s);
}

static int make_ud(struct life *x, struct side *s, const struct side *peer)
{
	struct ibv_ah_attr a = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 7 } };

	memcpy(a.grh.dgid.raw, peer->e.h->addr, 16);
	TRY(x, eng_ah_create(s->e.h->pd, &a, &s->ah));
	TRY(x, eng_mcast_attach(s->e.qp, &group));
	s->grouped = true;
	return 0;
}

/* Neither connecting nor posting needs memory, so neither may fail. */
static void connect_sides(struct life *x)
{
	struct sim_qp_options o = { .type = x->type };

	sim_end_connect(&x->s[0].e, &x->s[1].e, 5, 9, &o);
	sim_end_connect(&x->s[1].e, &x->s[0].e, 9, 5, &o);
}

/* --- transfer --- */

struct wait {
	struct eng_cq *cq;
	struct ibv_wc wc;
	bool got;
};

static bool took(void *arg)
{
	struct wait *v = arg;

	if (!v->got && eng_cq_held(v->cq))
		v->got = eng_cq_poll(v->cq, 1, &v->wc) == 1;
	return v->got;
}

/* Every request of XRC names a queue, for the domain of the keys is its. */
static int post_xrc(struct life *x, struct side *s, const struct sim_op *o)
{
	struct ibv_sge sge = { (uintptr_t)o->at, o->len, s->e.mr->key };
	struct ibv_send_wr *bad, wr = { .wr_id = o->id, .sg_list = &sge, .num_sge = 1,
					.opcode = o->code, .send_flags = IBV_SEND_SIGNALED };

	wr.qp_type.xrc.remote_srqn = x->s[1].srq->number;
	if (o->code == IBV_WR_ATOMIC_CMP_AND_SWP || o->code == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)o->remote;
		wr.wr.atomic.rkey = o->rkey;
		wr.wr.atomic.compare_add = o->add;
		wr.wr.atomic.swap = o->swap;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)o->remote;
		wr.wr.rdma.rkey = o->rkey;
	}
	return eng_post_send(s->e.qp, &wr, &bad);
}

/* Posts and waits: 0, or -EIO after an error completion. */
static int run_op(struct life *x, struct side *s, struct sim_op o)
{
	struct wait v = { .cq = s->e.scq };

	CHECK((xrc(x) ? post_xrc(x, s, &o) : sim_post(&s->e, &o)) == 0);
	CHECK_MSG(sim_run(&x->w, WAIT, took, &v), "request %d never ended", (int)o.id);
	CHECK(v.wc.wr_id == o.id);
	if (v.wc.status == IBV_WC_SUCCESS)
		return 0;
	CHECK_MSG(x->armed && x->sticky && v.wc.status == IBV_WC_RETRY_EXC_ERR,
		  "request %d ended with status %d", (int)o.id, v.wc.status);
	return -EIO;
}

static void post_receive(struct life *x, struct side *s)
{
	struct ibv_sge sge = { (uintptr_t)s->e.mem, HALF, s->e.mr->key };
	struct ibv_recv_wr *bad, wr = { .wr_id = 77, .sg_list = &sge, .num_sge = 1 };

	if (s->srq)
		CHECK(eng_srq_post(s->srq, &wr, &bad) == 0);
	else
		CHECK(eng_post_recv(s->e.qp, &wr, &bad) == 0);
}

/* A message that was received is whole and announced. */
static void check_receive(struct life *x, struct side *s, uint32_t len)
{
	uint32_t skip = x->type == IBV_QPT_UD ? GRH : 0;
	struct wait v = { .cq = s->e.rcq };
	struct eng_cq *from;

	if (!sim_run(&x->w, UT_S, took, &v)) {
		CHECK(x->armed && !reliable(x));
		return;
	}
	CHECK(v.wc.status == IBV_WC_SUCCESS && v.wc.wr_id == 77 && v.wc.byte_len == len + skip);
	pattern_check(s->e.mem + skip, len, 3);
	CHECK(eng_chan_get(s->chan, &from) == 0 && from == s->e.rcq);
	/* A lost event is logged, nothing more can be done. */
	if (s->srq)
		CHECK(sim_event(s->e.h, IBV_EVENT_SRQ_LIMIT_REACHED) || x->armed);
}

static int send_and_check(struct life *x)
{
	struct side *a = &x->s[0], *b = &x->s[1];
	uint32_t len = x->type == IBV_QPT_UD ? 900 : 5000;
	struct sim_op o = { .code = IBV_WR_SEND, .id = 1, .at = a->e.mem, .len = len, .ah = a->ah,
			    .qpn = b->e.qp->qpn, .qkey = QKEY };
	int r;

	pattern_fill(a->e.mem, len, 3);
	post_receive(x, b);
	eng_cq_arm(b->e.rcq, false);
	r = run_op(x, a, o);
	if (r == 0)
		check_receive(x, b, len);
	return r;
}

static int write_and_check(struct life *x)
{
	struct side *a = &x->s[0], *b = &x->s[1];
	int r = run_op(x, a, (struct sim_op){
		.code = IBV_WR_RDMA_WRITE, .id = 2, .at = a->e.mem, .len = 5000,
		.remote = b->e.mem + HALF, .rkey = b->e.mr->key });

	if (r == 0 && (reliable(x) || !x->armed)) {
		sim_run(&x->w, UT_MS, NULL, NULL);
		pattern_check(b->e.mem + HALF, 5000, 3);
	}
	return r;
}

static int read_and_check(struct life *x)
{
	struct side *a = &x->s[0], *b = &x->s[1];
	int r = run_op(x, a, (struct sim_op){
		.code = IBV_WR_RDMA_READ, .id = 3, .at = a->e.mem + HALF, .len = 5000,
		.remote = b->e.mem + HALF, .rkey = b->e.mr->key });

	if (r == 0)
		pattern_check(a->e.mem + HALF, 5000, 3);
	return r;
}

static int atomics_and_check(struct life *x)
{
	struct side *a = &x->s[0], *b = &x->s[1];
	struct sim_op o = { .code = IBV_WR_ATOMIC_FETCH_AND_ADD, .id = 4, .at = a->e.mem, .len = 8,
			    .remote = b->e.mem + BYTES - 64, .rkey = b->e.mr->key, .add = 40 };
	uint64_t v;
	int r = run_op(x, a, o);

	if (r < 0)
		return r;
	o.code = IBV_WR_ATOMIC_CMP_AND_SWP;
	o.id = 5;
	o.swap = 99;
	r = run_op(x, a, o);
	memcpy(&v, b->e.mem + BYTES - 64, 8);
	CHECK(r < 0 || v == 99);
	return r;
}

/* A window of b's, and a writes through it. */
static int window_and_check(struct life *x)
{
	struct side *a = &x->s[0], *b = &x->s[1];
	struct ibv_send_wr *bad, wr = { .wr_id = 6, .opcode = IBV_WR_BIND_MW,
					.send_flags = IBV_SEND_SIGNALED };
	uint32_t key = (b->mw->key & ~0xffu) | ((b->mw->key + 1) & 0xff);
	struct wait v = { .cq = b->e.scq };

	wr.bind_mw.mw = (struct ibv_mw *)b->mw;
	wr.bind_mw.rkey = key;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = (struct ibv_mr *)b->e.mr, .addr = (uintptr_t)b->e.mem + HALF, .length = 4096,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	CHECK(eng_post_send(b->e.qp, &wr, &bad) == 0);
	CHECK(sim_run(&x->w, WAIT, took, &v) && v.wc.status == IBV_WC_SUCCESS);
	return run_op(x, a, (struct sim_op){
		.code = IBV_WR_RDMA_WRITE, .id = 7, .at = a->e.mem, .len = 64,
		.remote = b->e.mem + HALF, .rkey = key });
}

static int transfer(struct life *x)
{
	int r = send_and_check(x);

	if (r == 0 && x->type != IBV_QPT_UD)
		r = write_and_check(x);
	if (r == 0 && reliable(x))
		r = read_and_check(x);
	if (r == 0 && reliable(x))
		r = atomics_and_check(x);
	if (r == 0 && x->type == IBV_QPT_RC)
		r = window_and_check(x);
	return r;
}

/* --- the end of a life: never needs memory --- */

#define DROP(f, obj)                   \
	do {                           \
		if (obj)               \
			CHECK(f(obj) == 0); \
	} while (0)

static void drop_side(struct side *s)
{
	union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 7 } };

	if (s->grouped)
		CHECK(eng_mcast_detach(s->e.qp, &group) == 0);
	if (s->ah)
		eng_ah_destroy(s->ah);
	DROP(eng_qp_destroy, s->e.qp);
	DROP(eng_srq_destroy, s->srq);
	DROP(eng_xrcd_close, s->xrcd);
	DROP(eng_mw_dealloc, s->mw);
	DROP(eng_mr_dereg, s->paged);
	DROP(eng_mr_dereg, s->e.mr);
	DROP(eng_cq_destroy, s->e.rcq);
	DROP(eng_cq_destroy, s->e.scq);
	DROP(eng_chan_destroy, s->chan);
}

static int live(struct life *x)
{
	int r = 0;

	for (int i = 0; i < 2 && r == 0; i++) {
		x->s[i].e.h = &x->w.host[i];
		r = make_side(x, &x->s[i]);
	}
	for (int i = 0; i < 2 && r == 0 && x->type == IBV_QPT_UD; i++)
		r = make_ud(x, &x->s[i], &x->s[!i]);
	if (r < 0)
		return r;
	connect_sides(x);
	return transfer(x);
}

static int open_live_close(struct life *x)
{
	int r;

	TRY(x, sim_world_try(&x->w, &(struct sim_options){ .seed = 3 }));
	r = live(x);
	for (int i = 0; i < 2; i++)
		drop_side(&x->s[i]);
	sim_world_close(&x->w);
	return r;
}

/* Whether the n-th allocation was reached. One too many is said when it would
 * have been the next. */
static bool fired(unsigned n, bool sticky)
{
	if (sticky)
		return ut_fault();
	for (unsigned i = 0; i < n; i++)
		if (ut_fault())
			return false;
	return true;
}

/* n = 0: without trouble. Returns whether the trouble came. */
static bool one(enum ibv_qp_type type, unsigned n, bool sticky)
{
	static struct life x;
	static uint8_t mem[2][BYTES] __attribute__((aligned(4096)));
	long before = blocks;
	int fds = open_fds(), r;
	bool came;

	memset(&x, 0, sizeof(x));
	memset(mem, 0, sizeof(mem));
	x.type = type;
	x.armed = n != 0;
	x.sticky = sticky;
	for (int i = 0; i < 2; i++)
		x.s[i].e.mem = mem[i];
	ut_fault_arm(n, sticky);
	r = open_live_close(&x);
	came = n && fired(n, sticky);
	ut_fault_arm(0, 0);
	CHECK_MSG(r == 0 || came, "result %d without trouble", r);
	CHECK_MSG(!x.failed || came, "a refusal without trouble");
	CHECK_MSG(blocks == before, "%ld blocks leaked", blocks - before);
	CHECK_MSG(open_fds() == fds, "%d descriptors leaked", open_fds() - fds);
	return came;
}

static void sweep(enum ibv_qp_type type)
{
	for (int sticky = 0; sticky < 2; sticky++) {
		unsigned n = 1;

		one(type, 0, false);
		for (; fprintf(stderr, "%s allocation %u\n", sticky ? "from" : "only", n),
		       one(type, n, sticky); n++)
			one(type, 0, false);
		/* The world, two hosts and their objects: no less than this. */
		CHECK_MSG(n > 60, "only %u allocations", n);
		printf("%u allocations, %s\n", n - 1, sticky ? "sticky" : "once");
	}
}

static void rc(void)
{
	sweep(IBV_QPT_RC);
}

static void uc(void)
{
	sweep(IBV_QPT_UC);
}

static void ud(void)
{
	sweep(IBV_QPT_UD);
}

static void xrc_pair(void)
{
	sweep(IBV_QPT_XRC_SEND);
}

static const struct test_case cases[] = {
	{ "-", "RC with SRQ, windows, atomics", rc },
	{ "-", "UC", uc },
	{ "-", "UD with multicast", ud },
	{ "-", "XRC", xrc_pair },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

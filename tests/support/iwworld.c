/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "support/iwworld.h"

#include "engine/complete.h"
#include "engine/mr.h"
#include "engine/pd.h"
#include "engine/pending.h"
#include "engine/post.h"
#include "engine/qp_state.h"
#include "support/check.h"
#include "support/engine.h"
#include "util/clock.h"
#include "util/heap.h"
#include "wire/mpa_fpdu.h"

#include <ctype.h>
#include <sys/mman.h>

#define ALL_RIGHTS                                                                       \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |     \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* --- the adapter --- */

static int progress(struct eng_dev *dev)
{
	struct iw_host *h = dev->device;
	struct eng_qp *qp;
	int n, did;

	eng_dev_held(dev);
	did = h->place->s.ops->poll(&h->place->s, h->w->now);
	while ((qp = eng_dev_pop_pending(dev))) {
		if (!eng_qp_flush_if_dead(qp))
			dev->proto->qp_kick(qp);
		did++;
	}
	do {
		n = iwp_transmit(dev, h->w->now);
		did += n;
	} while (n && iwp_busy(dev));
	return did;
}

static int no_wait(struct eng_dev *dev, struct pollfd *fds, unsigned n, uint64_t until)
{
	return 0;
}

static int attach(struct eng_dev *dev)
{
	eng_dev_held(dev);
	dev->qpn_fixed = 0;
	dev->qpn_mask = 0xffffff;
	return 0;
}

static int join(struct eng_dev *dev, const union ibv_gid *g)
{
	return -EOPNOTSUPP;
}

static void leave(struct eng_dev *dev, const union ibv_gid *g)
{
}

static void why(struct eng_dev *dev, enum ut_say level, const char *sentence)
{
}

static const struct eng_dev_ops ops = {
	.progress = progress, .post_fast = eng_dev_by_round, .wait = no_wait, .wait_comp = eng_dev_wait_comp, .poll = eng_dev_poll_by_round, .attach = attach,
	.mcast_join = join, .mcast_leave = leave, .query_port = eng_port_known, .why = why,
};

static struct eng_ah *as_ah(struct ibv_ah *ah)
{
	return (struct eng_ah *)ah;
}

static struct eng_mkey *as_mw(struct ibv_mw *mw)
{
	return (struct eng_mkey *)mw;
}

static struct eng_mkey *as_mr(struct ibv_mr *mr)
{
	return (struct eng_mkey *)mr;
}

static const struct eng_objects objects = { as_ah, as_mw, as_mr };

static void set_limits(struct eng_dev *dev)
{
	struct ibv_device_attr *a = &dev->attr.orig_attr;

	a->max_qp = a->max_cq = a->max_mr = a->max_pd = a->max_mw = a->max_srq = 4096;
	a->max_qp_wr = a->max_srq_wr = 16384;
	a->max_sge = a->max_srq_sge = 32;
	a->max_cqe = 131072;
	a->max_mr_size = UINT64_MAX;
	a->max_qp_rd_atom = a->max_qp_init_rd_atom = 16;
	a->phys_port_cnt = 1;
	a->max_pkeys = 1;
	dev->max_inline = 256;
	dev->max_msg_sz = 0xffffffff;
}

static void host_open(struct iw_world *w, int i, uint64_t seed, uint32_t mulpdu)
{
	struct iw_host *h = &w->h[i];
	struct iwp_config cfg = { .streams = &w->net.place[i].s, .seed = seed + (uint64_t)i,
				  .mulpdu_max = mulpdu };

	h->w = w;
	h->place = &w->net.place[i];
	CHECK(eng_dev_init(&h->dev, "iw", &ops, &iwp_proto_ops, seed * 31 + (uint64_t)i) == 0);
	h->dev.device = h;
	set_limits(&h->dev);
	CHECK(iwp_port_init(&h->dev, &cfg) == 0);
	CHECK(eng_ctx_open(&h->dev, &h->ctx) == 0);
	h->ctx->objects = &objects;
	CHECK(eng_pd_alloc(&h->dev, &h->pd) == 0);
}

struct iw_world *iw_open(uint64_t seed, uint32_t mulpdu)
{
	struct iw_world *w = calloc(1, sizeof(*w));

	CHECK(w);
	w->now = 1000 * UT_S;
	pipes_open(&w->net, 3);
	pipes_stages(&w->net);
	w->net.rng.state = seed;
	host_open(w, 0, seed, mulpdu);
	host_open(w, 1, seed, mulpdu);
	return w;
}

static void host_close(struct iw_host *h)
{
	CHECK(eng_pd_dealloc(h->pd) == 0);
	eng_ctx_close(h->ctx);
	CHECK(iwp_deadline(&h->dev) == UT_NEVER && !iwp_busy(&h->dev));
	iwp_port_fini(&h->dev);
	eng_dev_fini(&h->dev);
}

void iw_close(struct iw_world *w)
{
	struct pipe_stream *s;

	host_close(&w->h[0]);
	host_close(&w->h[1]);
	ut_list_each(s, &w->net.place[IW_RAW].streams, node)
		if (!s->dead)
			w->net.live--;
	CHECK_MSG(w->net.live == 0, "%u streams were forgotten", w->net.live);
	pipes_close(&w->net);
	free(w);
}

static int round_of(struct iw_host *h)
{
	int did;

	ut_lock(&h->dev.lock);
	did = progress(&h->dev);
	ut_unlock(&h->dev.lock);
	return did;
}

void iw_run(struct iw_world *w)
{
	long rounds = 0;
	int did;

	do {
		did = round_of(&w->h[0]);
		did += round_of(&w->h[1]);
		CHECK_MSG(++rounds < 100000000, "no end of it");
	} while (did);
}

void iw_pass(struct iw_world *w, uint64_t ns)
{
	uint64_t end = w->now + ns;

	for (;;) {
		uint64_t a, b;

		iw_run(w);
		a = iwp_deadline(&w->h[0].dev);
		b = iwp_deadline(&w->h[1].dev);
		if (b < a)
			a = b;
		if (a > end)
			break;
		CHECK_MSG(a > w->now, "a timer that never rests");
		w->now = a;
	}
	w->now = end;
	iw_run(w);
}

/* --- ends --- */

static void told_ready(void *arg, uint64_t now)
{
	struct iw_end *e = arg;

	CHECK(!e->ended && now == e->h->w->now);
	e->ready++;
}

static void told_ended(void *arg, int error, uint64_t now)
{
	struct iw_end *e = arg;

	CHECK(!e->ended);
	e->ended++;
	e->error = error;
}

static const struct proto_stream_owner owner = { .ready = told_ready, .ended = told_ended };

static void give_memory(struct iw_end *e, size_t memory)
{
	struct eng_mr_spec s = { .access = ALL_RIGHTS | IBV_ACCESS_MW_BIND };

	e->mem_len = (memory + 4095) & ~4095ull;
	e->mem = mmap(NULL, e->mem_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(e->mem != MAP_FAILED);
	s.addr = s.iova = (uintptr_t)e->mem;
	s.length = e->mem_len;
	CHECK(eng_mr_reg(e->h->pd, &s, &e->mr) == 0);
}

void iw_end_create(struct iw_end *e, struct iw_host *h, const struct iw_options *o,
		   struct eng_srq *srq, size_t memory)
{
	uint32_t depth = o->depth ? o->depth : 64, cqe = o->cqe ? o->cqe : 4 * depth;
	struct eng_qp_spec spec = {
		.type = IBV_QPT_RC, .pd = h->pd, .srq = srq,
		.cap = { .max_send_wr = depth, .max_recv_wr = srq ? 0 : depth,
			 .max_send_sge = IW_SGE, .max_recv_sge = srq ? 0 : IW_SGE,
			 .max_inline_data = o->inline_data ? o->inline_data : 64 },
	};
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = o->access ? o->access : ALL_RIGHTS };

	*e = (struct iw_end){ .h = h };
	CHECK(eng_cq_create(h->ctx, cqe, NULL, false, &e->scq) == 0);
	CHECK(eng_cq_create(h->ctx, cqe, NULL, false, &e->rcq) == 0);
	spec.send_cq = e->scq;
	spec.recv_cq = e->rcq;
	CHECK(eng_qp_create(h->ctx, &spec, &e->qp) == 0);
	e->qp->user = e;
	CHECK(eng_qp_modify(e->qp, &init, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	give_memory(e, memory);
}

void iw_end_attach(struct iw_end *e, struct link_stream *s, const struct iw_options *o, bool is_a)
{
	uint16_t ird = o->ird ? o->ird : 8, ord = o->ord ? o->ord : 8;
	struct proto_stream_params p = {
		.initiator = is_a != o->initiator_b, .crc = !o->no_crc,
		.markers_tx = is_a ? o->markers_a : o->markers_b,
		.markers_rx = is_a ? o->markers_b : o->markers_a,
		.ird = o->zero_depth ? 0 : ird, .ord = o->zero_depth ? 0 : ord, .rtr = o->rtr,
		.await_first = o->awaits_first && is_a == o->initiator_b,
	};

	e->s = s;
	e->ready = e->ended = 0;
	s->shm = (o->local || getenv("SIM_LOCAL")) && !o->markers_a && !o->markers_b;
	if (pipe_of(s)->mate)
		pipe_of(s)->mate->s.shm = s->shm; /* a peer by hand, too */
	ut_lock(&e->h->dev.lock);
	CHECK(iwp_stream_ops.attach(e->qp, s, &p, &owner, e) == 0);
	ut_unlock(&e->h->dev.lock);
}

void iw_end_destroy_qp(struct iw_end *e)
{
	if (e->qp)
		CHECK(eng_qp_destroy(e->qp) == 0);
	e->qp = NULL;
}

void iw_end_close(struct iw_end *e)
{
	iw_end_destroy_qp(e);
	CHECK(eng_cq_destroy(e->scq) == 0);
	CHECK(eng_cq_destroy(e->rcq) == 0);
	CHECK(eng_mr_dereg(e->mr) == 0);
	munmap(e->mem, e->mem_len);
}

void iw_pair(struct iw_world *w, struct iw_end *a, struct iw_end *b, const struct iw_options *o,
	     size_t memory)
{
	struct link_stream *sa, *sb;

	iw_end_create(a, &w->h[0], o, NULL, memory);
	iw_end_create(b, &w->h[1], o, o->srq_b, memory);
	pipe_pair(a->h->place, b->h->place, &sa, &sb);
	iw_end_attach(b, sb, o, false);
	iw_end_attach(a, sa, o, true);
}

struct pipe_stream *iw_solo(struct iw_world *w, struct iw_end *a, const struct iw_options *o,
			    size_t memory)
{
	struct link_stream *sa, *sb;

	iw_end_create(a, &w->h[0], o, NULL, memory);
	pipe_pair(a->h->place, &w->net.place[IW_RAW], &sa, &sb);
	iw_end_attach(a, sa, o, true);
	return pipe_of(sb);
}

/* --- work --- */

static int sges(const struct iw_end *e, const struct iw_op *o, struct ibv_sge *sge)
{
	int n = o->pieces ? o->pieces : o->len > 0;
	uint32_t off = 0;

	for (int i = 0; i < n; i++) {
		uint32_t len = i == n - 1 ? o->len - off : o->len / (uint32_t)n;

		sge[i] = (struct ibv_sge){ iw_at(e, o->at + off), len,
					   o->lkey ? o->lkey : e->mr->key };
		off += len;
	}
	return n;
}

int iw_post(struct iw_end *e, const struct iw_op *o)
{
	struct ibv_sge sge[IW_SGE];
	struct ibv_send_wr *bad, wr = {
		.wr_id = o->id, .sg_list = sge, .num_sge = sges(e, o, sge), .opcode = o->code,
		.send_flags = o->flags | (o->quiet ? 0 : IBV_SEND_SIGNALED), .imm_data = o->imm,
	};

	if (o->code == IBV_WR_ATOMIC_CMP_AND_SWP || o->code == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = o->remote;
		wr.wr.atomic.rkey = o->rkey;
		wr.wr.atomic.compare_add = o->add;
		wr.wr.atomic.swap = o->swap;
	} else {
		wr.wr.rdma.remote_addr = o->remote;
		wr.wr.rdma.rkey = o->rkey;
	}
	return eng_post_send(e->qp, &wr, &bad);
}

int iw_recv(struct iw_end *e, uint64_t id, size_t at, uint32_t len)
{
	struct ibv_sge sge = { iw_at(e, at), len, e->mr->key };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = len ? 1 : 0 }, *bad;

	return eng_post_recv(e->qp, &wr, &bad);
}

struct ibv_wc iw_wc(struct iw_end *e, struct eng_cq *cq, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	iw_run(e->h->w);
	CHECK_MSG(eng_cq_poll(cq, 1, &wc) == 1, "request %llu did not complete",
		  (unsigned long long)id);
	CHECK_MSG(wc.wr_id == id && wc.status == status,
		  "request %llu ended with status %d (%u), not %llu with %d",
		  (unsigned long long)wc.wr_id, wc.status, wc.vendor_err, (unsigned long long)id,
		  status);
	return wc;
}

void iw_no_wc(struct iw_end *e, struct eng_cq *cq)
{
	struct ibv_wc wc;

	iw_run(e->h->w);
	CHECK_MSG(eng_cq_poll(cq, 1, &wc) == 0, "request %llu completed with status %d",
		  (unsigned long long)wc.wr_id, wc.status);
}

void iw_event(struct iw_host *h, int type)
{
	struct eng_event e;
	int got = eng_async_get(h->ctx, &e) == 0 ? (int)e.type : -1;

	CHECK_MSG(got == type, "event %d, not %d", got, type);
}

int iw_state(struct iw_end *e)
{
	return (int)eng_qp_state(e->qp);
}

void iw_ended(struct iw_end *e, int error)
{
	iw_run(e->h->w);
	CHECK_MSG(e->ended == 1 && e->error == error, "ended %d times, error %d", e->ended,
		  e->error);
}

/* --- raw peers --- */

size_t iw_hex(const char *text, uint8_t *out, size_t max)
{
	size_t n = 0;

	for (; *text; text++) {
		int c = tolower((unsigned char)*text);

		if (c == ' ')
			continue;
		CHECK(isxdigit(c) && n / 2 < max);
		c = c <= '9' ? c - '0' : c - 'a' + 10;
		out[n / 2] = (uint8_t)(n % 2 ? out[n / 2] | c : c << 4);
		n++;
	}
	CHECK(n % 2 == 0);
	return n / 2;
}

static size_t fpdu(const uint8_t *ulpdu, size_t n, uint8_t *out)
{
	uint32_t body = wire_fpdu_body((uint32_t)n), crc;

	memset(out, 0, body);
	out[0] = (uint8_t)(n >> 8);
	out[1] = (uint8_t)n;
	memcpy(out + 2, ulpdu, n);
	crc = wire_mpa_crc(out, body);
	for (int i = 0; i < 4; i++)
		out[body + (uint32_t)i] = (uint8_t)(crc >> 8 * i);
	return body + 4;
}

void iw_put_bytes(struct pipe_stream *s, const uint8_t *ulpdu, size_t n)
{
	static uint8_t out[70000];

	pipe_put(s, out, fpdu(ulpdu, n, out));
}

void iw_put(struct pipe_stream *s, const char *hex)
{
	uint8_t ulpdu[2048];

	iw_put_bytes(s, ulpdu, iw_hex(hex, ulpdu, sizeof(ulpdu)));
}

void iw_put_hex(struct pipe_stream *s, const char *hex)
{
	uint8_t out[4096];

	pipe_put(s, out, iw_hex(hex, out, sizeof(out)));
}

/* The last four octets are the CRC, which a local stream does without. */
static void same(struct pipe_stream *s, const uint8_t *sums, size_t n)
{
	uint8_t want[4096];

	CHECK(n <= sizeof(want));
	memcpy(want, sums, n);
	if (n >= 4 && s->s.shm)
		memset(want + n - 4, 0, 4);
	if (s->in_len != n || (n && memcmp(s->in, want, n))) {
		fprintf(stderr, "came:   ");
		for (size_t i = 0; i < s->in_len; i++)
			fprintf(stderr, "%02x", s->in[i]);
		fprintf(stderr, "\nwanted: ");
		for (size_t i = 0; i < n; i++)
			fprintf(stderr, "%02x", want[i]);
		fprintf(stderr, "\n");
		CHECK(0);
	}
	s->in_len = 0;
}

void iw_got_hex(struct pipe_stream *s, const char *hex)
{
	uint8_t want[4096];

	same(s, want, iw_hex(hex, want, sizeof(want)));
}

void iw_got(struct pipe_stream *s, const char *hex)
{
	uint8_t ulpdu[2048], want[2200];
	size_t n = iw_hex(hex, ulpdu, sizeof(ulpdu));

	same(s, want, fpdu(ulpdu, n, want));
}

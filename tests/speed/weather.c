/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Transfers of every kind at once, for a stated time, over a network that loses, doubles, reorders and
 * damages packets. What is reliable is compared octet by octet after each batch; of what is not, each
 * message that arrives is whole and one that was sent.
 *
 * The faults are those of Dapple's fault link (link/fault.h). Over RoCE the adapter has it by DAPPLE_FAULT. Over
 * iWARP it lies below the host's TCP: an interface of a network namespace that leads to this process,
 *
 *	10.99.1.1 --- wx0 (TUN) ---> relay: link_fault ---> wx0 --- 10.99.2.1
 *
 * with rules by which the one of its addresses reaches the other through the wire. All connections have both ends in
 * one process, and its local path is off (DAPPLE_LOCAL=off).
 *
 * Of eight tries of a request each may fail, which at 5 % of each fault occurs once in some thousand operations: the
 * queue pair then fails by the rules (IBV_WC_RETRY_EXC_ERR), and a new one takes its place.
 *
 *	CONFORM_SECONDS   how long (default 3)
 *	DAPPLE_FAULT      rates in 1/1000; a packet meets them twice over RoCE, once over iWARP
 *	SPEED_SEED        replays the choices
 */
#include "../conform/xrc.h"
#include "speed.h"

#include "weather_tun.h"

#include <inttypes.h>
#include <stdio.h>

enum kind { RC, XRC, UC, UD, KINDS };
enum {
	LANES = 12,
	DEPTH = 8,          /* operations in flight of each */
	SLOT = 16384,
	UD_MOST = 1000, UD_GRH = 40,
	UNRELIABLE_DEPTH = 16,
	PAUSE_NS = 1000000, /* between messages of a lane of which the last ones do not arrive */
	STALL_S = 120,      /* without a batch of a reliable lane */
	PER_FAILURE = 100,  /* operations at least, on average, for each queue pair that failed */
};
enum { OUT, TARGET, RECEIVED, PARTS }; /* of a buffer, DEPTH slots each */

struct job {
	enum ibv_wr_opcode op;
	uint32_t len;
	uint64_t seed, old, add;
	bool receives;
};

struct lane {
	enum kind kind;
	struct cf_side a, b;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	uint32_t srqn;
	struct job jobs[DEPTH];
	int n, done, receives, received; /* of this batch */
	uint64_t batches, sent, got, bytes, failed;
	uint64_t next, displaced; /* messages that did not come in their turn: lost ones before them, doubled, late */
	uint64_t since;
};

static struct lane lanes[LANES];
static int n_lanes;
static bool streams;
static struct sp_rng rng;
static const char *const names[KINDS] = { "RC", "XRC", "UC", "UD" };

static size_t at(int part, uint64_t slot)
{
	return ((size_t)part * 2 * UNRELIABLE_DEPTH + slot) * SLOT;
}

/* --- reliable lanes: batches --- */

static enum ibv_wr_opcode choose(const struct lane *l, bool last)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
	};
	enum ibv_wr_opcode op = ops[sp_below(&rng, 8)];

	if (last) /* all requests before it have been executed when it is received */
		return IBV_WR_SEND;
	if (streams && op == IBV_WR_SEND_WITH_IMM)
		return IBV_WR_SEND;
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD && cf.dev.orig_attr.atomic_cap == IBV_ATOMIC_NONE)
		return IBV_WR_RDMA_WRITE;
	return op;
}

static void post_receive(struct lane *l, int i)
{
	size_t off = at(RECEIVED, (uint64_t)i);
	struct ibv_sge sge = { (uintptr_t)l->b.buf + off, SLOT, l->b.mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1 };

	if (l->srq)
		CF_OK(ibv_post_srq_recv(l->srq, &wr, &bad));
	else
		cf_recv(&l->b, (uint64_t)i, off, SLOT);
}

static void prepare(struct lane *l, int i)
{
	struct job *j = &l->jobs[i];
	uint8_t *out = l->a.buf + at(OUT, (uint64_t)i), *target = l->b.buf + at(TARGET, (uint64_t)i);

	*j = (struct job){ .op = choose(l, i == l->n - 1), .seed = sp_rand(&rng), .add = sp_rand(&rng) };
	j->len = sp_below(&rng, 4) ? sp_size(&rng, 1, 2000) : sp_size(&rng, 1, SLOT);
	j->receives = j->op == IBV_WR_SEND || j->op == IBV_WR_SEND_WITH_IMM || j->op == IBV_WR_RDMA_WRITE_WITH_IMM;
	if (j->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		j->len = 8;
		j->old = sp_rand(&rng);
		memcpy(target, &j->old, 8);
	} else {
		cf_fill(j->op == IBV_WR_RDMA_READ ? target : out, j->len, j->seed);
	}
}

static void begin(struct lane *l)
{
	l->n = 1 + (int)sp_below(&rng, DEPTH);
	l->done = l->receives = l->received = 0;
	for (int i = 0; i < l->n; i++) {
		prepare(l, i);
		if (l->jobs[i].receives)
			post_receive(l, l->receives++);
	}
	for (int i = 0; i < l->n; i++) {
		struct job *j = &l->jobs[i];

		cf_post(&l->a, .op = j->op, .id = (uint64_t)i, .off = at(OUT, (uint64_t)i), .len = j->len, .to = &l->b,
			.roff = at(TARGET, (uint64_t)i), .imm = (uint32_t)i, .add = j->add, .srqn = l->srqn);
	}
	l->since = cf_ns();
}

static void check_job(struct lane *l, int i, int *receive)
{
	struct job *j = &l->jobs[i];
	const uint8_t *out = l->a.buf + at(OUT, (uint64_t)i), *target = l->b.buf + at(TARGET, (uint64_t)i);
	int r = j->receives ? (*receive)++ : 0;

	switch (j->op) {
	case IBV_WR_RDMA_READ:
		cf_verify(out, j->len, j->seed);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		j->add += j->old;
		CF_TRUE(!memcmp(out, &j->old, 8) && !memcmp(target, &j->add, 8));
		break;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		cf_verify(target, j->len, j->seed);
		break;
	default:
		cf_verify(l->b.buf + at(RECEIVED, (uint64_t)r), j->len, j->seed);
	}
	l->bytes += j->len;
}

/* Returns false if the queue pair has run out of tries. */
static bool poll_reliable(struct lane *l)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(l->a.scq, 1, &wc) == 1) {
		if (wc.status == IBV_WC_RETRY_EXC_ERR && !streams)
			return false;
		if (wc.status != IBV_WC_SUCCESS)
			CF_DIE("%s: request %d of batch %" PRIu64 " ends with status %d", names[l->kind], l->done, l->batches,
			       wc.status);
		CF_EQ(wc.wr_id, l->done++);
	}
	while (ibv_poll_cq(l->b.rcq, 1, &wc) == 1) {
		CF_EQ(wc.status, IBV_WC_SUCCESS);
		CF_EQ(wc.wr_id, l->received++);
	}
	return true;
}

static void connect_lane(struct lane *l);

static void renew(struct lane *l)
{
	cf_drop(l->a.qp);
	cf_drop(l->b.qp);
	if (l->srq)
		cf_drop(l->srq);
	l->srq = NULL;
	l->a.qp = l->b.qp = NULL;
	l->n = l->done = l->receives = l->received = 0;
	l->failed++;
	connect_lane(l);
}

static bool step_reliable(struct lane *l, bool more)
{
	int receive = 0;

	if (!poll_reliable(l))
		renew(l);
	if (l->done < l->n || l->received < l->receives) {
		if (cf_ns() - l->since > STALL_S * 1000000000ull)
			CF_DIE("%s: batch %" PRIu64 " has not ended after %d s: %d of %d sent, %d of %d received",
			       names[l->kind], l->batches, STALL_S, l->done, l->n, l->received, l->receives);
		return true;
	}
	for (int i = 0; i < l->n; i++)
		check_job(l, i, &receive);
	l->batches += l->n > 0;
	l->sent += (uint64_t)l->n;
	l->n = 0;
	if (more)
		begin(l);
	return more;
}

/* --- unreliable lanes: single messages, of which each has its number --- */

static uint32_t length_of(const struct lane *l, uint32_t nr)
{
	uint32_t h = nr * 2654435761u >> 16;

	return 1 + h % (l->kind == UD ? UD_MOST : nr % 4 ? 900 : 9000);
}

static void post_numbered_receive(struct lane *l, uint64_t i)
{
	cf_recv(&l->b, i, at(RECEIVED, i), SLOT);
}

static void send_numbered(struct lane *l)
{
	uint32_t nr = (uint32_t)l->sent, len = length_of(l, nr);
	size_t off = at(OUT, l->sent % UNRELIABLE_DEPTH);

	cf_fill(l->a.buf + off, len, nr);
	cf_post(&l->a, .op = IBV_WR_SEND_WITH_IMM, .id = l->sent, .off = off, .len = len, .imm = nr, .ah = l->ah,
		.qpn = l->b.qp->qp_num, .qkey = l->b.o.qkey);
	l->sent++;
	l->since = cf_ns();
}

/* A doubled or late message comes again, or out of order; bytes of two messages never mix. */
static void take_numbered(struct lane *l, const struct ibv_wc *wc)
{
	uint32_t skip = l->kind == UD ? UD_GRH : 0, nr = wc->imm_data;

	CF_EQ(wc->status, IBV_WC_SUCCESS);
	CF_TRUE(nr < l->sent && wc->wc_flags & IBV_WC_WITH_IMM);
	CF_EQ(wc->byte_len, length_of(l, nr) + skip);
	cf_verify(l->b.buf + at(RECEIVED, wc->wr_id) + skip, length_of(l, nr), nr);
	l->got++;
	l->displaced += nr != l->next;
	l->next = l->next > nr ? l->next : nr + 1ull;
	l->bytes += wc->byte_len;
	post_numbered_receive(l, wc->wr_id);
}

/* No more than DEPTH are on their way, or else the socket's buffer would lose more than the network does. What was lost
 * makes room after a while. */
static bool may_send(const struct lane *l)
{
	if (l->sent - (uint64_t)l->done >= DEPTH)
		return false;
	return l->sent - l->next < DEPTH || cf_ns() - l->since > PAUSE_NS;
}

static bool step_unreliable(struct lane *l, bool more)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(l->a.scq, 1, &wc) == 1) {
		CF_EQ(wc.status, IBV_WC_SUCCESS);
		l->done++;
	}
	while (ibv_poll_cq(l->b.rcq, 1, &wc) == 1)
		take_numbered(l, &wc);
	while (more && may_send(l))
		send_numbered(l);
	return (uint64_t)l->done < l->sent;
}

/* --- all lanes --- */

static struct lane *lane_new(enum kind kind)
{
	struct lane *l = &lanes[n_lanes++];

	l->kind = kind;
	return l;
}

static struct cf_opt options(enum kind kind)
{
	struct cf_opt o = cf_opt();

	o.type = kind == UC ? IBV_QPT_UC : kind == UD ? IBV_QPT_UD : IBV_QPT_RC;
	o.len = PARTS * 2 * UNRELIABLE_DEPTH * SLOT;
	o.timeout = 12; /* 17 ms */
	return o;
}

static struct ibv_qp *new_qp(struct cf_side *s)
{
	return cf_qp(s->pd, &(struct ibv_qp_init_attr){
		.qp_type = s->o.type, .send_cq = s->scq, .recv_cq = s->rcq, .cap = { s->o.sq, s->o.rq, s->o.sge, s->o.sge, 0 } });
}

static void make_xrc(struct lane *l)
{
	l->a.o.type = IBV_QPT_XRC_SEND;
	l->b.o.type = IBV_QPT_XRC_RECV;
	l->a.qp = xrc_qp(&l->a, IBV_QPT_XRC_SEND, NULL);
	l->b.qp = xrc_qp(&l->b, IBV_QPT_XRC_RECV, l->xrcd);
	l->srq = xrc_srq(&l->b, l->xrcd, &l->srqn);
}

static void connect_lane(struct lane *l)
{
	struct cf_addr pa, pb;

	if (l->kind == XRC) {
		make_xrc(l);
	} else {
		l->a.qp = new_qp(&l->a);
		l->b.qp = new_qp(&l->b);
	}
	pa = cf_addr_of(&l->a);
	pb = cf_addr_of(&l->b);
	cf_up(&l->a, IBV_QPS_RTS, &pb);
	cf_up(&l->b, IBV_QPS_RTS, &pa);
}

static void open_lane(enum kind kind)
{
	struct lane *l = lane_new(kind);
	struct cf_opt o = options(kind);

	cf_side(&l->a, &o);
	cf_side(&l->b, &o);
	cf_drop(l->a.qp);
	cf_drop(l->b.qp);
	if (kind == XRC)
		l->xrcd = domain(l->b.ctx, -1, O_CREAT);
	connect_lane(l);
	if (kind == UD)
		l->ah = cf_ah(l->a.pd);
	for (uint64_t i = 0; kind >= UC && i < UNRELIABLE_DEPTH; i++)
		post_numbered_receive(l, i);
}

/* A connection from the one address of the TUN interface to the other. */
static void open_stream(void)
{
	struct lane *l = lane_new(RC);
	struct cf_opt o = options(RC);
	int fd[2];

	cf_side(&l->a, &o);
	cf_side(&l->b, &o);
	weather_tun_connect(fd);
	cf_up(&l->a, IBV_QPS_INIT, NULL);
	cf_up(&l->b, IBV_QPS_INIT, NULL);
	cf_stream_begin(&l->a, fd[0], true);
	cf_stream_begin(&l->b, fd[1], false);
	cf_stream_wait(&l->a);
	cf_stream_wait(&l->b);
}

static void open_all(void)
{
	if (streams) {
		for (int i = 0; i < 4; i++)
			open_stream();
		return;
	}
	for (int i = 0; i < 2; i++) {
		open_lane(RC);
		open_lane(UC);
		open_lane(UD);
		open_lane(XRC);
	}
}

static void run(uint64_t until)
{
	bool busy = true;

	while (busy) {
		bool more = cf_ns() < until;

		busy = more;
		for (int i = 0; i < n_lanes; i++)
			busy |= lanes[i].kind < UC ? step_reliable(&lanes[i], more) : step_unreliable(&lanes[i], more);
	}
}

static void report(void)
{
	for (int k = 0; k < KINDS; k++) {
		uint64_t sent = 0, got = 0, bytes = 0, displaced = 0, failed = 0;

		for (int i = 0; i < n_lanes; i++)
			if (lanes[i].kind == (enum kind)k) {
				sent += lanes[i].sent;
				got += lanes[i].got;
				bytes += lanes[i].bytes;
				displaced += lanes[i].displaced;
				failed += lanes[i].failed;
				CF_TRUE(lanes[i].sent && (k < UC || lanes[i].got > lanes[i].sent / 2));
			}
		if (k >= UC && sent)
			printf("%s: %" PRIu64 " messages, %" PRIu64 " arrived, %" PRIu64 " of them not in turn, %" PRIu64 " bytes\n",
			       names[k], sent, got, displaced, bytes);
		else if (sent)
			printf("%s: %" PRIu64 " operations, %" PRIu64 " bytes, %" PRIu64 " queue pairs out of tries\n", names[k], sent,
			       bytes, failed);
		if (failed * PER_FAILURE > sent + PER_FAILURE)
			CF_DIE("%s: more queue pairs have failed than the faults explain", names[k]);
		if (k >= UC && sent && !displaced)
			CF_DIE("%s: no message was lost, doubled or late: the faults are not in the way", names[k]);
	}
	if (streams)
		weather_tun_report();
}

static void weather(void)
{
	const char *faults = getenv("DAPPLE_FAULT"), *device = getenv("CONFORM_DEVICE");

	if (!faults || !*faults)
		CF_DIE("DAPPLE_FAULT is not set: there is no weather");
	rng.state = sp_seed("transfers of all kinds");
	streams = device && strstr(device, "_iw_");
	if (streams)
		weather_tun_open(faults);
	open_all();
	run(cf_ns() + (cf.seconds ? cf.seconds : 3) * 1000000000ull);
	report();
}

const struct cf_check cf_checks[] = {
	{ "+", "all kinds of transfers in bad weather", 0, weather },
	{ 0 },
};

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How iWARP streams end: at every octet, by FIN or reset; with every octet damaged; by RESET, ERR,
 * SQD, destruction, overrun; with a socket that is full. Every request ends once, every owner gets
 * one event.
 */
#include "engine/mr.h"
#include "engine/qp_state.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/iwworld.h"
#include "util/clock.h"
#include "util/heap.h"

static struct iw_world *w;
static struct iw_end a, b;

/* The test sets the fault of an octet between these: the first message leaves in the second. */
static void prepare(int from)
{
	w = iw_open(21, 0);
	w->net.from = from;
}

static void join(const struct iw_options *o)
{
	iw_pair(w, &a, &b, o, 65536);
}

static void begin(const struct iw_options *o)
{
	prepare(0);
	join(o);
}

static void end(void)
{
	iw_end_close(&a);
	iw_end_close(&b);
	iw_close(w);
}

static void send(struct iw_end *e, uint64_t id, uint32_t len)
{
	CHECK(iw_post(e, &(struct iw_op){ .code = IBV_WR_SEND, .id = id, .len = len }) == 0);
}

static int modify(struct iw_end *e, enum ibv_qp_state to)
{
	struct ibv_qp_attr at = { .qp_state = to, .port_num = 1,
				  .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	return eng_qp_modify(e->qp, &at, IBV_QP_STATE | (to == IBV_QPS_INIT ?
			     IBV_QP_PORT | IBV_QP_ACCESS_FLAGS : 0));
}

/* --- a short exchange of everything, and its book-keeping --- */

enum { WORK = 8 };

struct book {
	int sent[2][WORK], received[2][WORK];
	int good;
};

static void exchange(void)
{
	struct iw_end *e[2] = { &a, &b };

	for (int i = 0; i < 2; i++)
		for (uint64_t k = 0; k < WORK; k++)
			CHECK(iw_recv(e[i], k, 32768 + 512 * k, 256) == 0);
	for (int i = 0; i < 2; i++)
		for (uint64_t k = 0; k < WORK; k++) {
			static const enum ibv_wr_opcode codes[] = {
				IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
				IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_ATOMIC_FETCH_AND_ADD,
			};
			struct iw_op o = { .code = codes[k % 5], .id = k, .at = 4096 + 64 * k,
					   .len = k % 5 == 4 ? 8 : 13, .rkey = e[!i]->mr->key,
					   .remote = iw_at(e[!i], 8192 + 64 * k) };

			CHECK(iw_post(e[i], &o) == 0);
		}
}

static void note(struct eng_cq *cq, int *count, int *good)
{
	struct ibv_wc wc;

	while (eng_cq_poll(cq, 1, &wc) == 1) {
		CHECK(wc.wr_id < WORK);
		CHECK_MSG(++count[wc.wr_id] == 1, "request %llu ended twice",
			  (unsigned long long)wc.wr_id);
		*good += wc.status == IBV_WC_SUCCESS;
	}
}

static void keep_book(struct book *x)
{
	struct iw_end *e[2] = { &a, &b };

	memset(x, 0, sizeof(*x));
	for (int i = 0; i < 2; i++) {
		note(e[i]->scq, x->sent[i], &x->good);
		note(e[i]->rcq, x->received[i], &x->good);
	}
}

/* The stream is over at both ends and all requests with it. */
static void all_over(struct book *x)
{
	keep_book(x);
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < WORK; k++)
			CHECK_MSG(x->sent[i][k] == 1 && x->received[i][k] == 1, "end %d, request %d: %d, %d",
				  i, k, x->sent[i][k], x->received[i][k]);
	CHECK(a.ended == 1 && b.ended == 1);
	CHECK(iw_state(&a) == IBV_QPS_ERR && iw_state(&b) == IBV_QPS_ERR);
}

static size_t length_of_exchange(const struct iw_options *o, int from)
{
	struct book x;
	size_t n;

	prepare(from);
	join(o);
	exchange();
	iw_run(w);
	keep_book(&x);
	CHECK(x.good == 2 * WORK + 2 * 3); /* two Sends and immediate data, each way */
	n = w->net.passed;
	end();
	return n;
}

static void cut_everywhere(void)
{
	for (int i = 0; i < 8; i++) {
		struct iw_options o = { .markers_a = i & 1, .markers_b = i & 1, .awaits_first = i & 2,
					.rtr = i & 2 ? PROTO_RTR_NONE : PROTO_RTR_READ };
		int from = i >> 2;
		size_t n = length_of_exchange(&o, from);

		for (size_t at = 1; at <= n; at++)
			for (int reset = 0; reset < 2; reset++) {
				struct book x;

				prepare(from);
				w->net.last = at;
				w->net.reset = reset;
				w->net.cut = at % 3;
				join(&o);
				exchange();
				iw_pass(w, 10 * UT_S);
				all_over(&x);
				end();
			}
	}
}

/* Only memory that the peer may write to can change. */
static void untouched(const struct iw_end *e)
{
	for (size_t i = 0; i < 4096; i++)
		CHECK(e->mem[i] == 0xcc && e->mem[16384 + i] == 0xcc);
}

static void damage_everywhere(void)
{
	for (int i = 0; i < 8; i++) {
		struct iw_options o = { .markers_a = i & 1, .markers_b = i & 1, .no_crc = i & 2 };
		int from = i >> 2;
		size_t n = length_of_exchange(&o, from);

		for (size_t at = 1; at <= n; at++)
			for (int bit = 0; bit < 8; bit += 1 + !(i & 2)) {
				struct book x;

				prepare(from);
				w->net.harmed = at;
				w->net.harm = (uint8_t)(1 << bit);
				join(&o);
				memset(a.mem, 0xcc, a.mem_len);
				memset(b.mem, 0xcc, b.mem_len);
				exchange();
				iw_pass(w, 10 * UT_S);
				if (!o.no_crc && !(a.ended || b.ended)) /* the length: more is awaited */
					pipe_end(pipe_of(from ? b.s : a.s), false);
				if (o.no_crc && a.ended + b.ended < 2 && !pipe_of(a.s)->dead)
					pipe_end(pipe_of(a.s), true);
				if (!b.ended)
					pipe_of(b.s)->fin = true;
				if (!a.ended)
					pipe_of(a.s)->fin = true;
				iw_pass(w, 10 * UT_S);
				CHECK(a.ended == 1 && b.ended == 1);
				if (!o.no_crc)
					all_over(&x);
				untouched(&a);
				untouched(&b);
				end();
			}
	}
}

/* --- the application ends it --- */

static void reset_with_stream(void)
{
	struct iw_options o = { 0 };
	struct link_stream *sa, *sb;

	begin(&o);
	CHECK(iw_recv(&a, 1, 0, 64) == 0);
	send(&b, 1, 64);
	iw_wc(&a, a.rcq, 1, IBV_WC_SUCCESS);
	CHECK(iw_recv(&a, 2, 0, 4096) == 0);
	pipe_of(a.s)->room = 10;
	send(&a, 3, 100);
	iw_run(w);
	/* Half a message lies in receive 2. */
	w->net.mss = 1448;
	CHECK(iw_recv(&b, 9, 0, 4096) == 0);
	pipe_of(b.s)->room = 2000;
	send(&b, 4, 4096);
	iw_run(w);
	CHECK(modify(&a, IBV_QPS_RESET) == 0);
	CHECK_MSG(iw_state(&a) == IBV_QPS_RESET, "state %d", iw_state(&a));
	iw_no_wc(&a, a.scq);
	iw_no_wc(&a, a.rcq);
	iw_event(a.h, -1);
	iw_ended(&a, 0);
	iw_wc(&b, b.scq, 1, IBV_WC_SUCCESS);
	iw_wc(&b, b.scq, 4, IBV_WC_WR_FLUSH_ERR);
	iw_wc(&b, b.rcq, 9, IBV_WC_WR_FLUSH_ERR);
	/* And again. */
	CHECK(modify(&b, IBV_QPS_RESET) == 0);
	CHECK(modify(&a, IBV_QPS_INIT) == 0 && modify(&b, IBV_QPS_INIT) == 0);
	pipe_pair(a.h->place, b.h->place, &sa, &sb);
	iw_end_attach(&a, sa, &o, true);
	iw_end_attach(&b, sb, &o, false);
	CHECK(iw_recv(&b, 5, 0, 64) == 0);
	send(&a, 6, 7);
	iw_wc(&a, a.scq, 6, IBV_WC_SUCCESS);
	iw_wc(&b, b.rcq, 5, IBV_WC_SUCCESS);
	end();
}

static void destroyed_with_data(void)
{
	struct iw_options o = { 0 };

	begin(&o);
	w->net.lazy = 990;
	for (uint64_t i = 0; i < 20; i++)
		CHECK(iw_recv(&b, i, 1024 * i, 1024) == 0);
	for (uint64_t i = 0; i < 20; i++)
		send(&a, i, 1000);
	for (uint64_t done = 0; done < 20;) { /* TCP has them, the peer may not */
		struct ibv_wc wc;

		ut_lock(&a.h->dev.lock);
		a.h->dev.ops->progress(&a.h->dev);
		ut_unlock(&a.h->dev.lock);
		done += (uint64_t)eng_cq_poll(a.scq, 1, &wc);
	}
	iw_end_destroy_qp(&a);
	CHECK(a.ended == 1);
	for (uint64_t i = 0; i < 20; i++)
		iw_wc(&b, b.rcq, i, IBV_WC_SUCCESS);
	iw_ended(&b, 0);
	end();
}

static void moved_to_error(void)
{
	struct iw_options o = { 0 };

	begin(&o);
	CHECK(iw_recv(&a, 2, 0, 64) == 0);
	pipe_of(a.s)->room = 10;
	send(&a, 3, 100);
	send(&a, 4, 100);
	iw_no_wc(&a, a.scq);
	CHECK(modify(&a, IBV_QPS_ERR) == 0);
	iw_wc(&a, a.scq, 3, IBV_WC_WR_FLUSH_ERR);
	iw_wc(&a, a.scq, 4, IBV_WC_WR_FLUSH_ERR);
	iw_wc(&a, a.rcq, 2, IBV_WC_WR_FLUSH_ERR);
	iw_ended(&a, 0);
	iw_ended(&b, 0);
	iw_event(a.h, -1);
	iw_event(b.h, -1);
	send(&a, 5, 1);
	iw_wc(&a, a.scq, 5, IBV_WC_WR_FLUSH_ERR);
	end();
}

/* Requests posted before are sent; both ends get a clean end, however long the stream was idle. */
static void left_gracefully(void)
{
	for (int how = 0; how < 2; how++)
		for (int idle = 0; idle < 2; idle++) {
			struct iw_options o = { 0 };

			begin(&o);
			iw_run(w);
			w->now += idle ? 100 * UT_S : 0;
			for (uint64_t i = 0; i < 3; i++)
				CHECK(iw_recv(&b, i, 1024 * i, 1024) == 0);
			pipe_of(a.s)->room = 0;
			for (uint64_t i = 0; i < 3; i++)
				send(&a, i, 1000);
			w->now += idle ? 100 * UT_S : 0;
			if (how) {
				CHECK(modify(&a, IBV_QPS_SQD) == 0);
			} else {
				ut_lock(&a.h->dev.lock);
				CHECK(iwp_stream_ops.disconnect(a.qp) == 0);
				eng_dev_unlock(&a.h->dev);
			}
			CHECK(iw_state(&a) == IBV_QPS_SQD);
			send(&a, 7, 10); /* too late */
			iw_run(w);
			CHECK_MSG(!a.ended, "over before anything was sent");
			pipe_of(a.s)->room = SIZE_MAX;
			for (uint64_t i = 0; i < 3; i++)
				iw_wc(&a, a.scq, i, IBV_WC_SUCCESS);
			for (uint64_t i = 0; i < 3; i++)
				iw_wc(&b, b.rcq, i, IBV_WC_SUCCESS);
			iw_wc(&a, a.scq, 7, IBV_WC_WR_FLUSH_ERR);
			iw_ended(&a, 0);
			iw_ended(&b, 0);
			iw_event(a.h, -1);
			iw_event(b.h, -1);
			CHECK(iw_state(&a) == IBV_QPS_ERR && iw_state(&b) == IBV_QPS_ERR);
			end();
		}
}

/* The wait for a peer that takes nothing, or never closes, is limited. */
static void leaving_is_bounded(void)
{
	for (int full = 0; full < 2; full++) {
		struct iw_options o = { 0 };
		struct pipe_stream *peer;

		w = iw_open(21, 0);
		peer = iw_solo(w, &a, &o, 65536);
		w->now += 100 * UT_S;
		if (full)
			pipe_of(a.s)->room = 0;
		send(&a, 1, 100);
		CHECK(modify(&a, IBV_QPS_SQD) == 0);
		iw_pass(w, 4900 * UT_MS);
		CHECK(!a.ended);
		iw_pass(w, 200 * UT_MS);
		iw_ended(&a, 0);
		iw_wc(&a, a.scq, 1, full ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
		CHECK(peer->fin);
		iw_end_close(&a);
		iw_close(w);
	}
}

/* --- overrun --- */

static void receives_overrun(void)
{
	struct iw_options o = { .cqe = 2 };

	begin(&o);
	for (uint64_t i = 0; i < 6; i++)
		CHECK(iw_recv(&b, i, 64 * i, 64) == 0);
	for (uint64_t i = 0; i < 2; i++)
		send(&a, i, 10);
	for (uint64_t i = 0; i < 2; i++)
		iw_wc(&a, a.scq, i, IBV_WC_SUCCESS);
	send(&a, 2, 10);
	send(&a, 3, 10);
	iw_ended(&b, ECONNABORTED);
	CHECK(iw_state(&b) == IBV_QPS_ERR);
	iw_event(b.h, IBV_EVENT_CQ_ERR);
	iw_event(b.h, IBV_EVENT_QP_FATAL);
	iw_event(b.h, -1);
	iw_ended(&a, ECONNABORTED);
	iw_event(a.h, IBV_EVENT_QP_FATAL);
	end();
}

static void sends_overrun(void)
{
	struct iw_options o = { .cqe = 2 };

	begin(&o);
	for (uint64_t i = 0; i < 6; i++)
		CHECK(iw_recv(&b, i, 64 * i, 64) == 0);
	for (uint64_t i = 0; i < 4; i++)
		CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_RDMA_WRITE, .id = i, .len = 8,
						   .rkey = b.mr->key, .remote = iw_at(&b, 0) }) == 0);
	iw_ended(&a, ECONNABORTED);
	iw_event(a.h, IBV_EVENT_CQ_ERR);
	iw_event(a.h, IBV_EVENT_QP_FATAL);
	iw_event(a.h, -1);
	iw_ended(&b, ECONNABORTED);
	end();
}

/* --- a full socket --- */

static void terminate_waits(void)
{
	for (int stays = 0; stays < 2; stays++) {
		struct iw_options o = { .initiator_b = true };
		struct pipe_stream *peer;

		w = iw_open(21, 0);
		peer = iw_solo(w, &a, &o, 65536);
		pipe_of(a.s)->room = 30;
		send(&a, 1, 100);
		iw_run(w);
		w->now += 50 * UT_S;
		iw_put(peer, "4143 00000000 00000000 00000001 00000000 01"); /* no receive */
		iw_wc(&a, a.scq, 1, IBV_WC_WR_FLUSH_ERR);
		iw_ended(&a, ECONNABORTED);
		CHECK(peer->in_len == 30 && !peer->fin);
		if (stays) {
			iw_pass(w, 1100 * UT_MS);
			CHECK(peer->error == ECONNRESET);
		} else {
			iw_pass(w, 900 * UT_MS);
			CHECK(!peer->fin);
			pipe_of(a.s)->room = SIZE_MAX;
			iw_run(w);
			CHECK(peer->fin && !peer->error);
			/* The Send first, whole, then the Terminate. */
			CHECK(peer->in_len == 128 - 4 + 48 && peer->in[124 + 3] == 0x47);
		}
		iw_end_close(&a);
		iw_close(w);
	}
}

/* A byte of room at a time. */
static void trickle(void)
{
	struct iw_options o = { .markers_a = true };
	struct ibv_wc wc;
	int done = 0;

	begin(&o);
	memset(a.mem, 0x5a, 5000);
	CHECK(iw_recv(&b, 1, 0, 8192) == 0);
	pipe_of(a.s)->room = 0;
	send(&a, 1, 5000);
	for (int i = 0; i < 20000 && !done; i++) {
		pipe_of(a.s)->room = 1;
		iw_run(w);
		done = eng_cq_poll(a.scq, 1, &wc);
	}
	CHECK(done == 1 && wc.status == IBV_WC_SUCCESS);
	CHECK(iw_wc(&b, b.rcq, 1, IBV_WC_SUCCESS).byte_len == 5000);
	CHECK(!memcmp(a.mem, b.mem, 5000));
	end();
}

/* --- which end sends first --- */

static void held_back(void)
{
	struct iw_options o = { .awaits_first = true, .initiator_b = true };
	struct pipe_stream *peer;
	static const uint8_t reply[20];

	/* A silent peer: its host's acknowledgement and some time must do. */
	w = iw_open(21, 0);
	peer = iw_solo(w, &a, &o, 65536);
	pipe_put(peer->mate, reply, 20); /* not yet acknowledged */
	send(&a, 1, 8);
	iw_pass(w, 100 * UT_MS);
	CHECK(peer->in_len == 20);
	peer->in_len = 0;
	iw_pass(w, 45 * UT_MS);
	CHECK(peer->in_len == 0);
	iw_pass(w, 10 * UT_MS);
	CHECK(peer->in_len == 32);
	iw_end_close(&a);
	iw_close(w);

	/* One that sends. */
	w = iw_open(21, 0);
	peer = iw_solo(w, &a, &o, 65536);
	pipe_put(peer->mate, reply, 20);
	send(&a, 1, 8);
	iw_run(w);
	CHECK(peer->in_len == 20 && a.ready == 0);
	iw_put(peer, "c140 00000001 0000000000000000");
	iw_run(w);
	CHECK(peer->in_len == 52 && a.ready == 1);
	iw_end_close(&a);
	iw_close(w);

	/* One that announced its message is waited for. */
	o.rtr = PROTO_RTR_WRITE;
	w = iw_open(21, 0);
	peer = iw_solo(w, &a, &o, 65536);
	send(&a, 1, 8);
	iw_pass(w, 100 * UT_S);
	CHECK(peer->in_len == 0);
	iw_put(peer, "c140 00000001 0000000000000000");
	iw_run(w);
	CHECK(peer->in_len == 32 && a.ready == 1);
	iw_end_close(&a);
	iw_close(w);
}

/* siw may overlook the first message: it is sent again to a peer that sends nothing. */
static void nudged(void)
{
	struct iw_options o = { .rtr = PROTO_RTR_WRITE };
	static const char word[] = "c140 00000001 0000000000000000";
	struct pipe_stream *peer;

	w = iw_open(21, 0);
	peer = iw_solo(w, &a, &o, 65536);
	iw_run(w);
	iw_got(peer, word);
	iw_pass(w, 9 * UT_MS);
	CHECK(peer->in_len == 0);
	iw_pass(w, 2 * UT_MS);
	iw_got(peer, word);
	iw_pass(w, 40 * UT_MS);
	iw_got(peer, word);
	iw_put(peer, word); /* it has received ours */
	iw_pass(w, 100 * UT_S);
	CHECK(peer->in_len == 0);
	iw_end_close(&a);
	iw_close(w);

	/* Without such a message the first one that was sent may be overlooked. */
	o.rtr = PROTO_RTR_NONE;
	w = iw_open(21, 0);
	peer = iw_solo(w, &a, &o, 65536);
	iw_pass(w, 100 * UT_S);
	CHECK(peer->in_len == 0);
	send(&a, 1, 8);
	iw_run(w);
	CHECK(peer->in_len == 32);
	peer->in_len = 0;
	iw_pass(w, 11 * UT_MS);
	iw_got(peer, word);
	iw_put(peer, word);
	iw_pass(w, 100 * UT_S);
	CHECK(peer->in_len == 0);
	iw_end_close(&a);
	iw_close(w);

	/* Not for ever, and not to one that takes another kind of first message. */
	for (o.rtr = PROTO_RTR_NONE; o.rtr <= PROTO_RTR_SEND; o.rtr++) {
		w = iw_open(21, 0);
		peer = iw_solo(w, &a, &o, 65536);
		iw_run(w);
		peer->in_len = 0;
		iw_pass(w, 100 * UT_S);
		CHECK(peer->in_len == (o.rtr == PROTO_RTR_WRITE ? 5 * 20 : 0));
		iw_end_close(&a);
		iw_close(w);
	}
}

/* A peer process on a local stream overlooks nothing: not a word more, and no wait before the end. */
static void local_not_nudged(void)
{
	struct iw_options o = { .rtr = PROTO_RTR_WRITE, .local = true };
	struct pipe_stream *peer;

	w = iw_open(21, 0);
	peer = iw_solo(w, &a, &o, 65536);
	iw_run(w);
	iw_got(peer, "c140 00000001 0000000000000000");
	iw_pass(w, 100 * UT_S);
	CHECK(peer->in_len == 0);
	CHECK(modify(&a, IBV_QPS_SQD) == 0);
	iw_pass(w, UT_MS);
	CHECK(peer->in_len == 0 && peer->fin);
	iw_pass(w, 10 * UT_S);
	iw_ended(&a, 0);
	iw_end_close(&a);
	iw_close(w);
}

/* One that leaves at once says it again before FIN; one that was heard needs not. */
static void nudged_leaving(void)
{
	for (int heard = 0; heard < 2; heard++) {
		struct iw_options o = { .rtr = PROTO_RTR_WRITE };
		struct pipe_stream *peer;

		w = iw_open(21, 0);
		peer = iw_solo(w, &a, &o, 65536);
		iw_run(w);
		iw_got(peer, "c140 00000001 0000000000000000");
		if (heard)
			iw_put(peer, "c140 00000001 0000000000000000");
		iw_run(w);
		CHECK(modify(&a, IBV_QPS_SQD) == 0);
		iw_pass(w, 9 * UT_MS);
		CHECK(peer->in_len == 0 && peer->fin == heard);
		iw_pass(w, 2 * UT_MS);
		CHECK(peer->in_len == (heard ? 0 : 20) && peer->fin);
		iw_pass(w, 10 * UT_S);
		iw_ended(&a, 0);
		iw_end_close(&a);
		iw_close(w);
	}
}

/* Never inside another message: siw takes one open tagged message only. */
static void nudged_between(void)
{
	struct iw_options o = { .rtr = PROTO_RTR_WRITE };
	struct pipe_stream *peer;
	size_t had;

	w = iw_open(21, 0);
	peer = iw_solo(w, &a, &o, 65536);
	iw_run(w);
	pipe_of(a.s)->room = 2000;
	send(&a, 1, 5000);
	iw_run(w);
	had = peer->in_len;
	iw_pass(w, 500 * UT_MS);
	CHECK(had > 20 && peer->in_len == had);
	pipe_of(a.s)->room = 65536;
	iw_pass(w, UT_MS);
	had = peer->in_len;
	iw_pass(w, 2 * UT_S);
	CHECK(peer->in_len == had + 20);
	iw_end_close(&a);
	iw_close(w);
}

/* Nothing is sent before the announced message, not even on leaving; without work FIN is all. */
static void held_back_leaving(void)
{
	for (int work = 0; work < 2; work++) {
		struct iw_options o = { .rtr = PROTO_RTR_READ, .initiator_b = true };
		struct pipe_stream *peer;

		w = iw_open(21, 0);
		peer = iw_solo(w, &a, &o, 65536);
		if (work)
			send(&a, 1, 8);
		CHECK(modify(&a, IBV_QPS_SQD) == 0);
		iw_pass(w, 4 * UT_S);
		CHECK(peer->in_len == 0 && peer->fin == !work);
		iw_pass(w, 2 * UT_S);
		CHECK(peer->in_len == 0 && peer->fin);
		iw_ended(&a, 0);
		if (work)
			iw_wc(&a, a.scq, 1, IBV_WC_WR_FLUSH_ERR);
		iw_end_close(&a);
		iw_close(w);
	}
}

/* --- odds and ends --- */

static void manager_terminates(void)
{
	for (uint8_t code = 5; code <= 7; code++) {
		struct iw_options o = { 0 };
		struct pipe_stream *peer;
		char hex[100];

		w = iw_open(21, 0);
		peer = iw_solo(w, &a, &o, 65536);
		ut_lock(&a.h->dev.lock);
		iwp_stream_ops.terminate(a.qp, code);
		ut_unlock(&a.h->dev.lock);
		iw_run(w);
		sprintf(hex, "4147 00000000 00000002 00000001 00000000 20%02x 0000", code);
		iw_got(peer, hex);
		iw_event(a.h, IBV_EVENT_QP_FATAL);
		CHECK(peer->fin && a.ended == 1);
		iw_end_close(&a);
		iw_close(w);
	}
}

static void depth_is_agreed(void)
{
	struct iw_options o = { .ord = 3, .ird = 5 };
	struct ibv_qp_attr at = { .max_rd_atomic = 0, .max_dest_rd_atomic = 9 }, now;

	begin(&o);
	CHECK(eng_qp_modify(a.qp, &at, IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC) == 0);
	CHECK(eng_qp_query(a.qp, &now, 0) == 0);
	CHECK(now.max_rd_atomic == 3 && now.max_dest_rd_atomic == 5);
	CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_RDMA_READ, .id = 1, .len = 8,
					   .rkey = b.mr->key, .remote = iw_at(&b, 0) }) == 0);
	iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
	end();
}

static void disowned(void)
{
	struct iw_options o = { 0 };

	begin(&o);
	ut_lock(&a.h->dev.lock);
	iwp_stream_ops.disown(a.qp);
	ut_unlock(&a.h->dev.lock);
	CHECK(modify(&b, IBV_QPS_ERR) == 0);
	iw_run(w);
	CHECK(!a.ended && iw_state(&a) == IBV_QPS_ERR);
	end();
}

/* A receive that half a message has taken is flushed before the rest. */
static void half_a_message(void)
{
	for (int how = 0; how < 3; how++) {
		struct iw_options o = { 0 };

		begin(&o);
		CHECK(iw_recv(&b, 1, 0, 8192) == 0 && iw_recv(&b, 2, 0, 64) == 0);
		pipe_of(a.s)->room = 3000;
		send(&a, 1, 8000);
		iw_run(w);
		if (how == 0)
			iw_end_destroy_qp(&a);
		if (how == 1)
			CHECK(modify(&b, IBV_QPS_ERR) == 0);
		if (how == 2)
			pipe_end(pipe_of(a.s), true);
		iw_wc(&b, b.rcq, 1, IBV_WC_WR_FLUSH_ERR);
		iw_wc(&b, b.rcq, 2, IBV_WC_WR_FLUSH_ERR);
		iw_no_wc(&b, b.rcq);
		if (how == 2)
			pipe_of(a.s)->fin = true;
		iw_run(w);
		end();
	}
}

/* Nothing lands once a region is gone, though its message has begun. */
static void region_goes(void)
{
	struct iw_options o = { 0 };
	struct eng_mr_spec s;
	struct eng_mkey *mr;

	begin(&o);
	s = (struct eng_mr_spec){ .addr = iw_at(&b, 8192), .iova = iw_at(&b, 8192), .length = 8192,
				  .access = 7 };
	CHECK(eng_mr_reg(b.h->pd, &s, &mr) == 0);
	memset(a.mem, 1, 8192);
	pipe_of(a.s)->room = 3000;
	CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_RDMA_WRITE, .id = 1, .len = 8192,
					   .rkey = mr->key, .remote = s.iova }) == 0);
	iw_run(w);
	CHECK(b.mem[8192] == 1);
	memset(b.mem + 8192, 2, 8192);
	CHECK(eng_mr_dereg(mr) == 0);
	pipe_of(a.s)->room = SIZE_MAX;
	iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS); /* TCP has it */
	iw_event(b.h, IBV_EVENT_QP_ACCESS_ERR);
	iw_event(a.h, IBV_EVENT_QP_FATAL);
	for (int i = 0; i < 8192; i++)
		CHECK(b.mem[8192 + i] == 2);
	end();
}

/* A connection with a lot to say does not keep another one waiting. */
static void fair(void)
{
	struct iw_options o = { 0 };
	struct iw_end c, d;
	struct ibv_wc wc;
	int rounds = 0;

	w = iw_open(21, 0);
	iw_pair(w, &a, &b, &o, 64u << 20);
	iw_pair(w, &c, &d, &o, 4096);
	w->net.window = 128 << 10;
	CHECK(iw_recv(&d, 1, 0, 8) == 0);
	CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_RDMA_WRITE, .id = 1, .len = 64u << 20,
					   .rkey = b.mr->key, .remote = iw_at(&b, 0) }) == 0);
	send(&c, 2, 8);
	while (eng_cq_poll(d.rcq, 1, &wc) == 0) {
		for (int i = 0; i < 2; i++) {
			ut_lock(&w->h[i].dev.lock);
			w->h[i].dev.ops->progress(&w->h[i].dev);
			ut_unlock(&w->h[i].dev.lock);
		}
		CHECK(++rounds < 5);
	}
	iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
	iw_end_close(&c);
	iw_end_close(&d);
	end();
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "-", "cut at every octet", cut_everywhere },
		{ "-", "every octet damaged", damage_everywhere },
		{ "-", "RESET", reset_with_stream },
		{ "-", "destroyed with data under way", destroyed_with_data },
		{ "-", "ERR", moved_to_error },
		{ "-", "a graceful end", left_gracefully },
		{ "-", "a graceful end is bounded", leaving_is_bounded },
		{ "-", "completions of receives overrun", receives_overrun },
		{ "-", "completions of sends overrun", sends_overrun },
		{ "-", "a Terminate waits for room", terminate_waits },
		{ "-", "room for one octet", trickle },
		{ "-", "the responder waits", held_back },
		{ "-", "the responder waits and leaves", held_back_leaving },
		{ "-", "a silent peer is nudged", nudged },
		{ "-", "a silent peer is nudged before the end", nudged_leaving },
		{ "-", "a local peer is not nudged", local_not_nudged },
		{ "-", "a nudge never cuts a message", nudged_between },
		{ "-", "the manager terminates", manager_terminates },
		{ "-", "depth is agreed, not set", depth_is_agreed },
		{ "-", "disowned", disowned },
		{ "-", "half a message", half_a_message },
		{ "-", "a region goes", region_goes },
		{ "-", "fairness", fair },
	};

	return RUN_CASES(cases, argc, argv);
}

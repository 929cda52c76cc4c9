/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path is taken if nothing is slow, and each condition of proto/ib/slow.h alone closes it, in
 * both framings and both directions. soak.c holds the bits against the state after each round.
 */
#include "engine/pending.h"
#include "engine/qp_state.h"
#include "host/shm/ring.h"
#include "proto/ib/fast.h"
#include "proto/ib/post.h"
#include "proto/ib/requester.h"
#include "proto/ib/responder.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/engine.h"
#include "support/localnet.h"
#include "support/simhost.h"
#include "support/slow.h"
#include "util/clock.h"

#define LEN 8u
#define REQ_BITS 10
#define RESP_BITS 6
#define DEPTH 8 /* atomics in flight, as sim_qp_options has it */

static struct sim_world w;
static struct sim_end a, b;

static void settle(void)
{
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	sim_wc_is(&w, b.rcq, IBV_WC_SUCCESS);
	slow_check(a.qp);
	slow_check(b.qp);
}

/* The first Send of each direction chooses its framing. */
static void open_pair(bool local)
{
	sim_world_open(&w, &(struct sim_options){ .seed = 3, .messages = local });
	sim_pair(&a, &w.host[0], &b, &w.host[1], &(struct sim_qp_options){ 0 });
	sim_end_memory(&a, 4096);
	sim_end_memory(&b, 4096);
	CHECK(ibp_qp(a.qp)->conn.req.slow == IBP_REQ_UNCHOSEN);
	CHECK(ibp_qp(b.qp)->conn.resp.slow == IBP_RESP_UNCHOSEN);
	CHECK(sim_post_recv(&b, 1, b.mem, LEN) == 0);
	CHECK(sim_post(&a, &(struct sim_op){ .code = IBV_WR_SEND, .at = a.mem, .len = LEN }) == 0);
	settle();
	CHECK(ibp_qp(a.qp)->conn.req.slow == 0 && ibp_qp(b.qp)->conn.resp.slow == 0);
	CHECK(ibp_qp(a.qp)->conn.req.framing == (local ? &ibp_frame_shm : &ibp_frame_wire));
	CHECK(ibp_qp(b.qp)->conn.resp.framing == ibp_qp(a.qp)->conn.req.framing);
}

static void close_pair(void)
{
	sim_end_close(&a);
	sim_end_close(&b);
	sim_world_close(&w);
}

/* Posts while the progress lock is held, so that no round takes the requests. */
static void post_unsent(unsigned n)
{
	while (n--) {
		CHECK(sim_post_recv(&b, 1, b.mem, LEN) == 0);
		ut_lock(&a.h->dev.lock);
		CHECK(sim_post(&a, &(struct sim_op){ .code = IBV_WR_SEND, .at = a.mem, .len = LEN,
						     .flags = IBV_SEND_INLINE }) == 0);
		CHECK(eng_dev_pop_pending(&a.h->dev) == a.qp);
		ut_unlock(&a.h->dev.lock);
	}
}

static void local_post(void)
{
	struct ibp_qp *q;

	open_pair(true);
	q = ibp_qp(a.qp);
	post_unsent(1);
	ut_lock(&a.h->dev.lock);
	for (int i = 0; i < REQ_BITS; i++) {
		q->conn.req.slow = 1u << i;
		CHECK_MSG(!sim_post_fast(a.qp, false) && q->send.cur != a.qp->sq.tail, "bit %d", i);
	}
	q->conn.req.slow = 0;
	CHECK(sim_post_fast(a.qp, false) && q->send.cur == a.qp->sq.tail);
	ut_unlock(&a.h->dev.lock);
	settle();
	close_pair();
}

/* What ibp_post_now() needs besides: the lane, and a page that was reached lately. */
static void make_ready(struct ibp_qp *q)
{
	struct ibp_port *port = q->port;
	struct iovec iov = { a.mem, LEN };
	uint8_t to[LEN];

	q->conn.lane.epoch = port->chan->epoch;
	port->link->rx_stage->pages_checked_at = port->shm.stage.pages_checked_at = 1;
	CHECK(ut_stage_load_user(&port->shm.stage, to, &iov, 1) == LEN);
}

/* A Send straight from the work request: with any bit, and where another request waits, nothing happens. */
static void local_post_now(void)
{
	struct ibv_sge sge = { (uintptr_t)a.mem, LEN, 0 };
	struct ibv_send_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibp_qp *q;
	uint32_t tail, psn;

	open_pair(true);
	q = ibp_qp(a.qp);
	sge = (struct ibv_sge){ (uintptr_t)a.mem, LEN, a.mr->key };
	post_unsent(1);
	CHECK(sim_post_recv(&b, 1, b.mem, LEN) == 0);
	ut_lock(&a.h->dev.lock);
	CHECK(!a.qp->ready_ops && ibp_post_now(a.qp, &wr, PROTO_POST_SEND) == PROTO_NEEDS_ROUND);
	CHECK(sim_post_fast(a.qp, false) && a.qp->ready_ops);
	make_ready(q);
	tail = a.qp->sq.tail;
	psn = q->conn.req.psn_next;
	for (int i = 0; i < REQ_BITS; i++) {
		uint32_t ready = a.qp->ready_ops;

		q->conn.req.slow = 1u << i;
		CHECK_MSG(ibp_post_now(a.qp, &wr, PROTO_POST_SEND) == PROTO_NEEDS_ROUND && !a.qp->ready_ops, "bit %d", i);
		a.qp->ready_ops = ready;
	}
	q->conn.req.slow = 0;
	q->send.cur--; /* a request before it has not left */
	CHECK(ibp_post_now(a.qp, &wr, PROTO_POST_SEND) == PROTO_NEEDS_ROUND);
	q->send.cur++;
	sge.lkey ^= 0x100;
	CHECK(ibp_post_now(a.qp, &wr, PROTO_POST_SEND) == PROTO_NEEDS_ROUND);
	sge.lkey ^= 0x100;
	CHECK(a.qp->sq.tail == tail && q->conn.req.psn_next == psn && a.qp->ready_ops);
	CHECK(ibp_post_now(a.qp, &wr, PROTO_POST_SEND) == PROTO_SENT && a.qp->sq.tail == tail + 1 && q->send.cur == tail + 1);
	ut_unlock(&a.h->dev.lock);
	settle();
	settle();
	close_pair();
}

/* a polls without a round, and finds nothing in its rings; b says that it has executed so many lines that end where a's newest request does. */
static int poll_fast(struct ibp_qp *q, uint32_t lines)
{
	struct ibp_port *port = q->port;
	static struct shm_ring back;
	static struct shm_rx rx;
	uint32_t end = shm_lines(q->conn.req.ring_end);
	bool whole;

	back.extra = (end & SHM_EXECUTED_MASK) << SHM_EXECUTED_END | lines << SHM_EXECUTED_COUNT;
	rx = (struct shm_rx){ .ring = &back };
	q->conn.path.from = &rx;
	q->conn.path.from_epoch = port->chan->epoch;
	port->inlets = (struct shm_inlets){ .epoch = port->chan->epoch, .n = 1, .v[0] = { .ring = &rx, .from = &rx } };
	port->chan->held = false;
	port->chan->warm = SHM_CHAN_WARM;
	return ibp_fast_poll(&a.h->dev, &whole);
}

/* A Send completes as soon as the peer says that it was executed, before an acknowledgement comes; with any bit it waits for that. */
static void local_executed(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibp_port *port;
	struct ibp_qp *q;

	open_pair(true);
	q = ibp_qp(a.qp);
	port = q->port;
	sge = (struct ibv_sge){ (uintptr_t)a.mem, LEN, a.mr->key };
	post_unsent(1);
	ut_lock(&a.h->dev.lock);
	CHECK(sim_post_fast(a.qp, false));
	ut_unlock(&a.h->dev.lock);
	settle();
	for (int i = 0; i < 4; i++)
		CHECK(sim_post_recv(&b, 1, b.mem, LEN) == 0);
	ut_lock(&a.h->dev.lock);
	make_ready(q);
	CHECK(ibp_post_now(a.qp, &wr, PROTO_POST_SEND) == PROTO_SENT && port->awaited == q);
	CHECK(poll_fast(q, 0) == 0 && eng_cq_waiting(a.scq) == 0 && port->awaited == q);
	for (int i = 0; i < REQ_BITS; i++) {
		port->awaited = q;
		q->conn.req.slow = 1u << i;
		CHECK_MSG(poll_fast(q, 2) == 0 && eng_cq_waiting(a.scq) == 0 && !port->awaited, "bit %d", i);
	}
	q->conn.req.slow = 0;
	port->awaited = q;
	CHECK(poll_fast(q, 2) == 1 && eng_cq_waiting(a.scq) == 1 && !port->awaited && q->conn.req.psn_una == q->conn.req.psn_next);
	CHECK(poll_fast(q, 2) == 0 && eng_cq_waiting(a.scq) == 1);
	/* Not one without a completion, and not one of two that are on their way. */
	wr.send_flags = 0;
	CHECK(ibp_post_now(a.qp, &wr, PROTO_POST_SEND) == PROTO_SENT && !port->awaited);
	wr.send_flags = IBV_SEND_SIGNALED;
	CHECK(ibp_post_now(a.qp, &wr, PROTO_POST_SEND) == PROTO_SENT && !port->awaited);
	port->inlets = (struct shm_inlets){ 0 };
	q->conn.path.from = NULL;
	ut_unlock(&a.h->dev.lock);
	settle();
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	sim_wc_is(&w, b.rcq, IBV_WC_SUCCESS);
	sim_wc_is(&w, b.rcq, IBV_WC_SUCCESS);
	/* A queue pair that ends is not awaited any more. */
	ut_lock(&a.h->dev.lock);
	make_ready(q);
	CHECK(ibp_post_now(a.qp, &wr, PROTO_POST_SEND) == PROTO_SENT && port->awaited == q);
	ut_unlock(&a.h->dev.lock);
	CHECK(eng_qp_end(&a.h->dev, a.qp->qpn) == 0 && !port->awaited);
	close_pair();
}

/* The round of a poll takes as many messages as a poll without a round, which takes the next ones where the rings are known. */
static void round_of_a_poll(void)
{
	struct eng_poller poller = { 0 };
	struct ibp_port *port;
	bool more;

	open_pair(true);
	port = ibp_qp(b.qp)->port;
	w.host[1].stopped = true;
	for (unsigned i = 0; i < IBP_FAST_MESSAGES + 3; i++) {
		post_unsent(1);
		ut_lock(&a.h->dev.lock);
		CHECK(sim_post_fast(a.qp, false));
		ut_unlock(&a.h->dev.lock);
	}
	w.host[1].stopped = false;
	ut_lock(&b.h->dev.lock);
	b.h->dev.poller = &poller;
	port->inlets.epoch = port->chan->epoch;
	CHECK(ibp_poll_messages(&b.h->dev, 1, &more) == IBP_FAST_MESSAGES && !more);
	port->inlets.epoch = 0;
	CHECK(ibp_poll_messages(&b.h->dev, 1, &more) == 3 && more);
	b.h->dev.poller = NULL;
	ut_unlock(&b.h->dev.lock);
	for (unsigned i = 0; i < IBP_FAST_MESSAGES + 3; i++)
		settle();
	close_pair();
}

/* Another packet must open the train. */
static void wire_post(void)
{
	struct ibp_qp *q;

	open_pair(false);
	q = ibp_qp(a.qp);
	post_unsent(2);
	ut_lock(&a.h->dev.lock);
	ibp_req_run(q, 1);
	for (int i = 0; i < REQ_BITS; i++) {
		q->conn.req.slow = 1u << i;
		CHECK_MSG(!ibp_post_packets(q, 1) && q->send.cur + 1 == a.qp->sq.tail, "bit %d", i);
	}
	q->conn.req.slow = 0;
	CHECK(ibp_post_packets(q, 1) && q->send.cur == a.qp->sq.tail);
	ut_unlock(&a.h->dev.lock);
	settle();
	settle();
	close_pair();
}

static void local_receive(void)
{
	uint8_t bytes[SHM_CHANNEL_HEADER_BYTES + LEN] __attribute__((aligned(8))) = { 0 };
	struct shm_message m = { .data = bytes, .len = sizeof(bytes) };
	struct ibp_qp *q;

	open_pair(true);
	q = ibp_qp(b.qp);
	CHECK(sim_post_recv(&b, 1, b.mem, LEN) == 0);
	memcpy(m.src, a.h->addr, 16);
	memcpy(m.dst, b.h->addr, 16);
	ibp_header_put(bytes, (struct ibp_header){
		.opcode = WIRE_RC_SEND_ONLY, .unit = (uint8_t)__builtin_ctz(q->conn.resp.mtu),
		.psn = q->conn.resp.epsn, .dest_qpn = b.qp->qpn, .src_qpn = a.qp->qpn, .length = LEN });
	ut_lock(&b.h->dev.lock);
	for (int i = 0; i < RESP_BITS; i++) {
		q->conn.resp.slow = 1u << i;
		CHECK_MSG(ibp_fast_receive(&b.h->dev, &m, 1) == 0, "bit %d", i);
	}
	q->conn.resp.slow = 0;
	CHECK(ibp_fast_receive(&b.h->dev, &m, 1) == 1);
	ut_unlock(&b.h->dev.lock);
	sim_wc_is(&w, b.rcq, IBV_WC_SUCCESS);
	close_pair();
}

/* The ICRC is wrong, which only the fast path finds out here. */
static void wire_receive(void)
{
	uint8_t bytes[] = { WIRE_RC_SEND_ONLY, 0x40, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4 };
	struct link_rx rx = { .data = bytes, .len = sizeof(bytes), .sport = 0xc000 };
	struct ibp_qp *q;

	open_pair(false);
	q = ibp_qp(b.qp);
	q->conn.sport.known = rx.sport;
	for (int i = 0; i < 3; i++) {
		bytes[5 + i] = (uint8_t)(b.qp->qpn >> (16 - 8 * i));
		bytes[9 + i] = (uint8_t)(q->conn.resp.epsn >> (16 - 8 * i));
	}
	memcpy(rx.src, a.h->addr, 16);
	memcpy(rx.dst, b.h->addr, 16);
	ut_lock(&b.h->dev.lock);
	for (int i = 0; i < RESP_BITS; i++) {
		q->conn.resp.slow = 1u << i;
		CHECK_MSG(!ibp_fast_take_datagram(b.h->dev.proto_port, &rx), "bit %d", i);
	}
	q->conn.resp.slow = 0;
	CHECK(ibp_fast_take_datagram(b.h->dev.proto_port, &rx));
	ut_unlock(&b.h->dev.lock);
	CHECK(sim_counter(b.h, ENG_C_rx_icrc_errors) == 1);
	close_pair();
}

/* An acknowledgement is the requester's. */
static void local_ack(void)
{
	uint8_t bytes[SHM_CHANNEL_HEADER_BYTES] __attribute__((aligned(8))) = { 0 };
	struct shm_message m = { .data = bytes, .len = sizeof(bytes) };
	struct ibp_qp *q;

	open_pair(true);
	q = ibp_qp(a.qp);
	w.host[1].stopped = true;
	post_unsent(1);
	memcpy(m.src, b.h->addr, 16);
	memcpy(m.dst, a.h->addr, 16);
	ut_lock(&a.h->dev.lock);
	CHECK(sim_post_fast(a.qp, false));
	ibp_header_put(bytes, (struct ibp_header){
		.opcode = WIRE_RC_ACKNOWLEDGE, .unit = (uint8_t)__builtin_ctz(q->conn.req.mtu),
		.syndrome = WIRE_SYN_ACK, .psn = psn_add(q->conn.req.psn_next, IBP_PSN_MASK),
		.dest_qpn = a.qp->qpn, .src_qpn = b.qp->qpn });
	for (int i = 0; i < REQ_BITS; i++) {
		q->conn.req.slow = 1u << i;
		CHECK_MSG(ibp_fast_receive(&a.h->dev, &m, 1) == 0, "bit %d", i);
	}
	q->conn.req.slow = 0;
	CHECK(ibp_fast_receive(&a.h->dev, &m, 1) == 1);
	ut_unlock(&a.h->dev.lock);
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	close_pair();
}

/* --- atomics --- */

static uint64_t *target(void)
{
	return (uint64_t *)(b.mem + 64);
}

static void post_unsent_atomic(unsigned flags)
{
	const struct sim_op add = { .code = IBV_WR_ATOMIC_FETCH_AND_ADD, .at = a.mem, .len = 8, .remote = target(),
				    .rkey = b.mr->key, .add = 5, .flags = flags };

	ut_lock(&a.h->dev.lock);
	CHECK(sim_post(&a, &add) == 0);
	CHECK(eng_dev_pop_pending(&a.h->dev) == a.qp);
	ut_unlock(&a.h->dev.lock);
}

/* As many as the responder keeps answers for; the next one waits for an answer, and one with a fence for all. */
static void atomic_post(void)
{
	struct ibp_qp *q;

	open_pair(true);
	q = ibp_qp(a.qp);
	for (int i = 0; i <= DEPTH; i++)
		post_unsent_atomic(0);
	post_unsent_atomic(IBV_SEND_FENCE);
	ut_lock(&a.h->dev.lock);
	for (int i = 0; i < REQ_BITS; i++) {
		q->conn.req.slow = 1u << i;
		CHECK_MSG(!sim_post_fast(a.qp, false) && q->conn.req.rd_count == 0, "bit %d", i);
	}
	q->conn.req.slow = 0;
	CHECK(!sim_post_fast(a.qp, false) && q->conn.req.rd_count == DEPTH);
	CHECK(q->send.cur + 2 == a.qp->sq.tail);
	ut_unlock(&a.h->dev.lock);
	for (uint64_t i = 0; i < DEPTH + 2; i++)
		sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	CHECK(*(uint64_t *)a.mem == 5 * (DEPTH + 1) && *target() == 5 * (DEPTH + 2));
	CHECK(q->conn.req.rd_count == 0 && sim_counter(a.h, ENG_C_retransmits) == 0);
	slow_check(a.qp);
	close_pair();
}

static struct shm_message message(uint8_t *bytes, const struct sim_end *from, const struct sim_end *to,
				  struct ibp_header h, uint64_t first)
{
	struct shm_message m = { .data = bytes, .len = SHM_CHANNEL_HEADER_BYTES + 8 };

	h.dest_qpn = to->qp->qpn;
	h.src_qpn = from->qp->qpn;
	h.unit = (uint8_t)__builtin_ctz(ibp_qp(to->qp)->conn.resp.mtu);
	ibp_header_put(bytes, h);
	memcpy(bytes + SHM_CHANNEL_HEADER_BYTES, &first, sizeof(first));
	memcpy(m.src, from->h->addr, 16);
	memcpy(m.dst, to->h->addr, 16);
	return m;
}

static bool received(struct sim_end *e, const struct shm_message *m)
{
	bool yes;

	ut_lock(&e->h->dev.lock);
	yes = ibp_fast_receive(&e->h->dev, m, 1) == 1;
	ut_unlock(&e->h->dev.lock);
	return yes;
}

/* What the full rules refuse changes nothing. An answer that finds no room leaves later, and a request that comes
 * again is answered from memory. */
static void atomic_receive(void)
{
	uint8_t bytes[SHM_CHANNEL_HEADER_BYTES + 8] __attribute__((aligned(8))) = { 0 };
	struct ibp_header h = { .opcode = WIRE_RC_FETCH_ADD, .flags = IBP_HEADER_ASK };
	struct shm_message m;
	struct ibp_qp *q;

	open_pair(true);
	q = ibp_qp(b.qp);
	h.psn = q->conn.resp.epsn;
	h.va = (uintptr_t)target() + 4;
	h.rkey = b.mr->key;
	m = message(bytes, &a, &b, h, 3);
	CHECK(!received(&b, &m));
	h.va -= 4;
	h.rkey ^= 0x100;
	m = message(bytes, &a, &b, h, 3);
	CHECK(!received(&b, &m) && sim_counter(b.h, ENG_C_guessed_keys) == 0);
	h.rkey ^= 0x100;
	m = message(bytes, &a, &b, h, 3);
	m.len -= 1;
	CHECK(!received(&b, &m));
	m.len += 1;
	for (int i = 0; i < RESP_BITS; i++) {
		q->conn.resp.slow = 1u << i;
		CHECK_MSG(!received(&b, &m), "bit %d", i);
	}
	q->conn.resp.slow = 0;
	CHECK(*target() == 0 && q->conn.resp.epsn == h.psn);
	w.local->full = true;
	CHECK(received(&b, &m) && *target() == 3 && ibp_resp_has_work(q));
	w.local->full = false;
	sim_run(&w, UT_MS, NULL, NULL);
	CHECK(!ibp_resp_has_work(q) && q->conn.resp.epsn == psn_add(h.psn, 1));
	local_net_inject(w.local, 0, 1, bytes, bytes + SHM_CHANNEL_HEADER_BYTES, 8);
	sim_run(&w, UT_MS, NULL, NULL);
	CHECK(*target() == 3 && sim_counter(b.h, ENG_C_duplicate_request) == 1);
	h.psn = q->conn.resp.epsn;
	m = message(bytes, &a, &b, h, 4);
	CHECK(received(&b, &m) && *target() == 7 && !ibp_resp_has_work(q));
	close_pair();
}

/* The answer completes the Sends before it, and nothing but an atomic. */
static void atomic_answer(void)
{
	uint8_t bytes[SHM_CHANNEL_HEADER_BYTES + 8] __attribute__((aligned(8))) = { 0 };
	struct ibp_header h = { .opcode = WIRE_RC_ATOMIC_ACKNOWLEDGE, .syndrome = WIRE_SYN_ACK };
	struct shm_message m;
	struct ibp_qp *q;

	open_pair(true);
	q = ibp_qp(a.qp);
	w.host[1].stopped = true;
	post_unsent(1);
	post_unsent_atomic(0);
	h.psn = q->conn.req.psn_next;
	ut_lock(&a.h->dev.lock);
	CHECK(sim_post_fast(a.qp, false));
	ut_unlock(&a.h->dev.lock);
	m = message(bytes, &b, &a, h, 9);
	CHECK(!received(&a, &m)); /* to the Send: no atomic */
	h.psn = psn_add(h.psn, 2);
	m = message(bytes, &b, &a, h, 9);
	CHECK(!received(&a, &m)); /* to a request that has not left */
	h.psn = psn_add(h.psn, IBP_PSN_MASK);
	m = message(bytes, &b, &a, h, 9);
	for (int i = 0; i < REQ_BITS; i++) {
		q->conn.req.slow = 1u << i;
		CHECK_MSG(!received(&a, &m), "bit %d", i);
	}
	q->conn.req.slow = 0;
	CHECK(eng_cq_held(a.scq) == 0);
	CHECK(received(&a, &m) && *(uint64_t *)a.mem == 9 && q->conn.req.psn_una == q->conn.req.psn_next);
	CHECK(!received(&a, &m)); /* once */
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	CHECK(sim_wc_is(&w, a.scq, IBV_WC_SUCCESS).opcode == IBV_WC_FETCH_ADD);
	close_pair();
}

/* Changes of state: a drained queue is slow until RTS, and a queue pair in error for good. */
static void states(void)
{
	struct ibv_qp_attr to = { .qp_state = IBV_QPS_SQD };

	open_pair(true);
	CHECK(eng_qp_modify(a.qp, &to, IBV_QP_STATE) == 0);
	slow_check(a.qp);
	CHECK(ibp_qp(a.qp)->conn.req.slow == IBP_REQ_STATE);
	CHECK(ibp_qp(a.qp)->conn.resp.slow & IBP_RESP_STATE);
	to.qp_state = IBV_QPS_RTS;
	CHECK(eng_qp_modify(a.qp, &to, IBV_QP_STATE) == 0);
	slow_check(a.qp);
	CHECK(ibp_qp(a.qp)->conn.req.slow == 0);
	CHECK(eng_qp_end(&a.h->dev, a.qp->qpn) == 0);
	slow_check(a.qp);
	CHECK(ibp_qp(a.qp)->conn.req.slow & IBP_REQ_STATE);
	close_pair();
}

static const struct test_case cases[] = {
	{ "-", "posting through the ring", local_post },
	{ "-", "posting straight from the work request", local_post_now },
	{ "-", "completing what the peer has executed", local_executed },
	{ "-", "receiving in the round of a poll", round_of_a_poll },
	{ "-", "sending on the wire", wire_post },
	{ "-", "receiving from the ring", local_receive },
	{ "-", "receiving from the wire", wire_receive },
	{ "-", "acknowledged through the ring", local_ack },
	{ "-", "posting atomics through the ring", atomic_post },
	{ "-", "receiving atomics from the ring", atomic_receive },
	{ "-", "atomics answered through the ring", atomic_answer },
	{ "-", "states of the queue pair", states },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages between processes of one host (proto/ib/frame_shm.h): every operation at every size
 * comes out as on the wire, datagrams too; and forged messages change nothing.
 */
#include "engine/ah.h"
#include "engine/mr.h"
#include "engine/qp_state.h"
#include "proto/ib/frame_shm.h"
#include "proto/ib/port.h"
#include "proto/ib/post.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/engine.h"
#include "support/localnet.h"
#include "support/tape.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/rng.h"
#include "wire/grh.h"
#include "wire/ib_opcode.h"

#include <sys/mman.h>

#define MEMORY (8u << 20)
#define HALF (MEMORY / 2)

static struct sim_world w;
static struct sim_end a, b;

static void open_pair_with(const struct sim_qp_options *o, bool slots)
{
	static const struct sim_qp_options none;

	sim_world_open(&w, &(struct sim_options){ .seed = 7, .messages = true, .slots = slots });
	sim_pair(&a, &w.host[0], &b, &w.host[1], o ? o : &none);
	sim_end_memory(&a, MEMORY);
	sim_end_memory(&b, MEMORY);
}

static void open_pair(const struct sim_qp_options *o)
{
	open_pair_with(o, false);
}

/* No packet went by the wire, unless the test closed the local path. */
static void close_pair(void)
{
	struct sim_stats st;

	sim_net_stats(w.net, &st);
	CHECK_MSG(st.sent == 0, "%llu datagrams left", (unsigned long long)st.sent);
	sim_end_close(&a);
	sim_end_close(&b);
	sim_world_close(&w);
}

static void op(enum ibv_wr_opcode code, uint8_t *at, uint32_t len, uint8_t *remote, unsigned flags)
{
	CHECK(sim_post(&a, &(struct sim_op){ .code = code, .at = at, .len = len, .remote = remote,
					     .rkey = b.mr->key, .flags = flags, .imm = 77,
					     .id = 5 }) == 0);
}

static const uint32_t sizes[] = { 0, 1, 8, 63, 64, 65, 1000, 4095, 4096, 4097, 5000, 32768, 32769,
				  65536, 262143, 262144, 262145, 1048576, 3000001 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void a_send(uint32_t len, enum ibv_wr_opcode code, enum ibv_wc_opcode want)
{
	struct ibv_wc wc;

	pattern_fill(a.mem, len, len);
	memset(b.mem, 0, len + 1);
	CHECK(sim_post_recv(&b, 9, b.mem, want == IBV_WC_RECV ? HALF : 0) == 0);
	op(code, a.mem, len, b.mem, 0);
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	wc = sim_wc_is(&w, b.rcq, IBV_WC_SUCCESS);
	CHECK(wc.opcode == want && wc.byte_len == len && wc.wr_id == 9);
	if (code != IBV_WR_SEND)
		CHECK(wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == 77);
	CHECK(!memcmp(a.mem, b.mem, len) && !b.mem[len]);
}

static void a_write_and_read(uint32_t len)
{
	pattern_fill(a.mem, len, len + 1);
	memset(b.mem, 0, len + 1);
	op(IBV_WR_RDMA_WRITE, a.mem, len, b.mem, 0);
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	CHECK(!memcmp(a.mem, b.mem, len) && !b.mem[len]);
	memset(a.mem + HALF, 0, len + 1);
	op(IBV_WR_RDMA_READ, a.mem + HALF, len, b.mem, 0);
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	CHECK(!memcmp(a.mem + HALF, b.mem, len) && !a.mem[HALF + len]);
}

static void all_sizes(void)
{
	open_pair(NULL);
	for (size_t i = 0; i < SIZES; i++) {
		a_send(sizes[i], IBV_WR_SEND, IBV_WC_RECV);
		a_send(sizes[i], IBV_WR_SEND_WITH_IMM, IBV_WC_RECV);
		a_send(sizes[i], IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RECV_RDMA_WITH_IMM);
		a_write_and_read(sizes[i]);
	}
	CHECK(sim_counter(a.h, ENG_C_retransmits) == 0);
	close_pair();
}

static void atomics(void)
{
	uint64_t *word = (uint64_t *)b.mem, *old;

	open_pair(NULL);
	word = (uint64_t *)(b.mem + 64);
	old = (uint64_t *)a.mem;
	*word = 40;
	CHECK(sim_post(&a, &(struct sim_op){ .code = IBV_WR_ATOMIC_FETCH_AND_ADD, .at = old, .len = 8,
					     .remote = word, .rkey = b.mr->key, .add = 2 }) == 0);
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	CHECK(*word == 42 && *old == 40);
	CHECK(sim_post(&a, &(struct sim_op){ .code = IBV_WR_ATOMIC_CMP_AND_SWP, .at = old, .len = 8,
					     .remote = word, .rkey = b.mr->key, .add = 42,
					     .swap = 7 }) == 0);
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	CHECK(*word == 7 && *old == 42);
	close_pair();
}

/* A message that was posted before the way was known waits, and takes it then. */
static void asked_first(void)
{
	open_pair(NULL);
	w.local->asked_until = w.now + 5 * UT_MS;
	a.mem[0] = 9;
	op(IBV_WR_RDMA_WRITE, a.mem, 8, b.mem, 0);
	for (int i = 0; i < 100; i++)
		sim_round(&w);
	CHECK(b.mem[0] == 0);
	w.now = w.local->asked_until;
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	CHECK(b.mem[0] == 9);
	close_pair();
}

/* The same message counts as begun when the queue is drained meanwhile, requests behind it do not. */
static void drained_while_asked(void)
{
	struct ibv_qp_attr sqd = { .qp_state = IBV_QPS_SQD }, got;

	open_pair(NULL);
	w.local->asked_until = w.now + 5 * UT_MS;
	a.mem[0] = a.mem[8] = 9;
	op(IBV_WR_RDMA_WRITE, a.mem, 8, b.mem, 0);
	op(IBV_WR_RDMA_WRITE, a.mem + 8, 8, b.mem + 8, 0);
	sim_round(&w);
	CHECK(eng_qp_modify(a.qp, &sqd, IBV_QP_STATE) == 0);
	sim_round(&w);
	CHECK(eng_qp_query(a.qp, &got, 0) == 0 && got.sq_draining);
	w.now = w.local->asked_until;
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	CHECK(eng_qp_query(a.qp, &got, 0) == 0 && !got.sq_draining);
	CHECK(b.mem[0] == 9 && b.mem[8] == 0);
	close_pair();
}

/* A message without a receive comes again by the timer; later messages never overtake it. */
static void no_receive(void)
{
	open_pair(&(struct sim_qp_options){ .min_rnr = 14 }); /* 1.28 ms */
	a.mem[0] = 1;
	a.mem[HALF] = 2;
	op(IBV_WR_SEND, a.mem, 100000, NULL, 0);
	op(IBV_WR_RDMA_WRITE, a.mem + HALF, 8, b.mem, 0);
	sim_no_wc(&w, a.scq, UT_MS);
	CHECK(b.mem[0] == 0 && sim_counter(b.h, ENG_C_rnr_nak_sent) == 1);
	CHECK(sim_post_recv(&b, 1, b.mem + HALF, 200000) == 0);
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	CHECK(b.mem[0] == 2 && b.mem[HALF] == 1 && eng_cq_held(b.rcq) == 1);
	CHECK(sim_counter(a.h, ENG_C_rnr_nak_retry_err) == 1);
	close_pair();
}

static void retries_end(void)
{
	open_pair(&(struct sim_qp_options){ .rnr_retry = 2 });
	op(IBV_WR_SEND, a.mem, 8, NULL, 0);
	sim_wc_is(&w, a.scq, IBV_WC_RNR_RETRY_EXC_ERR);
	CHECK(sim_counter(b.h, ENG_C_rnr_nak_sent) == 3);
	close_pair();
}

/* --- datagrams --- */

#define GRH 40u
#define QKEY 0x1234u

static struct eng_ah *ah;

static void open_datagrams(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64, .traffic_class = 0x20 } };

	open_pair_with(&(struct sim_qp_options){ .type = IBV_QPT_UD }, true);
	memcpy(attr.grh.dgid.raw, b.h->addr, 16);
	CHECK(eng_ah_create(a.h->pd, &attr, &ah) == 0);
	pattern_fill(a.mem, 8192, 5);
}

static void close_datagrams(void)
{
	eng_ah_destroy(ah);
	close_pair();
}

static void send_datagram(uint64_t id, uint32_t len, uint32_t qpn, uint32_t qkey)
{
	CHECK(sim_post(&a, &(struct sim_op){ .code = IBV_WR_SEND_WITH_IMM, .id = id, .at = a.mem, .len = len, .ah = ah,
					     .qpn = qpn, .qkey = qkey, .imm = 0x11223344 }) == 0);
}

/* What the receiver finds is what the wire would have brought. */
static void datagram_of(uint32_t len)
{
	struct ibv_wc wc;

	memset(b.mem, 0xff, GRH + len + 8);
	CHECK(sim_post_recv(&b, 3, b.mem, 8192) == 0);
	send_datagram(1, len, b.qp->qpn, QKEY);
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	wc = sim_wc_is(&w, b.rcq, IBV_WC_SUCCESS);
	CHECK(wc.byte_len == len + GRH && wc.src_qp == a.qp->qpn && wc.imm_data == 0x11223344);
	CHECK(wc.wc_flags == (IBV_WC_GRH | IBV_WC_WITH_IMM) && wc.sl == 2);
	CHECK(!memcmp(b.mem + GRH, a.mem, len) && b.mem[GRH + len] == 0xff);
	CHECK(b.mem[20] == 0x45 && b.mem[21] == 0x20 && b.mem[28] == 64 && !memcmp(b.mem + 32, a.h->addr + 12, 4) &&
	      !memcmp(b.mem + 36, b.h->addr + 12, 4));
	/* IPv4 header, UDP header, BTH, DETH, ImmDt, ICRC. */
	CHECK((b.mem[22] << 8 | b.mem[23]) == 20 + 8 + 12 + 8 + 4 + (int)((len + 3) & ~3u) + 4);
	CHECK((b.mem[30] << 8 | b.mem[31]) == wire_ipv4_checksum(b.mem + 20));
}

static void datagrams(void)
{
	static const uint32_t bytes[] = { 0, 1, 3, 63, 64, 65, 100, 1000, 4095, 4096 };

	open_datagrams();
	for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++)
		datagram_of(bytes[i]);
	CHECK(sim_counter(a.h, ENG_C_local_tx) == sizeof(bytes) / sizeof(*bytes));
	close_datagrams();
}

static void datagrams_dropped(void)
{
	open_datagrams();
	send_datagram(0, 10, b.qp->qpn, QKEY); /* no receive */
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	sim_no_wc(&w, b.rcq, UT_MS);
	CHECK(sim_post_recv(&b, 7, b.mem, GRH + 20) == 0);
	send_datagram(1, 21, b.qp->qpn, QKEY); /* one byte too many */
	send_datagram(2, 10, b.qp->qpn, QKEY + 1);
	send_datagram(3, 10, b.qp->qpn ^ 1, QKEY);
	for (int i = 0; i < 3; i++)
		sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	sim_no_wc(&w, b.rcq, UT_S);
	CHECK(eng_qp_state(b.qp) == IBV_QPS_RTS);
	CHECK(sim_counter(b.h, ENG_C_rx_bad_qkey) == 1);
	CHECK(sim_counter(b.h, ENG_C_rx_no_wqe) == 2);
	CHECK(sim_counter(b.h, ENG_C_rx_no_qp) == 1);
	send_datagram(4, 20, b.qp->qpn, QKEY);
	CHECK(sim_wc_is(&w, b.rcq, IBV_WC_SUCCESS).wr_id == 7);
	CHECK(sim_counter(a.h, ENG_C_local_tx) == 5);
	close_datagrams();
}

/* Of a peer process that writes what it likes into its ring. */
static void forge_datagram(uint8_t opcode, uint32_t qpn, uint8_t flags, uint64_t way, uint32_t len)
{
	struct ibp_header n = { .opcode = opcode, .unit = IBP_UNIT, .flags = flags, .dest_qpn = qpn, .src_qpn = 9,
				.rkey = QKEY, .va = way, .length = len };

	local_net_inject(w.local, 0, 1, &n, a.mem, len);
	sim_round(&w);
}

static void datagrams_forged(void)
{
	const uint64_t way = ibp_header_way(0, 64, 0xffff);

	open_datagrams();
	CHECK(sim_post_recv(&b, 7, b.mem, 16384) == 0);
	forge_datagram(WIRE_UD_SEND_ONLY, b.qp->qpn, 0, ibp_header_way(0, 64, 0x1234), 64);
	CHECK(sim_counter(b.h, ENG_C_rx_bad_pkey) == 1);
	forge_datagram(WIRE_UD_SEND_ONLY, b.qp->qpn, 0, way, 4097); /* more than the port's MTU */
	CHECK(sim_counter(b.h, ENG_C_rx_no_wqe) == 1);
	forge_datagram(WIRE_RC_SEND_ONLY, b.qp->qpn, 0, way, 64); /* of another service */
	CHECK(sim_counter(b.h, ENG_C_rx_no_qp) == 1);
	sim_no_wc(&w, b.rcq, UT_MS);
	forge_datagram(WIRE_UD_SEND_ONLY, b.qp->qpn, IBP_HEADER_ACKS | IBP_HEADER_ARMED, way, 64);
	CHECK(sim_wc_is(&w, b.rcq, IBV_WC_SUCCESS).byte_len == GRH + 64);
	CHECK(eng_qp_state(b.qp) == IBV_QPS_RTS);
	close_datagrams();
}

/* Behind packets that wait, or while the ring is full, a datagram is a packet. */
static void datagrams_as_packets(void)
{
	struct sim_stats st;

	open_datagrams();
	for (uint64_t i = 0; i < 3; i++)
		CHECK(sim_post_recv(&b, i, b.mem + i * 8192, 8192) == 0);
	send_datagram(0, 100, b.qp->qpn, QKEY);
	w.local->full = true;
	send_datagram(1, 100, b.qp->qpn, QKEY);
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	w.local->full = false;
	send_datagram(2, 100, b.qp->qpn, QKEY);
	for (int i = 0; i < 3; i++)
		CHECK(sim_wc_is(&w, b.rcq, IBV_WC_SUCCESS).byte_len == GRH + 100);
	sim_net_stats(w.net, &st);
	CHECK(st.sent == 1 && sim_counter(a.h, ENG_C_local_tx) == 2);
	eng_ah_destroy(ah);
	sim_end_close(&a);
	sim_end_close(&b);
	sim_world_close(&w);
}

/* A post without a round, to another address than the last one, while what has left waits for room: the path is still the last one's. */
static void datagram_behind_others(void)
{
	struct eng_dev *dev;

	open_datagrams();
	dev = &a.h->dev;
	datagram_of(10);
	eng_ah_destroy(ah);
	CHECK(eng_ah_create(a.h->pd, &(struct ibv_ah_attr){ .is_global = 1, .port_num = 1, .grh = {
		.hop_limit = 64, .dgid = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, 77 } } } }, &ah) == 0);
	CHECK(sim_post_recv(&b, 4, b.mem, 8192) == 0);
	ut_lock(&dev->lock); /* so that the post makes no round */
	send_datagram(2, 10, b.qp->qpn, QKEY);
	((struct ibp_port *)dev->proto_port)->blocked = true;
	CHECK(ibp_post(a.qp, PROTO_POST_BY_APP | PROTO_POST_SEND, w.now) == PROTO_NEEDS_ROUND);
	ut_unlock(&dev->lock);
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	sim_no_wc(&w, b.rcq, UT_MS);
	eng_ah_destroy(ah);
	sim_end_close(&a);
	sim_end_close(&b);
	sim_world_close(&w);
}

/* --- processes and pages that are gone --- */

/* Requests are in the ring of a process that has died, whose end this end has not noticed yet. */
static void die(bool another)
{
	open_pair_with(NULL, true);
	for (int i = 0; i < 3; i++)
		CHECK(sim_post_recv(&b, 9, b.mem, 64) == 0);
	memset(a.mem, 'a', 64);
	memset(b.mem, 0, 64);
	for (int i = 0; i < 3; i++)
		op(IBV_WR_SEND, a.mem, 64, b.mem, 0);
	local_net_die(w.local, 1, another);
}

/* The slot, and the queue pair, are another process's by then. */
static void slot_of_another(void)
{
	uint64_t before;

	die(true);
	before = w.now;
	sim_round(&w);
	for (int i = 0; i < 3; i++) {
		sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
		sim_wc_is(&w, b.rcq, IBV_WC_SUCCESS);
	}
	CHECK(!memcmp(a.mem, b.mem, 64) && w.now == before);
	close_pair();
}

static void slot_of_nobody(void)
{
	uint64_t before;

	die(false);
	before = w.now;
	sim_round(&w);
	sim_wc_is(&w, a.scq, IBV_WC_RETRY_EXC_ERR);
	CHECK_MSG(w.now == before, "after %llu ns", (unsigned long long)(w.now - before));
	CHECK(eng_qp_state(a.qp) == IBV_QPS_ERR);
	close_pair();
}

static void unmap(uint8_t *at, size_t len)
{
	CHECK(mmap(at, len, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == at);
}

/* Pages that are gone: the end that owns them fails, with the status that it has on the wire. */
static void missing(enum ibv_wr_opcode code, bool mine, enum ibv_wc_status want)
{
	uint8_t *at = mine ? a.mem : b.mem;

	open_pair(NULL);
	at = mine ? a.mem : b.mem;
	unmap(at + 300000 / 4096 * 4096, 8192);
	CHECK(sim_post_recv(&b, 1, b.mem, HALF) == 0);
	op(code, a.mem, 500000, b.mem, 0);
	sim_wc_is(&w, a.scq, want);
	CHECK(eng_qp_state(a.qp) == IBV_QPS_ERR);
	CHECK((eng_qp_state(b.qp) == IBV_QPS_ERR) == (want != IBV_WC_LOC_PROT_ERR));
	close_pair();
}

static void missing_pages(void)
{
	missing(IBV_WR_RDMA_WRITE, true, IBV_WC_LOC_PROT_ERR);
	missing(IBV_WR_SEND, true, IBV_WC_LOC_PROT_ERR);
	missing(IBV_WR_RDMA_READ, true, IBV_WC_LOC_PROT_ERR);
	missing(IBV_WR_RDMA_WRITE, false, IBV_WC_REM_ACCESS_ERR);
	missing(IBV_WR_RDMA_READ, false, IBV_WC_REM_ACCESS_ERR);
	missing(IBV_WR_SEND, false, IBV_WC_REM_OP_ERR);
}

/* A stopped peer finds each packet once, however often the timer ran. */
static void unread(void)
{
	open_pair(&(struct sim_qp_options){ .retry = 5 });
	w.host[1].stopped = true;
	op(IBV_WR_RDMA_WRITE, a.mem, 8, b.mem, 0);
	sim_no_wc(&w, a.scq, 6 * UT_MS); /* the second wait is twice as long as the first */
	CHECK(sim_counter(a.h, ENG_C_local_ack_timeout_err) >= 2);
	CHECK(sim_counter(a.h, ENG_C_retransmits) == 0);
	w.host[1].stopped = false;
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	CHECK(sim_counter(b.h, ENG_C_duplicate_request) == 0);
	w.host[1].stopped = true;
	op(IBV_WR_RDMA_WRITE, a.mem, 8, b.mem, 0);
	sim_wc_is(&w, a.scq, IBV_WC_RETRY_EXC_ERR);
	close_pair();
}

/* --- nonsense --- */

static struct ibp_header honest(uint8_t opcode, uint32_t psn)
{
	return (struct ibp_header){ .opcode = opcode, .unit = IBP_UNIT, .psn = psn,
				  .dest_qpn = b.qp->qpn, .src_qpn = a.qp->qpn, .flags = IBP_HEADER_ASK,
				  .va = (uintptr_t)b.mem, .rkey = b.mr->key, .length = 64 };
}

static bool untouched(const uint8_t *at, size_t len)
{
	while (len && !*at) {
		at++;
		len--;
	}
	return !len;
}

/* Random headers with a true core: whatever they hold, no other memory changes. */
static void storm_of_nonsense(void)
{
	struct ut_rng rng = { .state = 11 };
	uint8_t data[4096];
	uint32_t psn = 0;

	for (int round = 0; round < 100; round++) {
		open_pair(NULL);
		for (int i = 0; i < 60; i++) {
			struct ibp_header n = honest((uint8_t)ut_rng_below(&rng, 0x18), psn);
			uint32_t len = ut_rng_below(&rng, 4) ? ut_rng_below(&rng, 200)
							     : ut_rng_below(&rng, sizeof(data));

			for (uint32_t j = 0; j < len; j++)
				data[j] = (uint8_t)ut_rng_u64(&rng);
			for (uint32_t k = ut_rng_below(&rng, 4); k; k--)
				((uint8_t *)&n)[ut_rng_below(&rng, sizeof(n))] =
					(uint8_t)ut_rng_u64(&rng);
			local_net_inject(w.local, 0, 1, &n, data, len);
			psn = eng_qp_state(b.qp) == IBV_QPS_RTS ? psn + ut_rng_below(&rng, 2) : 0;
			sim_round(&w);
		}
		psn = 0;
		CHECK(untouched(a.mem, 65536));
		sim_end_close(&a);
		sim_end_close(&b);
		sim_world_close(&w);
	}
}

/* Foreign messages: another QP's number, an answer without a request, a unit that there is not. */
static void strangers(void)
{
	struct ibp_header n;

	open_pair(NULL);
	n = honest(WIRE_RC_RDMA_WRITE_ONLY, 0);
	n.src_qpn ^= 1;
	local_net_inject(w.local, 0, 1, &n, a.mem, 64);
	sim_round(&w);
	CHECK(sim_counter(b.h, ENG_C_rx_bad_source) == 1);
	n = honest(WIRE_RC_ACKNOWLEDGE, 0);
	local_net_inject(w.local, 0, 1, &n, NULL, 0);
	sim_round(&w);
	CHECK(sim_counter(b.h, ENG_C_rx_bad_source) == 2);
	n = honest(WIRE_RC_RDMA_WRITE_ONLY, 0);
	n.unit = 40;
	local_net_inject(w.local, 0, 1, &n, a.mem, 64);
	sim_round(&w);
	CHECK(sim_counter(b.h, ENG_C_rx_short) == 1);
	a.mem[0] = 3; /* and the connection is as good as ever */
	op(IBV_WR_RDMA_WRITE, a.mem, 64, b.mem, 0);
	sim_wc_is(&w, a.scq, IBV_WC_SUCCESS);
	CHECK(b.mem[0] == 3);
	close_pair();
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "-", "every size", all_sizes },
		{ "-", "atomics", atomics },
		{ "-", "asked first", asked_first },
		{ "-", "drained while asked", drained_while_asked },
		{ "-", "no receive", no_receive },
		{ "-", "retries end", retries_end },
		{ "-", "the slot of a dead process, another's", slot_of_another },
		{ "-", "the slot of a dead process", slot_of_nobody },
		{ "-", "missing pages", missing_pages },
		{ "-", "unread", unread },
		{ "-", "datagrams", datagrams },
		{ "-", "datagrams that are dropped", datagrams_dropped },
		{ "-", "datagrams that are forged", datagrams_forged },
		{ "-", "datagrams as packets", datagrams_as_packets },
		{ "-", "a datagram behind others that wait", datagram_behind_others },
		{ "-", "nonsense", storm_of_nonsense },
		{ "-", "strangers", strangers },
	};

	return RUN_CASES(cases, argc, argv);
}

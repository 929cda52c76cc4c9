/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The whole receive path, both roles, all QP types, against packets from the input. A host with work
 * outstanding on every queue receives from one hostile peer. Memory that the peer may not write must
 * stay as it is, and each work request completes exactly once.
 *
 * The input is a list of records: 4 bytes of control, 2 of length, the packet from its BTH. Control
 * says which fields are corrected on the way - ICRC, QPN, a PSN close to the expected one, keys - so
 * that deep code is reached, and how much time passes.
 */
#include "engine/mr.h"
#include "engine/post.h"
#include "engine/qp_state.h"
#include "engine/xrcd.h"
#include "support/engine.h"
#include "support/simhost.h"

#include "proto/ib/port.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

#define MTU 256u
#define PEER_QPN 0x654321u
#define RECORD 6u

/* Control bits. */
enum {
	FIX_QPN = 1 << 3, FIX_PSN = 1 << 4, FIX_ICRC = 1 << 5, FIX_KEY = 1 << 6, FULL = 1 << 7,
};
enum { STEP = 3, STRANGER = 1 << 2, MARKED = 1 << 3, RAW_HEAD = 1 << 4, NO_RIGHTS = 1 << 5 };
/* Arrives in one batch with the next; our own request with a wrong key is posted before it; memory that the peer writes
 * or reads, that takes our results, or that our requests read cannot be accessed until it has been served. */
enum { TOGETHER = 1, WRONG_KEY = 2, NO_REMOTE = 4, NO_SINK = 8, NO_SOURCE = 16 };

/* Offsets in the application's memory; the bytes between belong to no region. */
enum { SOURCE = 4096, SINK = 12288, REMOTE = 24576, AREA = 40960, PIECE = 4096, REMOTE_LEN = 8192 };
#define RECV_AT(k) (SINK + 64u + (k) * 512u)
#define RECV_LEN 400u
#define READ_AT (SINK + 3584u)
#define CANARY 0xa5
#define SECRET 0x3c

enum { RC, UC, UD, INI, TGT, GSI, QPS };
#define WORKS 64

static struct sim_world w;
static struct sim_end end[QPS];
static struct link *peer;
static uint8_t peer_addr[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 99 };
static uint8_t stranger[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 98 };
static uint8_t *area;
static struct eng_mkey *mr_source, *mr_sink, *mr_remote;
static struct eng_xrcd *xrcd;
static struct eng_srq *srq;
static struct eng_cq *xrc_cq;
static struct eng_ah *ah;
static uint8_t state_of[WORKS]; /* 0 unused, 1 posted, 2 complete, 3 posted to the SRQ */
static unsigned works;

static void require(int cond, const char *what)
{
	if (!cond) {
		fprintf(stderr, "fuzz-receive: %s\n", what);
		abort();
	}
}

static struct eng_mkey *reg(size_t at, size_t len, unsigned access)
{
	struct eng_mr_spec s = { .addr = (uintptr_t)(area + at), .iova = (uintptr_t)(area + at),
				 .length = len, .access = access };
	struct eng_mkey *mr;

	require(eng_mr_reg(w.host[0].pd, &s, &mr) == 0, "registration");
	return mr;
}

static uint64_t next_work(uint8_t state)
{
	require(works < WORKS, "too much work");
	state_of[works] = state;
	return works++;
}

static void post(int q, enum ibv_wr_opcode code, uint32_t at, uint32_t len, uint32_t key)
{
	struct sim_op o = { .code = code, .id = next_work(1), .at = area + at, .len = len,
			    .lkey = key, .remote = (void *)0x7000, .rkey = 0x99,
			    .ah = q == UD || q == GSI ? ah : NULL, .qpn = PEER_QPN, .qkey = 0x1234 };

	require(sim_post(&end[q], &o) == 0, "post");
}

/* It may find no room. */
static void post_wrong_key(int q)
{
	struct sim_op o = { .code = IBV_WR_SEND, .id = works, .at = area + SOURCE, .len = 100,
			    .lkey = mr_source->key ^ 0x100, .ah = q == UD || q == GSI ? ah : NULL,
			    .qpn = PEER_QPN, .qkey = 0x1234 };

	if (q != TGT && works < WORKS && sim_post(&end[q], &o) == 0)
		next_work(1);
}

static void post_receives(int q)
{
	for (unsigned k = 0; k < 3; k++) {
		struct ibv_sge sge = { (uintptr_t)(area + RECV_AT(k)), RECV_LEN, mr_sink->key };
		struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1,
						.wr_id = next_work(q == TGT ? 3 : 1) };
		int r = q == TGT ? eng_srq_post(srq, &wr, &bad)
				 : eng_post_recv(end[q].qp, &wr, &bad);

		require(r == 0, "post receive");
	}
}

static void post_all(void)
{
	post_receives(RC);
	post_receives(UC);
	post_receives(UD);
	post_receives(TGT);
	post_receives(GSI);
	for (int q = RC; q <= INI; q += INI - RC) {
		post(q, IBV_WR_SEND, SOURCE, 3 * MTU, mr_source->key);
		post(q, IBV_WR_RDMA_WRITE, SOURCE, 2 * MTU + 1, mr_source->key);
		post(q, IBV_WR_RDMA_READ, READ_AT, 2 * MTU - 12, mr_sink->key);
		post(q, IBV_WR_ATOMIC_FETCH_AND_ADD, READ_AT, 8, mr_sink->key);
		post(q, IBV_WR_ATOMIC_CMP_AND_SWP, READ_AT + 8, 8, mr_sink->key);
		post(q, IBV_WR_RDMA_READ, READ_AT + 16, 7, mr_sink->key);
		post(q, IBV_WR_SEND, SOURCE, 0, mr_source->key);
	}
	post(UC, IBV_WR_SEND, SOURCE, MTU + 1, mr_source->key);
	post(UD, IBV_WR_SEND, SOURCE, 100, mr_source->key);
	post(GSI, IBV_WR_SEND, SOURCE, WIRE_MAD_BYTES, mr_source->key);
}

static void make_xrc(struct sim_host *h)
{
	struct eng_srq_spec s = { .pd = h->pd, .attr = { .max_wr = 8, .max_sge = 1 } };

	require(eng_xrcd_open(&h->dev, -1, 0, &xrcd) == 0, "xrcd");
	require(eng_cq_create(h->ctx, 64, NULL, false, &xrc_cq) == 0, "cq");
	s.cq = xrc_cq;
	s.xrcd = xrcd;
	require(eng_srq_create(h->ctx, &s, &srq) == 0, "srq");
}

static void setup(void)
{
	static const enum ibv_qp_type types[QPS] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
						     IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV,
						     IBV_QPT_UD };
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	struct sim_qp_options o = { .depth = 8, .mtu = IBV_MTU_256, .timeout = 4, .retry = 7 };
	struct sim_host *h = &w.host[0];

	sim_world_open(&w, &(struct sim_options){ .seed = 5, .hosts = 1 });
	require(sim_link_open(w.net, peer_addr, &peer) == 0, "link");
	require(peer->ops->add_addr(peer, stranger, 1) == 0, "address");
	memset(area, CANARY, AREA);
	memset(area + SOURCE, SECRET, PIECE);
	mr_source = reg(SOURCE, PIECE, 0);
	mr_sink = reg(SINK, PIECE, IBV_ACCESS_LOCAL_WRITE);
	mr_remote = reg(REMOTE, REMOTE_LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	make_xrc(h);
	memcpy(attr.grh.dgid.raw, peer_addr, 16);
	require(eng_ah_create(h->pd, &attr, &ah) == 0, "ah");
	for (int i = 0; i < QPS; i++) {
		o.type = types[i];
		o.xrcd = i == TGT ? xrcd : NULL;
		o.gsi = i == GSI;
		sim_end_create(&end[i], h, &o);
		sim_end_aim(&end[i], peer_addr, PEER_QPN, 0xfffffd, 0xfffffe, &o);
	}
	memset(state_of, 0, sizeof(state_of));
	works = 0;
	post_all();
}

static void drain(struct eng_cq *cq)
{
	struct ibv_wc wc;

	while (eng_cq_held(cq) && eng_cq_poll(cq, 1, &wc) == 1) {
		require(wc.wr_id < works, "completion of nothing");
		require(state_of[wc.wr_id] & 1, "second completion");
		state_of[wc.wr_id] = 2;
	}
}

static void drain_all(void)
{
	for (int i = 0; i < QPS; i++) {
		drain(end[i].scq);
		drain(end[i].rcq);
	}
	drain(xrc_cq);
}

static void swallow(void)
{
	struct link_rx rx[16];

	while (peer->ops->recv(peer, rx, 16) > 0)
		;
}

static bool never(void *arg)
{
	return false;
}

static void pass(uint64_t ns)
{
	uint64_t to = w.now + ns;

	sim_run(&w, ns, never, NULL);
	if (w.now < to)
		w.now = to;
	sim_round(&w);
	swallow();
	drain_all();
}

static void protect(unsigned how, int prot)
{
	require(!(how & NO_REMOTE) || !mprotect(area + REMOTE, REMOTE_LEN, prot), "mprotect");
	require(!(how & NO_SINK) || !mprotect(area + SINK, PIECE, prot), "mprotect");
	require(!(how & NO_SOURCE) || !mprotect(area + SOURCE, PIECE, prot), "mprotect");
}

/* --- one packet --- */

static void fix_key(uint8_t *p, size_t len, const struct wire_ib_shape *s, bool no_rights)
{
	uint8_t *h = p + WIRE_BTH_LEN;
	uint64_t base = (uintptr_t)area + (no_rights ? SOURCE : REMOTE);
	uint32_t key = no_rights ? mr_source->key : mr_remote->key;

	if (s->hdrs & WIRE_H_XRCETH) {
		wire_put32(h, srq->number);
		h += 4;
	}
	if (!(s->hdrs & (WIRE_H_RETH | WIRE_H_AtomicETH)))
		return;
	wire_put64(h, base + (wire_get64(h) & (REMOTE_LEN - 1)));
	wire_put32(h + 8, key);
	if (s->hdrs & WIRE_H_RETH)
		wire_put32(h + 12, wire_get32(h + 12) & 0xfff);
}

static struct sim_end *meant(const uint8_t *ctl)
{
	return &end[ctl[0] % 8 % QPS];
}

static void fix_bth(uint8_t *p, const uint8_t *ctl, const struct wire_ib_shape *s)
{
	struct sim_end *e = meant(ctl);
	struct ibp_qp *q = ibp_qp(e->qp);
	uint32_t qpn = wire_get32(p + 4) & 0xff000000u, psn = wire_get32(p + 8) & 0xff000000u;

	if (!(ctl[2] & RAW_HEAD)) {
		p[1] &= 0xf0; /* transport version 0 */
		p[2] = p[3] = 0xff;
	}
	if (ctl[0] & FIX_QPN)
		wire_put32(p + 4, qpn | e->qp->qpn);
	if (ctl[0] & FIX_PSN)
		wire_put32(p + 8, psn | psn_add(s->flags & WIRE_F_RSP ? q->conn.req.psn_una : q->conn.resp.epsn,
						(uint32_t)(int8_t)ctl[1]));
}

/* Gives a packet the length that its opcode demands of a first or middle packet. */
static size_t fill_up(uint8_t *p, size_t len, const struct wire_ib_shape *s)
{
	size_t want = s->hdr_len + MTU;

	if (!(s->flags & WIRE_F_PAYLOAD) || len > want)
		return len;
	memset(p + len, 0xcd, want - len);
	p[1] &= 0xcf; /* pad 0 */
	return want;
}

static void send_packet(const uint8_t *ctl, const uint8_t *bytes, size_t len)
{
	struct ut_flow f = { .sport = 0xd000, .ttl = 64, .tos = ctl[2] & MARKED ? 3 : 0 };
	struct wire_icrc_flow icrc;
	uint8_t p[2048] = { 0 };
	const struct wire_ib_shape *s;

	memcpy(p, bytes, len);
	if (len < WIRE_BTH_LEN)
		goto out;
	s = wire_ib_shape(p[0]);
	if (s->hdr_len && len < s->hdr_len && ctl[0] & (FIX_KEY | FULL))
		len = s->hdr_len;
	fix_bth(p, ctl, s);
	if (ctl[0] & FIX_KEY && s->hdr_len)
		fix_key(p, len, s, ctl[2] & NO_RIGHTS);
	if (ctl[0] & FIX_KEY && s->hdrs & WIRE_H_DETH)
		wire_put32(p + WIRE_BTH_LEN, meant(ctl)->qp->attr.qkey);
	if (ctl[0] & FULL && s->hdr_len)
		len = fill_up(p, len, s);
	wire_icrc_flow_v4(&icrc, (ctl[2] & STRANGER ? stranger : peer_addr) + 12,
			  w.host[0].addr + 12);
	if (ctl[0] & FIX_ICRC) {
		wire_icrc_fill(&icrc, f.sport, 4791, 0, true, p, len);
		len += 4;
	}
out:
	memcpy(f.src, ctl[2] & STRANGER ? stranger : peer_addr, 16);
	memcpy(f.dst, w.host[0].addr, 16);
	if (len)
		peer->ops->send(peer, &f, 0, p, len, len);
}

static void untouched(size_t from, size_t to, uint8_t value)
{
	for (size_t i = from; i < to; i++)
		if (area[i] != value) {
			fprintf(stderr, "fuzz-receive: byte %zu of the memory is %02x\n", i, area[i]);
			abort();
		}
}

static void check_memory(void)
{
	untouched(0, SOURCE, CANARY);
	untouched(SOURCE, SOURCE + PIECE, SECRET);
	untouched(SOURCE + PIECE, RECV_AT(0), CANARY);
	for (unsigned k = 0; k < 3; k++)
		untouched(RECV_AT(k) + RECV_LEN, k < 2 ? RECV_AT(k + 1) : READ_AT, CANARY);
	untouched(READ_AT + 2 * MTU - 12, REMOTE, CANARY);
	untouched(REMOTE + REMOTE_LEN, AREA, CANARY);
}

static void teardown(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };

	for (int i = 0; i < QPS; i++)
		require(eng_qp_modify(end[i].qp, &a, IBV_QP_STATE) == 0, "to ERR");
	drain_all();
	for (unsigned i = 0; i < works; i++)
		require(state_of[i] != 1, "a work request without completion");
	check_memory();
	for (int i = 0; i < QPS; i++)
		sim_end_close(&end[i]);
	eng_ah_destroy(ah);
	require(eng_srq_destroy(srq) == 0, "srq");
	require(eng_cq_destroy(xrc_cq) == 0, "cq");
	require(eng_xrcd_close(xrcd) == 0, "xrcd");
	require(eng_mr_dereg(mr_source) == 0 && eng_mr_dereg(mr_sink) == 0 &&
		eng_mr_dereg(mr_remote) == 0, "dereg");
	peer->ops->close(peer);
	sim_world_close(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t steps[] = { 0, 20 * UT_US, 2 * UT_MS, 100 * UT_MS };

	if (!area)
		area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(area != MAP_FAILED, "memory");
	setup();
	for (unsigned n = 0; size >= RECORD && n < 64; n++) {
		size_t len = data[4] | (size_t)(data[5] & 3) << 8;

		if (len > size - RECORD)
			len = size - RECORD;
		if (data[3] & WRONG_KEY)
			post_wrong_key((int)(meant(data) - end));
		send_packet(data, data + RECORD, len);
		protect(data[3], PROT_NONE);
		if (!(data[3] & TOGETHER))
			pass(SIM_DELAY + steps[data[2] & STEP]);
		protect(data[3], PROT_READ | PROT_WRITE);
		data += RECORD + len;
		size -= RECORD + len;
	}
	pass(SIM_DELAY);
	teardown();
	return 0;
}

static uint32_t next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	return *state ^= *state << 5;
}

/* Record-wise: another opcode or control for one, one more at the end, or one doubled. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static const uint8_t classes[] = { 0x00, 0x00, 0x00, 0x20, 0x60, 0xa0 };
	uint32_t rnd = seed * 2654435761u | 1;
	size_t at = 0, len = 0, skip = next(&rnd) % 8;
	uint8_t *r;

	while (at + RECORD <= size) {
		len = RECORD + (data[at + 4] | (size_t)(data[at + 5] & 3) << 8);
		if (skip-- == 0 || at + len + RECORD > size)
			break;
		at += len;
	}
	if (at + RECORD + WIRE_BTH_LEN > size || next(&rnd) % 4 == 0) {
		/* A new one: headers of its opcode from the generator. */
		if (size + RECORD + 60 > max)
			return size;
		at = size;
		size += RECORD + 60;
		for (size_t i = at; i < size; i++)
			data[i] = (uint8_t)next(&rnd);
		data[at + 4] = 60;
		data[at + 5] = 0;
	}
	r = data + at;
	r[0] = (uint8_t)(next(&rnd) % 8 | FIX_QPN | FIX_PSN | FIX_ICRC | FIX_KEY |
			 (next(&rnd) & FULL));
	r[1] = next(&rnd) % 4 ? 0 : (uint8_t)(next(&rnd) % 7 - 3);
	r[2] = next(&rnd) % 3 ? 0 : (uint8_t)next(&rnd);
	r[3] = next(&rnd) % 8 ? next(&rnd) % 2 : (uint8_t)(WRONG_KEY | (next(&rnd) & (NO_REMOTE | NO_SINK | NO_SOURCE)));
	r[RECORD] = (uint8_t)(classes[next(&rnd) % sizeof(classes)] | next(&rnd) % 0x18);
	return size;
}

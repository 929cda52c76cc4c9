/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RC between two processes of one host: the tables that an exporter shows to a requester, and the
 * messages that a peer process writes into the ring, both from the input. Host 0 posts requests and
 * believes the tables as far as it may: it touches only its own buffers and the attached area. Host 1
 * receives forged messages: memory beside its region stays as it is. Each request completes once.
 *
 * The input: operations of one byte (enum op) and their arguments.
 */
#include "input.h"

#include "engine/mr.h"
#include "engine/post.h"
#include "engine/qp_state.h"
#include "proto/ib/frame_shm.h"
#include "proto/ib/port.h"
#include "support/engine.h"
#include "support/localnet.h"
#include "support/simhost.h"
#include "util/clock.h"

#include <errno.h>
#include <sys/mman.h>

enum { PAGE = 4096, MEMORY = 6 * PAGE, AT = PAGE, LEN = 4 * PAGE, AREA = 2 * PAGE, WORKS = 64, OPS_MAX = 120 };
enum { CANARY = 0x5a };

enum op { KEY, QP, POST, POST_RECV, SWITCH, REQUEST, RESPONSE, RUN, REVOKE, ERROR, TABLES, OPS };
enum { NO_BEGIN = 1, NO_COPY = 2, SHORT_COPY = 4, NO_AREA = 8, APART = 16, ASKED = 64, FULL = 128 };

static struct input in;
static struct sim_world w;
static struct sim_end end[2];
static struct eng_mkey *mr[2];
static uint8_t *mem[2], *area;
static struct shm_channel_ops slots, simulated;
static struct shm_export believed, exported;
static unsigned how_now, works, accesses;
static bool own_table;
static volatile unsigned sink;
static uint8_t completed[WORKS];

/* --- the channel of host 0 --- */

static const struct shm_export *begin(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn,
				      struct shm_access *ret)
{
	(void)c;
	(void)f;
	(void)qpn;
	REQUIRE(!accesses);
	if (how_now & NO_BEGIN)
		return NULL;
	accesses++;
	*ret = (struct shm_access){ .most = 16384 };
	return own_table ? &exported : &believed;
}

/* The exporter's address is its own affair; the requester's pieces are not. */
static ssize_t copy(const struct shm_access *v, uint64_t addr, const struct iovec *iov, int n, bool write)
{
	size_t sum = 0;

	(void)v;
	(void)addr;
	REQUIRE(accesses == 1 && n > 0);
	for (int i = 0; i < n; i++) {
		if (write)
			sink += memchr(iov[i].iov_base, CANARY ^ 1, iov[i].iov_len) != NULL; /* reads them all */
		else
			memset(iov[i].iov_base, 7, iov[i].iov_len);
		sum += iov[i].iov_len;
	}
	if (how_now & NO_COPY)
		return -ESRCH;
	return (ssize_t)(how_now & SHORT_COPY ? sum - 1 : sum);
}

/* As shm_access_attached(). */
static uint8_t *attached(const struct shm_access *v, uint32_t id, uint64_t off, uint64_t len)
{
	(void)v;
	REQUIRE(accesses == 1);
	return (how_now & NO_AREA) || id != 5 || off > AREA || len > AREA - off ? NULL : area + off;
}

static void finish(struct shm_channel *c)
{
	(void)c;
	accesses--;
}

static void make_channel(void)
{
	simulated = *w.host[0].chan->ops;
	slots = simulated;
	slots.access_begin = begin;
	slots.access_copy = copy;
	slots.access_attached = attached;
	slots.access_end = finish;
	for (int i = 0; i < 2; i++) {
		struct shm_channel *c = w.host[i].chan;

		c->ops = &slots;
		c->export = &exported;
		c->n_attached = 1;
	}
}

/* --- the world --- */

static void setup(void)
{
	struct sim_qp_options o = { .depth = 16, .timeout = 8, .retry = 7 };

	sim_world_open(&w, &(struct sim_options){ .seed = 3, .messages = true, .slots = true });
	memset(&believed, 0, sizeof(believed));
	memset(&exported, 0, sizeof(exported));
	make_channel();
	sim_pair(&end[0], &w.host[0], &end[1], &w.host[1], &o);
	area = aligned_alloc(PAGE, AREA);
	for (int i = 0; i < 2; i++) {
		mem[i] = aligned_alloc(PAGE, MEMORY);
		REQUIRE(mem[i] && area);
		memset(mem[i], CANARY, MEMORY);
		mr[i] = sim_reg(&w.host[i], mem[i] + AT, LEN);
	}
	memset(area, 0, AREA);
	memset(completed, 0, sizeof(completed));
	how_now = works = accesses = 0;
	own_table = false;
}

static void drain(struct eng_cq *cq)
{
	struct ibv_wc wc;

	while (eng_cq_poll(cq, 1, &wc) == 1)
		REQUIRE(wc.wr_id < works && completed[wc.wr_id]++ == 0);
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static void run(uint64_t ns)
{
	sim_run(&w, ns, never, NULL);
	for (int i = 0; i < 2; i++) {
		drain(end[i].scq);
		drain(end[i].rcq);
	}
	REQUIRE(!accesses);
}

static void teardown(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };

	for (int i = 0; i < 2; i++)
		REQUIRE(eng_qp_modify(end[i].qp, &a, IBV_QP_STATE) == 0);
	run(UT_MS);
	for (unsigned i = 0; i < works; i++)
		REQUIRE(completed[i] == 1);
	for (int i = 0; i < 2; i++) {
		sim_end_close(&end[i]);
		REQUIRE(eng_mr_dereg(mr[i]) == 0);
		for (size_t k = 0; k < AT; k++)
			REQUIRE(mem[i][k] == CANARY && mem[i][AT + LEN + k] == CANARY);
		free(mem[i]);
	}
	free(area);
	sim_world_close(&w);
}

/* --- operations --- */

/* A true entry, with fields that the input changes: which, and their value. */
static void change(void *entry, size_t words)
{
	unsigned n = in8(&in) & 3;

	for (unsigned i = 0; i < n; i++) {
		size_t at = in8(&in) % words * 4;
		uint32_t v;

		memcpy(&v, (uint8_t *)entry + at, 4);
		v = in8(&in) & 1 ? v + (uint32_t)(int8_t)in8(&in) : in32(&in);
		memcpy((uint8_t *)entry + at, &v, 4);
	}
}

static void table_key(void)
{
	struct shm_export_key k = { .access = 15, .pd = 7, .iova = mr[1]->iova, .length = LEN,
				    .addr = (uintptr_t)mem[1] + AT, .area = in8(&in) & 1 ? 5 : 0 };

	atomic_init(&k.key, mr[1]->key);
	k.area_addr = k.addr;
	k.area_length = AREA;
	change(&k, sizeof(k) / 4);
	believed.keys[(mr[1]->key >> 8) % SHM_EXPORTS] = k;
}

static void table_qp(void)
{
	struct shm_export_qp q = { .peer = end[0].qp->qpn, .access = 15, .pd = 7 };

	atomic_init(&q.qpn, end[1].qp->qpn);
	memcpy(q.addr, w.host[0].addr, 16);
	change(&q, sizeof(q) / 4);
	believed.qps[end[1].qp->qpn % SHM_EXPORTS] = q;
}

static void post(void)
{
	static const enum ibv_wr_opcode codes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
	};
	unsigned how = in8(&in);
	int from = how >> 7;
	struct sim_op o = { .code = codes[how & 7], .id = works, .len = in16(&in) & 0x3fff,
			    .lkey = mr[from]->key, .rkey = mr[!from]->key, .add = 3, .swap = 4 };
	size_t off = in16(&in) % LEN;

	if (works == WORKS)
		return;
	if (o.code == IBV_WR_ATOMIC_FETCH_AND_ADD || o.code == IBV_WR_ATOMIC_CMP_AND_SWP) {
		o.len = 8;
		off &= ~7ul;
	}
	if (how & 8) {
		o.len &= 63;
		o.flags = o.code == IBV_WR_RDMA_READ ? 0 : IBV_SEND_INLINE;
	}
	o.flags |= how & 16 ? IBV_SEND_FENCE : 0;
	o.at = mem[from] + AT + (off < LEN - o.len ? off : LEN - o.len);
	o.remote = mem[!from] + AT + (how & 32 ? off + 1 : off);
	if (sim_post(&end[from], &o) == 0)
		works++;
}

static void post_recv(void)
{
	int at = in8(&in) & 1;
	struct ibv_sge sge = { (uintptr_t)mem[at] + AT + in8(&in), in8(&in) * 16u, mr[at]->key };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .wr_id = works };

	if (works < WORKS && eng_post_recv(end[at].qp, &wr, &bad) == 0)
		works++;
}

static void change_ways(void)
{
	how_now = in8(&in);
	w.local->apart = how_now & APART ? 3 : 0;
	w.local->asked_until = how_now & ASKED ? w.now + 10 * UT_MS : 0;
	w.local->full = how_now & FULL;
}

/* A message from the peer of `to`. Its PSN is near the one awaited, its numbers are right unless the input says not. */
static void forge(int to, uint32_t psn)
{
	unsigned how = in8(&in);
	struct ibp_header h = {
		.opcode = in8(&in), .unit = how & 1 ? 18 : IBP_UNIT, .flags = in8(&in) & 31,
		.psn = psn + (uint32_t)(int8_t)(how & 2 ? in8(&in) : 0), .dest_qpn = end[to].qp->qpn,
		.src_qpn = end[!to].qp->qpn, .rkey = mr[to]->key, .length = in16(&in) & 0x7fff,
		.va = (uintptr_t)mem[to] + AT + (in16(&in) & 0x3fff),
	};
	uint64_t data[600] = { 0 };
	uint64_t bytes[SHM_CHANNEL_HEADER_BYTES / 8] = { 0 };
	uint32_t len = in8(&in);

	if (how & 4)
		in_fill(&in, &h.psn, 12);
	if (how & 8)
		h.va = in64(&in);
	if (how & 16)
		h.syndrome = in8(&in);
	if (how & 32) /* as long as it says */
		len = h.length < sizeof(data) ? h.length : sizeof(data);
	in_fill(&in, data, 16);
	ibp_header_put(bytes, h);
	if (how & 128)
		in_fill(&in, bytes, 8);
	local_net_inject(w.local, !to, to, bytes, data, len);
	run(10 * UT_US);
}

static void request(void)
{
	int to = in8(&in) & 1;

	forge(to, ibp_qp(end[to].qp)->conn.resp.epsn);
}

static void response(void)
{
	int to = in8(&in) & 1;

	forge(to, ibp_qp(end[to].qp)->conn.req.psn_una);
}

static void pass_time(void)
{
	static const uint64_t steps[] = { 10 * UT_US, UT_MS, 10 * UT_MS, 400 * UT_MS };

	run(steps[in8(&in) & 3]);
}

/* The region ends and another one begins. */
static void revoke(void)
{
	int at = in8(&in) & 1;
	struct eng_mkey *next = sim_reg(&w.host[at], mem[at] + AT, LEN);

	run(UT_MS);
	if (eng_mr_dereg(mr[at]) == 0)
		mr[at] = next;
	else
		REQUIRE(eng_mr_dereg(next) == 0);
	for (unsigned i = 0; i < SHM_EXPORTS; i++)
		REQUIRE(atomic_load(&exported.keys[i].key) != mr[at]->key);
}

static void error(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };

	REQUIRE(eng_qp_modify(end[in8(&in) & 1].qp, &a, IBV_QP_STATE) == 0);
}

/* Those that host 1 has exported itself. */
static void tables(void)
{
	own_table = in8(&in) & 1;
}

static void (*const ops[OPS])(void) = {
	[KEY] = table_key, [QP] = table_qp, [POST] = post, [POST_RECV] = post_recv, [SWITCH] = change_ways,
	[REQUEST] = request, [RESPONSE] = response, [RUN] = pass_time, [REVOKE] = revoke, [ERROR] = error,
	[TABLES] = tables,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	in = (struct input){ data, data + size };
	setup();
	for (int n = 0; in.at != in.end && n < OPS_MAX; n++)
		ops[in8(&in) % OPS]();
	how_now = 0;
	w.local->apart = w.local->full = 0;
	run(10 * UT_MS);
	teardown();
	return 0;
}

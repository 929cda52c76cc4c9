/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Timeouts, retry counters, receiver not ready. Lower bounds are exact, upper ones generous. */
#include "conf.h"

#include <string.h>

#define MS 1000000ull

/* b stays in INIT: it exists and answers nothing. */
static void silent_peer(struct cf_side *a, struct cf_side *b, struct cf_opt *o)
{
	struct cf_addr pb;

	o->up = IBV_QPS_INIT;
	cf_pair(a, b, o);
	pb = cf_addr_of(b);
	cf_move(a, IBV_QPS_RTR, &pb);
	cf_move(a, IBV_QPS_RTS, &pb);
}

/* Too early is a fault; too late may be the machine's, and is asked again. */
static bool between(const char *what, uint64_t t, uint64_t low, uint64_t high)
{
	if (t < low)
		CF_DIE("%s after %.1f ms, expected %.1f to %.1f", what, t / 1e6, low / 1e6, high / 1e6);
	return t <= high;
}

static void in_time(const char *what, bool (*measure)(int), int arg)
{
	for (int i = 0; i < 10; i++)
		if (measure(arg))
			return;
	CF_DIE("%s (%d) came too late ten times", what, arg);
}

static bool timeout_once(int arg)
{
	uint8_t timeout = (uint8_t)(arg >> 8), retry = (uint8_t)arg;
	uint64_t t0, one = 4096ull << timeout;
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	bool timely;

	o.timeout = timeout;
	o.retry = retry;
	silent_peer(&a, &b, &o);
	t0 = cf_ns();
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 1, .len = 64, .to = &b);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 2, .len = 64, .to = &b, .quiet = true);
	cf_wc(a.scq, 1, RETRY_EXC_ERR);
	timely = between("RETRY_EXC", cf_ns() - t0, (retry + 1) * one,
			 (retry + 1) * 4 * one + 500 * MS);
	cf_wc(a.scq, 2, WR_FLUSH_ERR);
	CF_EQ(cf_state(a.qp), IBV_QPS_ERR);
	cf_no_event(a.ctx);
	return timely;
}

static void timeout_of(uint8_t timeout, uint8_t retry)
{
	in_time("RETRY_EXC", timeout_once, timeout << 8 | retry);
}

static void retries(void)
{
	timeout_of(12, 2);
	timeout_of(10, 7);
	timeout_of(14, 1);
}

static void no_retry(void)
{
	timeout_of(12, 0);
}

/* No thread polls or waits: the timers still run. */
static void not_polled(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.timeout = 10;
	o.retry = 2;
	o.chan = true;
	silent_peer(&a, &b, &o);
	CF_OK(ibv_req_notify_cq(a.scq, 0));
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 1, .len = 64, .to = &b);
	CF_TRUE(cf_cq_event(a.chan, a.scq, CF_WAIT_MS));
	cf_wc(a.scq, 1, RETRY_EXC_ERR);
}

static void never(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.timeout = 0;
	o.retry = 0;
	silent_peer(&a, &b, &o);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 1, .len = 64, .to = &b);
	cf_quiet_for(a.scq, 300);
	CF_EQ(cf_state(a.qp), IBV_QPS_RTS);
	cf_move(&a, IBV_QPS_ERR, NULL);
	cf_wc(a.scq, 1, WR_FLUSH_ERR);
}

/* A QPN that no queue pair has. */
static void no_such_qp(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct cf_addr pb;

	o.timeout = 10;
	o.retry = 1;
	o.up = IBV_QPS_RESET;
	cf_pair(&a, &b, &o);
	pb = cf_addr_of(&b);
	cf_drop(b.qp);
	cf_up(&a, IBV_QPS_RTS, &pb);
	cf_post(&a, .op = IBV_WR_SEND, .id = 1, .len = 64);
	cf_wc(a.scq, 1, RETRY_EXC_ERR);
}

static bool rnr_count_once(int k)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	bool timely;
	uint64_t t0;

	o.rnr = (uint8_t)k;
	o.min_rnr = 20; /* 10.24 ms */
	cf_pair(&a, &b, &o);
	t0 = cf_ns();
	cf_post(&a, .op = IBV_WR_SEND, .id = 1, .len = 64);
	cf_wc(a.scq, 1, RNR_RETRY_EXC_ERR);
	timely = between("RNR_RETRY_EXC", cf_ns() - t0, k * cf_rnr_ns(20),
			 k * 4 * cf_rnr_ns(20) + 1000 * MS);
	CF_EQ(cf_state(a.qp), IBV_QPS_ERR);
	CF_EQ(cf_state(b.qp), IBV_QPS_RTS);
	return timely;
}

/* k retries are k+1 refusals with the coded wait between them. */
static void rnr_count(void)
{
	for (int k = 0; k <= 6; k += 3)
		in_time("RNR_RETRY_EXC", rnr_count_once, k);
}

static void rnr_endless(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.rnr = 7;
	o.min_rnr = 12; /* 0.64 ms: well over 20 refusals while we watch */
	cf_pair(&a, &b, &o);
	cf_fill(a.buf, 5000, 1);
	cf_post(&a, .op = IBV_WR_SEND, .id = 1, .len = 5000);
	cf_quiet_for(a.scq, 200);
	cf_recv(&b, 2, 0, 5000);
	cf_wc(a.scq, 1, SUCCESS);
	cf_wc(b.rcq, 2, SUCCESS);
	cf_verify(b.buf, 5000, 1);
}

static bool rnr_wait_once(int code)
{
	uint64_t t0, coded = cf_rnr_ns(code);
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.rnr = 1;
	o.min_rnr = (uint8_t)code;
	cf_pair(&a, &b, &o);
	t0 = cf_ns();
	cf_post(&a, .op = IBV_WR_SEND, .id = 1, .len = 64);
	cf_wc(a.scq, 1, RNR_RETRY_EXC_ERR);
	return between("the second refusal", cf_ns() - t0, coded, 4 * coded + 500 * MS);
}

/* One retry: the second refusal cannot come before the coded time has passed. */
static void rnr_wait(void)
{
	static const int codes[] = { 1, 12, 25, 31, 0 };

	for (unsigned i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		in_time("the second refusal", rnr_wait_once, codes[i]);
}

static void rnr_in_stream(void)
{
	enum { N = 30, SLOT = 2000 };
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.mtu = IBV_MTU_256;
	o.min_rnr = 14;
	cf_pair(&a, &b, &o);
	for (int i = 0; i < N; i++)
		cf_fill(a.buf + i * SLOT, SLOT, i);
	for (int i = 0; i < 5; i++)
		cf_recv(&b, i, i * SLOT, SLOT);
	for (int i = 0; i < N; i++)
		cf_post(&a, .op = IBV_WR_SEND, .id = i, .off = i * SLOT, .len = SLOT);
	for (int i = 0; i < N; i++) {
		if (i >= 4 && i + 1 < N) /* always one too late from here */
			cf_recv(&b, i + 1, (i + 1) * SLOT, SLOT);
		CF_EQ(cf_wc(b.rcq, i, SUCCESS).byte_len, SLOT);
		cf_verify(b.buf + i * SLOT, SLOT, i);
		cf_wc(a.scq, i, SUCCESS);
	}
	cf_quiet(b.rcq);
}

/* READs and WRITEs behind a refused send wait for it: order is kept. */
static void order_behind_rnr(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	cf_post(&a, .op = IBV_WR_SEND, .id = 1, .len = 64);
	memset(a.buf + 128, 0xee, 64);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 2, .off = 128, .len = 64, .to = &b, .roff = 4096);
	cf_post(&a, .op = IBV_WR_RDMA_READ, .id = 3, .off = 256, .len = 64, .to = &b, .roff = 4096);
	cf_quiet(a.scq);
	cf_all_zero(b.buf + 4096, 64);
	cf_recv(&b, 4, 0, 64);
	for (int i = 1; i <= 3; i++)
		cf_wc(a.scq, i, SUCCESS);
	CF_TRUE(!memcmp(a.buf + 128, a.buf + 256, 64));
}

const struct cf_check cf_checks[] = {
	{ "25", "RETRY_EXC after retry_cnt + 1 timeouts", CF_TIMER, retries },
	{ "25", "timers run without a polling thread", CF_TIMER, not_polled },
	{ "26", "retry_cnt 0: the first timeout is fatal", CF_TIMER, no_retry },
	{ "26", "timeout 0: never", CF_TIMER, never },
	{ "25", "a QPN without a queue pair", CF_PATH, no_such_qp },
	{ "28", "rnr_retry k: k + 1 refusals", CF_RNR, rnr_count },
	{ "28", "rnr_retry 7: for ever", CF_RNR, rnr_endless },
	{ "29", "the RNR wait is at least the coded time", CF_RNR, rnr_wait },
	{ "31 90", "RNR in a stream: nothing twice, order kept", CF_RNR, rnr_in_stream },
	{ "31", "requests behind a refused send wait", CF_RNR, order_behind_rnr },
	{ 0 },
};

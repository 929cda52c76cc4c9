/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Compare-and-swap, fetch-and-add: results, alignment, and exactness under competition. */
#include "conf.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t word(const struct cf_side *s, size_t off)
{
	uint64_t v;

	memcpy(&v, s->buf + off, 8);
	return v;
}

static void set(struct cf_side *s, size_t off, uint64_t v)
{
	memcpy(s->buf + off, &v, 8);
}

static uint64_t atomic_op(struct cf_side *a, struct cf_side *b, enum ibv_wr_opcode op, uint64_t add,
			  uint64_t swap)
{
	struct ibv_wc wc;

	memset(a->buf, 0xcc, 24);
	cf_post(a, .op = op, .id = 1, .off = 8, .len = 8, .to = b, .roff = 64, .add = add, .swap = swap);
	wc = cf_wc(a->scq, 1, SUCCESS);
	CF_EQ(wc.opcode, op == IBV_WR_ATOMIC_CMP_AND_SWP ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD);
	/* Nothing around the result is touched. */
	CF_EQ(word(a, 0), 0xccccccccccccccccull);
	CF_EQ(word(a, 16), 0xccccccccccccccccull);
	return word(a, 8);
}

static void results(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	set(&b, 64, 0x0102030405060708ull);
	CF_EQ(atomic_op(&a, &b, IBV_WR_ATOMIC_CMP_AND_SWP, 0x0102030405060708ull, 42),
	      0x0102030405060708ull);
	CF_EQ(word(&b, 64), 42);
	CF_EQ(atomic_op(&a, &b, IBV_WR_ATOMIC_CMP_AND_SWP, 41, 7), 42);
	CF_EQ(word(&b, 64), 42);
	CF_EQ(atomic_op(&a, &b, IBV_WR_ATOMIC_FETCH_AND_ADD, 58, 0), 42);
	CF_EQ(word(&b, 64), 100);
	set(&b, 64, UINT64_MAX - 1);
	CF_EQ(atomic_op(&a, &b, IBV_WR_ATOMIC_FETCH_AND_ADD, 5, 0), UINT64_MAX - 1);
	CF_EQ(word(&b, 64), 3);
	CF_EQ(atomic_op(&a, &b, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0), 3);
	cf_all_zero(b.buf, 64);
	cf_all_zero(b.buf + 72, 64);
}

static void misaligned(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	for (int i = 1; i < 8; i++) {
		cf_again(&a, &b);
		/* Alignment wins over a bad key. */
		cf_post(&a, .op = i & 1 ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD,
			.id = i, .len = 8, .to = &b, .roff = 64 + i, .add = i & 1 ? 0 : 1, .swap = 9,
			.rkey = i & 2 ? b.mr->rkey ^ 0xff0000 : b.mr->rkey);
		cf_fails(&a, i, &b, CF_NO_RECV, CF_MISALIGNED);
		cf_all_zero(b.buf, 256);
	}
}

/* The result goes through a gather list of odd pieces. */
static void scattered_result(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_sge sge[3];

	cf_pair(&a, &b, &o);
	set(&b, 64, 0x1122334455667788ull);
	for (int i = 0; i < 3; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)a.buf + 100 * i, i == 2 ? 10 : 3, a.mr->lkey };
	memset(a.buf, 0xcc, 400);
	cf_post(&a, .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .id = 1, .sge = sge, .n = 3, .to = &b,
		.roff = 64, .add = 1);
	cf_wc(a.scq, 1, SUCCESS);
	CF_TRUE(!memcmp(a.buf, "\x88\x77\x66\xcc", 4));
	CF_TRUE(!memcmp(a.buf + 100, "\x55\x44\x33\xcc", 4));
	CF_TRUE(!memcmp(a.buf + 200, "\x22\x11\xcc", 3));
}

/* n additions by each of two QPs, and by the CPU when the adapter is atomic towards it. */
static void sum_of(int n)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b, c, d;
	int left[2] = { n, n }, flying[2] = { 0, 0 };
	bool global = false;
	uint64_t own = 0;
	struct ibv_wc wc[16];

	cf_pair(&a, &b, &o);
	global = cf.dev.orig_attr.atomic_cap == IBV_ATOMIC_GLOB;
	cf_side_again(&c, &a);
	cf_side_again(&d, &b);
	cf_join(&c, &d);
	uint64_t end = cf_ns() + 300000000000ull;

	while (left[0] || left[1] || flying[0] || flying[1]) {
		for (int q = 0; q < 2; q++) {
			struct cf_side *s = q ? &c : &a;
			int got;

			for (; left[q] && flying[q] < 16; left[q]--, flying[q]++)
				cf_post(s, .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .id = left[q],
					.off = 8 * q, .len = 8, .to = &b, .roff = 64, .add = q + 1);
			got = ibv_poll_cq(s->scq, 16, wc);
			CF_TRUE(got >= 0);
			for (int i = 0; i < got; i++)
				CF_EQ(wc[i].status, IBV_WC_SUCCESS);
			flying[q] -= got;
		}
		if (global && own < (uint64_t)n) {
			atomic_fetch_add((_Atomic uint64_t *)(b.buf + 64), 1);
			own++;
		}
		CF_TRUE(cf_ns() < end);
	}
	CF_EQ(word(&b, 64), 3ull * n + own);
}

static void sum(void)
{
	sum_of(20000);
}

static void sum_full(void)
{
	sum_of(1000000);
}

/* --- a lock taken by compare-and-swap, from two roles --- */

enum { TURNS = 300 };

static void locker(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;
	struct cf_addr peer;
	/* The first role's buffer has the lock (0) and a counter (8). */
	struct cf_addr target;

	cf_side(&s, &o);
	peer = cf_connect(p, &s);
	target = peer;
	if (p->first) { /* reaches its own memory through a QP of its own */
		struct cf_side self, end;

		cf_side_again(&self, &s);
		cf_loop(&self, &end);
		target = cf_addr_of(&self);
		s.qp = self.qp, s.scq = self.scq, s.rcq = self.rcq;
	}
	for (int i = 0; i < TURNS; i++) {
		do {
			cf_post(&s, .op = IBV_WR_ATOMIC_CMP_AND_SWP, .id = 1, .off = 256, .len = 8,
				.raddr = target.addr, .rkey = target.rkey, .add = 0, .swap = 1 + p->first);
			cf_wc(s.scq, 1, SUCCESS);
		} while (word(&s, 256) != 0);
		cf_post(&s, .op = IBV_WR_RDMA_READ, .id = 2, .off = 264, .len = 8,
			.raddr = target.addr + 8, .rkey = target.rkey);
		cf_wc(s.scq, 2, SUCCESS);
		set(&s, 264, word(&s, 264) + 1);
		cf_post(&s, .op = IBV_WR_RDMA_WRITE, .id = 3, .off = 264, .len = 8,
			.raddr = target.addr + 8, .rkey = target.rkey);
		cf_wc(s.scq, 3, SUCCESS);
		cf_post(&s, .op = IBV_WR_ATOMIC_CMP_AND_SWP, .id = 4, .off = 256, .len = 8,
			.raddr = target.addr, .rkey = target.rkey, .add = 1 + p->first, .swap = 0);
		cf_wc(s.scq, 4, SUCCESS);
	}
	cf_meet(p);
	if (p->first)
		CF_EQ(word(&s, 8), 2 * TURNS);
	cf_meet(p);
}

static void lock_roles(void)
{
	cf_processes(locker, locker);
}

/* --- one word of a process, from several others at once --- */

enum { REQUESTERS = 3, ADDITIONS = 1000, SWAPS = 100, FLYING = 8, BY_WIRE = 0 };

struct requester {
	struct cf_party p;
	int number, end; /* end: the target's of the pair */
	struct cf_side s; /* the target's */
	pid_t pid;
};

/* Additions to the word at roff; each requester adds its own number and one, so that a lost one shows which it was. */
static void add(struct cf_side *s, const struct cf_addr *to, uint64_t what, int n)
{
	int left = n, flying = 0, got;
	struct cf_timeout t = { 0 };
	struct ibv_wc wc[FLYING];

	while (left || flying) {
		for (; left && flying < FLYING; left--, flying++)
			cf_post(s, .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .id = 1, .off = 256, .len = 8,
				.raddr = to->addr + 64, .rkey = to->rkey, .add = what);
		got = ibv_poll_cq(s->scq, FLYING, wc);
		CF_TRUE(got >= 0);
		for (int i = 0; i < got; i++)
			CF_EQ(wc[i].status, IBV_WC_SUCCESS);
		flying -= got;
		if (got)
			t = (struct cf_timeout){ 0 };
		else if (cf_over(&t, CF_WAIT_MS * 1000000ull))
			CF_DIE("%d additions are left, %d in flight", left, flying);
	}
}

/* Swaps the word at 72 from what it has to one more, n times. */
static void swap_up(struct cf_side *s, const struct cf_addr *to, int n)
{
	uint64_t is = 0;

	for (int done = 0; done < n;) {
		cf_post(s, .op = IBV_WR_ATOMIC_CMP_AND_SWP, .id = 2, .off = 264, .len = 8,
			.raddr = to->addr + 72, .rkey = to->rkey, .add = is, .swap = is + 1);
		cf_wc(s->scq, 2, SUCCESS);
		done += word(s, 264) == is;
		is = word(s, 264) == is ? is + 1 : word(s, 264);
	}
}

static struct cf_opt for_many(void)
{
	struct cf_opt o = cf_opt();

	o.timeout = 18; /* 1 s: a slow machine is no error */
	return o;
}

static int request(void *arg)
{
	struct requester *r = arg;
	struct cf_opt o = for_many();
	struct cf_addr to;
	struct cf_side s;

	close(r->end);
	if (r->number == BY_WIRE)
		CF_OK(setenv("DAPPLE_LOCAL", "off", 1));
	cf_side(&s, &o);
	to = cf_connect(&r->p, &s);
	cf_meet(&r->p);
	add(&s, &to, (uint64_t)r->number + 1, ADDITIONS);
	swap_up(&s, &to, SWAPS);
	cf_meet(&r->p);
	return 0;
}

static void start(struct requester *r, int number)
{
	int sv[2];

	CF_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
	*r = (struct requester){ .p = { .fd = sv[1] }, .number = number, .end = sv[0] };
	r->pid = cf_child(request, r);
	close(sv[1]);
	r->p = (struct cf_party){ .fd = sv[0], .first = true };
}

/* polls: the target looks at its queues all the time, and adds as well; else its program sleeps. */
static void target_of_many(bool polls)
{
	struct cf_opt o = for_many();
	uint64_t want = 0, swaps = REQUESTERS * SWAPS;
	struct requester r[REQUESTERS];
	struct cf_side s, self, end;
	struct cf_addr own;

	for (int i = 0; i < REQUESTERS; i++) {
		start(&r[i], i);
		want += (uint64_t)(i + 1) * ADDITIONS;
	}
	cf_side(&s, &o);
	for (int i = 0; i < REQUESTERS; i++) {
		cf_side_again(&r[i].s, &s);
		cf_connect(&r[i].p, &r[i].s);
	}
	cf_side_again(&self, &s);
	cf_loop(&self, &end);
	own = cf_addr_of(&s);
	for (int i = 0; i < REQUESTERS; i++)
		cf_meet(&r[i].p);
	if (polls) {
		add(&self, &own, 100, ADDITIONS);
		want += 100ull * ADDITIONS;
		while (__atomic_load_n((uint64_t *)(s.buf + 72), __ATOMIC_RELAXED) != swaps && !cf_readable(r[0].p.fd, 0))
			CF_EQ(ibv_poll_cq(s.rcq, 1, &(struct ibv_wc){ 0 }), 0);
	}
	for (int i = 0; i < REQUESTERS; i++) {
		cf_meet(&r[i].p);
		cf_reap(r[i].pid);
		close(r[i].p.fd);
	}
	CF_EQ(word(&s, 64), want);
	CF_EQ(word(&s, 72), swaps);
}

static void many_to_poller(void)
{
	target_of_many(true);
}

static void many_to_sleeper(void)
{
	target_of_many(false);
}

const struct cf_check cf_checks[] = {
	{ "51 56", "misaligned atomics", CF_ATOMIC, misaligned },
	{ "52", "results, wrap, host order", CF_ATOMIC, results },
	{ "52 80", "a result in pieces", CF_ATOMIC, scattered_result },
	{ "53", "additions from two QPs are exact", CF_ATOMIC, sum },
	{ "53", "additions from two QPs are exact, a million each", CF_ATOMIC | CF_FULL, sum_full },
	{ "53", "a lock between two processes", CF_ATOMIC, lock_roles },
	{ "53", "several processes, one by the wire, to one that polls", CF_ATOMIC, many_to_poller },
	{ "53", "several processes, one by the wire, to one that sleeps", CF_ATOMIC, many_to_sleeper },
	{ 0 },
};

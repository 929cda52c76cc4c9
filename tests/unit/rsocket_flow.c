/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two flows joined by a wire in memory: a Write lands in the other's ring at once, its message may
 * wait. Whatever the order of sending, arriving, completing and reading, every byte arrives once
 * and in order, nothing unread is overwritten, no budget is exceeded, and nothing gets stuck.
 */
#include "ulp/rsocket/flow.h"

#include "support/cases.h"
#include "support/check.h"
#include "util/rng.h"

#define WIRE 4096

struct side {
	struct rs_flow f;
	uint32_t msgs[65];
	uint8_t ring[8192];
	struct rs_sge list[RS_SGL_SIZE]; /* written by the other side */
	uint32_t in[WIRE];               /* messages on their way here */
	unsigned in_head, in_tail;
	uint32_t out_bytes[WIRE];        /* ring bytes of sends not completed */
	unsigned out_head, out_tail, ctrl_out;
	uint64_t sent, got;
};

static struct side a, b;
static struct ut_rng rng;

static uint32_t below(uint32_t n)
{
	return ut_rng_below(&rng, n);
}

static uint8_t pattern(uint64_t n)
{
	return (uint8_t)(n * 31 + (n >> 8));
}

static void say(struct side *to, uint32_t msg)
{
	to->in[to->in_tail++ % WIRE] = msg;
	CHECK(to->in_tail - to->in_head < WIRE);
}

static void connect_side(struct side *s, struct side *peer)
{
	const struct rs_conn conn = {
		.credits = peer->f.rq_size,
		.sgl = { (uintptr_t)peer->list, 1, RS_SGL_SIZE },
		.data = { (uintptr_t)peer->ring, 2, peer->f.rbuf_size / 2 },
	};

	rs_flow_connect(&s->f, &conn);
}

static void start(struct side *s, uint32_t sbuf, uint32_t rbuf, bool msg_send)
{
	memset(s, 0, sizeof(*s));
	rs_flow_init(&s->f, 24, 16, sbuf, rbuf, s->msgs, msg_send);
}

static void grant(struct side *s, struct side *peer)
{
	struct rs_grant g;

	while (rs_flow_grant(&s->f, &g)) {
		if (g.half) {
			CHECK(g.at + g.length <= s->f.rbuf_size && g.nr < RS_SGL_SIZE);
			CHECK_MSG(!peer->list[g.nr].length, "an entry in use is overwritten");
			peer->list[g.nr] = (struct rs_sge){ (uintptr_t)s->ring + g.at, 2, g.length };
		}
		s->ctrl_out += g.half ? s->f.per_msg : 1;
		say(peer, g.msg);
	}
}

static bool send_some(struct side *s, struct side *peer, uint32_t want, uint32_t inl)
{
	struct rs_piece p;
	uint8_t *to;

	CHECK(!rs_flow_target(&s->f, s->list));
	if (!rs_flow_can_send(&s->f))
		return false;
	rs_flow_take(&s->f, want, inl, &p);
	CHECK(p.length && p.length <= want);
	if (p.length > inl) {
		CHECK(p.part[0] + p.part[1] == p.length);
		CHECK(p.at[0] + p.part[0] <= s->f.sbuf_size && p.part[1] <= p.at[0]);
	}
	to = (uint8_t *)(uintptr_t)p.remote;
	CHECK(to >= peer->ring && to + p.length <= peer->ring + peer->f.rbuf_size);
	for (uint32_t i = 0; i < p.length; i++)
		to[i] = pattern(s->sent++);
	for (unsigned i = 0; i < s->f.per_msg; i++)
		s->out_bytes[s->out_tail++ % WIRE] = i || p.length <= inl ? 0 : p.length;
	say(peer, rs_msg(RS_OP_DATA, p.length));
	return true;
}

static bool arrive(struct side *s)
{
	if (s->in_head == s->in_tail)
		return false;
	CHECK(!rs_flow_message(&s->f, s->in[s->in_head++ % WIRE], 0));
	return true;
}

static bool complete(struct side *s)
{
	if (s->ctrl_out) {
		s->ctrl_out--;
		rs_flow_ctrl_sent(&s->f);
		return true;
	}
	if (s->out_head == s->out_tail)
		return false;
	rs_flow_sent(&s->f, s->out_bytes[s->out_head++ % WIRE]);
	return true;
}

static bool read_some(struct side *s, uint32_t want)
{
	uint32_t at = 0, n = rs_flow_chunk(&s->f, 0, want, &at);

	for (uint32_t i = 0; i < n; i++, s->got++)
		CHECK_MSG(s->ring[at + i] == pattern(s->got), "byte %llu",
			  (unsigned long long)s->got);
	if (n)
		rs_flow_read(&s->f, n);
	return n;
}

static void sane(const struct side *s)
{
	CHECK(s->f.r_room + s->f.readable + s->f.r_freed == s->f.rbuf_size);
	CHECK((uint16_t)(s->f.s_limit - s->f.s_seq) <= s->f.s_window);
	CHECK(s->f.slots <= s->f.slots_all && s->f.ctrl <= RS_CTRL_SLOTS);
	CHECK(s->f.sbuf_free <= s->f.sbuf_size);
}

static void one_step(struct side *s, struct side *peer, uint64_t limit)
{
	switch (below(5)) {
	case 0:
		if (s->sent < limit)
			send_some(s, peer, 1 + below(3000), below(2) ? 64 : 0);
		break;
	case 1:
		arrive(s);
		break;
	case 2:
		complete(s);
		break;
	case 3:
		read_some(s, 1 + below(5000));
		break;
	default:
		grant(s, peer);
	}
	sane(s);
}

/* Nothing new is asked for: everything under way must come to its end. */
static void drain(void)
{
	bool any;

	do {
		any = (int)arrive(&a) | (int)arrive(&b) | (int)complete(&a) | (int)complete(&b);
		any |= (int)read_some(&a, 8192) | (int)read_some(&b, 8192);
		grant(&a, &b);
		grant(&b, &a);
		any |= a.in_head != a.in_tail || b.in_head != b.in_tail;
	} while (any);
	CHECK(a.sent == b.got && b.sent == a.got);
	CHECK(rs_flow_idle(&a.f) && rs_flow_idle(&b.f));
	/* And the stream goes on from there. */
	CHECK(!rs_flow_target(&a.f, a.list) && rs_flow_can_send(&a.f));
	CHECK(!rs_flow_target(&b.f, b.list) && rs_flow_can_send(&b.f));
}

static void walk(bool msg_send, uint64_t seed)
{
	rng = (struct ut_rng){ seed };
	start(&a, 4096, 8192, msg_send);
	start(&b, 5000, 4096, msg_send);
	connect_side(&a, &b);
	connect_side(&b, &a);
	/* Far enough for the 16-bit sequence numbers to wrap now and then. */
	a.f.s_seq = b.f.r_seq = UINT16_MAX - 20;
	a.f.s_limit = (uint16_t)(a.f.s_seq + b.f.rq_size);
	b.f.r_renew = (uint16_t)(b.f.r_seq + b.f.rq_size / 2);
	for (int i = 0; i < 40000; i++) {
		one_step(&a, &b, UINT64_MAX);
		one_step(&b, &a, seed % 3 ? UINT64_MAX : 0);
	}
	drain();
	CHECK(a.sent > 100000);
}

static void with_immediate(void)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
		walk(false, seed);
}

static void with_sends(void)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
		walk(true, seed);
}

/* A sender whose peer never reads stops at the end of its credit, and not before. */
static void stops(void)
{
	start(&a, 4096, 8192, false);
	start(&b, 4096, 4096, false);
	connect_side(&a, &b);
	connect_side(&b, &a);
	while (grant(&b, &a), (int)arrive(&a) | (int)arrive(&b) | (int)complete(&a) | (int)complete(&b) |
			      (int)send_some(&a, &b, 1000, 0))
		;
	CHECK(a.sent == 4096);
	/* Small pieces are bounded by the queue of announcements: 16 here. */
	start(&a, 4096, 8192, false);
	connect_side(&a, &b);
	start(&b, 4096, 4096, false);
	connect_side(&b, &a);
	while (grant(&b, &a), (int)arrive(&a) | (int)arrive(&b) | (int)complete(&a) | (int)complete(&b) |
			      (int)send_some(&a, &b, 1, 64))
		;
	CHECK(a.sent == 16);
}

/* Messages that break the rules. Each on a fresh flow: 16 messages, 2048 bytes of credit, nothing sent. */
static void refused(void)
{
	static const struct {
		uint32_t msg;
		int want;
	} rows[] = {
		{ 0x00000000, -EPROTO },         /* no bytes */
		{ 0x00000801, -EPROTO },         /* more than the credit */
		{ 0x1fffffff, -EPROTO },
		{ 0x20000001, -EPROTO },         /* operations that are none */
		{ 0x40000001, -EPROTO }, { 0x60000001, -EPROTO }, { 0xa0000000, -EPROTO },
		{ 0x80000011, -EPROTO },         /* more than its announced room */
		{ 0x8000ffff, -EPROTO },         /* and taking back credit */
		{ 0xc0000004, -EPROTO },         /* an entry beyond our I/O map of 4 */
		{ 0xe0000003, -EPROTO },
		{ 0xe0000000, 1 + RS_CTRL_DISCONNECT }, { 0xe0000001, 1 + RS_CTRL_KEEPALIVE },
		{ 0xe0000002, 1 + RS_CTRL_SHUTDOWN },
		{ 0x00000800, 0 }, { 0x80000010, 0 }, { 0xc0000003, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start(&a, 4096, 4096, false);
		start(&b, 4096, 4096, false);
		connect_side(&a, &b);
		CHECK_MSG(rs_flow_message(&a.f, rows[i].msg, 4) == rows[i].want, "row %zu", i);
		sane(&a);
	}
	/* One announcement more than the queue holds. */
	start(&a, 4096, 4096, false);
	for (int i = 0; i < 16; i++)
		CHECK(!rs_flow_message(&a.f, rs_msg(RS_OP_DATA, 1), 0));
	CHECK(rs_flow_message(&a.f, rs_msg(RS_OP_DATA, 1), 0) == -EPROTO);
}

/* A half of the ring that a peer announces must be valid memory. */
static void bad_half(void)
{
	start(&a, 4096, 4096, false);
	start(&b, 4096, 4096, false);
	connect_side(&a, &b);
	a.f.target.length = 0;
	a.list[1] = (struct rs_sge){ UINT64_MAX - 10, 2, 4096 };
	CHECK(rs_flow_target(&a.f, a.list) == -EPROTO);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "-", "with immediate", with_immediate }, { "-", "with sends", with_sends },
		{ "-", "stops", stops }, { "-", "refused", refused }, { "-", "bad half", bad_half },
	};

	return RUN_CASES(cases, argc, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RMPP between two ends under virtual time: every length, each segment and ACK lost, doubled and late, windows, the
 * opening of an answer, aborts, ceilings. The sender's timer is the caller's: here that of a link which loses.
 */
#include "mgmt/rmpp.h"

#include "mgmt/agents.h"
#include "support/cases.h"
#include "support/check.h"
#include "util/clock.h"
#include "util/rng.h"
#include "wire/cm_fields.h"
#include "wire/rmpp_fields.h"

#include <stdlib.h>

enum { QUEUE = 4096, CLASS_SA = 3, CLASS_VENDOR = 0x32, CLASS_DEV_ADM = 0x10, TABLE_RESP = 0x92, MULTI = 0x14 };

struct packet {
	uint8_t mad[ATT_MAD_LENGTH];
	struct att_addr to;
};

/* Packets under way, in both directions. */
static struct packet *line;
static unsigned line_n, sent_n;
/* Of the n-th packet: lost, doubled, or behind the next one. Percent of all, by chance. */
static unsigned lose_at, lose_percent, double_percent, late_percent;
static struct ut_rng rng;
static const struct att_addr left = { .lid = 1, .qpn = 1 }, right = { .lid = 2, .qpn = 1 };

static bool chance(unsigned percent)
{
	return ut_rng_below(&rng, 100) < percent;
}

static void put(const struct att_addr *to, const uint8_t *mad)
{
	CHECK(line_n < QUEUE);
	memcpy(line[line_n].mad, mad, ATT_MAD_LENGTH);
	line[line_n++].to = *to;
}

static void transmit(void *ctx, const struct att_addr *to, const uint8_t mad[ATT_MAD_LENGTH])
{
	(void)ctx;
	if (++sent_n == lose_at || chance(lose_percent))
		return;
	put(to, mad);
	if (chance(double_percent))
		put(to, mad);
	if (line_n > 1 && chance(late_percent)) {
		struct packet p = line[line_n - 1];

		line[line_n - 1] = line[line_n - 2];
		line[line_n - 2] = p;
	}
}

static const struct rmpp_out out = { transmit, NULL };

static bool take(struct packet *ret)
{
	if (!line_n)
		return false;
	*ret = line[0];
	memmove(line, line + 1, --line_n * sizeof(*line));
	return true;
}

static void reset(uint64_t seed)
{
	line_n = sent_n = lose_at = lose_percent = double_percent = late_percent = 0;
	rng.state = seed;
}

static uint8_t *make(unsigned mgmt_class, unsigned method, size_t data, size_t *ret_length)
{
	size_t header = agents_data_offset((uint8_t)mgmt_class);
	uint8_t *m = calloc(1, header + data + ATT_MAD_LENGTH);

	CHECK(m);
	wire_set_MAD_base_version(m, 1);
	wire_set_MAD_mgmt_class(m, mgmt_class);
	wire_set_MAD_class_version(m, 2);
	wire_set_MAD_r(m, method >> 7);
	wire_set_MAD_method(m, method & 0x7f);
	wire_set_MAD_tid(m, 0x700000123ull);
	wire_set_RMPP_active(m, 1);
	for (size_t i = WIRE_RMPP_END; i < header + data; i++)
		m[i] = (uint8_t)(i * 7 + i / 251);
	*ret_length = header + data;
	return m;
}

/* What came out of the receiver. */
static struct rmpp_message got;
static unsigned got_n;

/* Moves a message from left to right; returns the verdict that ended it, after at most `tries` timeouts. */
static enum rmpp_verdict run(struct rmpp_send *s, struct rmpp_receiver *r, unsigned tries, bool need_answer)
{
	enum rmpp_verdict end = RMPP_NOTHING;
	uint64_t now = UT_S;
	struct packet p;

	rmpp_send_more(s, &out);
	while (end != RMPP_DONE && end != RMPP_ENDED) {
		if (!take(&p)) {
			if (!tries--)
				break;
			now += RMPP_ACK_MS * UT_MS;
			rmpp_send_again(s, &out);
			continue;
		}
		if (p.to.lid == right.lid) {
			struct rmpp_message m;

			if (wire_get_RMPP_type(p.mad) == WIRE_RMPP_ACK)
				rmpp_receive_opening(r, &left, p.mad);
			else if (rmpp_receive(r, &left, p.mad, now, &out, &m)) {
				CHECK(!got_n++);
				got = m;
			}
			continue;
		}
		end = rmpp_send_reply(s, &right, p.mad, need_answer, &out);
		if (end == RMPP_PROGRESS)
			rmpp_send_more(s, &out);
	}
	/* What is still under way. */
	while (take(&p))
		if (p.to.lid == right.lid && wire_get_RMPP_type(p.mad) == WIRE_RMPP_ACK)
			rmpp_receive_opening(r, &left, p.mad);
	return end;
}

/* Answers go back to the sender of a segment. */
static void move(unsigned mgmt_class, size_t data)
{
	struct rmpp_receiver r;
	struct rmpp_send s;
	size_t length;
	uint8_t *m = make(mgmt_class, TABLE_RESP, data, &length);

	rmpp_receiver_init(&r);
	got_n = 0;
	rmpp_send_init(&s, m, length, &right, 1);
	CHECK(run(&s, &r, 400, false) == RMPP_DONE);
	CHECK(got_n == 1);
	/* A message without data has one segment. */
	CHECK_MSG(got.length == length, "%zu of %zu", got.length, length);
	CHECK(!memcmp(got.bytes + WIRE_RMPP_END, m + WIRE_RMPP_END, length - WIRE_RMPP_END));
	CHECK(got.from.lid == left.lid);
	CHECK(!r.n_open && r.n_finished == 1 && !r.bytes);
	rmpp_receive_expire(&r, UT_S * 1000, &out);
	CHECK(!r.n_finished);
	free(got.bytes);
	free(m);
	rmpp_receiver_fini(&r);
}

static void lengths(void)
{
	static const unsigned classes[] = { CLASS_SA, CLASS_VENDOR, CLASS_DEV_ADM };

	reset(1);
	for (unsigned c = 0; c < 3; c++) {
		unsigned size = ATT_MAD_LENGTH - agents_data_offset((uint8_t)classes[c]);

		for (size_t n = 1; n <= 3 * size + 1; n++)
			move(classes[c], n);
		for (size_t n = 63; n < 68; n++)
			for (size_t d = 0; d < 3; d++)
				move(classes[c], n * size + d - 1);
		move(classes[c], 620 * size - 8);
	}
}

/* PayloadLength of the first and of the last segment, and the flags: IBTA 13.6.2.1. */
static void headers(void)
{
	struct rmpp_send s;
	size_t length;
	uint8_t *m = make(CLASS_SA, TABLE_RESP, 450, &length);

	reset(1);
	rmpp_send_init(&s, m, length, &right, 9);
	rmpp_send_more(&s, &out);
	CHECK(line_n == 3 && s.segments == 3);
	for (unsigned i = 0; i < 3; i++) {
		const uint8_t *p = line[i].mad;

		CHECK(wire_get_RMPP_version(p) == 1 && wire_get_RMPP_type(p) == WIRE_RMPP_DATA);
		CHECK(wire_get_RMPP_active(p) && !wire_get_RMPP_status(p) && wire_get_RMPP_segment(p) == i + 1);
		CHECK(wire_get_RMPP_first(p) == (i == 0) && wire_get_RMPP_last(p) == (i == 2));
		/* 20 bytes of SA header count in each segment */
		CHECK(wire_get_RMPP_length_or_window(p) == (i == 0 ? 450 + 3 * 20u : i == 2 ? 50 + 20u : 0u));
	}
	free(m);
	line_n = 0;
}

static void each_lost(void)
{
	for (unsigned i = 1; i < 140; i++) {
		reset(i);
		lose_at = i;
		move(CLASS_SA, 200 * 130);
	}
}

static void weather(void)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		reset(seed);
		lose_percent = (unsigned)(seed % 4) * 5;
		double_percent = (unsigned)(seed % 3) * 10;
		late_percent = (unsigned)(seed % 5) * 10;
		fprintf(stderr, "# seed %u\n", (unsigned)seed);
		move(CLASS_SA, 200 * (seed * 5) + seed);
	}
}

/* A request in segments: the ACK of its last ACK opens the window of the answer. */
static void both_ways(void)
{
	struct rmpp_receiver r;
	struct rmpp_send s;
	size_t length;
	uint8_t *m = make(CLASS_SA, MULTI, 1000, &length);
	uint8_t answer[ATT_MAD_LENGTH];

	reset(1);
	got_n = 0;
	rmpp_receiver_init(&r);
	rmpp_send_init(&s, m, length, &right, 1);
	CHECK(run(&s, &r, 1, true) == RMPP_DONE && got_n == 1);
	memcpy(answer, got.bytes, sizeof(answer));
	wire_set_MAD_r(answer, 1);
	CHECK(rmpp_receive_window(&r, &left, answer) == 1);
	/* The requester may open further. */
	wire_set_RMPP_type(m, WIRE_RMPP_ACK);
	wire_set_RMPP_length_or_window(m, 17);
	rmpp_receive_opening(&r, &left, m);
	CHECK(rmpp_receive_window(&r, &left, answer) == 17);
	CHECK(rmpp_receive_window(&r, &right, answer) == 1);
	free(got.bytes);
	free(m);
	rmpp_receiver_fini(&r);
}

static void reply_with(uint8_t *mad, enum wire_rmpp_type type, unsigned status, uint32_t segment, uint32_t window)
{
	wire_set_MAD_r(mad, 0);
	wire_set_RMPP_version(mad, 1);
	wire_set_RMPP_type(mad, type);
	wire_set_RMPP_status(mad, status);
	wire_set_RMPP_segment(mad, segment);
	wire_set_RMPP_length_or_window(mad, window);
}

/* What a peer may answer that it should not. Columns: reply, verdict, status of the ABORT that leaves (0: none). */
static void bad_replies(void)
{
	static const struct {
		enum wire_rmpp_type type;
		unsigned status;
		uint32_t segment, window;
		enum rmpp_verdict verdict;
		unsigned abort;
	} rows[] = {
		{ WIRE_RMPP_ACK, 0, 1, 3, RMPP_PROGRESS, 0 },
		{ WIRE_RMPP_ACK, 0, 0, 1, RMPP_NOTHING, 0 },
		{ WIRE_RMPP_ACK, 0, 3, 2, RMPP_ENDED, WIRE_RMPP_WINDOW_TOO_SMALL },
		{ WIRE_RMPP_ACK, 0, 2, 60, RMPP_ENDED, WIRE_RMPP_SEGMENT_TOO_BIG },
		{ WIRE_RMPP_ACK, 0, 50, 60, RMPP_ENDED, WIRE_RMPP_SEGMENT_TOO_BIG },
		{ WIRE_RMPP_ACK, 9, 1, 60, RMPP_ENDED, WIRE_RMPP_BAD_STATUS },
		{ WIRE_RMPP_STOP, 1, 0, 0, RMPP_ENDED, 0 },
		{ WIRE_RMPP_STOP, 2, 0, 0, RMPP_ENDED, WIRE_RMPP_BAD_STATUS },
		{ WIRE_RMPP_ABORT, 118, 0, 0, RMPP_ENDED, 0 },
		{ WIRE_RMPP_ABORT, 127, 0, 0, RMPP_ENDED, 0 },
		{ WIRE_RMPP_ABORT, 128, 0, 0, RMPP_ENDED, WIRE_RMPP_BAD_STATUS },
		{ 5, 0, 0, 0, RMPP_ENDED, WIRE_RMPP_BAD_TYPE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t mad[ATT_MAD_LENGTH];
		struct rmpp_send s;
		size_t length;
		uint8_t *m = make(CLASS_SA, TABLE_RESP, 2000, &length);

		reset(1);
		rmpp_send_init(&s, m, length, &right, 1);
		rmpp_send_more(&s, &out);
		CHECK(line_n == 1);
		line_n = 0;
		memcpy(mad, m, sizeof(mad));
		reply_with(mad, rows[i].type, rows[i].status, rows[i].segment, rows[i].window);
		CHECK_MSG(rmpp_send_reply(&s, &right, mad, false, &out) == rows[i].verdict, "row %zu", i);
		CHECK_MSG(line_n == !!rows[i].abort, "row %zu", i);
		if (rows[i].abort) {
			CHECK(wire_get_RMPP_type(line[0].mad) == WIRE_RMPP_ABORT);
			CHECK(wire_get_RMPP_status(line[0].mad) == rows[i].abort && wire_get_MAD_r(line[0].mad));
			/* and no ABORT answers an ABORT for ever */
			memcpy(mad, line[0].mad, sizeof(mad));
			line_n = 0;
			rmpp_send_stray(&right, mad, &out);
			CHECK(!line_n);
		}
		line_n = 0;
		free(m);
	}
}

static void segment(uint8_t *mad, uint64_t tid, uint32_t n, bool first, bool last)
{
	wire_set_MAD_tid(mad, tid);
	wire_set_RMPP_version(mad, 1);
	wire_set_RMPP_type(mad, WIRE_RMPP_DATA);
	wire_set_RMPP_segment(mad, n);
	wire_set_RMPP_first(mad, first);
	wire_set_RMPP_last(mad, last);
}

static void bad_segments(void)
{
	struct rmpp_receiver r;
	struct rmpp_message m;
	size_t length;
	uint8_t *mad = make(CLASS_SA, TABLE_RESP, 200, &length);

	reset(1);
	rmpp_receiver_init(&r);
	segment(mad, 1, 0, false, false);
	CHECK(!rmpp_receive(&r, &left, mad, 1, &out, &m) && line_n == 1);
	CHECK(wire_get_RMPP_status(line[0].mad) == WIRE_RMPP_BAD_SEGMENT);
	line_n = 0;
	segment(mad, 1, 1, false, false);
	CHECK(!rmpp_receive(&r, &left, mad, 1, &out, &m) && line_n == 1);
	line_n = 0;
	/* no beginning: nothing is known, nothing is said */
	segment(mad, 1, 2, false, false);
	CHECK(!rmpp_receive(&r, &left, mad, 1, &out, &m) && !line_n);
	wire_set_RMPP_version(mad, 2);
	CHECK(!rmpp_receive(&r, &left, mad, 1, &out, &m) && line_n == 1);
	CHECK(wire_get_RMPP_status(line[0].mad) == WIRE_RMPP_BAD_VERSION);
	line_n = 0;
	/* beyond the window, and so far that its place would be gigabytes away */
	segment(mad, 1, 1, true, false);
	CHECK(!rmpp_receive(&r, &left, mad, 1, &out, &m) && line_n == 1);
	line_n = 0;
	for (uint32_t n = 66; n; n *= 3) {
		segment(mad, 1, n, false, true);
		CHECK(!rmpp_receive(&r, &left, mad, 1, &out, &m) && !line_n);
		CHECK(r.bytes < 100000);
		if (n > UINT32_MAX / 3)
			break;
	}
	/* 40 s without an end */
	CHECK(rmpp_receive_next(&r) == 1 + RMPP_RECEIVE_S * UT_S);
	rmpp_receive_expire(&r, rmpp_receive_next(&r), &out);
	CHECK(line_n == 1 && wire_get_RMPP_status(line[0].mad) == WIRE_RMPP_TIME_TOO_LONG);
	CHECK(!r.n_open && rmpp_receive_next(&r) == UINT64_MAX);
	line_n = 0;
	free(mad);
	rmpp_receiver_fini(&r);
}

/* A peer that begins messages and never ends them, and one that ends very many. */
static void ceilings(void)
{
	struct rmpp_receiver r;
	struct rmpp_message m;
	size_t length;
	uint8_t *mad = make(CLASS_SA, TABLE_RESP, 200, &length);

	reset(1);
	rmpp_receiver_init(&r);
	for (uint64_t tid = 1; tid < 3 * RMPP_OPEN_MAX; tid++) {
		segment(mad, tid, 1, true, false);
		CHECK(!rmpp_receive(&r, &left, mad, 1, &out, &m));
		line_n = 0;
	}
	CHECK(r.n_open == RMPP_OPEN_MAX);
	rmpp_receive_expire(&r, UT_S * 100, &out);
	line_n = 0;
	for (uint64_t tid = 1; tid < RMPP_FINISHED_MAX + 100; tid++) {
		segment(mad, tid, 1, true, true);
		wire_set_RMPP_length_or_window(mad, 220);
		CHECK(rmpp_receive(&r, &left, mad, 1, &out, &m));
		free(m.bytes);
		line_n = 0;
	}
	CHECK(!r.n_open && r.n_finished == RMPP_FINISHED_MAX);
	free(mad);
	rmpp_receiver_fini(&r);
}

static const struct test_case cases[] = {
	{ "-", "headers of segments", headers },
	{ "-", "every length", lengths },
	{ "-", "each packet lost", each_lost },
	{ "-", "lost, doubled and late", weather },
	{ "-", "request and answer in segments", both_ways },
	{ "-", "replies as they should not be", bad_replies },
	{ "-", "segments as they should not be", bad_segments },
	{ "-", "ceilings", ceilings },
};

int main(int argc, char **argv)
{
	int r;

	line = calloc(QUEUE, sizeof(*line));
	r = RUN_CASES(cases, argc, argv);
	free(line);
	return r;
}

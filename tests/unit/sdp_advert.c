/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Modes and SinkAvail of both directions: each row of the rules of advert.h, and messages that cross. */
#include "ulp/sdp/advert.h"

#include "support/cases.h"
#include "support/check.h"

#define LEAST 1000

static struct sdp_out o;
static struct sdp_in i;

static void begin(void)
{
	sdp_out_begin(&o);
	sdp_in_begin(&i);
}

/* Both ends of a direction, in Pipelined mode. */
static void begin_pipelined(void)
{
	struct sdp_out other;

	begin();
	sdp_out_begin(&other);
	CHECK(sdp_mode_arrived(&other, &i, sdp_out_change(&o, SDP_PIPELINED), 0) == SDP_GOOD);
}

static struct sdp_msg sink_avail(uint32_t len)
{
	struct sdp_msg m = { .mid = WIRE_SDP_SINK_AVAIL, .length = len, .kept = i.kept, .rkey = 5, .vaddr = 4096 };

	CHECK(sdp_in_may_advertise(&i, len, LEAST, 0, 1));
	sdp_in_advertise(&i, len);
	return m;
}

static enum sdp_verdict deliver(const struct sdp_msg *m, bool *ret_stale)
{
	return sdp_out_sink_avail(&o, m, 0, LEAST, ret_stale);
}

static void changes(void)
{
	static const struct { enum sdp_mode in; uint32_t bits; enum sdp_mode then; bool good; } rows[] = {
		{ SDP_COMBINED, 0, SDP_BUFFERED, true }, { SDP_COMBINED, 2, SDP_PIPELINED, true },
		{ SDP_PIPELINED, 1, SDP_COMBINED, true }, { SDP_COMBINED, 1, SDP_COMBINED, false },
		{ SDP_PIPELINED, 0, SDP_PIPELINED, false }, { SDP_PIPELINED, 2, SDP_PIPELINED, false },
		{ SDP_BUFFERED, 0, SDP_BUFFERED, false }, { SDP_BUFFERED, 1, SDP_BUFFERED, false },
		{ SDP_BUFFERED, 2, SDP_BUFFERED, false }, { SDP_COMBINED, 3, SDP_COMBINED, false },
		{ SDP_COMBINED, 7, SDP_COMBINED, false },
	};

	for (size_t n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		begin();
		i.mode = rows[n].in;
		CHECK((sdp_mode_arrived(&o, &i, rows[n].bits, 0) == SDP_GOOD) == rows[n].good);
		CHECK(i.mode == rows[n].then && o.mode == SDP_COMBINED);
	}
	begin();
	CHECK(sdp_mode_arrived(&o, &i, 0, 1) == SDP_BAD_MODE); /* a SrcAvail is outstanding */
}

/* A sink may ask for one change: from Buffered to Combined. */
static void changes_by_sink(void)
{
	for (uint32_t mode = 0; mode < 8; mode++)
		for (int from = SDP_BUFFERED; from <= SDP_PIPELINED; from++) {
			bool good = from == SDP_BUFFERED && mode == SDP_COMBINED;

			begin();
			o.mode = (enum sdp_mode)from;
			CHECK((sdp_mode_arrived(&o, &i, 8 | mode, 0) == SDP_GOOD) == good);
			CHECK(o.mode == (good ? SDP_COMBINED : (enum sdp_mode)from));
		}
}

static void written(void)
{
	struct sdp_msg m;
	bool stale;

	begin_pipelined();
	m = sink_avail(5000);
	CHECK(!sdp_in_may_advertise(&i, 5000, LEAST, 0, 1));
	CHECK(deliver(&m, &stale) == SDP_GOOD && !stale && o.nr == 1 && o.targets[0].len == 5000 && o.targets[0].rkey == 5);
	sdp_out_written(&o);
	CHECK(!o.nr && sdp_in_written(&i, 5001) == SDP_LONG_COMPL);
	CHECK(sdp_in_written(&i, 1) == SDP_GOOD && sdp_in_written(&i, 1) == SDP_NO_ADVERT);
	CHECK(sdp_in_may_advertise(&i, 5000, LEAST, 0, 1));
}

static void only_pipelined(void)
{
	struct sdp_msg m = { .mid = WIRE_SDP_SINK_AVAIL, .length = 5000 };
	bool stale;

	begin();
	CHECK(!sdp_in_may_advertise(&i, 5000, LEAST, 0, 1));
	CHECK(deliver(&m, &stale) == SDP_ADVERT_MODE);
	o.mode = SDP_BUFFERED;
	CHECK(deliver(&m, &stale) == SDP_ADVERT_MODE);
}

static void bounds(void)
{
	struct sdp_msg m = { .mid = WIRE_SDP_SINK_AVAIL, .length = LEAST - 1 };
	bool stale;

	begin_pipelined();
	CHECK(!sdp_in_may_advertise(&i, LEAST - 1, LEAST, 0, 1) && !sdp_in_may_advertise(&i, LEAST, LEAST, 1, 1));
	CHECK(sdp_in_may_advertise(&i, LEAST, LEAST, 1, 2));
	CHECK(deliver(&m, &stale) == SDP_SHORT_SINK);
	m.length = LEAST;
	CHECK(sdp_out_sink_avail(&o, &m, SDP_MAX_ADVERTS, LEAST, &stale) == SDP_MANY_ADVERTS);
	for (int n = 0; n < SDP_MAX_ADVERTS; n++)
		CHECK(sdp_out_sink_avail(&o, &m, SDP_MAX_ADVERTS - 1 - n, LEAST, &stale) == SDP_GOOD);
	CHECK(deliver(&m, &stale) == SDP_MANY_ADVERTS);
}

/* A message with octets that follows the SinkAvail discards it at both ends. */
static void discarded(void)
{
	struct sdp_msg m;
	bool stale;

	begin_pipelined();
	m = sink_avail(5000);
	CHECK(deliver(&m, &stale) == SDP_GOOD && !stale);
	sdp_out_data(&o);
	CHECK(sdp_in_data(&i) && !o.nr && !i.len && o.kept == i.kept);
}

/* Two messages with octets are under way as the sink advertises, and again as it has seen one of them. */
static void stale(void)
{
	struct sdp_msg first, second;
	bool is_stale;

	begin_pipelined();
	sdp_out_data(&o);
	sdp_out_data(&o);
	first = sink_avail(5000);
	CHECK(sdp_in_data(&i));
	second = sink_avail(5000);
	CHECK(sdp_in_data(&i));
	CHECK(deliver(&first, &is_stale) == SDP_GOOD && is_stale && deliver(&second, &is_stale) == SDP_GOOD && is_stale);
	CHECK(!o.nr && o.kept == i.kept);
	first = sink_avail(5000);
	CHECK(deliver(&first, &is_stale) == SDP_GOOD && !is_stale && o.nr == 1);
}

static void crossed(void)
{
	struct sdp_msg src = { .mid = WIRE_SDP_SRC_AVAIL, .length = 9 }, m;
	bool is_crossed, is_stale;

	begin_pipelined();
	CHECK(sdp_in_src_avail(&i, &src, 0, 0, &is_crossed) == SDP_GOOD && !is_crossed);
	m = sink_avail(5000);
	CHECK(sdp_in_src_avail(&i, &src, 0, 0, &is_crossed) == SDP_GOOD && is_crossed);
	CHECK(deliver(&m, &is_stale) == SDP_GOOD && !is_stale && o.nr == 1);
	src.payload_len = 1;
	CHECK(sdp_in_src_avail(&i, &src, 0, 0, &is_crossed) == SDP_ADVERT_MODE);
	i.mode = SDP_BUFFERED;
	CHECK(sdp_in_src_avail(&i, &src, 0, 0, &is_crossed) == SDP_ADVERT_MODE);
}

/* Several SrcAvails, in Pipelined mode alone; SinkAvails of the peer for the other direction count, too. */
static void several(void)
{
	struct sdp_msg src = { .mid = WIRE_SDP_SRC_AVAIL, .length = 9 };
	bool is_crossed;

	begin();
	CHECK(sdp_in_src_avail(&i, &src, 0, SDP_MAX_ADVERTS - 1, &is_crossed) == SDP_GOOD);
	CHECK(sdp_in_src_avail(&i, &src, 1, 0, &is_crossed) == SDP_TWO_ADVERTS);
	begin_pipelined();
	CHECK(sdp_in_src_avail(&i, &src, SDP_MAX_ADVERTS - 1, 0, &is_crossed) == SDP_GOOD);
	CHECK(sdp_in_src_avail(&i, &src, SDP_MAX_ADVERTS, 0, &is_crossed) == SDP_MANY_ADVERTS);
	CHECK(sdp_in_src_avail(&i, &src, 1, SDP_MAX_ADVERTS - 1, &is_crossed) == SDP_MANY_ADVERTS);
	/* One that crosses with a SinkAvail is void. */
	sink_avail(5000);
	CHECK(sdp_in_src_avail(&i, &src, SDP_MAX_ADVERTS, 0, &is_crossed) == SDP_GOOD && is_crossed);
	/* The other modes permit one, or none. */
	begin_pipelined();
	CHECK(sdp_mode_arrived(&o, &i, SDP_COMBINED, 2) == SDP_BAD_MODE && sdp_mode_arrived(&o, &i, SDP_COMBINED, 1) == SDP_GOOD);
	CHECK(sdp_mode_arrived(&o, &i, SDP_BUFFERED, 1) == SDP_BAD_MODE && sdp_mode_arrived(&o, &i, SDP_BUFFERED, 0) == SDP_GOOD);
}

static void cancelled(void)
{
	struct sdp_msg m;
	bool is_stale;

	begin_pipelined();
	CHECK(sdp_in_cancel_acked(&i) == SDP_NO_ADVERT);
	m = sink_avail(5000);
	CHECK(sdp_in_cancel_acked(&i) == SDP_NO_ADVERT); /* not asked for */
	CHECK(deliver(&m, &is_stale) == SDP_GOOD);
	sdp_in_cancel(&i);
	CHECK(sdp_out_cancel(&o) && !o.nr && sdp_in_cancel_acked(&i) == SDP_GOOD && !i.len);
	CHECK(!sdp_out_cancel(&o));

	/* The cancel crosses with RdmaWrCompl, and with a message that discards: neither has an answer. */
	m = sink_avail(5000);
	CHECK(deliver(&m, &is_stale) == SDP_GOOD);
	sdp_out_written(&o);
	sdp_in_cancel(&i);
	CHECK(!sdp_out_cancel(&o) && sdp_in_written(&i, 7) == SDP_GOOD && !i.cancelled);
	sdp_out_data(&o);
	m = sink_avail(5000);
	sdp_in_cancel(&i);
	CHECK(deliver(&m, &is_stale) == SDP_GOOD && is_stale && !sdp_out_cancel(&o));
	CHECK(sdp_in_data(&i) && !i.cancelled && o.kept == i.kept);
}

static void left(void)
{
	struct sdp_out other;
	struct sdp_msg m;

	begin_pipelined();
	sdp_out_begin(&other);
	m = sink_avail(5000);
	CHECK(m.length == 5000);
	sdp_in_cancel(&i);
	CHECK(sdp_mode_arrived(&other, &i, sdp_out_change(&o, SDP_COMBINED), 0) == SDP_GOOD && !i.len);
	CHECK(sdp_mode_arrived(&other, &i, sdp_out_change(&o, SDP_PIPELINED), 0) == SDP_GOOD);
	CHECK(sdp_in_may_advertise(&i, 5000, LEAST, 0, 1)); /* the cancel has ended with the mode */
}

static const struct test_case cases[] = {
	{ "-", "changes of a source", changes },
	{ "-", "the change of a sink", changes_by_sink },
	{ "-", "RdmaWrCompl", written },
	{ "-", "SinkAvail outside Pipelined mode", only_pipelined },
	{ "-", "lengths and numbers of SinkAvail", bounds },
	{ "-", "Data discards a SinkAvail", discarded },
	{ "-", "a SinkAvail that comes too late", stale },
	{ "-", "SinkAvail and SrcAvail cross", crossed },
	{ "-", "several SrcAvails", several },
	{ "-", "SinkAvailCancel", cancelled },
	{ "-", "Pipelined mode is left", left },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

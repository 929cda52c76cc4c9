/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Advertisements of SDP at both ends: SinkAvail, several SrcAvails, those that cross, are discarded, cancelled or taken back. */
#include "sdp_octets.h"
#include "sdp_rows.h"

#include "ulp/sdp/advert.h"

#include <sys/mman.h>

/* --- SinkAvail --- */

/* Waits until the memory has been advertised; the peer's octets for it come behind an octet of ours. */
static void advertise(struct sdp_conn *c)
{
	uint64_t before = sdp_conn_counts(c)->sink_avail;

	sdp_want(c, memory.in, MEMORY, memory.in_mr);
	progress(c);
	while (sdp_conn_counts(c)->sink_avail == before) {
		sdp_ends_wait_for(c);
		progress(c);
	}
}

static void take_back(struct sdp_conn *c)
{
	sdp_want_no_more(c);
	progress(c);
	while (sdp_is_wanting(c)) {
		sdp_ends_wait_for(c);
		progress(c);
	}
}

/* The first turn goes by SrcAvail and asks for Pipelined mode; then the receiver's memory is advertised before octets are sent. */
static void sink_turns(struct sdp_conn *c, bool first)
{
	unsigned direct = 0;

	memory_register(c);
	for (unsigned n = 0; n < 8; n++) {
		struct stream out = { .to_send = 1000000 + n, .out = n }, in = { .to_get = 1000000 + n, .in = n };
		struct stream go = { .to_send = 1, .out = 3 }, gone = { .to_get = 1, .in = 3 };

		for (int turn = 0; turn < 2; turn++)
			if (first == !turn) {
				run(c, &gone);
				run_direct(c, &out, MEMORY, &direct);
			} else {
				if (n)
					advertise(c);
				run(c, &go);
				run_direct(c, &in, MEMORY, &direct);
			}
	}
	CHECK_MSG(sdp_conn_counts(c)->written >= 7 && sdp_conn_counts(c)->writes >= 7 && direct >= 7,
		  "%llu SinkAvails, %llu written, %llu Writes, %u direct", (unsigned long long)sdp_conn_counts(c)->sink_avail,
		  (unsigned long long)sdp_conn_counts(c)->written, (unsigned long long)sdp_conn_counts(c)->writes, direct);
	CHECK(sdp_conn_counts(c)->mode_changes == 1);
	memory_release();
	finish(c);
}

static void sink_server(struct ends *e)
{
	sink_turns(sdp_ends_serve_good(e), false);
}

static void sink_client(struct ends *e)
{
	sink_turns(sdp_ends_dial(e), true);
}

/* Both ends send and wait at the same time, so that advertisements and Data of all kinds cross. */
static void cross(struct sdp_conn *c, unsigned mine, unsigned other)
{
	unsigned direct = 0;

	memory_register(c);
	for (unsigned n = 0; n < 40; n++) {
		struct stream s = { .to_send = 300000 + n, .to_get = 300000 + n, .out = mine + n, .in = other + n };

		run_direct(c, &s, 100000, &direct);
		s = (struct stream){ .to_send = 50 * n + 1, .to_get = 50 * n + 1, .out = mine + n, .in = other + n };
		run(c, &s);
	}
	CHECK(direct);
	memory_release();
	finish(c);
}

static void cross_server(struct ends *e)
{
	cross(sdp_ends_serve_good(e), 1, 2);
}

static void cross_client(struct ends *e)
{
	cross(sdp_ends_dial(e), 2, 1);
}

/* The client takes a SinkAvail back, and gets the octets that were sent meanwhile, by Data. */
static void take_back_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	struct stream s;
	unsigned direct = 0;

	memory_register(c);
	for (unsigned n = 0; n < 4; n++) {
		s = (struct stream){ .to_send = 1 << 20 };
		run_direct(c, &s, MEMORY, &direct);
	}
	s = (struct stream){ .to_get = 5 };
	run(c, &s);
	s = (struct stream){ .to_send = 5 };
	run(c, &s);
	CHECK(sdp_conn_counts(c)->mode_changes == 1);
	memory_release();
	finish(c);
}

static void take_back_client(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_dial(e);
	struct stream s;
	unsigned direct = 0;

	memory_register(c);
	for (unsigned n = 0; n < 4; n++) {
		s = (struct stream){ .to_get = 1 << 20 };
		run_direct(c, &s, MEMORY, &direct);
	}
	advertise(c);
	take_back(c);
	s = (struct stream){ .to_send = 5 };
	run(c, &s);
	s = (struct stream){ .to_get = 5 };
	run(c, &s);
	memory_release();
	finish(c);
}

/* An urgent octet discards a SinkAvail; the end of the peer and a reset give the memory back. */
static void discard_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	unsigned direct = 0;
	uint8_t *room;
	size_t len;

	memory_register(c);
	for (unsigned n = 0; n < 4; n++) {
		struct stream s = { .to_send = 1 << 20 };

		run_direct(c, &s, MEMORY, &direct);
	}
	await(e);
	progress(c);
	while (!(room = sdp_send_room(c, false, &len))) {
		sdp_ends_wait_for(c);
		progress(c);
	}
	room[0] = octet(0, 0);
	CHECK(!sdp_send(c, room, 1, true));
	memory_release();
	finish(c);
}

static void discard_client(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_dial(e);
	struct stream s;
	unsigned direct = 0;
	bool oob = false;
	size_t len;

	memory_register(c);
	for (unsigned n = 0; n < 4; n++) {
		s = (struct stream){ .to_get = 1 << 20 };
		run_direct(c, &s, MEMORY, &direct);
	}
	advertise(c);
	mark(e);
	while (!sdp_received(c, &len, &oob)) {
		sdp_ends_wait_for(c);
		progress(c);
	}
	CHECK(sdp_conn_counts(c)->discarded >= 1);
	CHECK(oob && len == 1 && !is_direct(sdp_received(c, &len, &oob)) && !sdp_is_wanting(c));
	sdp_received_take(c, 1);
	sdp_want(c, memory.in, MEMORY, memory.in_mr);
	while (!sdp_received_end(c)) {
		CHECK(!sdp_conn_progress(c));
		if (!sdp_received_end(c))
			sdp_ends_wait_for(c);
	}
	CHECK(!sdp_is_wanting(c));
	memory_release();
	finish(c);
}

/* --- SrcAvails that are cancelled, and several at once --- */

static uint64_t *asked_for_data; /* SendSm, counted by all clients of cancel() */

/* The receiver sleeps for longer than the sender's patience; then it takes the octets. */
static void cancel_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	struct stream s = { .to_get = 1 << 20 };

	await(e);
	run(c, &s);
	finish(c);
}

static void cancel_client(struct ends *e)
{
	struct stream s = { .to_send = 1 << 20, .large = true };
	struct sdp_conn *c;

	conf.advert_ms = 20;
	c = sdp_ends_dial(e);
	while (!sdp_conn_counts(c)->cancelled) {
		CHECK(!sdp_conn_progress(c));
		/* What has been sent need not wake this end. */
		if (!push(c, &s) && !sdp_conn_counts(c)->cancelled)
			sdp_ends_wait_for(c);
	}
	mark(e);
	run(c, &s);
	/* The receiver may have woken before the cancellation came, and have read. */
	CHECK(sdp_conn_counts(c)->send_sm + sdp_conn_counts(c)->rd_compl >= 1);
	*asked_for_data += sdp_conn_counts(c)->send_sm;
	finish(c);
}

#define CANCEL_TRIES 8

/* The answer to a cancellation that comes first is SendSm. */
static void cancel(const char *name)
{
	asked_for_data = mmap(NULL, sizeof(*asked_for_data), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(asked_for_data != MAP_FAILED);
	for (int i = 0; i < CANCEL_TRIES && !*asked_for_data; i++)
		ends_run(name, AF_INET, cancel_server, cancel_client);
	CHECK(*asked_for_data);
}

/* Asks for Pipelined mode, and does not look until there are as many SrcAvails as its Hello permits. */
static void several_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	struct stream go = { .to_send = 1, .out = 3 }, s = { .to_get = 1 << 20 };

	memory_register(c);
	sdp_want_reads(c, memory.in, MEMORY, memory.in_mr);
	run(c, &go);
	await(e);
	run(c, &s);
	CHECK(sdp_conn_counts(c)->received == s.to_get);
	sdp_want_no_more(c);
	progress(c);
	memory_release();
	finish(c);
}

/* Returns a connection with as many SrcAvails outstanding. */
static struct sdp_conn *several(struct ends *e, struct stream *s)
{
	struct sdp_conn *c = sdp_ends_dial(e);
	struct stream gone = { .to_get = 1, .in = 3 };

	run(c, &gone);
	progress(c);
	CHECK(sdp_conn_counts(c)->mode_changes == 1);
	while (push(c, s))
		;
	CHECK(sdp_conn_counts(c)->src_avail == SDP_MAX_ADVERTS && s->sent < s->to_send);
	return c;
}

static void several_client(struct ends *e)
{
	struct stream s = { .to_send = 1 << 20, .large = true };
	struct sdp_conn *c = several(e, &s);

	mark(e);
	run(c, &s);
	while (sdp_conn_counts(c)->rd_compl != sdp_conn_counts(c)->src_avail) {
		progress(c);
		if (sdp_conn_counts(c)->rd_compl != sdp_conn_counts(c)->src_avail)
			sdp_ends_wait_for(c);
	}
	CHECK(!sdp_conn_counts(c)->cancelled);
	finish(c);
}

/* One SendSm answers the cancellation of all that have not been read. */
static void several_cancel_client(struct ends *e)
{
	struct stream s = { .to_send = 1 << 20, .large = true };
	struct sdp_conn *c;

	conf.advert_ms = 20;
	c = several(e, &s);
	while (!sdp_conn_counts(c)->cancelled) {
		progress(c);
		if (!sdp_conn_counts(c)->cancelled)
			sdp_ends_wait_for(c);
	}
	mark(e);
	run(c, &s);
	CHECK(sdp_conn_counts(c)->send_sm + sdp_conn_counts(c)->rd_compl >= 1);
	finish(c);
}

/* --- memory that is read or advertised without SinkAvail, and taken back --- */

static uint64_t *taken_back; /* octets that went by Data in place of an advertisement, counted by all clients of stopped() */

static void stopped_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	struct stream s = { .to_get = MEMORY };

	await(e);
	run(c, &s);
	finish(c);
}

/* The sender takes back what the receiver, which does not look, has not fetched; the rest is sent from elsewhere. */
static void stopped_client(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_dial(e);
	struct stream s = { .to_send = MEMORY };

	memory_register(c);
	for (size_t i = 0; i < MEMORY; i++)
		memory.out[i] = octet(i, 0);
	CHECK(sdp_send_from(c, memory.out, MEMORY, memory.out_mr));
	sdp_send_stop(c);
	progress(c);
	mark(e);
	while (sdp_send_is_busy(c)) {
		progress(c);
		if (sdp_send_is_busy(c))
			sdp_ends_wait_for(c);
	}
	s.sent = sdp_send_gone(c);
	CHECK(s.sent <= MEMORY);
	*taken_back += MEMORY - s.sent;
	memset(memory.out, 0xff, MEMORY);
	run(c, &s);
	CHECK(sdp_conn_counts(c)->sent == MEMORY);
	memory_release();
	finish(c);
}

static void stopped(const char *name)
{
	taken_back = mmap(NULL, sizeof(*taken_back), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(taken_back != MAP_FAILED);
	for (int i = 0; i < CANCEL_TRIES && !*taken_back; i++)
		ends_run(name, AF_INET, stopped_server, stopped_client);
	CHECK(*taken_back);
}

static void reads_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	struct stream s = { .to_send = 4 * MEMORY };
	unsigned direct = 0;

	memory_register(c);
	run_direct(c, &s, 0, &direct);
	memory_release();
	finish(c);
}

/* Takes one item. Returns how many octets of it came without a copy. */
static size_t take_item(struct sdp_conn *c, struct stream *s)
{
	const uint8_t *at;
	size_t len;
	bool oob;

	at = sdp_received(c, &len, &oob);
	if (!at)
		return 0;
	for (size_t i = 0; i < len; i++)
		CHECK(at[i] == octet(s->got + i, 0));
	s->got += len;
	sdp_received_take(c, len);
	return is_direct(at) ? len : 0;
}

static void reads_client(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_dial(e);
	struct stream s = { .to_get = 4 * MEMORY };
	size_t direct = 0, before;

	memory_register(c);
	while (s.got < s.to_get) {
		if (!sdp_is_wanting(c))
			sdp_want_reads(c, memory.in, MEMORY, memory.in_mr);
		progress(c);
		before = s.got;
		direct += take_item(c, &s);
		if (s.got == before)
			sdp_ends_wait_for(c);
	}
	sdp_want_no_more(c);
	while (sdp_is_wanting(c))
		progress(c);
	CHECK(direct && !sdp_conn_counts(c)->sink_avail);
	memory_release();
	finish(c);
}

/*
 * Data fill the receives of a program that sends from its memory and takes nothing meanwhile: each answer to its SrcAvail still finds
 * a credit.
 */
static void full_server(struct ends *e)
{
	struct stream s = { .to_get = MEMORY };
	struct sdp_conn *c;

	conf.receive_max = 0;
	c = sdp_ends_serve_good(e);
	s.to_send = (conf.depth - 2u) * (conf.receive_size - 16u);
	while (s.sent < s.to_send) {
		CHECK(push(c, &s));
		progress(c);
	}
	mark(e);
	run(c, &s);
	finish(c);
}

static void full_client(struct ends *e)
{
	struct stream s = { .to_get = (conf.depth - 2u) * (conf.receive_size - 16u) };
	struct sdp_conn *c;

	conf.receive_max = 0;
	conf.advert_ms = SDP_ENDS_MS;
	c = sdp_ends_dial(e);
	memory_register(c);
	for (size_t i = 0; i < MEMORY; i++)
		memory.out[i] = octet(i, 0);
	await(e);
	CHECK(sdp_send_from(c, memory.out, MEMORY, memory.out_mr));
	while (sdp_send_is_busy(c)) {
		progress(c);
		if (sdp_send_is_busy(c))
			sdp_ends_wait_for(c);
	}
	CHECK(!sdp_conn_counts(c)->cancelled && sdp_conn_counts(c)->received == s.to_get);
	memory_release();
	run(c, &s);
	finish(c);
}

int main(int argc, char **argv)
{
	static const struct sdp_row rows[] = {
		{ "octets by SinkAvail", AF_INET, sink_server, sink_client },
		{ "advertisements that cross", AF_INET, cross_server, cross_client },
		{ "SinkAvailCancel", AF_INET, take_back_server, take_back_client },
		{ "an urgent octet and an end discard SinkAvail", AF_INET, discard_server, discard_client },
		{ "SrcAvailCancel", .run = cancel },
		{ "several SrcAvails", AF_INET, several_server, several_client },
		{ "several SrcAvails are cancelled", AF_INET, several_server, several_cancel_client },
		{ "an advertisement that is taken back", .run = stopped },
		{ "octets by Reads to the program's memory", AF_INET, reads_server, reads_client },
		{ "answers to a program that does not receive", AF_INET, full_server, full_client },
	};

	return SDP_RUN_ROWS(rows, argc, argv);
}

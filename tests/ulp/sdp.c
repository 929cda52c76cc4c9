/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Both ends of SDP against each other, in two processes: octets by Data and by SrcAvail, both ways at once, urgent ones, blocking
 * streams, ends in order and out of it. Peers that break the protocol are in sdp_hostile.c.
 */
#include "sdp_octets.h"
#include "sdp_rows.h"

#include "ulp/sdp/state.h"
#include "ulp/sdp/stream.h"

#include <signal.h>

static const uint64_t sizes[] = { 1, 17, 4096, 32752, 32753, 65536, 65537, 300000, 1 << 20, (5 << 20) + 3 };

static void turns(struct sdp_conn *c, bool first, bool large)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct stream out = { .to_send = sizes[i], .out = (unsigned)i, .large = large };
		struct stream in = { .to_get = sizes[i], .in = (unsigned)i };

		run(c, first ? &out : &in);
		run(c, first ? &in : &out);
	}
}

static void data_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);

	turns(c, false, false);
	CHECK(!sdp_conn_counts(c)->src_avail && !sdp_conn_counts(c)->reads);
	finish(c);
}

static void data_client(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_dial(e);

	turns(c, true, false);
	finish(c);
}

static void advert_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);

	turns(c, false, true);
	CHECK(sdp_conn_counts(c)->reads && sdp_conn_counts(c)->src_avail);
	finish(c);
}

static void advert_client(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_dial(e);

	turns(c, true, true);
	CHECK(sdp_conn_counts(c)->src_avail >= 20 && sdp_conn_counts(c)->reads);
	CHECK(sdp_conn_counts(c)->rd_compl + sdp_conn_counts(c)->send_sm);
	finish(c);
}

/* Both ends send at the same time, by advertisements and by Data. */
static void both(struct sdp_conn *c, unsigned mine, unsigned other)
{
	struct stream s = { .to_send = 8 << 20, .to_get = 8 << 20, .out = mine, .in = other, .large = true };

	run(c, &s);
	s = (struct stream){ .to_send = 4 << 20, .to_get = 4 << 20, .out = mine, .in = other };
	run(c, &s);
	finish(c);
}

static void both_server(struct ends *e)
{
	both(sdp_ends_serve_good(e), 1, 2);
}

static void both_client(struct ends *e)
{
	both(sdp_ends_dial(e), 2, 1);
}

/* The client ends its direction first; the other one goes on. */
static void half_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	struct stream s = { .to_get = 100000 };

	run(c, &s);
	while (!sdp_received_end(c)) {
		CHECK(!sdp_conn_progress(c));
		if (!sdp_received_end(c))
			sdp_ends_wait_for(c);
	}
	s = (struct stream){ .to_send = 1 << 20, .large = true };
	run(c, &s);
	finish(c);
}

static void half_client(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_dial(e);
	struct stream s = { .to_send = 100000 };

	run(c, &s);
	sdp_send_end(c);
	s = (struct stream){ .to_get = 1 << 20 };
	run(c, &s);
	finish(c);
}

static void urgent_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	const uint8_t *at = NULL;
	bool oob = false;
	size_t len;

	while (!at) {
		CHECK(!sdp_conn_progress(c));
		at = sdp_received(c, &len, &oob);
		if (!at)
			sdp_ends_wait_for(c);
	}
	CHECK(len == 3 && oob && !memcmp(at, "abc", 3));
	sdp_received_take(c, 3);
	finish(c);
}

static void urgent_client(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_dial(e);
	size_t len;
	uint8_t *room = sdp_send_room(c, false, &len);

	CHECK(room && len >= 3);
	memcpy(room, "abc", 3);
	CHECK(!sdp_send(c, room, 3, true));
	finish(c);
}

/* --- blocking streams: whole sizes to and fro, and what arrives first of a size that comes in two halves --- */

static void put_octets(uint8_t *at, size_t len, unsigned stream)
{
	for (size_t i = 0; i < len; i++)
		at[i] = octet(i, stream);
}

static void stream_send(struct sdp_stream *s, size_t len, unsigned n)
{
	put_octets(memory.out, len, n);
	CHECK(sdp_stream_send(s, memory.out, len) == (ssize_t)len);
}

static void stream_receive(struct sdp_stream *s, size_t len, unsigned n)
{
	memset(memory.in, 0, len);
	CHECK(sdp_stream_receive(s, memory.in, len, true) == (ssize_t)len);
	for (size_t i = 0; i < len; i++)
		CHECK(memory.in[i] == octet(i, n));
}

static void streams(struct sdp_conn *c, bool first, unsigned spin_us)
{
	static const size_t lens[] = { 1, 16384, 16385, 32768, 65536, 100001, MEMORY };
	struct sdp_stream s;

	sdp_stream_begin(&s, c, &sdp_conf_stream, spin_us);
	for (unsigned n = 0; n < 4 * sizeof(lens) / sizeof(lens[0]); n++) {
		size_t len = lens[n % (sizeof(lens) / sizeof(lens[0]))];

		first ? stream_send(&s, len, n) : stream_receive(&s, len, n);
		first ? stream_receive(&s, len, n) : stream_send(&s, len, n);
	}
	CHECK(sdp_conn_counts(c)->writes + sdp_conn_counts(c)->rd_compl && sdp_conn_counts(c)->reads + sdp_conn_counts(c)->written);
	if (first) {
		stream_send(&s, 50000, 7);
		stream_receive(&s, 1, 7);
		stream_send(&s, 50000, 7);
	} else {
		/* More is asked for than comes: the memory is taken back. */
		ssize_t n = sdp_stream_receive(&s, memory.in, MEMORY, false);

		CHECK(n > 0 && n <= 50000);
		if (n < 50000)
			CHECK(sdp_stream_receive(&s, memory.in, (size_t)(50000 - n), true) == 50000 - n);
		stream_send(&s, 1, 7);
		stream_receive(&s, 50000, 7);
	}
	CHECK(!sdp_stream_end(&s) && sdp_stream_receive(&s, memory.in, 9, true) == 0);
	sdp_conn_close(c);
}

static void stream_server(struct ends *e)
{
	streams(sdp_ends_serve_good(e), false, 50);
}

static void stream_client(struct ends *e)
{
	streams(sdp_ends_dial(e), true, 0);
}

/* The peer aborts while this end waits in memory that it has advertised. */
static void stream_reset_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	struct sdp_stream s;

	sdp_stream_begin(&s, c, &sdp_conf_stream, 0);
	stream_receive(&s, MEMORY, 1);
	stream_receive(&s, MEMORY, 2);
	stream_send(&s, 1, 3);
	CHECK(sdp_stream_receive(&s, memory.in, MEMORY, true) == -ECONNRESET);
	CHECK(sdp_stream_send(&s, memory.out, MEMORY) == -ECONNRESET);
	sdp_conn_close(c);
}

static void stream_reset_client(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_dial(e);
	struct sdp_stream s;

	sdp_stream_begin(&s, c, &sdp_conf_stream, 0);
	stream_send(&s, MEMORY, 1);
	stream_send(&s, MEMORY, 2);
	/* A send ends before the peer has all octets. */
	stream_receive(&s, 1, 3);
	sdp_conn_close(c);
}

/* --- a thread that has polled long enough sleeps inside the adapter --- */

static struct ends *sleeper;
static int (*poll_driving)(struct ibv_context *context, struct pollfd *fds, unsigned n, uint64_t until);

static int tell_and_poll(struct ibv_context *context, struct pollfd *fds, unsigned n, uint64_t until)
{
	if (sleeper)
		mark(sleeper);
	sleeper = NULL;
	return poll_driving(context, fds, n, until);
}

static void sleep_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	struct sdp_stream s;

	CHECK(c->rdma.poll_driving);
	poll_driving = c->rdma.poll_driving;
	c->rdma.poll_driving = tell_and_poll;
	sleeper = e;
	sdp_stream_begin(&s, c, &sdp_conf_stream, 0);
	stream_receive(&s, 1, 1);
	stream_send(&s, 1, 2);
	CHECK(!sdp_stream_end(&s));
	sdp_conn_close(c);
}

static void sleep_client(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_dial(e);
	struct pollfd p = { e->in, POLLIN, 0 };
	struct sdp_stream s;

	CHECK_MSG(poll(&p, 1, SDP_ENDS_MS) == 1, "the server does not sleep by dpl_poll()");
	await(e);
	sdp_stream_begin(&s, c, &sdp_conf_stream, 0);
	stream_send(&s, 1, 1);
	stream_receive(&s, 1, 2);
	CHECK(!sdp_stream_end(&s));
	sdp_conn_close(c);
}

/* --- ends out of order --- */

static void expect_reset(struct sdp_conn *c)
{
	int r;

	while (!(r = sdp_conn_progress(c)))
		sdp_ends_wait_for(c);
	CHECK_MSG(r == -ECONNRESET, "%d %s", r, sdp_conn_why(c));
	sdp_conn_close(c);
}

static void reset_server(struct ends *e)
{
	expect_reset(sdp_ends_serve_good(e));
}

static void abort_client(struct ends *e)
{
	sdp_conn_close(sdp_ends_dial(e));
}

static void killed_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);

	CHECK(c);
	mark(e);
	raise(SIGKILL);
}

static void killed_client(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_dial(e);

	await(e);
	expect_reset(c);
}

static void refused_server(struct ends *e)
{
	struct ulp_listener *l = ends_listen(e, SDP_PORT_SPACE);

	ulp_listener_close(l);
	mark(e);
	await(e);
}

static void refused_client(struct ends *e)
{
	int err = 0;

	CHECK(read(e->in, &e->addr, sizeof(e->addr)) == sizeof(e->addr));
	await(e);
	CHECK(!sdp_connect(NULL, (struct sockaddr *)&e->addr, &conf, SDP_ENDS_MS, &err, why));
	CHECK_MSG(err == ECONNREFUSED, "%d %s", err, why);
	mark(e);
}

static void killed(const char *name)
{
	ends_run_killed(name, AF_INET, killed_server, killed_client);
}

int main(int argc, char **argv)
{
	static const struct sdp_row rows[] = {
		{ "octets by Data", AF_INET, data_server, data_client },
		{ "octets by SrcAvail", AF_INET, advert_server, advert_client },
		{ "octets by Data", AF_INET6, data_server, data_client },
		{ "octets by SrcAvail", AF_INET6, advert_server, advert_client },
		{ "both ways at once", AF_INET, both_server, both_client },
		{ "one direction ends first", AF_INET, half_server, half_client },
		{ "urgent octets", AF_INET, urgent_server, urgent_client },
		{ "blocking streams", AF_INET, stream_server, stream_client },
		{ "a sleep inside the adapter", AF_INET, sleep_server, sleep_client },
		{ "a stream that is reset", AF_INET, stream_reset_server, stream_reset_client },
		{ "a connection that is aborted", AF_INET, reset_server, abort_client },
		{ "a peer that is killed", .run = killed },
		{ "no listener", AF_INET, refused_server, refused_client },
	};

	return SDP_RUN_ROWS(rows, argc, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Both ends of SDP against each other, in two processes: octets by Data and by advertisements, both ways at once, urgent ones,
 * ends in order and out of it. Peers that break the protocol are in sdp_hostile.c.
 */
#include "sdp_ends.h"

#include "ulp/sdp/advert.h"
#include "ulp/sdp/stream.h"

#include <signal.h>
#include <sys/mman.h>

/* --- octets: octet n of stream s is a function of both --- */

static uint8_t octet(uint64_t n, unsigned s)
{
	return (uint8_t)(n * 7 + (n >> 8) * 3 + (n >> 16) + s);
}

struct stream {
	uint64_t to_send, sent, to_get, got;
	unsigned out, in;
	bool large;
};

static bool push(struct sdp_conn *c, struct stream *s)
{
	uint64_t left = s->to_send - s->sent;
	uint8_t *room;
	size_t len;

	room = left ? sdp_send_room(c, s->large && left >= 65536, &len) : NULL;
	if (!room)
		return false;
	if (len > left)
		len = left;
	for (size_t i = 0; i < len; i++)
		room[i] = octet(s->sent + i, s->out);
	CHECK(!sdp_send(c, room, len, false));
	s->sent += len;
	return true;
}

/* --- memory of the program, in which it sends and waits --- */

#define MEMORY (1 << 20)

static struct memory {
	uint8_t out[MEMORY], in[MEMORY];
	struct ibv_mr *out_mr, *in_mr;
} memory;

static void memory_register(struct sdp_conn *c)
{
	memory.out_mr = ibv_reg_mr(sdp_conn_domain(c), memory.out, MEMORY, IBV_ACCESS_REMOTE_READ);
	memory.in_mr = ibv_reg_mr(sdp_conn_domain(c), memory.in, MEMORY, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(memory.out_mr && memory.in_mr);
}

static void memory_release(void)
{
	CHECK(!ibv_dereg_mr(memory.out_mr) && !ibv_dereg_mr(memory.in_mr));
}

/* True if the octets at `at` came without a copy. */
static bool is_direct(const uint8_t *at)
{
	return at >= memory.in && at < memory.in + MEMORY;
}

static bool push_from(struct sdp_conn *c, struct stream *s)
{
	uint64_t left = s->to_send - s->sent;
	uint32_t len = left < MEMORY ? (uint32_t)left : MEMORY;

	if (!len || sdp_send_is_busy(c))
		return false;
	for (size_t i = 0; i < len; i++)
		memory.out[i] = octet(s->sent + i, s->out);
	if (!sdp_send_from(c, memory.out, len, memory.out_mr))
		return false;
	s->sent += len;
	return true;
}

static bool take(struct sdp_conn *c, struct stream *s)
{
	const uint8_t *at;
	size_t len;
	bool oob;

	at = sdp_received(c, &len, &oob);
	if (!at)
		return false;
	CHECK(len && s->got + len <= s->to_get);
	if (len > 3 && s->got % 5 == 1) /* in pieces, too */
		len = 3;
	for (size_t i = 0; i < len; i++)
		CHECK_MSG(at[i] == octet(s->got + i, s->in), "octet %llu", (unsigned long long)(s->got + i));
	sdp_received_take(c, len);
	s->got += len;
	return true;
}

/* Until both streams are through. */
static void run(struct sdp_conn *c, struct stream *s)
{
	bool moved;

	while (s->sent < s->to_send || s->got < s->to_get) {
		CHECK_MSG(!sdp_conn_progress(c), "%s", sdp_conn_why(c));
		moved = push(c, s);
		moved = take(c, s) || moved;
		if (!moved)
			sdp_ends_wait_for(c);
	}
}

static void finish(struct sdp_conn *c)
{
	sdp_send_end(c);
	while (!sdp_is_over(c)) {
		CHECK_MSG(!sdp_conn_progress(c), "%s", sdp_conn_why(c));
		if (!sdp_is_over(c))
			sdp_ends_wait_for(c);
	}
	CHECK(sdp_received_end(c));
	sdp_conn_close(c);
}

static bool is_on(const struct sdp_conn *c, const struct stream *s)
{
	return s->sent < s->to_send || s->got < s->to_get || sdp_send_is_busy(c);
}

/* As run(), with a sender that keeps its octets in memory of its own and a receiver that waits in such. */
static void run_direct(struct sdp_conn *c, struct stream *s, uint32_t want, unsigned *ret_direct)
{
	const uint8_t *at;
	bool moved, oob;
	size_t len;

	while (is_on(c, s)) {
		if (s->got < s->to_get && !sdp_is_wanting(c) && !sdp_received(c, &len, &oob))
			sdp_want(c, memory.in, want, memory.in_mr);
		CHECK_MSG(!sdp_conn_progress(c), "%s", sdp_conn_why(c));
		moved = push_from(c, s);
		/* The answer to the last octets may be here before the completion of their Write. */
		at = s->got < s->to_get ? sdp_received(c, &len, &oob) : NULL;
		*ret_direct += at && is_direct(at);
		moved = (at && take(c, s)) || moved;
		if (!moved && is_on(c, s))
			sdp_ends_wait_for(c);
	}
}

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

/* --- longer receives --- */

/* Octets by Data alone, filled messages; the size to which the peer's receives have grown meanwhile. */
static void much_data(struct sdp_conn *c, uint64_t wanted)
{
	struct stream s = { .to_send = 8 << 20, .to_get = 8 << 20 };

	run(c, &s);
	CHECK(!sdp_conn_counts(c)->src_avail && sdp_conn_counts(c)->longer == wanted);
	CHECK((sdp_conn_counts(c)->data < (8 << 20) / 32752) == (wanted > 0));
	finish(c);
}

static void longer_server(struct ends *e)
{
	conf.advertise = 0;
	much_data(sdp_ends_serve_good(e), 65536);
}

static void longer_client(struct ends *e)
{
	conf.advertise = 0;
	much_data(sdp_ends_dial(e), 65536);
}

/* A sink whose receives do not grow says so; its own wish is granted. */
static void same_server(struct ends *e)
{
	conf.advertise = conf.receive_max = 0;
	much_data(sdp_ends_serve_good(e), 0);
}

static void same_client(struct ends *e)
{
	conf.advertise = 0;
	much_data(sdp_ends_dial(e), 0);
}

/* Messages of the peer's size before, and a source that has them advertised, ask for nothing. */
static void enough_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	struct stream s = { .to_get = 8 << 20 };

	run(c, &s);
	finish(c);
}

static void enough_client(struct ends *e)
{
	struct stream s = { .to_send = 8 << 20 };
	struct sdp_conn *c;

	conf.advertise = conf.receive_size;
	c = sdp_ends_dial(e);
	run(c, &s);
	CHECK(!sdp_conn_counts(c)->longer);
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

/* --- SinkAvail --- */

static void progress(struct sdp_conn *c)
{
	CHECK_MSG(!sdp_conn_progress(c), "%s", sdp_conn_why(c));
}

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

/* The client takes a SinkAvail back, and gets what was sent meanwhile by Data. */
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
	sdp_conn_close(c);
}

/* --- a stream that moves to other connections --- */

#define MOVED (6 << 20)
#define MOVES_EACH (1 << 20)

/* Returns the connection on which the stream goes on: what has come on the one before is taken there. */
static struct sdp_conn *move(struct sdp_conn *c, struct stream *s, int family)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *at = family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six;
	struct ulp_listener *l = ulp_listen(at, SDP_PORT_SPACE, 0, 8);
	struct ulp_request q;

	CHECK(l);
	sdp_suspend(c, ntohs(family == AF_INET ? four.sin_port : six.sin6_port));
	while (!sdp_is_moved(c)) {
		progress(c);
		if (!take(c, s) && !sdp_is_moved(c))
			sdp_ends_wait_for(c);
	}
	while (take(c, s))
		;
	sdp_conn_close(c);
	ends_next_request(l, &q);
	c = sdp_accept(q.id, q.data, q.len, &conf, SDP_ENDS_MS, why);
	CHECK_MSG(c, "%s", why);
	ulp_listener_close(l);
	return c;
}

/* Moves each time that so many octets have come. */
static void run_moving(struct sdp_conn *c, int family, uint64_t first, unsigned out, unsigned in, bool large)
{
	struct stream s = { .to_send = MOVED, .to_get = MOVED, .out = out, .in = in, .large = large };
	uint64_t next = first;
	bool moved;

	while (s.sent < s.to_send || s.got < s.to_get) {
		progress(c);
		moved = push(c, &s);
		moved = take(c, &s) || moved;
		if (first && s.got >= next && s.got < s.to_get) {
			next += MOVES_EACH;
			c = move(c, &s, family);
		} else if (!moved) {
			sdp_ends_wait_for(c);
		}
	}
	CHECK(first || sdp_conn_counts(c)->moves >= MOVED / MOVES_EACH - 2);
	finish(c);
}

static void moving_server(struct ends *e)
{
	run_moving(sdp_ends_serve_good(e), e->family, MOVES_EACH, 1, 2, true);
}

static void moved_client(struct ends *e)
{
	run_moving(sdp_ends_dial(e), e->family, 0, 2, 1, true);
}

static void moved_server(struct ends *e)
{
	conf.advertise = 0;
	run_moving(sdp_ends_serve_good(e), e->family, 0, 1, 2, false);
}

static void moving_client(struct ends *e)
{
	conf.advertise = 0;
	run_moving(sdp_ends_dial(e), e->family, MOVES_EACH, 2, 1, false);
}

/*
 * The client asks for longer receives and moves; the server has taken so few octets until then that the last short receive is posted
 * again behind its SuspCommAck. Its answer to ChRcvBuf has no connection any more.
 */
#define LATE_OCTETS (100 * (uint64_t)(32768 - 16))
#define LATE_TAKEN (60 * (uint64_t)(32768 - 16))

static bool is_suspended(struct sdp_conn *c)
{
	size_t len;

	return !sdp_send_room(c, false, &len);
}

static void late_server(struct ends *e)
{
	struct sdp_conn *c;
	struct stream s = { .to_send = MOVES_EACH, .to_get = LATE_OCTETS + MOVES_EACH, .out = 1, .in = 2 };

	conf.advertise = 0;
	c = sdp_ends_serve_good(e);
	while (!is_suspended(c)) {
		if (s.got >= LATE_TAKEN || !take(c, &s))
			sdp_ends_wait_for(c);
		progress(c);
	}
	while (take(c, &s))
		;
	CHECK(s.got == LATE_OCTETS);
	run(c, &s);
	CHECK(sdp_conn_counts(c)->moves == 1);
	finish(c);
}

static void late_client(struct ends *e)
{
	struct sdp_conn *c;
	struct stream s = { .to_send = LATE_OCTETS, .to_get = MOVES_EACH, .out = 2, .in = 1 };

	conf.advertise = 0;
	c = sdp_ends_dial(e);
	while (s.sent < s.to_send) {
		progress(c);
		if (!push(c, &s))
			sdp_ends_wait_for(c);
	}
	c = move(c, &s, AF_INET);
	s.to_send += MOVES_EACH;
	run(c, &s);
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
static void cancel(void)
{
	asked_for_data = mmap(NULL, sizeof(*asked_for_data), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(asked_for_data != MAP_FAILED);
	for (int i = 0; i < CANCEL_TRIES && !*asked_for_data; i++)
		ends_run("SrcAvailCancel", AF_INET, cancel_server, cancel_client);
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

static void stopped(void)
{
	taken_back = mmap(NULL, sizeof(*taken_back), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(taken_back != MAP_FAILED);
	for (int i = 0; i < CANCEL_TRIES && !*taken_back; i++)
		ends_run("an advertisement that is taken back", AF_INET, stopped_server, stopped_client);
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

int main(void)
{
	conf = sdp_conf_default;
	for (int family = AF_INET; ; family = AF_INET6) {
		ends_run("octets by Data", family, data_server, data_client);
		ends_run("octets by SrcAvail", family, advert_server, advert_client);
		if (family == AF_INET6)
			break;
	}
	ends_run("longer receives", AF_INET, longer_server, longer_client);
	ends_run("receives that stay as they are", AF_INET, same_server, same_client);
	ends_run("longer receives are not asked for", AF_INET, enough_server, enough_client);
	ends_run("octets by SinkAvail", AF_INET, sink_server, sink_client);
	ends_run("advertisements that cross", AF_INET, cross_server, cross_client);
	ends_run("SinkAvailCancel", AF_INET, take_back_server, take_back_client);
	ends_run("an urgent octet and an end discard SinkAvail", AF_INET, discard_server, discard_client);
	ends_run("blocking streams", AF_INET, stream_server, stream_client);
	ends_run("a stream that is reset", AF_INET, stream_reset_server, stream_reset_client);
	ends_run("the server's end moves", AF_INET, moving_server, moved_client);
	ends_run("the server's end moves, IPv6", AF_INET6, moving_server, moved_client);
	ends_run("the client's end moves", AF_INET, moved_server, moving_client);
	ends_run("a move overtakes the answer to ChRcvBuf", AF_INET, late_server, late_client);
	ends_run("both ways at once", AF_INET, both_server, both_client);
	ends_run("one direction ends first", AF_INET, half_server, half_client);
	ends_run("urgent octets", AF_INET, urgent_server, urgent_client);
	cancel();
	ends_run("several SrcAvails", AF_INET, several_server, several_client);
	ends_run("several SrcAvails are cancelled", AF_INET, several_server, several_cancel_client);
	stopped();
	ends_run("octets by Reads to the program's memory", AF_INET, reads_server, reads_client);
	ends_run("a connection that is aborted", AF_INET, reset_server, abort_client);
	ends_run_killed("a peer that is killed", AF_INET, killed_server, killed_client);
	ends_run("no listener", AF_INET, refused_server, refused_client);
	return 0;
}

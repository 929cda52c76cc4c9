/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Streams of SDP that move to other connections (SuspComm), at both ends. */
#include "sdp_octets.h"
#include "sdp_rows.h"

#define MOVED (6 << 20)           /* several times what may be under way when a move begins */
#define DEPTH 16                  /* by Data, for that */
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
	CHECK(first || sdp_conn_counts(c)->moves >= 2);
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
	conf.depth = DEPTH;
	run_moving(sdp_ends_serve_good(e), e->family, 0, 1, 2, false);
}

static void moving_client(struct ends *e)
{
	conf.advertise = 0;
	conf.depth = DEPTH;
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

/* Each end moves, also both at the same time. */
static void both_server(struct ends *e)
{
	run_moving(sdp_ends_serve_good(e), e->family, MOVES_EACH, 1, 2, true);
}

static void both_client(struct ends *e)
{
	run_moving(sdp_ends_dial(e), e->family, MOVES_EACH, 2, 1, true);
}

/* A source whose messages have grown fills long ones behind a move, too. */
#define LONG_OCTETS ((uint64_t)4 << 20)

static void long_server(struct ends *e)
{
	struct stream s = { .to_get = LONG_OCTETS };
	struct sdp_conn *c;

	conf.depth = DEPTH;
	c = sdp_ends_serve_good(e);
	run(c, &s);
	c = move(c, &s, AF_INET);
	s.to_get += LONG_OCTETS;
	run(c, &s);
	finish(c);
}

static void long_client(struct ends *e)
{
	struct stream s = { .to_send = LONG_OCTETS };
	struct sdp_conn *c;
	uint64_t before;

	conf.advertise = 0;
	conf.depth = DEPTH;
	c = sdp_ends_dial(e);
	run(c, &s);
	before = sdp_conn_counts(c)->data;
	CHECK(sdp_conn_counts(c)->longer == 65536 && before < LONG_OCTETS / 40000);
	while (!sdp_conn_counts(c)->moves) {
		sdp_ends_wait_for(c);
		progress(c);
	}
	s.to_send += LONG_OCTETS;
	run(c, &s);
	CHECK(sdp_conn_counts(c)->data - before < LONG_OCTETS / 40000);
	finish(c);
}

/* Octets that the program takes only behind two moves, an urgent one among them. */
static void put(struct sdp_conn *c, const char *octets, bool oob)
{
	size_t len;
	uint8_t *room;

	while (!(room = sdp_send_room(c, false, &len))) {
		sdp_ends_wait_for(c);
		progress(c);
	}
	memcpy(room, octets, strlen(octets));
	CHECK(!sdp_send(c, room, strlen(octets), oob));
}

static void held_server(struct ends *e)
{
	struct stream s = { 0 };
	struct sdp_conn *c = sdp_ends_serve_good(e);

	put(c, "ab", false);
	put(c, "cd", true);
	c = move(c, &s, AF_INET);
	put(c, "ef", false);
	c = move(c, &s, AF_INET);
	put(c, "gh", true);
	put(c, "ij", false);
	finish(c);
}

static void held_client(struct ends *e)
{
	static const char *const items[] = { "ab", "cd", "ef", "gh", "ij" };
	struct sdp_conn *c = sdp_ends_dial(e);
	bool oob;
	size_t len;

	sdp_send_end(c);
	while (!sdp_is_over(c)) {
		sdp_ends_wait_for(c);
		progress(c);
	}
	CHECK(sdp_conn_counts(c)->moves == 2 && sdp_conn_counts(c)->received == 10);
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		const uint8_t *at = sdp_received(c, &len, &oob);

		CHECK(at && len == 2 && !memcmp(at, items[i], 2) && oob == (i == 1 || i == 3));
		sdp_received_take(c, len);
	}
	CHECK(sdp_received_end(c));
	sdp_conn_close(c);
}

/* --- ends --- */

/* The DisConn of before the move is sent again: until then the peer, which ends meanwhile, does not wait for this end to disconnect. */
static void ended_server(struct ends *e)
{
	struct stream s = { 0 };
	struct sdp_conn *c = sdp_ends_serve_good(e);

	sdp_send_end(c);
	progress(c);
	await(e);
	c = move(c, &s, AF_INET);
	await_received_end(c);
	mark(e);
	await(e);
	finish(c);
}

static void ended_client(struct ends *e)
{
	struct sdp_conn *c;

	conf.keepalive_s = 0;
	c = sdp_ends_dial(e);
	await_received_end(c);
	mark(e);
	while (!sdp_conn_counts(c)->moves) {
		sdp_ends_wait_for(c);
		progress(c);
	}
	sdp_send_end(c);
	progress(c);
	await(e);
	progress(c);
	CHECK(sdp_conn_wait(c) == -1);
	mark(e);
	finish(c);
}

int main(int argc, char **argv)
{
	static const struct sdp_row rows[] = {
		{ "the server's end moves", AF_INET, moving_server, moved_client },
		{ "the server's end moves, IPv6", AF_INET6, moving_server, moved_client },
		{ "the client's end moves", AF_INET, moved_server, moving_client },
		{ "a move overtakes the answer to ChRcvBuf", AF_INET, late_server, late_client },
		{ "both ends move", AF_INET, both_server, both_client },
		{ "longer messages behind a move", AF_INET, long_server, long_client },
		{ "octets that two moves pass", AF_INET, held_server, held_client },
		{ "an end that is sent again", AF_INET, ended_server, ended_client },
	};

	return SDP_RUN_ROWS(rows, argc, argv);
}

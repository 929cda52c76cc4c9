/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The n-th call fails, for n = 1, 2, ..., at the end that connects, that accepts, and that follows a move: each connection carries its octets
 * or says why not, nothing is left, and the next connection is sound.
 */
#include "listens.h"

#include "nth.h"
#include "ulp/sdp/stream.h"

#include <stdlib.h>

#define LEN 200000u
#define TIMEOUT_MS 20000
#define SHORT_MS 1000           /* for a peer that fails while the connection is made */

static uint8_t out[LEN], in[LEN];
static char why[ULP_WHY_MAX];

static void put_octets(unsigned seed)
{
	for (unsigned i = 0; i < LEN; i++)
		out[i] = (uint8_t)(i * 7 + (i >> 8) + seed);
}

/* LEN octets to and LEN from, twice; then the end. Returns whether all of it has succeeded. */
static bool use(struct sdp_conn *c, bool first)
{
	struct sdp_stream s;
	bool ok = true;

	sdp_stream_begin(&s, c, &sdp_conf_default, 0);
	for (unsigned turn = 0; turn < 4 && ok; turn++) {
		put_octets(turn);
		if (first == !(turn & 1)) {
			ok = sdp_stream_send(&s, out, LEN) == LEN;
		} else {
			memset(in, 0, LEN);
			ok = sdp_stream_receive(&s, in, LEN, true) == LEN;
			CHECK(!ok || !memcmp(in, out, LEN));
		}
	}
	return ok && !sdp_stream_end(&s);
}

/* One connection of the client in which the n-th call fails; 0: none. Returns whether it was whole. */
static bool connect_once(struct ends *e, unsigned long n, bool *ret_fired)
{
	struct sdp_conn *c;
	bool ok = false;
	int err = 0;

	*why = '\0';
	nth_arm(n);
	c = sdp_connect(NULL, (struct sockaddr *)&e->addr, &sdp_conf_default, TIMEOUT_MS, &err, why);
	CHECK(c || (*why && err > 0));
	if (c) {
		ok = use(c, true);
		CHECK(ok || sdp_conn_failed(c) || nth_name());
		sdp_conn_close(c);
	}
	*ret_fired = nth_disarm();
	CHECK_MSG(!nth_left(), "%ld objects are left after %s", nth_left(), nth_name());
	return ok;
}

/* One connection of the server; nth as above. The identifier was there before. */
static bool accept_once(struct ulp_request *q, unsigned long n, bool *ret_fired)
{
	struct sdp_conn *c;
	bool ok = false;

	*why = '\0';
	nth_arm(n);
	c = sdp_accept(q->id, q->data, q->len, &sdp_conf_default, SHORT_MS, why);
	CHECK(c || *why);
	if (c) {
		ok = use(c, false);
		sdp_conn_close(c);
	}
	*ret_fired = nth_disarm();
	CHECK_MSG(!n || nth_left() == -1, "%ld objects are left after %s", nth_left() + 1, nth_name());
	return ok;
}

/* --- the client fails --- */

static void sound_server(struct ends *e)
{
	struct ulp_listener *l = ends_listen(e, SDP_PORT_SPACE);
	struct ulp_request q;
	bool fired;

	for (;;) {
		struct pollfd p[2] = { { ulp_listener_fd(l), POLLIN, 0 }, { e->in, POLLIN, 0 } };

		while (!ulp_listener_next(l, &q))
			accept_once(&q, 0, &fired);
		CHECK(poll(p, 2, 60000) > 0);
		if (p[1].revents)
			break;
	}
	await(e);
	ulp_listener_close(l);
}

static void failing_client(struct ends *e)
{
	unsigned long n = 1;
	bool fired = true, ok;

	CHECK(read(e->in, &e->addr, sizeof(e->addr)) == sizeof(e->addr));
	for (; fired; n++) {
		ok = connect_once(e, n, &fired);
		CHECK_MSG(ok || fired, "%s", why);
	}
	printf("  %lu lives\n", n - 1);
	CHECK(n > 20 && connect_once(e, 0, &fired));
	mark(e);
}

/* --- the server fails --- */

static void failing_server(struct ends *e)
{
	struct ulp_listener *l = ends_listen(e, SDP_PORT_SPACE);
	struct ulp_request q;
	bool fired = true, none, ok;
	unsigned long n = 1;

	for (; fired; n++) {
		ends_next_request(l, &q);
		ok = accept_once(&q, n, &fired);
		CHECK_MSG(ok || fired, "%s", why);
		CHECK(write(e->out, &fired, 1) == 1);
		/* A connection that is sound. */
		ends_next_request(l, &q);
		CHECK_MSG(accept_once(&q, 0, &none), "%s", why);
	}
	printf("  %lu lives\n", n - 1);
	fflush(stdout);
	CHECK(n > 20);
	ulp_listener_close(l);
}

static void sound_client(struct ends *e)
{
	bool fired = true, none, ok;

	CHECK(read(e->in, &e->addr, sizeof(e->addr)) == sizeof(e->addr));
	while (fired) {
		ok = connect_once(e, 0, &none);
		CHECK(read(e->in, &fired, 1) == 1);
		CHECK_MSG(ok || fired, "%s", why);
		CHECK_MSG(connect_once(e, 0, &none), "%s", why);
	}
}

/* --- an end that follows a move fails, while octets wait for its program --- */

#define HELD 50000u

static void wait_for(struct sdp_conn *c)
{
	struct pollfd p[SDP_CONN_FDS];

	sdp_conn_fds(c, p);
	poll(p, SDP_CONN_FDS, SHORT_MS);
}

/* The new owner, if the peer gets there: it ends. */
static void own(struct ulp_request *q)
{
	struct sdp_conn *c = sdp_accept(q->id, q->data, q->len, &sdp_conf_default, SHORT_MS, why);

	if (!c)
		return;
	sdp_send_end(c);
	while (!sdp_conn_progress(c) && !sdp_is_over(c))
		wait_for(c);
	sdp_conn_close(c);
}

static void move_once(struct ends *e, struct ulp_listener *l)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct ulp_listener *next = ulp_listen((struct sockaddr *)&at, SDP_PORT_SPACE, 0, 8);
	struct pollfd p[2] = { { -1, POLLIN, 0 }, { e->in, POLLIN, 0 } };
	struct ulp_request q;
	struct sdp_stream s;
	struct sdp_conn *c;

	CHECK(next);
	p[0].fd = ulp_listener_fd(next);
	ends_next_request(l, &q);
	c = sdp_accept(q.id, q.data, q.len, &sdp_conf_default, TIMEOUT_MS, why);
	CHECK_MSG(c, "%s", why);
	sdp_stream_begin(&s, c, &sdp_conf_default, 0);
	CHECK(sdp_stream_send(&s, out, HELD) == HELD);
	await(e);
	sdp_suspend(c, ntohs(at.sin_port));
	while (!sdp_conn_progress(c) && !sdp_is_moved(c))
		wait_for(c);
	sdp_conn_close(c);
	while (!p[1].revents) {
		while (!ulp_listener_next(next, &q))
			own(&q);
		CHECK(poll(p, 2, 60000) > 0);
	}
	ulp_listener_close(next);
}

static void moving_server(struct ends *e)
{
	struct ulp_listener *l = ends_listen(e, SDP_PORT_SPACE);
	bool fired = true;

	put_octets(0);
	for (unsigned n = 0; fired || n < 2; n++) {
		move_once(e, l);
		CHECK(read(e->in, &fired, 1) == 1);
	}
	ulp_listener_close(l);
}

/* Returns what is left: negative, for what the connection has got before is given back. */
static long follow_once(struct ends *e, unsigned long n, bool *ret_fired)
{
	struct sdp_conn *c;
	const uint8_t *at;
	size_t len, got = 0;
	bool oob;
	int err = 0;

	c = sdp_connect(NULL, (struct sockaddr *)&e->addr, &sdp_conf_default, TIMEOUT_MS, &err, why);
	CHECK_MSG(c, "%s", why);
	while (sdp_conn_counts(c)->received < HELD) {
		CHECK(!sdp_conn_progress(c));
		if (sdp_conn_counts(c)->received < HELD)
			wait_for(c);
	}
	nth_arm(n);
	mark(e);
	while (!sdp_conn_progress(c) && !sdp_conn_counts(c)->moves)
		wait_for(c);
	for (; (at = sdp_received(c, &len, &oob)); got += len) {
		CHECK(!memcmp(at, out + got, len));
		sdp_received_take(c, len);
	}
	CHECK(got == HELD && (n || !sdp_conn_failed(c)));
	sdp_send_end(c);
	while (!sdp_conn_progress(c) && !sdp_is_over(c))
		wait_for(c);
	if (sdp_conn_failed(c))
		sdp_abort(c);
	sdp_conn_close(c);
	*ret_fired = nth_disarm();
	CHECK(write(e->out, ret_fired, 1) == 1);
	return nth_left_but_descriptors();
}

static void following_client(struct ends *e)
{
	unsigned long n = 1;
	bool fired;
	long left;

	CHECK(read(e->in, &e->addr, sizeof(e->addr)) == sizeof(e->addr));
	put_octets(0);
	left = follow_once(e, 0, &fired);
	do
		CHECK_MSG(follow_once(e, n++, &fired) == left, "%ld objects are left after %s", nth_left_but_descriptors() - left, nth_name());
	while (fired);
	printf("  %lu lives\n", n - 1);
	CHECK(n > 10);
}

int main(void)
{
	ends_run("the n-th call of the end that connects fails", AF_INET, sound_server, failing_client);
	ends_run("the n-th call of the end that accepts fails", AF_INET, failing_server, sound_client);
	ends_run("the n-th call of the end that follows a move fails", AF_INET, moving_server, following_client);
	return 0;
}

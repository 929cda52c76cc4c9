/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One stream: data in every cut, users that take
 * little, change, pause or leave in a callback; full buffers; FIN, reset and
 * refusal; sockets of the application.
 */
#include "link_tcp_util.h"

#include <fcntl.h>
#include <netinet/tcp.h>

static void transfer(const uint8_t addr[16], size_t total, struct reader model)
{
	struct link_streams *a = place_open(), *b = place_open();
	struct reader ra = { 0 }, rb = model;
	uint64_t sent = 0;

	pair_make(a, b, addr, &ra, &rb);
	while (sent < total) {
		size_t n = total - sent < 100000 ? total - sent : 100000;

		ra.writable = 0;
		n -= send_some(ra.s, sent, n);
		sent += (total - sent < 100000 ? total - sent : 100000) - n;
		if (n) {
			CHECK(a->ops->room(ra.s) == 0);
			UNTIL2(a, b, ra.writable);
			CHECK(a->ops->room(ra.s) > 0);
		}
	}
	UNTIL2(a, b, rb.got == total);
	UNTIL2(a, b, a->ops->drained(ra.s));
	CHECK(a->ops->mss(ra.s) >= 536 && a->ops->room(ra.s) >= 4096);
	a->ops->shutdown(ra.s);
	UNTIL2(a, b, rb.closed);
	CHECK(rb.error == 0 && !ra.closed);
	/* The other direction still works. */
	CHECK(send_some(rb.s, 0, 1000) == 1000);
	UNTIL2(a, b, ra.got == 1000);
	b->ops->close(rb.s, false);
	UNTIL2(a, b, ra.closed);
	CHECK(ra.closed == 1 && ra.error == 0 && rb.closed == 1);
	a->ops->close(ra.s, false);
	a->ops->fini(a);
	b->ops->fini(b);
}

/* Each byte a segment of its own, and a user that wants 16 at a time. */
static void single_bytes(void)
{
	struct link_streams *p = place_open();
	struct reader ra = { 0 }, rb = { .frame = 16 };

	pair_make(p, p, LO4, &ra, &rb);
	for (unsigned i = 0; i < 320; i++) {
		CHECK(send_some(ra.s, i, 1) == 1);
		UNTIL(p, rb.shows == i + 1);
		CHECK(rb.seen == i % 16 + 1 && rb.got == (i + 1) / 16 * 16);
	}
	p->ops->fini(p);
}

/* Rests of two streams take turns in the stage. */
static void interleaved(void)
{
	struct link_streams *p = place_open();
	struct reader a[3] = { { 0 } }, b[3] = { { .frame = 10 }, { .frame = 7 }, { .frame = 64 } };

	for (int k = 0; k < 3; k++)
		pair_make(p, p, LO4, &a[k], &b[k]);
	for (unsigned i = 0; i < 2000; i++)
		for (int k = 0; k < 3; k++) {
			CHECK(send_some(a[k].s, i, 1) == 1);
			UNTIL(p, b[k].shows == i + 1);
		}
	for (int k = 0; k < 3; k++)
		CHECK(b[k].got == 2000 / b[k].frame * b[k].frame);
	p->ops->fini(p);
}

/* A reader that does not read stops the writer, and costs no more than its buffers. */
static void slow_reader(void)
{
	struct link_streams *p = place_open();
	struct reader ra = { 0 }, rb = { .pause_in = true };
	uint64_t sent = 0, resumed = 0, end = ut_now() + 300 * UT_MS;
	size_t n;

	pair_make(p, p, LO4, &ra, &rb);
	p->ops->pause(rb.s, true);
	while (ut_now() < end) {
		n = send_some(ra.s, sent, 1 << 20);
		sent += n;
		if (n) /* the kernel may still grow buffers */
			end = ut_now() + 300 * UT_MS;
		CHECK(sent < 1ull << 30);
		places_poll(p, NULL);
	}
	CHECK(rb.shows == 0 && p->ops->room(ra.s) == 0 && !p->ops->drained(ra.s));
	/* Nothing to do: the descriptor is not readable although bytes wait. */
	CHECK(poll(&(struct pollfd){ p->ops->fd(p), POLLIN, 0 }, 1, 0) == 0);
	ra.writable = 0;
	while (rb.got < sent) {
		unsigned before = rb.shows;

		p->ops->pause(rb.s, false);
		resumed++;
		UNTIL(p, rb.shows > before);
	}
	CHECK(rb.shows >= resumed);
	UNTIL(p, ra.writable);
	p->ops->fini(p);
}

/* Paused inside the callback with a rest: the callback gets it again after the pause, without new bytes. */
static void paused_rest(void)
{
	struct link_streams *p = place_open();
	struct reader ra = { 0 }, rb = { .take = 10, .pause_in = true };

	pair_make(p, p, LO4, &ra, &rb);
	CHECK(send_some(ra.s, 0, 35) == 35);
	UNTIL(p, rb.shows == 1);
	CHECK(rb.got == 10 && p->ops->deadline(p) == UT_NEVER);
	for (unsigned i = 2; i <= 4; i++) {
		p->ops->pause(rb.s, false);
		CHECK(p->ops->deadline(p) == 0);
		UNTIL(p, rb.shows == i);
	}
	CHECK(rb.got == 35);
	p->ops->fini(p);
}

static size_t second_received(struct link_stream *s, const uint8_t *data, size_t off, size_t len,
			      uint64_t now)
{
	struct reader *e = s->user;

	e->next_ops = NULL;
	e->take = 0;
	e->connected = 77;
	return reader_received(s, data, off, len, now);
}

static size_t second_received_shm(struct link_stream *s, const uint8_t *data, size_t len, uint64_t now)
{
	struct reader *e = s->user;

	e->next_ops = NULL;
	e->take = 0;
	e->connected = 77;
	return reader_received_shm(s, data, len, now);
}

static const struct link_stream_user second_ops = { second_received, second_received_shm, reader_writable,
						    reader_connected, reader_closed };

/* A new user sees the rest at once; bytes without any user wait. */
static void changed_user(void)
{
	struct link_streams *p = place_open();
	struct reader ra = { 0 }, rb = { .take = 5, .next_ops = &second_ops };

	pair_make(p, p, LO4, &ra, &rb);
	CHECK(send_some(ra.s, 0, 12) == 12);
	UNTIL(p, rb.shows);
	CHECK(rb.shows == 2 && rb.got == 12 && rb.connected == 77);
	rb.s->user_ops = NULL;
	CHECK(send_some(ra.s, 12, 8) == 8);
	for (int i = 0; i < 50; i++)
		places_poll(p, NULL);
	CHECK(poll(&(struct pollfd){ p->ops->fd(p), POLLIN, 0 }, 1, 0) == 0);
	CHECK(p->ops->deadline(p) == UT_NEVER);
	rb.s->user_ops = &reader_ops;
	CHECK(p->ops->deadline(p) == 0);
	UNTIL(p, rb.got == 20);
	p->ops->fini(p);
}

/* Closed in its own callback, with bytes left and more coming. */
static void closed_inside(void)
{
	struct link_streams *p = place_open();
	struct reader ra = { 0 }, rb = { .take = 1, .close_in = true };

	pair_make(p, p, LO4, &ra, &rb);
	CHECK(send_some(ra.s, 0, 100000) > 0);
	UNTIL(p, ra.closed);
	CHECK(rb.shows == 1 && ra.error == 0 && !rb.closed);
	p->ops->fini(p);
}

/* A user that takes nothing of a whole frame's bytes loses its stream, once. */
static void stuck_user(void)
{
	static uint8_t buf[LINK_STREAM_KEEP];
	struct link_streams *p = place_open();
	struct reader ra = { 0 }, rb = { .frame = 1 << 20 };

	pair_make(p, p, LO4, &ra, &rb);
	CHECK(p->ops->send(ra.s, buf, sizeof(buf) - 1) == (ssize_t)sizeof(buf) - 1);
	UNTIL(p, rb.seen == sizeof(buf) - 1);
	CHECK(!rb.closed && p->ops->send(ra.s, buf, 1) == 1);
	UNTIL(p, rb.closed);
	CHECK(rb.error == EMSGSIZE);
	CHECK(p->ops->send(ra.s, buf, 1) == 1);
	for (int i = 0; i < 50; i++)
		places_poll(p, NULL);
	CHECK(rb.closed == 1 && poll(&(struct pollfd){ p->ops->fd(p), POLLIN, 0 }, 1, 0) == 0);
	p->ops->fini(p);
}

/* Bytes that came before a reset are delivered before it. */
static void reset(void)
{
	struct link_streams *p = place_open();
	struct reader ra = { 0 }, rb = { 0 };
	unsigned i;

	pair_make(p, p, LO4, &ra, &rb);
	CHECK(send_some(ra.s, 0, 500) == 500);
	p->ops->close(ra.s, true);
	UNTIL(p, rb.closed);
	CHECK(rb.got == 500 && rb.error == ECONNRESET && rb.closed == 1);
	for (i = 0; i < 50; i++)
		places_poll(p, NULL);
	CHECK(poll(&(struct pollfd){ p->ops->fd(p), POLLIN, 0 }, 1, 0) == 0);
	CHECK(p->ops->send(rb.s, "x", 1) < 0);
	p->ops->fini(p);

	/* Seen by a send first: the reason is still told, by closed(), once. */
	p = place_open();
	rb = ra = (struct reader){ 0 };
	pair_make(p, p, LO4, &ra, &rb);
	p->ops->pause(rb.s, true);
	p->ops->close(ra.s, true);
	for (i = 0; i < 1000000 && p->ops->send(rb.s, "x", 1) > 0; i++)
		;
	UNTIL(p, rb.closed);
	CHECK(rb.closed == 1 && (rb.error == ECONNRESET || rb.error == EPIPE));
	p->ops->fini(p);
}

static void refused(const uint8_t addr[16])
{
	struct link_streams *p = place_open();
	struct arrivals arrivals = { .n = 0 };
	struct link_listener *l = listen_on(p, addr, &arrivals);
	struct link_end to = end_of(addr, l->local.port), there;
	struct link_stream *s;
	struct reader e = { 0 };

	p->ops->unbind(l);
	CHECK(p->ops->connect(p, NULL, NULL, &to, 0x40, &s) == 0);
	reader_on(&e, s);
	UNTIL(p, e.closed);
	CHECK_MSG(e.error == ECONNREFUSED && !e.connected && e.closed == 1, "error %d, connected %u, closed %u",
		  e.error, e.connected, e.closed);
	CHECK(p->ops->send(s, "x", 1) < 0);
	p->ops->close(s, false);
	p->ops->poll(p, ut_now());
	/* About ourselves: refused at the call. */
	to = end_of((const uint8_t[16]){ [10] = 0xff, 0xff, 192, 0, 2, 77 }, 0);
	there = end_of(LO4, 1);
	CHECK(p->ops->connect(p, NULL, &to, &there, -1, &s) == -EADDRNOTAVAIL);
	p->ops->fini(p);
}

/* A stream closed while its connect is under way calls back no more. */
static void closed_connecting(void)
{
	struct link_streams *p = place_open();
	struct arrivals arrivals = { .n = 0 };
	struct link_listener *l = listen_on(p, LO4, &arrivals);
	struct link_end to = end_of(LO4, l->local.port);
	struct link_stream *s;
	struct reader e = { 0 };

	CHECK(p->ops->connect(p, NULL, NULL, &to, -1, &s) == 0);
	reader_on(&e, s);
	p->ops->close(s, false);
	for (int i = 0; i < 50; i++)
		places_poll(p, NULL);
	CHECK(!e.connected && !e.closed);
	p->ops->fini(p);
}

static void tcp_pair(int fd[2])
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t n = sizeof(sa);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(l >= 0 && bind(l, (struct sockaddr *)&sa, n) == 0 && listen(l, 1) == 0);
	CHECK(getsockname(l, (struct sockaddr *)&sa, &n) == 0);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(connect(fd[0], (struct sockaddr *)&sa, n) == 0);
	fd[1] = accept(l, NULL, NULL);
	CHECK(fd[1] >= 0);
	close(l);
}

/* A blocking socket of the application, with a byte waiting and a copy kept. */
static void adopted(void)
{
	struct link_streams *p = place_open();
	struct link_stream *s;
	struct reader e = { 0 };
	char byte = (char)pattern(0), back;
	int fd[2], copy, one = 0;
	socklen_t n = sizeof(one);

	tcp_pair(fd);
	CHECK(send(fd[1], &byte, 1, 0) == 1);
	copy = dup(fd[0]);
	CHECK(p->ops->adopt(p, fd[0], &s) == 0);
	reader_on(&e, s);
	UNTIL(p, e.got == 1);
	for (int i = 0; i < 50; i++) /* it must not block */
		places_poll(p, NULL);
	CHECK(p->ops->send(s, "ab", 2) == 2 && recv(fd[1], &back, 1, 0) == 1 && back == 'a');
	CHECK(getsockopt(copy, IPPROTO_TCP, TCP_NODELAY, &one, &n) == 0 && one);
	CHECK(fcntl(fd[0], F_GETFD) & FD_CLOEXEC);
	/* The copy keeps the socket open; the place must not get its events any more. */
	p->ops->close(s, false);
	close(fd[1]);
	for (int i = 0; i < 50; i++)
		places_poll(p, NULL);
	CHECK(poll(&(struct pollfd){ p->ops->fd(p), POLLIN, 0 }, 1, 0) == 0);
	close(copy);
	p->ops->fini(p);
}

static void not_adopted(void)
{
	struct link_streams *p = place_open();
	int udp = socket(AF_INET, SOCK_DGRAM, 0), tcp = socket(AF_INET, SOCK_STREAM, 0);
	int null = open("/dev/null", O_RDONLY);
	struct link_stream *s;

	CHECK(p->ops->adopt(p, udp, &s) == -EPROTONOSUPPORT);
	CHECK(p->ops->adopt(p, tcp, &s) == -ENOTCONN);
	CHECK(p->ops->adopt(p, null, &s) == -ENOTSOCK);
	close(null);
	CHECK(p->ops->adopt(p, null, &s) == -EBADF);
	CHECK(close(udp) == 0 && close(tcp) == 0);
	p->ops->fini(p);
}

static bool have_ipv6(void)
{
	struct sockaddr_in6 b = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&b, sizeof(b)) == 0;

	close(fd);
	return ok;
}

int main(void)
{
	transfer(LO4, 1, (struct reader){ 0 });
	transfer(LO4, 20 << 20, (struct reader){ 0 });
	transfer(LO4, 10007 * 1000, (struct reader){ .frame = 10007 });
	transfer(LO4, 64000 * 100, (struct reader){ .frame = 64000 });
	single_bytes();
	interleaved();
	slow_reader();
	paused_rest();
	changed_user();
	closed_inside();
	stuck_user();
	reset();
	refused(LO4);
	closed_connecting();
	adopted();
	not_adopted();
	if (!have_ipv6()) {
		printf("no IPv6: that half was left out\n");
		return 0;
	}
	transfer(LO6, 3000000, (struct reader){ .frame = 1000 });
	refused(LO6);
	return 0;
}

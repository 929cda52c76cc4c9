/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the tests of byte streams: places, and users that record their callbacks. */
#ifndef TESTS_LINK_TCP_UTIL_H
#define TESTS_LINK_TCP_UTIL_H

#include "link/local/streams.h"
#include "link/tcp/tcp.h"
#include "support/check.h"
#include "support/entries.h"
#include "util/clock.h"
#include "util/heap.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint8_t LO4[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };
static const uint8_t LO6[16] = { [15] = 1 };

#define TIMEOUT (20 * UT_S)

/* Callbacks that the user of one stream got. */
struct reader {
	struct link_stream *s;
	size_t take;       /* bytes consumed per call at most; 0 = all */
	size_t frame;      /* consume whole frames of so many bytes only; 0 = any */
	uint64_t got;      /* bytes consumed */
	uint64_t sum;      /* of them, by place */
	size_t seen;       /* length of the last piece */
	unsigned shows, local_shows, connected, writable, closed;
	int error;         /* closed() */
	bool close_in, pause_in;
	const struct link_stream_user *next_ops;
};

static inline uint8_t pattern(uint64_t i)
{
	return (uint8_t)(i * 131 + (i >> 8) * 17 + (i >> 16));
}

static inline size_t reader_take(struct link_stream *s, const uint8_t *data, size_t len)
{
	struct reader *e = s->user;
	size_t n = len;

	e->shows++;
	e->seen = len;
	if (e->frame)
		n = len / e->frame * e->frame;
	if (e->take && n > e->take)
		n = e->take;
	for (size_t i = 0; i < n; i++, e->got++)
		CHECK_MSG(data[i] == pattern(e->got), "byte %llu", (unsigned long long)e->got);
	if (e->pause_in)
		s->place->ops->pause(s, true);
	if (e->next_ops)
		s->user_ops = e->next_ops;
	if (e->close_in)
		s->place->ops->close(s, false);
	return n;
}

static inline size_t reader_received(struct link_stream *s, const uint8_t *data, size_t off,
				  size_t len, uint64_t now)
{
	(void)now;
	CHECK(data == s->place->rx_stage->base + off);
	CHECK(off + len <= s->place->rx_stage->size && len && !s->shm);
	return reader_take(s, data, len);
}

static inline size_t reader_received_shm(struct link_stream *s, const uint8_t *data, size_t len, uint64_t now)
{
	(void)now;
	CHECK(s->shm && len);
	((struct reader *)s->user)->local_shows++;
	return reader_take(s, data, len);
}

static inline void reader_writable(struct link_stream *s, uint64_t now)
{
	(void)now;
	((struct reader *)s->user)->writable++;
}

static inline void reader_connected(struct link_stream *s, uint64_t now)
{
	(void)now;
	((struct reader *)s->user)->connected++;
}

static inline void reader_closed(struct link_stream *s, int error, uint64_t now)
{
	struct reader *e = s->user;

	(void)now;
	e->closed++;
	e->error = error;
}

static const struct link_stream_user reader_ops = { reader_received, reader_received_shm, reader_writable,
						 reader_connected, reader_closed };

static inline void reader_on(struct reader *e, struct link_stream *s)
{
	e->s = s;
	s->user = e;
	s->user_ops = &reader_ops;
}

/* Keeps the streams of a listener in a list. */
struct arrivals {
	struct link_stream *v[2048];
	int n;
};

static inline void arrivals_accepted(struct link_listener *l, struct link_stream *s, uint64_t now)
{
	struct arrivals *p = l->user;

	(void)now;
	CHECK(!s->user_ops && p->n < 2048);
	p->v[p->n++] = s;
}

static const struct link_listener_user arrivals_ops = { arrivals_accepted };

static inline struct link_streams *place_open(void)
{
	struct link_streams *p;

	CHECK(tcp_open(0, &p) == 0);
#ifdef LOCAL
	CHECK(local_streams_open(p, LOCAL_CONNECTED | LOCAL_SELF, &p) == 0);
#endif
	CHECK(p->ops->fd(p) >= 0 && p->rx_stage->base);
	CHECK(p->ops->poll(p, ut_now()) == 0 && p->ops->deadline(p) == UT_NEVER);
	return p;
}

static inline struct link_listener *listen_on(struct link_streams *p, const uint8_t addr[16],
					      struct arrivals *arrivals)
{
	struct link_end e = { 0 };
	struct link_listener *l;

	memcpy(e.addr, addr, 16);
	CHECK(p->ops->bind(p, &e, false, false, &l) == 0);
	CHECK(l->local.port && !memcmp(l->local.addr, addr, 16));
	l->user = arrivals;
	l->user_ops = &arrivals_ops;
	CHECK(p->ops->listen(l, 0) == 0);
	return l;
}

static inline struct link_end end_of(const uint8_t addr[16], uint16_t port)
{
	struct link_end e = { .port = port };

	memcpy(e.addr, addr, 16);
	return e;
}

/*
 * Polls the places until cond; sleeps on their descriptors only, so that a place whose
 * descriptor is not readable although there is something to do fails the test.
 */
#define UNTIL2(a, b, cond)                                                             \
	do {                                                                           \
		uint64_t until_ = ut_now() + TIMEOUT;                                 \
		for (;;) {                                                             \
			places_poll((a), (b));                                         \
			if (cond)                                                      \
				break;                                                 \
			CHECK_MSG(ut_now() < until_, "waiting for %s", #cond);         \
			places_sleep((a), (b));                                        \
		}                                                                      \
	} while (0)
#define UNTIL(a, cond) UNTIL2(a, NULL, cond)

static inline void places_poll(struct link_streams *a, struct link_streams *b)
{
	a->ops->poll(a, ut_now());
	if (b)
		b->ops->poll(b, ut_now());
}

static inline int place_sleep_ms(struct link_streams *p)
{
	uint64_t at = p ? p->ops->deadline(p) : UT_NEVER, now = ut_now();

	return at == UT_NEVER ? 1000 : at <= now ? 0 : (int)((at - now) / UT_MS) + 1;
}

static inline void places_sleep(struct link_streams *a, struct link_streams *b)
{
	struct pollfd v[2] = { { a->ops->fd(a), POLLIN, 0 },
			       { b ? b->ops->fd(b) : -1, POLLIN, 0 } };
	int x = place_sleep_ms(a), y = place_sleep_ms(b);

	poll(v, 2, x < y ? x : y);
}

/* A connected pair within one place or two. */
static inline void pair_make(struct link_streams *a, struct link_streams *b,
			     const uint8_t addr[16], struct reader *ra, struct reader *rb)
{
	struct arrivals arrivals = { .n = 0 };
	struct link_listener *l = listen_on(b, addr, &arrivals);
	struct link_end to = end_of(addr, l->local.port), from = end_of(addr, 0);
	struct link_stream *s;

	CHECK(a->ops->connect(a, NULL, &from, &to, -1, &s) == 0);
	reader_on(ra, s);
	UNTIL2(a, b, ra->connected && arrivals.n == 1);
	reader_on(rb, arrivals.v[0]);
	CHECK(s->local.port == rb->s->remote.port && s->remote.port == rb->s->local.port);
	CHECK(!memcmp(s->local.addr, addr, 16) && !memcmp(rb->s->remote.addr, addr, 16));
#ifdef LOCAL
	b->ops->local(rb->s, false);
	a->ops->local(ra->s, true);
	UNTIL2(a, b, ra->s->shm && rb->s->shm);
#endif
	b->ops->unbind(l);
}

/* Sends pattern bytes [at, at + n) without waiting; returns how many went. */
static inline size_t send_some(struct link_stream *s, uint64_t at, size_t n)
{
	static uint8_t buf[1 << 20];
	ssize_t r;

	if (n > sizeof(buf))
		n = sizeof(buf);
	for (size_t i = 0; i < n; i++)
		buf[i] = pattern(at + i);
	r = s->place->ops->send(s, buf, n);
	/* -ENOMEM: a fault that the test planted; closed() follows. */
	CHECK(r > 0 || r == -EAGAIN || r == -ENOMEM);
	return r > 0 ? (size_t)r : 0;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two links of one host that reach each other through shared memory. */
#ifndef TESTS_SHM_CHANNEL_UTIL_H
#define TESTS_SHM_CHANNEL_UTIL_H

#include "link_udp_util.h"

#include "host/shm/peer.h"
#include "link/local/datagrams.h"

#include <errno.h>

#define SECOND "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\2"

/* The channels of the links that go_local() made last. */
static struct {
	struct link *link;
	struct shm_channel *channel;
} with_channel[16];
static unsigned n_with_channel;

static inline struct shm_channel *channel_of(const struct link *l)
{
	for (unsigned i = n_with_channel; i-- && n_with_channel - i <= 16;)
		if (with_channel[i % 16].link == l)
			return with_channel[i % 16].channel;
	CHECK(!"a link without a shm channel");
	return NULL;
}

/* A round of the owner: messages, then datagrams, of which there are none. */
static inline int take_messages(struct link *l, struct shm_message *v, int max)
{
	struct shm_channel *c = channel_of(l);
	int n = c->ops->poll(c, v, max);
	struct link_rx rx[8];

	l->local_news = n > 0;
	CHECK(l->ops->recv(l, rx, 8) == 0);
	return n;
}

/* Asks until the way is known. */
static inline enum shm_reach way(struct link *a, struct link *b, const struct ut_flow *f)
{
	uint64_t end = ut_now() + 5 * UT_S;
	enum shm_reach r = SHM_REACH_ASKED;
	struct shm_message v[8];

	while (r == SHM_REACH_ASKED && ut_now() < end) {
		r = channel_of(a)->ops->reach(channel_of(a), f, b->qpn_fixed | 0x55);
		take_messages(a, v, 8);
		take_messages(b, v, 8);
	}
	return r;
}

static inline int say_so(struct link *a, struct link *b, const struct ut_flow *f, const char *note,
			 const void *data, uint32_t len, bool quiet)
{
	struct shm_reservation at;
	int r = channel_of(a)->ops->reserve(channel_of(a), f, b->qpn_fixed | 0x55, len, &at);

	if (r < 0)
		return r;
	at.quiet = quiet;
	memset(at.header, 0, SHM_CHANNEL_HEADER_BYTES);
	memcpy(at.header, note, strlen(note));
	memcpy(at.data, data, len);
	channel_of(a)->ops->commit(channel_of(a), &at, len);
	CHECK(channel_of(a)->ops->consumed(channel_of(a), f, b->qpn_fixed | 0x55) < at.end);
	return 0;
}

static inline int say(struct link *a, struct link *b, const struct ut_flow *f, const char *note,
		      const void *data, uint32_t len)
{
	return say_so(a, b, f, note, data, len, false);
}

/* A link with the local path. */
static inline void go_local(struct link **l)
{
	struct shm_channel *c;

	CHECK(shm_channel_open(udp_host(*l), &c) == 0 && local_datagrams_open(*l, c, l) == 0);
	with_channel[n_with_channel % 16].link = *l;
	with_channel[n_with_channel++ % 16].channel = c;
}

static inline struct link *open_with_channel(uint16_t port)
{
	struct link *l;

	CHECK(udp_open(port, &l) == 0);
	go_local(&l);
	return l;
}

static inline struct shm_chan *chan_of(struct link *l)
{
	return shm_chan_of(channel_of(l));
}

/* Two links that reach each other; the caller sets the rest. */
static inline void open_pair(uint16_t port, struct link **a, struct link **b)
{
	*a = open_with_channel(port);
	*b = open_with_channel(port);
	CHECK((*a)->ops->add_addr(*a, LO4, 0) == 0);
	CHECK((*b)->ops->add_addr(*b, (const uint8_t *)SECOND, 0) == 0);
}

static inline void close_pair(struct link *a, struct link *b)
{
	a->ops->close(a);
	b->ops->close(b);
}

#endif

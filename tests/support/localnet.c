/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "support/localnet.h"

#include "support/check.h"

#include <errno.h>
#include <string.h>

static struct local_net *net; /* one world at a time */

static int host_of(const struct shm_channel *c)
{
	for (int i = 0; i < net->w->n; i++)
		if (&net->host[i].chan == c)
			return i;
	CHECK_MSG(0, "a channel of no host");
	return -1;
}

/* By the address, as the last octet counts the hosts from 1, or the slot, which does too. */
static struct shm_tx *towards(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn)
{
	int to = (net->w->slots ? (int)(qpn >> 16) : f->dst[15]) - 1, from = host_of(c);

	if (to < 0 || to >= net->w->n || ((net->apart | net->gone) & (1u << to | 1u << from)))
		return NULL;
	return &net->host[from].tx[to];
}

static enum shm_reach reach(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn)
{
	if (!towards(c, f, qpn))
		return SHM_REACH_WIRE;
	return net->w->now < net->asked_until ? SHM_REACH_ASKED : SHM_REACH_LOCAL;
}

static int reserve(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, uint32_t bytes,
		   struct shm_reservation *ret)
{
	struct shm_tx *t = towards(c, f, qpn);
	struct shm_record *at;
	enum shm_put why;
	uint64_t skip;

	CHECK(bytes <= SHM_CHANNEL_MAX);
	if (!t && (net->w->slots || net->gone))
		return -ENOTCONN;
	CHECK(t);
	at = net->full ? NULL : shm_reserve(t, bytes, &skip, &why);
	if (!at)
		return -EAGAIN;
	memset(at, 0xee, 48u + bytes);
	*ret = (struct shm_reservation){ .header = at->header, .data = (uint8_t *)(at + 1), .to = t,
				    .skip = (uint32_t)skip };
	return 0;
}

static void commit(struct shm_channel *c, struct shm_reservation *at, uint32_t bytes)
{
	struct shm_record *r = (struct shm_record *)at->data - 1;
	struct shm_tx *t = at->to;

	r->bytes = bytes;
	r->seg = 0;
	c->unflushed |= at->more;
	if (at->more)
		shm_finish(t, r, at->skip);
	else
		shm_commit(t, r, at->skip);
	at->end = t->tail;
}

static bool find_lane(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, struct shm_lane *ret)
{
	struct shm_tx *t = towards(c, f, qpn);

	if (!t || net->full || memcmp(f->dst, net->w->host[t - net->host[host_of(c)].tx].addr, 16))
		return false;
	/* A test may close the way at any time: it is looked up for each message. */
	*ret = (struct shm_lane){ .ring = t };
	return true;
}

static void show(struct shm_channel *c)
{
	struct local_host *h = &net->host[host_of(c)];

	c->unflushed = false;
	for (int i = 0; i < net->w->n; i++)
		if (h->tx[i].ring && h->tx[i].published != h->tx[i].tail)
			shm_publish(&h->tx[i]);
}

static uint64_t taken(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn)
{
	struct shm_tx *t = towards(c, f, qpn);

	return t ? shm_taken(t) : UINT64_MAX;
}

static void release(struct shm_channel *c)
{
	struct local_host *h = &net->host[host_of(c)];

	for (int i = 0; i < net->w->n; i++)
		if (h->rx[i].held)
			shm_release(&h->rx[i]);
}

static int poll_all(struct shm_channel *c, struct shm_message *v, int max)
{
	int got = 0, i = host_of(c);

	for (int from = 0; from < net->w->n && got < max; from++) {
		struct shm_rx *r = &net->host[i].rx[from];
		struct shm_record h;

		while (got < max && shm_peek(r, &h) == 1) {
			v[got] = (struct shm_message){ .data = shm_hold(r, &h),
						       .len = SHM_CHANNEL_HEADER_BYTES + h.bytes,
						       .from = &net->host[from] };
			memcpy(v[got].src, net->w->host[from].addr, 16);
			memcpy(v[got].dst, net->w->host[i].addr, 16);
			got++;
		}
	}
	return got;
}

static bool next_died(struct shm_channel *c, struct shm_died *ret)
{
	unsigned *deaths = &net->deaths[host_of(c)];
	int j = *deaths ? __builtin_ctz(*deaths) : -1;

	if (j < 0)
		return false;
	*deaths &= *deaths - 1;
	c->n_died--;
	ret->slot = net->w->slots ? (unsigned)j + 1 : 0;
	memcpy(ret->addr, net->w->host[j].addr, 16);
	return true;
}

static const struct shm_channel_ops ops = {
	.reach = reach, .reserve = reserve, .commit = commit, .lane = find_lane, .watch = shm_channel_default_watch,
	.wake = shm_channel_default_wake,
	.flush = show, .notify = show,
	.consumed = taken, .poll = poll_all,
	.inlets = shm_channel_default_inlets, .hear = shm_channel_default_hear, .took = shm_channel_default_nothing, .release = release,
	.access_begin = shm_channel_default_access_begin,
	.access_copy = shm_channel_default_access_copy,
	.access_attached = shm_channel_default_access_attached,
	.next_died = next_died,
	.access_end = shm_channel_default_nothing,
	.export_area = shm_channel_default_export_area,
	.end_grants = shm_channel_default_nothing,
	.quiesce = shm_channel_default_nothing,
	.forget = shm_channel_default_nothing,
};

void local_net_inject(struct local_net *n, int i, int j, const void *header, const void *data,
		     uint32_t len)
{
	struct shm_record h = { .bytes = len };

	memcpy(h.header, header, SHM_CHANNEL_HEADER_BYTES);
	CHECK(shm_put(&n->host[i].tx[j], &h, data) != SHM_FULL);
}

void local_net_die(struct local_net *n, int j, bool another)
{
	struct shm_record h;

	for (int i = 0; i < n->w->n; i++) {
		while (shm_peek(&n->host[j].rx[i], &h) == 1)
			shm_hold(&n->host[j].rx[i], &h);
		if (n->host[j].rx[i].held)
			shm_release(&n->host[j].rx[i]);
		if (i == j)
			continue;
		n->deaths[i] |= 1u << j;
		n->host[i].chan.n_died++;
	}
	if (!another)
		n->gone |= 1u << j;
}

struct local_net *local_net_open(struct sim_world *w)
{
	struct local_net *n = calloc(1, sizeof(*n));

	CHECK(n);
	net = n;
	n->w = w;
	for (int i = 0; i < SIM_HOSTS; i++)
		for (int j = 0; j < SIM_HOSTS; j++) {
			struct shm_ring *ring = aligned_alloc(64, SHM_RING_SEG);
			struct shm_consumer *consumer = aligned_alloc(64, sizeof(*consumer));

			CHECK(ring && consumer);
			memset(ring, 0, sizeof(*ring));
			memset(consumer, 0, sizeof(*consumer));
			shm_ring_init(ring);
			n->host[i].tx[j] = (struct shm_tx){ ring, consumer, &n->page, 0, 0 };
			n->host[j].rx[i] = (struct shm_rx){ .ring = ring, .consumer = consumer };
		}
	return n;
}

struct shm_channel *local_net_join(struct local_net *n, int i)
{
	n->host[i].chan = (struct shm_channel){ .ops = &ops, .epoch = 1, .messages = true };
	return &n->host[i].chan;
}

void local_net_close(struct local_net *n)
{
	for (int i = 0; i < SIM_HOSTS; i++)
		for (int j = 0; j < SIM_HOSTS; j++) {
			free(n->host[i].tx[j].ring);
			free(n->host[j].rx[i].consumer);
		}
	free(n);
	net = NULL;
}

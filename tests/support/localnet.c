/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "support/localnet.h"

#include "support/check.h"

#include <errno.h>
#include <string.h>

static struct local_net *net; /* one world at a time */

static int host_of(const struct link *l)
{
	for (int i = 0; i < net->w->n; i++)
		if (net->w->host[i].link == l)
			return i;
	CHECK_MSG(0, "a link of no host");
	return -1;
}

/* By the address, as the last octet counts the hosts from 1, or the slot, which does too. */
static struct shm_tx *towards(struct link *l, const struct link_flow *f, uint32_t qpn)
{
	int to = (net->w->slots ? (int)(qpn >> 16) : f->dst[15]) - 1, from = host_of(l);

	if (to < 0 || to >= net->w->n || ((net->apart | net->gone) & (1u << to | 1u << from)))
		return NULL;
	return &net->host[from].tx[to];
}

static enum shm_reach reach(struct link *l, const struct link_flow *f, uint32_t qpn,
			     bool *ret_fetches)
{
	*ret_fetches = !net->copy;
	if (!towards(l, f, qpn))
		return SHM_REACH_WIRE;
	return net->w->now < net->asked_until ? SHM_REACH_ASKED : SHM_REACH_LOCAL;
}

static int reserve(struct link *l, const struct link_flow *f, uint32_t qpn, uint32_t bytes,
		   struct shm_reservation *ret)
{
	struct shm_tx *t = towards(l, f, qpn);
	struct shm_record *at;
	enum shm_put why;
	uint64_t skip;

	CHECK(bytes <= SHM_CHANNEL_MAX);
	if (!t && net->w->slots)
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

static void commit(struct link *l, struct shm_reservation *at, uint32_t bytes)
{
	struct shm_record *r = (struct shm_record *)at->data - 1;
	struct shm_tx *t = at->to;

	r->bytes = bytes;
	r->seg = 0;
	if (at->more)
		shm_finish(t, r, at->skip);
	else
		shm_commit(t, r, at->skip);
	at->end = t->tail;
}

static void show(struct link *l)
{
	struct local_host *h = &net->host[host_of(l)];

	for (int i = 0; i < net->w->n; i++)
		if (h->tx[i].ring && h->tx[i].shown != h->tx[i].tail)
			shm_show(&h->tx[i]);
}

static uint64_t taken(struct link *l, const struct link_flow *f, uint32_t qpn)
{
	struct shm_tx *t = towards(l, f, qpn);

	return t ? shm_taken(t) : UINT64_MAX;
}

static ssize_t size_of(const struct iovec *iov, int n)
{
	size_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += iov[i].iov_len;
	return (ssize_t)sum;
}

static ssize_t fetch(struct link *l, const struct link_rx *rx, const struct iovec *to, int n,
		    const struct iovec *from, int m)
{
	ssize_t got = ut_stage_gather(&net->stage, 0, from, m);

	net->fetches++;
	CHECK(!net->copy);
	if (got == size_of(from, m))
		got = ut_stage_scatter(&net->stage, 0, to, n);
	if (net->fetching)
		net->fetching(net);
	return got;
}

static uint32_t generation(struct link *l, const struct link_rx *rx, uint32_t index)
{
	struct local_host *h = rx->from;

	return atomic_load(&h->generations[index % SHM_CHANNEL_GENERATIONS]);
}

static void release(struct link *l)
{
	struct local_host *h = &net->host[host_of(l)];

	for (int i = 0; i < net->w->n; i++)
		if (h->rx[i].held)
			shm_release(&h->rx[i]);
}

static int next(struct link *l, struct link_rx *v, int max)
{
	return -EAGAIN;
}

static const struct shm_channel_ops ops = {
	.reach = reach, .reserve = reserve, .commit = commit, .show = show, .tell = show,
	.taken = taken, .fetch = fetch,
	.generation = generation, .release = release, .next = next,
};

int local_net_recv(struct local_net *n, int i, struct link_rx *rx, int max)
{
	int got = 0;

	for (int from = 0; from < n->w->n && got < max; from++) {
		struct shm_rx *r = &n->host[i].rx[from];
		struct shm_record h;

		while (got < max && shm_peek(r, &h) == 1) {
			rx[got] = (struct link_rx){ .data = shm_hold(r, &h), .message = true,
						    .len = SHM_CHANNEL_HEADER_BYTES + h.bytes,
						    .from = &n->host[from] };
			memcpy(rx[got].src, n->w->host[from].addr, 16);
			memcpy(rx[got].dst, n->w->host[i].addr, 16);
			got++;
		}
	}
	return got;
}

void local_net_inject(struct local_net *n, int i, int j, const void *note, const void *data,
		     uint32_t len)
{
	struct shm_record h = { .bytes = len };

	memcpy(h.header, note, SHM_CHANNEL_HEADER_BYTES);
	CHECK(shm_put(&n->host[i].tx[j], &h, data) != SHM_FULL);
}

struct local_net *local_net_open(struct sim_world *w)
{
	struct local_net *n = calloc(1, sizeof(*n));

	CHECK(n && ut_stage_init(&n->stage, SHM_CHANNEL_MAX + 4096u) == 0);
	net = n;
	n->w = w;
	for (int i = 0; i < SIM_HOSTS; i++)
		for (int j = 0; j < SIM_HOSTS; j++) {
			struct shm_ring *ring = aligned_alloc(64, SHM_RING_SEG);
			struct shm_consumer *ear = aligned_alloc(64, sizeof(*ear));

			CHECK(ring && ear);
			memset(ring, 0, sizeof(*ring));
			memset(ear, 0, sizeof(*ear));
			shm_ring_init(ring);
			n->host[i].tx[j] = (struct shm_tx){ ring, ear, &n->page, 0, 0 };
			n->host[j].rx[i] = (struct shm_rx){ .ring = ring, .consumer = ear };
		}
	return n;
}

void local_net_join(struct local_net *n, int i, struct link *l)
{
	l->chan = &ops;
	l->generations = n->host[i].generations;
}

void local_net_close(struct local_net *n)
{
	for (int i = 0; i < SIM_HOSTS; i++)
		for (int j = 0; j < SIM_HOSTS; j++) {
			free(n->host[i].tx[j].ring);
			free(n->host[j].rx[i].consumer);
		}
	ut_stage_fini(&n->stage);
	free(n);
	net = NULL;
}

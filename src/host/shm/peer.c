/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/shm/peer.h"

#include "host/layout.h"
#include "host/shm/access.h"
#include "host/shm/channel.h"
#include "host/shm/handshake.h"
#include "host/shm/segment.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/fault_calls.h"
#include "util/heap.h"
#include "util/syscall.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static void ignore(struct host *h, struct host_port *p, uint32_t events)
{
}

/* A wake fd is never read: each write is a new edge. */
static const struct host_port_kind wake_port = { .events = EPOLLIN | EPOLLET, .ready = ignore };

static unsigned key_of(const uint8_t addr[16], unsigned slot)
{
	return (addr[12] * 131u + addr[14] * 31u + addr[15] * 7u + addr[7] + slot) % SHM_PEER_KEYS;
}

static void tx_close(struct shm_chan *ch, struct shm_peer_tx *t)
{
	host_unwatch(ch->host, &t->peer);
	host_unwatch(ch->host, &t->wake);
	ut_close_fd(&t->memory);
	t->pid = 0;
	shm_access_detach(t);
	shm_seg_unmap(t->ring.ring, SHM_RING_SEG);
	shm_seg_unmap(t->ring.consumer, sizeof(struct shm_consumer));
	shm_seg_unmap(t->ring.page, sizeof(struct shm_page));
	ch->base.unnotified -= t->ring.unnotified;
	t->ring = (struct shm_tx){ 0 };
	shm_channel_end_lanes(&ch->base);
}

void shm_peer_tx_to_wire(struct shm_chan *ch, struct shm_peer_tx *t, bool refused)
{
	tx_close(ch, t);
	t->state = SHM_PEER_WIRE;
	t->refused = refused;
	t->since = ut_now();
}

/* No look-up finds it any more. */
static void tx_take_out(struct shm_chan *ch, struct shm_peer_tx *t)
{
	tx_close(ch, t);
	if (ch->last == t)
		ch->last = NULL;
	ch->n_tx--;
	ut_list_del(&t->node);
	ut_list_del(&t->same_key);
}

void shm_peer_tx_drop(struct shm_chan *ch, struct shm_peer_tx *t)
{
	tx_take_out(ch, t);
	free(t);
}

void shm_peer_rx_drop(struct shm_chan *ch, struct shm_peer_rx *r)
{
	/* The pidfd is still open: it ends the wait for a process that was killed during an access. */
	if (r->ring.consumer) {
		atomic_store(&r->ring.consumer->gone, 1);
		shm_export_quiesce_one(ch, r);
	}
	host_unwatch(ch->host, &r->peer);
	shm_seg_unmap(r->ring.ring, r->size);
	shm_seg_unmap(r->ring.consumer, sizeof(struct shm_consumer));
	shm_seg_unmap(r->page, sizeof(struct shm_page));
	ch->n_rx--;
	ut_list_del(&r->node);
	free(r);
	shm_channel_end_lanes(&ch->base);
}

static int open_page(struct shm_chan *ch)
{
	ch->page_fd = shm_seg_make("dapple-page", sizeof(*ch->page), (void **)&ch->page);
	if (ch->page_fd < 0)
		return ch->page_fd;
	ch->page->magic = SHM_SLEEP_MAGIC;
	ch->page->layout = host_layout;
	ch->base.on = &ch->page->on;
	ch->page->id = (uint32_t)ut_rng_u64(&ch->host->rng);
	host_life_add(&ch->page->life);
	atomic_store(&ch->page->on, SHM_ASLEEP);
	ch->wake.fd = ut_fault_errno(EMFILE) ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return ch->wake.fd < 0 ? -errno : host_watch(ch->host, &ch->wake);
}

int shm_channel_open(struct host *h, struct shm_channel **ret)
{
	struct shm_chan *n = ut_zalloc(sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	n->base.ops = &shm_chan_ops;
	n->base.epoch = 1;
	n->host = h;
	n->page_fd = -1;
	ut_list_init(&n->tx);
	ut_list_init(&n->rx);
	ut_list_init(&n->died);
	for (unsigned i = 0; i < SHM_PEER_KEYS; i++)
		ut_list_init(&n->keys[i]);
	n->wake = (struct host_port){ &wake_port, -1 };
	n->life[0] = n->life[1] = (struct host_port){ &host_port_kept, -1 };
	r = open_page(n);
	if (r < 0) {
		shm_channel_close(&n->base);
		return r;
	}
	shm_handshake_handle(n);
	*ret = &n->base;
	return 0;
}

void shm_channel_messages(struct shm_channel *c, bool direct)
{
	struct shm_chan *ch = shm_chan_of(c);

	ch->messages = c->messages = true;
	ch->direct = direct;
	if (!direct)
		return;
	c->export = &ch->page->export;
	atomic_store_explicit(&c->export->fences, ut_barrier_has_host(), memory_order_relaxed);
}

void shm_channel_close(struct shm_channel *c)
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_tx *t;
	struct shm_peer_rx *r;
	struct ut_list *n;

	shm_handshake_refuse_all(ch->host);
	while ((t = ut_list_first(&ch->tx, struct shm_peer_tx, node)))
		shm_peer_tx_drop(ch, t);
	while ((r = ut_list_first(&ch->rx, struct shm_peer_rx, node)))
		shm_peer_rx_drop(ch, r);
	while ((n = ut_list_pop(&ch->died)))
		free(ut_container(n, struct shm_peer_tx, node));
	host_unwatch(ch->host, &ch->wake);
	host_unwatch(ch->host, &ch->life[0]);
	host_unwatch(ch->host, &ch->life[1]);
	if (ch->page)
		host_life_remove(&ch->page->life);
	shm_seg_unmap(ch->page, sizeof(*ch->page));
	ut_close_fd(&ch->page_fd);
	free(ch);
}

/* --- asking --- */

struct shm_peer_tx *shm_peer_find(struct shm_chan *ch, const uint8_t addr[16], unsigned slot)
{
	struct shm_peer_tx *t = ch->last;

	if (t && t->slot == slot && !memcmp(t->addr, addr, 16))
		return t;
	ut_list_each(t, &ch->keys[key_of(addr, slot)], same_key)
		if (t->slot == slot && !memcmp(t->addr, addr, 16))
			return ch->last = t;
	return NULL;
}

static void tx_died(struct host *h, struct host_port *p, uint32_t events)
{
	struct shm_peer_tx *t = ut_container(p, struct shm_peer_tx, peer);
	struct shm_chan *ch = t->ch;

	if (!t->messages) {
		shm_peer_tx_drop(ch, t);
		return;
	}
	tx_take_out(ch, t);
	t->state = SHM_PEER_DIED;
	ut_list_add_tail(&ch->died, &t->node);
	ch->base.n_died++;
}

/* Messages of the dead process wait, or are held. */
static bool has_unread(struct shm_chan *ch, const struct shm_died *d)
{
	struct shm_peer_rx *r;

	ut_list_each(r, &ch->rx, node)
		if (r->ring.ring && !r->broken && r->slot == d->slot && !memcmp(r->addr, d->addr, 16) &&
		    (shm_waiting(&r->ring) || r->ring.held))
			return true;
	return false;
}

bool shm_peer_next_died(struct shm_channel *c, struct shm_died *ret)
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_tx *t;

	ut_list_each(t, &ch->died, node) {
		ret->slot = t->slot;
		memcpy(ret->addr, t->addr, 16);
		if (has_unread(ch, ret))
			continue;
		ut_list_del(&t->node);
		free(t);
		c->n_died--;
		return true;
	}
	return false;
}

static const struct host_port_kind tx_peer_port = { .events = EPOLLIN, .ready = tx_died };

/* Records of a dead process are read to their end first, like packets that are on the wire. */
static void rx_died(struct host *h, struct host_port *p, uint32_t events)
{
	struct shm_peer_rx *r = ut_container(p, struct shm_peer_rx, peer);

	if (!shm_waiting(&r->ring) && !r->ring.held)
		shm_peer_rx_drop(r->ch, r);
}

const struct host_port_kind shm_rx_peer_port = { .events = EPOLLIN, .ready = rx_died };

struct shm_peer_tx *shm_peer_tx_new(struct shm_chan *ch, const struct ut_flow *f, unsigned slot)
{
	struct shm_peer_tx *t = ch->n_tx < SHM_PEER_TX_MAX ? ut_zalloc(sizeof(*t)) : NULL;

	if (!t)
		return NULL;
	memcpy(t->addr, f->dst, 16);
	t->slot = (uint16_t)slot;
	t->self = slot == ch->host->slot && host_addr_find(ch->host, f->dst);
	t->memory = -1;
	t->peer = (struct host_port){ &tx_peer_port, -1 };
	t->ch = ch;
	t->wake = (struct host_port){ &host_port_kept, -1 };
	ut_list_add_tail(&ch->tx, &t->node);
	ut_list_add_tail(&ch->keys[key_of(t->addr, slot)], &t->same_key);
	ch->n_tx++;
	shm_handshake_ask(ch, t, f);
	return ch->last = t;
}

void shm_channel_forget_addr(struct shm_channel *c, const uint8_t addr[16])
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_tx *t, *s;

	ut_list_each_safe(t, s, &ch->tx, node)
		if (!memcmp(t->local_addr, addr, 16))
			shm_peer_tx_drop(ch, t);
}

struct shm_peer_tx *shm_peer_get(struct shm_chan *ch, const struct ut_flow *f, unsigned slot)
{
	struct shm_peer_tx *t;

	if (slot == HOST_NO_SLOT)
		return NULL;
	t = shm_peer_find(ch, f->dst, slot);
	if (!t)
		t = shm_peer_tx_new(ch, f, slot);
	if (!t)
		return NULL;
	if (t->state == SHM_PEER_WIRE && t->refused && ut_now() - t->since > SHM_PEER_RETRY)
		shm_handshake_ask(ch, t, f);
	if (t->state == SHM_PEER_ASKED &&
	    ut_now() - t->since > (ch->messages ? SHM_PEER_TIMEOUT : SHM_PEER_TIMEOUT_DATAGRAMS))
		shm_peer_tx_to_wire(ch, t, false);
	if (t->state == SHM_PEER_WIRE || (t->state == SHM_PEER_ASKED && ch->host->leaving))
		return NULL;
	if (t->state == SHM_PEER_ASKED)
		shm_handshake_await(ch, f);
	return t;
}

bool shm_peer_both(struct shm_chan *ch, const struct shm_peer_tx *t)
{
	struct shm_peer_rx *r;

	ut_list_each(r, &ch->rx, node)
		if (r->ring.ring && r->slot == t->slot && !memcmp(r->addr, t->addr, 16))
			return true;
	return false;
}

struct shm_peer_tx *shm_peer_open(struct shm_chan *ch, const uint8_t addr[16], unsigned slot)
{
	struct shm_peer_tx *t = shm_peer_find(ch, addr, slot);

	return t && t->state == SHM_PEER_OPEN ? t : NULL;
}

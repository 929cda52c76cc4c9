/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The ways of near.h: to whom there is one, since when, and their ends. */
#include "host/shm/peer.h"

#include "host/shm/segment.h"
#include "link/sys.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/faulty.h"
#include "util/heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

void udp_port_none(struct udp_port *p, enum udp_kind kind)
{
	*p = (struct udp_port){ .kind = kind, .fd = -1 };
	ut_list_init(&p->polled_node);
	ut_list_init(&p->err_node);
}

static unsigned key_of(const uint8_t addr[16], unsigned slot)
{
	return (addr[12] * 131u + addr[14] * 31u + addr[15] * 7u + addr[7] + slot) % SHM_PEER_KEYS;
}

static void tx_close(struct udp_link *u, struct shm_peer_tx *t)
{
	udp_unwatch(u, &t->peer);
	udp_unwatch(u, &t->wake);
	link_sys_close(&t->memory);
	t->pid = 0;
	shm_access_detach(t);
	shm_seg_unmap(t->ring.ring, SHM_RING_SEG);
	shm_seg_unmap(t->ring.consumer, sizeof(struct shm_consumer));
	shm_seg_unmap(t->ring.page, sizeof(struct shm_page));
	t->ring = (struct shm_tx){ 0 };
	shm_peer_told(u, t);
}

void shm_peer_tx_far(struct udp_link *u, struct shm_peer_tx *t, bool refused)
{
	tx_close(u, t);
	t->state = SHM_PEER_WIRE;
	t->refused = refused;
	t->since = ut_now();
}

void shm_peer_tx_drop(struct udp_link *u, struct shm_peer_tx *t)
{
	tx_close(u, t);
	if (u->chan->last == t)
		u->chan->last = NULL;
	u->chan->n_tx--;
	ut_list_del(&t->node);
	ut_list_del(&t->same_key);
	free(t);
}

void shm_peer_rx_drop(struct udp_link *u, struct shm_peer_rx *r)
{
	/* Its pidfd is still open: who was killed in the middle of a visit does not end it. */
	if (r->ring.consumer) {
		atomic_store(&r->ring.consumer->gone, 1);
		shm_export_quiesce_one(u, r);
	}
	udp_unwatch(u, &r->peer);
	shm_seg_unmap(r->ring.ring, r->size);
	shm_seg_unmap(r->ring.consumer, sizeof(struct shm_consumer));
	shm_seg_unmap(r->page, sizeof(struct shm_page));
	u->chan->n_rx--;
	ut_list_del(&r->node);
	free(r);
}

static int open_page(struct udp_link *u, struct shm_chan *n)
{
	n->page_fd = shm_seg_make("dapple-page", sizeof(*n->page), (void **)&n->page);
	if (n->page_fd < 0)
		return n->page_fd;
	n->page->magic = SHM_SLEEP_MAGIC;
	n->page->id = (uint32_t)ut_rng_u64(&u->rng);
	host_life_add(&n->page->life);
	atomic_store(&n->page->on, 1);
	n->wake.fd = ut_refused(EMFILE) ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return n->wake.fd < 0 ? -errno : udp_watch(u, &n->wake);
}

int shm_chan_init(struct udp_link *u)
{
	struct shm_chan *n = ut_zalloc(sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	n->base.ops = &shm_chan_ops;
	n->u = u;
	n->page_fd = -1;
	ut_list_init(&n->tx);
	ut_list_init(&n->rx);
	for (unsigned i = 0; i < SHM_PEER_KEYS; i++)
		ut_list_init(&n->keys[i]);
	udp_port_none(&n->wake, UDP_WAKE);
	udp_port_none(&n->life[0], UDP_TX);
	udp_port_none(&n->life[1], UDP_TX);
	u->chan = n;
	r = open_page(u, n);
	if (r < 0)
		shm_chan_fini(u);
	return r;
}

void shm_chan_messages(struct udp_link *u)
{
	if (!u->chan)
		return;
	u->chan->messages = true;
	u->chan->base.messages = true;
	u->chan->base.generations = u->chan->page->generations;
}

void shm_chan_direct(struct udp_link *u)
{
	if (!u->chan || !u->chan->messages)
		return;
	u->chan->direct = true;
	u->chan->base.export = &u->chan->page->export;
}

void shm_chan_fini(struct udp_link *u)
{
	struct shm_peer_tx *t;
	struct shm_peer_rx *r;

	if (!u->chan)
		return;
	while ((t = ut_list_first(&u->chan->tx, struct shm_peer_tx, node)))
		shm_peer_tx_drop(u, t);
	while ((r = ut_list_first(&u->chan->rx, struct shm_peer_rx, node)))
		shm_peer_rx_drop(u, r);
	udp_unwatch(u, &u->chan->wake);
	udp_unwatch(u, &u->chan->life[0]);
	udp_unwatch(u, &u->chan->life[1]);
	if (u->chan->page)
		host_life_remove(&u->chan->page->life);
	shm_seg_unmap(u->chan->page, sizeof(*u->chan->page));
	link_sys_close(&u->chan->page_fd);
	free(u->chan);
	u->chan = NULL;
}

/* --- asking --- */

struct shm_peer_tx *shm_peer_find(struct udp_link *u, const uint8_t addr[16], unsigned slot)
{
	struct shm_peer_tx *t = u->chan->last;

	if (t && t->slot == slot && !memcmp(t->addr, addr, 16))
		return t;
	ut_list_each(t, &u->chan->keys[key_of(addr, slot)], same_key)
		if (t->slot == slot && !memcmp(t->addr, addr, 16))
			return u->chan->last = t;
	return NULL;
}

struct shm_peer_tx *shm_peer_tx_new(struct udp_link *u, const struct ut_flow *f, unsigned slot)
{
	struct shm_peer_tx *t = u->chan->n_tx < SHM_PEER_TX_MAX ? ut_zalloc(sizeof(*t)) : NULL;

	if (!t)
		return NULL;
	memcpy(t->addr, f->dst, 16);
	t->slot = (uint16_t)slot;
	t->memory = -1;
	udp_port_none(&t->peer, UDP_PEER);
	udp_port_none(&t->wake, UDP_TX);
	ut_list_add_tail(&u->chan->tx, &t->node);
	ut_list_add_tail(&u->chan->keys[key_of(t->addr, slot)], &t->same_key);
	u->chan->n_tx++;
	shm_handshake_ask(u, t, f);
	return u->chan->last = t;
}

/* What a dead process wrote is read to its end first, as what it sent by the wire would be. */
void shm_peer_died(struct udp_link *u, struct udp_port *p)
{
	if (p->local_tx) {
		shm_peer_tx_drop(u, p->local_tx);
	} else if (p->local_rx && !shm_waiting(&p->local_rx->ring) && !p->local_rx->ring.held) {
		shm_peer_rx_drop(u, p->local_rx);
	}
}

void shm_chan_forget_addr(struct udp_link *u, const uint8_t addr[16])
{
	struct shm_peer_tx *t, *s;

	if (!u->chan)
		return;
	ut_list_each_safe(t, s, &u->chan->tx, node)
		if (!memcmp(t->local_addr, addr, 16))
			shm_peer_tx_drop(u, t);
}

/* Somebody waits for the answer: the next call reads the mailbox unasked. */
void shm_handshake_await(struct udp_link *u, const struct ut_flow *f)
{
	struct udp_local *lo = udp_local_find(u, f->src);

	if (lo)
		lo->mail_ready = true;
}

struct shm_peer_tx *shm_peer_get(struct udp_link *u, const struct ut_flow *f, unsigned slot)
{
	struct shm_peer_tx *t;

	if (slot == UDP_NO_SLOT)
		return NULL;
	t = shm_peer_find(u, f->dst, slot);
	if (!t)
		t = shm_peer_tx_new(u, f, slot);
	if (!t)
		return NULL;
	if (t->state == SHM_PEER_WIRE && t->refused && ut_now() - t->since > SHM_PEER_RETRY)
		shm_handshake_ask(u, t, f);
	if (t->state == SHM_PEER_ASKED &&
	    ut_now() - t->since > (u->chan->messages ? SHM_PEER_TIMEOUT : SHM_PEER_TIMEOUT_DATAGRAMS))
		shm_peer_tx_far(u, t, false);
	if (t->state == SHM_PEER_WIRE || (t->state == SHM_PEER_ASKED && u->base.leaving))
		return NULL;
	if (t->state == SHM_PEER_ASKED)
		shm_handshake_await(u, f);
	return t;
}

bool shm_peer_both(struct udp_link *u, const struct shm_peer_tx *t)
{
	struct shm_peer_rx *r;

	ut_list_each(r, &u->chan->rx, node)
		if (r->ring.ring && r->slot == t->slot && !memcmp(r->addr, t->addr, 16))
			return true;
	return false;
}

struct shm_peer_tx *shm_peer_open(struct udp_link *u, const uint8_t addr[16], unsigned slot)
{
	struct shm_peer_tx *t = shm_peer_find(u, addr, slot);

	return t && t->state == SHM_PEER_OPEN ? t : NULL;
}

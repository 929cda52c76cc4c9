/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The ways of near.h: to whom there is one, since when, and their ends. */
#include "link/udp/near.h"

#include "link/shm/seg.h"
#include "link/sys.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/faulty.h"
#include "util/heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

void udp_near_no_port(struct udp_port *p, enum udp_kind kind)
{
	*p = (struct udp_port){ .kind = kind, .fd = -1 };
	ut_list_init(&p->hot_node);
	ut_list_init(&p->err_node);
}

static unsigned key_of(const uint8_t addr[16], unsigned slot)
{
	return (addr[12] * 131u + addr[14] * 31u + addr[15] * 7u + addr[7] + slot) % NEAR_KEYS;
}

static void tx_close(struct udp_link *u, struct udp_near_tx *t)
{
	udp_unwatch(u, &t->peer);
	udp_unwatch(u, &t->bell);
	link_sys_close(&t->memory);
	t->pid = 0;
	udp_near_give_up(t);
	shm_seg_unmap(t->ring.ring, SHM_RING_SEG);
	shm_seg_unmap(t->ring.ear, sizeof(struct shm_ear));
	shm_seg_unmap(t->ring.doze, sizeof(struct shm_doze));
	t->ring = (struct shm_tx){ 0 };
	udp_near_told(u, t);
}

void udp_near_tx_far(struct udp_link *u, struct udp_near_tx *t, bool refused)
{
	tx_close(u, t);
	t->state = NEAR_FAR;
	t->refused = refused;
	t->since = ut_now();
}

void udp_near_tx_drop(struct udp_link *u, struct udp_near_tx *t)
{
	tx_close(u, t);
	if (u->near->last == t)
		u->near->last = NULL;
	u->near->n_tx--;
	ut_list_del(&t->node);
	ut_list_del(&t->same_key);
	free(t);
}

void udp_near_rx_drop(struct udp_link *u, struct udp_near_rx *r)
{
	/* Its pidfd is still open: who was killed in the middle of a visit does not end it. */
	if (r->ring.ear) {
		atomic_store(&r->ring.ear->gone, 1);
		udp_near_see_off_one(u, r);
	}
	udp_unwatch(u, &r->peer);
	shm_seg_unmap(r->ring.ring, r->size);
	shm_seg_unmap(r->ring.ear, sizeof(struct shm_ear));
	shm_seg_unmap(r->page, sizeof(struct shm_doze));
	u->near->n_rx--;
	ut_list_del(&r->node);
	free(r);
}

static int open_page(struct udp_link *u, struct udp_near *n)
{
	u->base.more_fd = shm_seg_make("dapple-doze", sizeof(*n->doze), (void **)&n->doze);
	if (u->base.more_fd < 0)
		return u->base.more_fd;
	n->doze->magic = NEAR_DOZE_MAGIC;
	n->doze->id = (uint32_t)ut_rng_u64(&u->rng);
	ut_life_add(&n->doze->life);
	atomic_store(&n->doze->on, 1);
	n->bell.fd = ut_refused(EMFILE) ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return n->bell.fd < 0 ? -errno : udp_watch(u, &n->bell);
}

int udp_near_init(struct udp_link *u)
{
	struct udp_near *n = ut_zalloc(sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	ut_list_init(&n->tx);
	ut_list_init(&n->rx);
	for (unsigned i = 0; i < NEAR_KEYS; i++)
		ut_list_init(&n->keys[i]);
	udp_near_no_port(&n->bell, UDP_BELL);
	udp_near_no_port(&n->life[0], UDP_TX);
	udp_near_no_port(&n->life[1], UDP_TX);
	u->near = n;
	r = open_page(u, n);
	if (r < 0)
		udp_near_fini(u);
	return r;
}

void udp_near_notes(struct udp_link *u)
{
	if (!u->near)
		return;
	u->near->notes = true;
	u->base.near = &udp_near_ops;
	u->base.seals = u->near->doze->seals;
}

void udp_near_visits(struct udp_link *u)
{
	if (!u->near || !u->near->notes)
		return;
	u->near->visits = true;
	u->base.shown = &u->near->doze->shown;
}

void udp_near_fini(struct udp_link *u)
{
	struct udp_near_tx *t;
	struct udp_near_rx *r;

	if (!u->near)
		return;
	while ((t = ut_list_first(&u->near->tx, struct udp_near_tx, node)))
		udp_near_tx_drop(u, t);
	while ((r = ut_list_first(&u->near->rx, struct udp_near_rx, node)))
		udp_near_rx_drop(u, r);
	udp_unwatch(u, &u->near->bell);
	udp_unwatch(u, &u->near->life[0]);
	udp_unwatch(u, &u->near->life[1]);
	if (u->near->doze)
		ut_life_remove(&u->near->doze->life);
	shm_seg_unmap(u->near->doze, sizeof(*u->near->doze));
	link_sys_close(&u->base.more_fd);
	free(u->near);
	u->near = NULL;
}

/* --- asking --- */

struct udp_near_tx *udp_near_find(struct udp_link *u, const uint8_t addr[16], unsigned slot)
{
	struct udp_near_tx *t = u->near->last;

	if (t && t->slot == slot && !memcmp(t->addr, addr, 16))
		return t;
	ut_list_each(t, &u->near->keys[key_of(addr, slot)], same_key)
		if (t->slot == slot && !memcmp(t->addr, addr, 16))
			return u->near->last = t;
	return NULL;
}

struct udp_near_tx *udp_near_tx_new(struct udp_link *u, const struct link_flow *f, unsigned slot)
{
	struct udp_near_tx *t = u->near->n_tx < NEAR_TX_MAX ? ut_zalloc(sizeof(*t)) : NULL;

	if (!t)
		return NULL;
	memcpy(t->addr, f->dst, 16);
	t->slot = (uint16_t)slot;
	t->memory = -1;
	udp_near_no_port(&t->peer, UDP_PEER);
	udp_near_no_port(&t->bell, UDP_TX);
	ut_list_add_tail(&u->near->tx, &t->node);
	ut_list_add_tail(&u->near->keys[key_of(t->addr, slot)], &t->same_key);
	u->near->n_tx++;
	udp_near_ask(u, t, f);
	return u->near->last = t;
}

/* What a dead process wrote is read to its end first, as what it sent by the wire would be. */
void udp_near_died(struct udp_link *u, struct udp_port *p)
{
	if (p->near_tx) {
		udp_near_tx_drop(u, p->near_tx);
	} else if (p->near_rx && !shm_waiting(&p->near_rx->ring) && !p->near_rx->ring.held) {
		udp_near_rx_drop(u, p->near_rx);
	}
}

void udp_near_forget_addr(struct udp_link *u, const uint8_t addr[16])
{
	struct udp_near_tx *t, *s;

	if (!u->near)
		return;
	ut_list_each_safe(t, s, &u->near->tx, node)
		if (!memcmp(t->own, addr, 16))
			udp_near_tx_drop(u, t);
}

/* Somebody waits for the answer: the next call reads the mailbox unasked. */
void udp_near_await(struct udp_link *u, const struct link_flow *f)
{
	struct udp_local *lo = udp_local_find(u, f->src);

	if (lo)
		lo->mail_ready = true;
}

struct udp_near_tx *udp_near_way(struct udp_link *u, const struct link_flow *f, unsigned slot)
{
	struct udp_near_tx *t;

	if (slot == UDP_NO_SLOT)
		return NULL;
	t = udp_near_find(u, f->dst, slot);
	if (!t)
		t = udp_near_tx_new(u, f, slot);
	if (!t)
		return NULL;
	if (t->state == NEAR_FAR && t->refused && ut_now() - t->since > NEAR_AGAIN)
		udp_near_ask(u, t, f);
	if (t->state == NEAR_ASKED &&
	    ut_now() - t->since > (u->near->notes ? NEAR_PATIENCE : NEAR_PATIENCE_DATAGRAMS))
		udp_near_tx_far(u, t, false);
	if (t->state == NEAR_FAR || (t->state == NEAR_ASKED && u->base.leaving))
		return NULL;
	if (t->state == NEAR_ASKED)
		udp_near_await(u, f);
	return t;
}

bool udp_near_both(struct udp_link *u, const struct udp_near_tx *t)
{
	struct udp_near_rx *r;

	ut_list_each(r, &u->near->rx, node)
		if (r->ring.ring && r->slot == t->slot && !memcmp(r->addr, t->addr, 16))
			return true;
	return false;
}

struct udp_near_tx *udp_near_open(struct udp_link *u, const uint8_t addr[16], unsigned slot)
{
	struct udp_near_tx *t = udp_near_find(u, addr, slot);

	return t && t->state == NEAR_OPEN ? t : NULL;
}

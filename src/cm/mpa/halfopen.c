/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Handshakes that unknown peers have begun. Each costs memory until the listener's user has its Request or its timer is
 * out, so there is a ceiling for a listener and for a remote address. Above it the oldest handshake without a whole
 * Request is dropped: a Request comes with the next round trip, so the oldest is the least likely to get one, and a
 * flood cannot lock a listener for the length of a timer. Only if all have their Request and wait for the backlog, the
 * oldest of those is dropped.
 */
#include "cm/mpa/halfopen.h"

#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Seeded, so that no peer can aim at one bucket. */
static struct ut_list *bucket(struct mpa *m, const uint8_t addr[16])
{
	uint64_t h = m->cfg.seed ^ 0x9e3779b97f4a7c15u;

	for (int i = 0; i < 16; i++)
		h = (h ^ addr[i]) * 0x100000001b3u + (h >> 29);
	return &m->peers[h >> 40 & (MPA_PEER_BUCKETS - 1)];
}

static struct mpa_peer *peer_get(struct mpa *m, const uint8_t addr[16])
{
	struct ut_list *head = bucket(m, addr);
	struct mpa_peer *p;

	ut_list_each(p, head, node)
		if (!memcmp(p->addr, addr, 16))
			return p;
	p = ut_zalloc(sizeof(*p));
	if (!p)
		return NULL;
	memcpy(p->addr, addr, 16);
	ut_list_init(&p->half_open);
	ut_list_add_tail(head, &p->node);
	return p;
}

static void peer_put(struct mpa_peer *p)
{
	if (p->n)
		return;
	ut_list_del(&p->node);
	free(p);
}

static bool may_evict(const struct mpa_ep *e)
{
	return e->state != MPA_WAIT_TURN;
}

static struct mpa_ep *oldest_of_peer(struct mpa_peer *p)
{
	struct mpa_ep *e;

	ut_list_each(e, &p->half_open, mate)
		if (may_evict(e))
			return e;
	return ut_list_first(&p->half_open, struct mpa_ep, mate);
}

static struct mpa_ep *oldest_of_listener(struct mpa_ep *listener)
{
	struct mpa_ep *e;

	ut_list_each(e, &listener->half_open, child)
		if (may_evict(e))
			return e;
	return ut_list_first(&listener->half_open, struct mpa_ep, child);
}

static void evict(struct mpa_ep *e)
{
	mpa_say(e, may_evict(e) ?
		"too many half-open connections: the oldest without a Request, this one, is dropped; check which host "
		"connects and sends none" :
		"too many connection requests wait for the listening program: the oldest, this one, is dropped; let that program "
		"accept or reject sooner, or listen with a larger backlog");
	mpa_ep_destroy(e);
}

int mpa_half_open_add(struct mpa_ep *e, struct mpa_ep *listener)
{
	struct mpa_peer *p = peer_get(e->m, e->ep.remote.addr);

	if (!p)
		return -ENOMEM;
	p->n++; /* before an eviction could free it */
	if (p->n > MPA_HALF_OPEN_PEER)
		evict(oldest_of_peer(p));
	if (listener->n_half_open >= MPA_HALF_OPEN_MAX)
		evict(oldest_of_listener(listener));
	e->remote = p;
	ut_list_add_tail(&p->half_open, &e->mate);
	e->listener = listener;
	ut_list_add_tail(&listener->half_open, &e->child);
	listener->n_half_open++;
	return 0;
}

void mpa_half_open_del(struct mpa_ep *e)
{
	if (!e->remote)
		return;
	ut_list_del(&e->mate);
	e->remote->n--;
	peer_put(e->remote);
	e->remote = NULL;
	ut_list_del(&e->child);
	e->listener->n_half_open--;
	e->listener = NULL;
}

void mpa_pending_add(struct mpa_ep *e, struct mpa_ep *listener)
{
	e->listener = listener;
	ut_list_add_tail(&e->listener->pending, &e->child);
	e->listener->n_pending++;
}

void mpa_pending_next(struct mpa_ep *listener)
{
	struct mpa_ep *e;

	if (listener->n_pending >= listener->backlog)
		return;
	ut_list_each(e, &listener->half_open, child)
		if (e->state == MPA_WAIT_TURN && !e->due_turn) {
			mpa_turn_later(e);
			return;
		}
}

/* The listener may be gone already. */
void mpa_pending_del(struct mpa_ep *e)
{
	struct mpa_ep *listener = e->listener;

	if (!listener)
		return;
	ut_list_del(&e->child);
	listener->n_pending--;
	e->listener = NULL;
	mpa_pending_next(listener);
}

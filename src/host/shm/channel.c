/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams and messages through the rings of near.h. */
#include "host/shm/peer.h"

#include "host/shm/channel.h"
#include "link/sys.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/log.h"

#include <errno.h>
#include <string.h>

static void wake_peer(int fd)
{
	uint64_t one = 1;

	LINK_SYS(SYS_write, fd, &one, sizeof(one));
}

int shm_peer_full(struct shm_peer_tx *t, uint64_t patience)
{
	if (!t->since)
		t->since = ut_now();
	/* A receiver that does not read for so long is stopped: as lost on the wire. */
	return ut_now() - t->since < patience ? -EAGAIN : -ENOBUFS;
}

int shm_peer_result(struct udp_link *u, struct shm_peer_tx *t, enum shm_put r)
{
	switch (r) {
	case SHM_PUT_RING:
		wake_peer(t->wake.fd);
		break;
	case SHM_FULL:
		return shm_peer_full(t, SHM_PEER_FULL);
	case SHM_GONE:
		shm_peer_tx_drop(u, t);
		return -ENOTCONN;
	default:
		break;
	}
	t->since = 0;
	u->stats.local_sent++;
	return 0;
}

static int put(struct udp_link *u, struct shm_peer_tx *t, const struct ut_flow *f,
	       const uint8_t *data, size_t len, size_t seg)
{
	/* The port that the wire would carry, which is another when somebody has the wanted one:
	 * the ICRC covers it. */
	struct shm_record h = { .bytes = (uint32_t)len, .seg = (uint16_t)seg,
				.sport = udp_source_port(&u->base, f),
				.tos = f->tos, .ttl = f->ttl ? f->ttl : 64 };

	memcpy(h.src, f->src, 16);
	memcpy(h.dst, f->dst, 16);
	return shm_peer_result(u, t, shm_put(&t->ring, &h, data));
}

/* The destination QPN's slot; UDP_NO_SLOT for what keeps to the wire. */
static unsigned local_slot(const struct udp_link *u, const struct ut_flow *f,
			  const uint8_t *data, size_t len)
{
	uint32_t qpn;

	if (len < UDP_BTH_BYTES || ut_ip_is_group(f->dst))
		return UDP_NO_SLOT;
	qpn = (uint32_t)data[5] << 16 | (uint32_t)data[6] << 8 | data[7];
	if (qpn < 2 || (qpn >> UDP_SLOT_SHIFT) >= UDP_SLOTS)
		return UDP_NO_SLOT;
	return qpn >> UDP_SLOT_SHIFT;
}

bool shm_chan_send(struct udp_link *u, const struct ut_flow *f, const uint8_t *data, size_t len,
		   size_t seg, int *ret)
{
	unsigned slot = u->chan ? local_slot(u, f, data, len) : UDP_NO_SLOT;
	struct shm_peer_tx *t = NULL;

	if (slot != u->slot || !udp_local_find(u, f->dst))
		t = shm_peer_get(u, f, slot);
	if (!t)
		return false;
	if (t->state == SHM_PEER_ASKED) {
		*ret = -EAGAIN;
		return true;
	}
	*ret = put(u, t, f, data, len, seg);
	return *ret != -ENOTCONN;
}

static void take_datagram(struct udp_link *u, struct shm_peer_rx *r, const struct shm_record *h)
{
	size_t off = (size_t)u->rx_slot * UDP_RX_SLOT_BYTES;
	struct udp_carry *c = &u->carry;

	shm_take(&r->ring, h, u->stage.base + off);
	u->rx_slot = (u->rx_slot + 1) % UDP_RX_SLOTS;
	*c = (struct udp_carry){ .rx = { .data = u->stage.base + off, .off = off,
					 .sport = h->sport, .tos = h->tos, .ttl = h->ttl },
				 .left = h->bytes, .step = h->seg };
	memcpy(c->rx.src, h->src, 16);
	memcpy(c->rx.dst, h->dst, 16);
}

static void message_at(struct shm_peer_rx *r, const uint8_t *at, uint32_t bytes,
		       struct shm_message *ret)
{
	ret->data = at;
	ret->len = SHM_CHANNEL_HEADER_BYTES + bytes;
	ret->from = r;
	memcpy(ret->src, r->addr, 16);
	memcpy(ret->dst, r->local_addr, 16);
}

/* The oldest record of a ring: 1 and its head, or 0. A ring with nonsense in it is dropped by the next release,
 * since messages before it may still be looked at. */
static int peek(struct udp_link *u, struct shm_peer_rx *r, struct shm_record *h)
{
	int got = !r->ring.ring || r->broken || !shm_waiting(&r->ring) ? 0 : shm_peek(&r->ring, h);

	if (got < 0 || (got && h->seg && h->bytes > UDP_RX_SLOT_BYTES) ||
	    (got && !h->seg && !u->chan->messages)) {
		ut_warn("a process of this user wrote nonsense into its ring; it is ignored now");
		r->broken = u->chan->held = true;
		return 0;
	}
	return got;
}

/* The other rings have their turn first. */
static void took_from(struct udp_link *u, struct shm_peer_rx *r)
{
	ut_list_del(&r->node);
	ut_list_add_tail(&u->chan->rx, &r->node);
	u->chan->warm = SHM_CHAN_WARM;
	u->stats.local_received++;
}

bool shm_chan_recv(struct udp_link *u)
{
	struct shm_peer_rx *r, *s;
	struct shm_record h;

	if (!u->chan)
		return false;
	ut_list_each_safe(r, s, &u->chan->rx, node)
		if (peek(u, r, &h) && h.seg) {
			take_datagram(u, r, &h);
			took_from(u, r);
			return true;
		}
	return false;
}

static bool take_message(struct udp_link *u, struct shm_message *ret)
{
	struct shm_peer_rx *r, *s;
	struct shm_record h;

	ut_list_each_safe(r, s, &u->chan->rx, node)
		if (peek(u, r, &h) && !h.seg) {
			message_at(r, shm_hold(&r->ring, &h), h.bytes, ret);
			u->chan->held = true;
			took_from(u, r);
			return true;
		}
	return false;
}

int shm_chan_poll(struct shm_channel *c, struct shm_message *v, int max)
{
	struct udp_link *u = shm_chan_of(c)->u;
	int n = 0;

	shm_chan_release(c);
	while (n < max && take_message(u, &v[n]))
		n++;
	if (!n)
		u->chan->warm -= u->chan->warm > 0;
	shm_chan_settle(u);
	return n;
}

#define FAST_RINGS 4 /* more are looked at by shm_chan_poll() alone */

static int take_fast(struct shm_peer_rx *r, struct shm_message *v, int max)
{
	struct shm_record h;
	const uint8_t *at;
	uint32_t bytes;
	int n = 0;

	at = max ? shm_take_inline(&r->ring, &bytes) : NULL;
	if (at) {
		message_at(r, at, bytes, v);
		return 1;
	}
	while (n < max && shm_waiting(&r->ring) && shm_peek(&r->ring, &h) > 0 && !h.seg)
		message_at(r, shm_hold(&r->ring, &h), h.bytes, &v[n++]);
	return n;
}

int shm_chan_poll_fast(struct shm_channel *c, struct shm_message *v, int max)
{
	struct shm_chan *chan = shm_chan_of(c);
	struct udp_link *u = chan->u;
	bool other = false;
	struct shm_peer_rx *r;
	int n = 0;

	c->ops->flush(c);
	if (chan->n_rx > FAST_RINGS || chan->held || u->carry.left || !chan->warm)
		return -EAGAIN;
	ut_list_each(r, &chan->rx, node) {
		if (!r->ring.ring || r->broken || !shm_waiting(&r->ring))
			continue;
		n += take_fast(r, v + n, max - n);
		other |= !n;
	}
	if (!n) {
		chan->warm -= chan->warm > 1;
		return other ? -EAGAIN : 0;
	}
	chan->held = true;
	chan->warm = SHM_CHAN_WARM;
	u->stats.local_received += (unsigned)n;
	return n;
}

bool shm_chan_warm(struct udp_link *u)
{
	return u->chan && u->chan->warm &&
	       !atomic_load_explicit(&u->chan->page->on, memory_order_relaxed);
}

/* From any thread, no lock held: one word tells all senders. */
void shm_chan_sleep(struct link *l, bool on, bool look)
{
	struct shm_chan *n = udp_of(l)->chan;

	atomic_store_explicit(&udp_of(l)->sleeping, on, memory_order_relaxed);
	if (!n)
		return;
	atomic_store(&n->page->on, on);
	atomic_thread_fence(memory_order_seq_cst);
	if (on && look)
		wake_peer(n->wake.fd);
}

void shm_chan_release(struct shm_channel *c)
{
	struct shm_chan *chan = shm_chan_of(c);
	struct shm_peer_rx *r, *s;

	if (!chan->held)
		return;
	chan->held = false;
	ut_list_each_safe(r, s, &chan->rx, node) {
		if (r->broken)
			shm_peer_rx_drop(chan->u, r);
		else if (r->ring.held)
			shm_release(&r->ring);
	}
	shm_chan_settle(chan->u);
}

void shm_chan_settle(struct udp_link *u)
{
	struct shm_peer_rx *r;

	if (!u->chan || !atomic_load_explicit(&u->chan->page->on, memory_order_relaxed))
		return;
	/* As in shm_put(): the head has moved, now look at the tail again. */
	atomic_thread_fence(memory_order_seq_cst);
	ut_list_each(r, &u->chan->rx, node)
		if (r->ring.ring && !r->broken && shm_waiting(&r->ring)) {
			wake_peer(u->chan->wake.fd);
			return;
		}
}

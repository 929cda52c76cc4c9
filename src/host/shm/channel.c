/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams and messages through the rings of near.h. */
#include "host/shm/peer.h"

#include "host/shm/channel.h"
#include "util/syscall.h"
#include "util/clock.h"
#include "util/ip.h"
#include "util/heap.h"
#include "util/log.h"

#include <errno.h>
#include <string.h>

static void wake_peer(int fd)
{
	uint64_t one = 1;

	UT_SYS(SYS_write, fd, &one, sizeof(one));
}

int shm_peer_full(struct shm_peer_tx *t, uint64_t patience)
{
	if (!t->since)
		t->since = ut_now();
	/* A receiver that does not read for so long is stopped: as lost on the wire. */
	return ut_now() - t->since < patience ? -EAGAIN : -ENOBUFS;
}

int shm_peer_result(struct shm_chan *ch, struct shm_peer_tx *t, enum shm_put r)
{
	switch (r) {
	case SHM_PUT_RING:
		wake_peer(t->wake.fd);
		break;
	case SHM_FULL:
		return shm_peer_full(t, SHM_PEER_FULL);
	case SHM_GONE:
		shm_peer_tx_drop(ch, t);
		return -ENOTCONN;
	default:
		break;
	}
	t->since = 0;
	ch->sent++;
	return 0;
}

/* The slot of a QPN, HOST_NO_SLOT for the numbers that keep to the wire. */
static unsigned slot_of(const struct ut_flow *f, uint32_t qpn)
{
	return ut_ip_is_group(f->dst) ? HOST_NO_SLOT : shm_peer_slot(qpn);
}

int shm_channel_send(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, uint16_t sport,
		     const uint8_t *data, size_t len, size_t seg)
{
	struct shm_chan *ch = shm_chan_of(c);
	unsigned slot = slot_of(f, qpn);
	struct shm_peer_tx *t = NULL;
	struct shm_record h = { .bytes = (uint32_t)len, .seg = (uint16_t)seg, .sport = sport,
				.tos = f->tos, .ttl = f->ttl ? f->ttl : 64 };
	int r;

	if (slot != ch->host->slot || !host_addr_find(ch->host, f->dst))
		t = shm_peer_get(ch, f, slot);
	if (!t)
		return 1;
	if (t->state == SHM_PEER_ASKED)
		return -EAGAIN;
	memcpy(h.src, f->src, 16);
	memcpy(h.dst, f->dst, 16);
	r = shm_peer_result(ch, t, shm_put(&t->ring, &h, data));
	return r == -ENOTCONN ? 1 : r;
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
static int peek(struct shm_chan *ch, struct shm_peer_rx *r, struct shm_record *h)
{
	int got = !r->ring.ring || r->broken || !shm_waiting(&r->ring) ? 0 : shm_peek(&r->ring, h);

	if (got < 0 || (got && h->seg && h->bytes > SHM_PAYLOAD_MAX) ||
	    (got && !h->seg && !ch->messages)) {
		ut_warn("a process of this user wrote nonsense into its ring; it is ignored now");
		r->broken = ch->held = true;
		return 0;
	}
	return got;
}

/* The other rings have their turn first. */
static void took_from(struct shm_chan *ch, struct shm_peer_rx *r)
{
	ut_list_del(&r->node);
	ut_list_add_tail(&ch->rx, &r->node);
	ch->warm = SHM_CHAN_WARM;
	ch->received++;
}

void shm_channel_leaving(struct shm_channel *c, bool on)
{
	shm_chan_of(c)->host->leaving = on;
}

int shm_channel_recv(struct shm_channel *c, struct shm_datagrams *ret, uint8_t *buf, size_t room)
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_rx *r, *s;
	struct shm_record h;

	ut_list_each_safe(r, s, &ch->rx, node)
		if (peek(ch, r, &h) && h.seg && h.bytes <= room) {
			shm_take(&r->ring, &h, buf);
			*ret = (struct shm_datagrams){ .bytes = h.bytes, .seg = h.seg,
						       .sport = h.sport, .tos = h.tos,
						       .ttl = h.ttl };
			memcpy(ret->src, h.src, 16);
			memcpy(ret->dst, h.dst, 16);
			took_from(ch, r);
			return 1;
		}
	return 0;
}

static bool take_message(struct shm_chan *ch, struct shm_message *ret)
{
	struct shm_peer_rx *r, *s;
	struct shm_record h;

	ut_list_each_safe(r, s, &ch->rx, node)
		if (peek(ch, r, &h) && !h.seg) {
			message_at(r, shm_hold(&r->ring, &h), h.bytes, ret);
			ch->held = true;
			took_from(ch, r);
			return true;
		}
	return false;
}

int shm_chan_poll(struct shm_channel *c, struct shm_message *v, int max)
{
	struct shm_chan *ch = shm_chan_of(c);
	int n = 0;

	shm_chan_release(c);
	while (n < max && take_message(ch, &v[n]))
		n++;
	if (!n)
		ch->warm -= ch->warm > 0;
	shm_channel_settle(c);
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
	struct shm_chan *ch = shm_chan_of(c);
	bool other = false;
	struct shm_peer_rx *r;
	int n = 0;

	c->ops->flush(c);
	if (ch->n_rx > FAST_RINGS || ch->held || !ch->warm)
		return -EAGAIN;
	ut_list_each(r, &ch->rx, node) {
		if (!r->ring.ring || r->broken || !shm_waiting(&r->ring))
			continue;
		n += take_fast(r, v + n, max - n);
		other |= !n;
	}
	if (!n) {
		ch->warm -= ch->warm > 1;
		return other ? -EAGAIN : 0;
	}
	ch->held = true;
	ch->warm = SHM_CHAN_WARM;
	ch->received += (unsigned)n;
	return n;
}

bool shm_channel_warm(struct shm_channel *c)
{
	struct shm_chan *ch = shm_chan_of(c);

	return ch->warm && !atomic_load_explicit(&ch->page->on, memory_order_relaxed);
}

/* From any thread, no lock held: one word tells all senders. */
void shm_channel_sleep(struct shm_channel *c, bool on, bool look)
{
	struct shm_chan *ch = shm_chan_of(c);

	atomic_store(&ch->page->on, on);
	atomic_thread_fence(memory_order_seq_cst);
	if (on && look)
		wake_peer(ch->wake.fd);
}

void shm_chan_release(struct shm_channel *c)
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_rx *r, *s;

	if (!ch->held)
		return;
	ch->held = false;
	ut_list_each_safe(r, s, &ch->rx, node) {
		if (r->broken)
			shm_peer_rx_drop(ch, r);
		else if (r->ring.held)
			shm_release(&r->ring);
	}
	shm_channel_settle(c);
}

void shm_channel_settle(struct shm_channel *c)
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_rx *r;

	if (!atomic_load_explicit(&ch->page->on, memory_order_relaxed))
		return;
	/* As in shm_put(): the head has moved, now look at the tail again. */
	atomic_thread_fence(memory_order_seq_cst);
	ut_list_each(r, &ch->rx, node)
		if (r->ring.ring && !r->broken && shm_waiting(&r->ring)) {
			wake_peer(ch->wake.fd);
			return;
		}
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams and messages through the rings of near.h. */
#include "link/udp/near.h"

#include "link/near.h"
#include "link/sys.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/log.h"

#include <string.h>

static void ring_bell(int fd)
{
	uint64_t one = 1;

	LINK_SYS(SYS_write, fd, &one, sizeof(one));
}

int udp_near_full(struct udp_near_tx *t, uint64_t patience)
{
	if (!t->since)
		t->since = ut_now();
	/* A receiver that does not read for so long is stopped: as lost on the wire. */
	return ut_now() - t->since < patience ? -EAGAIN : -ENOBUFS;
}

int udp_near_result(struct udp_link *u, struct udp_near_tx *t, enum shm_put r)
{
	switch (r) {
	case SHM_PUT_RING:
		ring_bell(t->bell.fd);
		break;
	case SHM_FULL:
		return udp_near_full(t, NEAR_FULL);
	case SHM_GONE:
		udp_near_tx_drop(u, t);
		return -ENOTCONN;
	default:
		break;
	}
	t->since = 0;
	u->stats.near_sent++;
	return 0;
}

static int put(struct udp_link *u, struct udp_near_tx *t, const struct link_flow *f,
	       const uint8_t *data, size_t len, size_t seg)
{
	/* The port that the wire would carry, which is another when somebody has the wanted one:
	 * the ICRC covers it. */
	struct shm_record h = { .bytes = (uint32_t)len, .seg = (uint16_t)seg,
				.sport = udp_source_port(&u->base, f),
				.tos = f->tos, .ttl = f->ttl ? f->ttl : 64 };

	memcpy(h.src, f->src, 16);
	memcpy(h.dst, f->dst, 16);
	return udp_near_result(u, t, shm_put(&t->ring, &h, data));
}

/* The destination QPN's slot; UDP_NO_SLOT for what keeps to the wire. */
static unsigned near_slot(const struct udp_link *u, const struct link_flow *f,
			  const uint8_t *data, size_t len)
{
	uint32_t qpn;

	if (len < UDP_BTH_BYTES || udp_is_group(f->dst))
		return UDP_NO_SLOT;
	qpn = (uint32_t)data[5] << 16 | (uint32_t)data[6] << 8 | data[7];
	if (qpn < 2 || (qpn >> UDP_SLOT_SHIFT) >= UDP_SLOTS)
		return UDP_NO_SLOT;
	return qpn >> UDP_SLOT_SHIFT;
}

bool udp_near_send(struct udp_link *u, const struct link_flow *f, const uint8_t *data, size_t len,
		   size_t seg, int *ret)
{
	unsigned slot = u->near ? near_slot(u, f, data, len) : UDP_NO_SLOT;
	struct udp_near_tx *t = NULL;

	if (slot != u->slot || !udp_local_find(u, f->dst))
		t = udp_near_way(u, f, slot);
	if (!t)
		return false;
	if (t->state == NEAR_ASKED) {
		*ret = -EAGAIN;
		return true;
	}
	*ret = put(u, t, f, data, len, seg);
	return *ret != -ENOTCONN;
}

static void take_datagram(struct udp_link *u, struct udp_near_rx *r, const struct shm_record *h)
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

void udp_near_note_at(struct udp_near_rx *r, const uint8_t *at, uint32_t bytes,
		      struct link_rx *note)
{
	*note = (struct link_rx){ .data = at, .len = LINK_NOTE_BYTES + bytes, .note = true, .from = r };
	memcpy(note->src, r->addr, 16);
	memcpy(note->dst, r->own, 16);
}

static bool take(struct udp_link *u, struct udp_near_rx *r, struct link_rx *note)
{
	struct shm_record h;
	int got = shm_peek(&r->ring, &h);

	if (got < 0 || (got && h.seg && h.bytes > UDP_RX_SLOT_BYTES) ||
	    (got && !h.seg && !u->near->notes)) {
		ut_warn("a process of this user wrote nonsense into its ring; it is ignored now");
		/* Messages before it may still be looked at. */
		r->broken = u->near->held = true;
		return false;
	}
	if (!got)
		return false;
	if (h.seg)
		take_datagram(u, r, &h);
	else
		udp_near_note_at(r, shm_hold(&r->ring, &h), h.bytes, note);
	u->near->held |= !h.seg;
	u->stats.near_received++;
	return true;
}

bool udp_near_recv(struct udp_link *u, struct link_rx *note)
{
	struct udp_near_rx *r, *s;

	if (!u->near)
		return false;
	ut_list_each_safe(r, s, &u->near->rx, node) {
		if (!r->ring.ring || r->broken || !shm_waiting(&r->ring) || !take(u, r, note))
			continue;
		/* The next one's turn. */
		ut_list_del(&r->node);
		ut_list_add_tail(&u->near->rx, &r->node);
		u->near->warm = NEAR_WARM;
		return true;
	}
	u->near->warm -= u->near->warm > 0;
	return false;
}

bool udp_near_warm(struct udp_link *u)
{
	return u->near && u->near->warm &&
	       !atomic_load_explicit(&u->near->doze->on, memory_order_relaxed);
}

/* From any thread, no lock held: one word tells all senders. */
void udp_near_doze(struct link *l, bool on, bool look)
{
	struct udp_near *n = udp_of(l)->near;

	atomic_store_explicit(&udp_of(l)->dozing, on, memory_order_relaxed);
	if (!n)
		return;
	atomic_store(&n->doze->on, on);
	atomic_thread_fence(memory_order_seq_cst);
	if (on && look)
		ring_bell(n->bell.fd);
}

void udp_near_release(struct udp_link *u)
{
	struct udp_near_rx *r, *s;

	if (!u->near || !u->near->held)
		return;
	u->near->held = false;
	ut_list_each_safe(r, s, &u->near->rx, node) {
		if (r->broken)
			udp_near_rx_drop(u, r);
		else if (r->ring.held)
			shm_release(&r->ring);
	}
}

void udp_near_settle(struct udp_link *u)
{
	struct udp_near_rx *r;

	if (!u->near || !atomic_load_explicit(&u->near->doze->on, memory_order_relaxed))
		return;
	/* As in shm_put(): the head has moved, now look at the tail again. */
	atomic_thread_fence(memory_order_seq_cst);
	ut_list_each(r, &u->near->rx, node)
		if (r->ring.ring && !r->broken && shm_waiting(&r->ring)) {
			ring_bell(u->near->bell.fd);
			return;
		}
}

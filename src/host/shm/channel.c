/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/shm/channel.h"

#include "host/shm/access.h"
#include "host/shm/handshake.h"
#include "host/shm/lane.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/ip.h"
#include "util/log.h"
#include "util/syscall.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

static void wake_peer(int fd)
{
	uint64_t one = 1;

	UT_SYS(SYS_write, fd, &one, sizeof(one));
}

int shm_peer_full(struct shm_peer_tx *t, uint64_t wait_ns)
{
	if (!t->ring.full_since)
		t->ring.full_since = ut_now();
	/* A receiver that does not read for so long is stopped: the message counts as lost on the wire. */
	return ut_now() - t->ring.full_since < wait_ns ? -EAGAIN : -ENOBUFS;
}

int shm_peer_wake_or_fail(struct shm_chan *ch, struct shm_peer_tx *t, enum shm_put r)
{
	switch (r) {
	case SHM_FULL:
		return shm_peer_full(t, SHM_PEER_FULL);
	case SHM_GONE:
		shm_peer_tx_drop(ch, t);
		return -ENOTCONN;
	default:
		wake_peer(t->wake.fd);
		return 0;
	}
}

/* Returns the slot of a QPN, HOST_NO_SLOT for numbers that keep to the wire. */
static unsigned slot_of(const struct ut_flow *f, uint32_t qpn)
{
	return ut_ip_is_group(f->dst) ? HOST_NO_SLOT : shm_peer_slot(qpn);
}

/*
 * Datagrams are answered by the other ring. Until it is open the peer can execute them and not acknowledge, and a process
 * that leaves in that moment by _exit() has its peer retry against no process. So both rings are opened first, as for
 * messages (reach()); without an answer in time the peer has taken the wire, and so does this end. Adapters with messages
 * send datagrams of UD alone here, which are not acknowledged. Returns 0, 1 for the wire, or -EAGAIN.
 */
static int await_ring_back(struct shm_chan *ch, struct shm_peer_tx *t, const struct ut_flow *f)
{
	t->both = t->both || ch->messages || shm_peer_both(ch, t);
	if (t->both)
		return 0;
	if (ut_now() - t->opened >= SHM_PEER_TIMEOUT_DATAGRAMS)
		shm_peer_tx_to_wire(ch, t, false);
	else if (!ch->host->leaving)
		shm_handshake_await(ch, f);
	return ch->host->leaving || t->state == SHM_PEER_WIRE ? 1 : -EAGAIN;
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
	r = await_ring_back(ch, t, f);
	if (r)
		return r;
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

/* Reads the head of the oldest record of a ring. Returns 1 or 0. A ring with an invalid record is dropped by the next
 * release, since messages before it may still be held. */
static int peek(struct shm_chan *ch, struct shm_peer_rx *r, struct shm_record *h)
{
	int got = !r->ring.ring || r->broken || !shm_waiting(&r->ring) ? 0 : shm_peek(&r->ring, h);

	if (got < 0 || (got && h->seg && h->bytes > SHM_PAYLOAD_MAX) ||
	    (got && !h->seg && !ch->messages)) {
		ut_warn("the ring of a peer process of this host has an impossible record: its messages are "
			"ignored from now on; start that program again, or set DAPPLE_LOCAL=off");
		r->broken = ch->broken = ch->base.held = true;
		return 0;
	}
	return got;
}

/* The other rings have their turn before this one. */
static void took_from(struct shm_chan *ch, struct shm_peer_rx *r)
{
	ut_list_del(&r->node);
	ut_list_add_tail(&ch->rx, &r->node);
	ch->base.warm = SHM_CHAN_WARM;
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
			ch->base.held = true;
			took_from(ch, r);
			return true;
		}
	return false;
}

static __attribute__((noinline)) void drop_broken(struct shm_chan *ch)
{
	struct shm_peer_rx *r, *s;

	ch->broken = false;
	ut_list_each_safe(r, s, &ch->rx, node)
		if (r->broken)
			shm_peer_rx_drop(ch, r);
}

static bool is_asleep(const struct shm_chan *ch)
{
	return atomic_load_explicit(&ch->page->on, memory_order_relaxed) == SHM_ASLEEP;
}

/* A batch of messages was taken by a process that does not say that it polls. It says so after many, but not where a
 * thread has just declared itself asleep. */
static void note_batch(struct shm_channel *c)
{
	struct shm_chan *ch = shm_chan_of(c);
	uint32_t awake = SHM_AWAKE;

	if (is_asleep(ch)) {
		ch->awake = 0;
		shm_channel_settle(c);
	} else if (++ch->awake >= SHM_CHAN_POLLS && ut_barrier_has_host()) {
		ch->awake = 0;
		atomic_compare_exchange_strong(&ch->page->on, &awake, SHM_POLLS);
	}
}

static void release_messages(struct shm_channel *c)
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_rx *r;

	if (!c->held)
		return;
	c->held = false;
	ut_list_each(r, &ch->rx, node)
		if (r->ring.held)
			shm_release(&r->ring);
	if (__builtin_expect(ch->broken, 0))
		drop_broken(ch);
	if (__builtin_expect(atomic_load_explicit(&ch->page->on, memory_order_relaxed) != SHM_POLLS, 0))
		note_batch(c);
}

static int poll_messages(struct shm_channel *c, struct shm_message *v, int max)
{
	struct shm_chan *ch = shm_chan_of(c);
	int n = 0;

	release_messages(c);
	while (n < max && take_message(ch, &v[n]))
		n++;
	if (!n)
		c->warm -= c->warm > 0;
	shm_channel_settle(c);
	return n;
}

static bool find_inlets(struct shm_channel *c, struct shm_inlets *ret)
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_rx *r;

	*ret = (struct shm_inlets){ .epoch = c->epoch };
	ut_list_each(r, &ch->rx, node) {
		if (!r->ring.ring)
			continue;
		if (ret->n == SHM_INLETS) {
			ret->epoch = 0; /* none of them leads: the others would be read by poll() alone */
			return false;
		}
		ret->v[ret->n++] = (struct shm_inlet){
			&r->ring, r, r->addr, r->local_addr, atomic_load_explicit(&r->ring.ring->extra, memory_order_relaxed),
		};
	}
	return true;
}

bool shm_channel_warm(struct shm_channel *c)
{
	struct shm_chan *ch = shm_chan_of(c);

	return c->warm && !is_asleep(ch);
}

/* From any thread, no lock held: one word tells all senders. */
void shm_channel_sleep(struct shm_channel *c, bool on, bool look)
{
	struct shm_chan *ch = shm_chan_of(c);

	if (atomic_exchange(&ch->page->on, on ? SHM_ASLEEP : SHM_AWAKE) == SHM_POLLS && on)
		ut_barrier_host();
	atomic_thread_fence(memory_order_seq_cst);
	if (on && look)
		wake_peer(ch->wake.fd);
}

void shm_channel_settle(struct shm_channel *c)
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_rx *r;

	if (!is_asleep(ch))
		return;
	/* As in ring.h: the head was stored, now the tail is read again. */
	atomic_thread_fence(memory_order_seq_cst);
	ut_list_each(r, &ch->rx, node)
		if (r->ring.ring && !r->broken && shm_waiting(&r->ring)) {
			wake_peer(ch->wake.fd);
			return;
		}
}

/* --- slots of shm_channel_ops --- */

_Static_assert(SHM_MESSAGE_MAX == SHM_CHANNEL_MAX, "two names of the same");
_Static_assert(sizeof(((struct shm_record *)0)->header) == SHM_CHANNEL_HEADER_BYTES, "the header is the record's");

unsigned shm_peer_slot(uint32_t qpn)
{
	unsigned slot = qpn >> HOST_SLOT_SHIFT;

	return qpn < 2 || slot >= HOST_SLOTS ? HOST_NO_SLOT : slot;
}

bool shm_died_had(const struct shm_died *d, const uint8_t addr[16], uint32_t qpn)
{
	return shm_peer_slot(qpn) == d->slot && !memcmp(d->addr, addr, 16);
}

static enum shm_reach reach(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn)
{
	struct shm_peer_tx *t = NULL;

	if (!ut_ip_is_group(f->dst))
		t = shm_peer_get(shm_chan_of(c), f, shm_peer_slot(qpn));
	if (!t)
		return SHM_REACH_WIRE;
	if (t->state == SHM_PEER_ASKED)
		return SHM_REACH_ASKED;
	/* A ring is for one pair of addresses. */
	if (!t->messages || memcmp(t->local_addr, f->src, 16))
		return SHM_REACH_WIRE;
	/* Responses come by the other ring. Without it the local path is not taken. */
	if (!shm_peer_both(shm_chan_of(c), t)) {
		shm_handshake_await(shm_chan_of(c), f);
		return ut_now() - t->opened < SHM_PEER_TIMEOUT ? SHM_REACH_ASKED : SHM_REACH_WIRE;
	}
	c->found_self = t->self;
	return SHM_REACH_LOCAL;
}

static int reserve(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, uint32_t bytes,
		   struct shm_reservation *ret)
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_tx *t = shm_peer_get(ch, f, shm_peer_slot(qpn));
	struct shm_record *at;
	enum shm_put why;
	uint64_t skip;

	if (!t || (t->state == SHM_PEER_OPEN && !t->messages))
		return -ENOTCONN;
	if (t->state == SHM_PEER_ASKED)
		return -EAGAIN;
	at = shm_reserve(&t->ring, bytes, &skip, &why);
	if (!at)
		return why == SHM_FULL ? shm_peer_full(t, SHM_PEER_FULL_MESSAGES) : shm_peer_result(ch, t, why);
	*ret = (struct shm_reservation){ .header = at->header, .data = (uint8_t *)(at + 1),
				    .to = t, .skip = (uint32_t)skip };
	return 0;
}

static void commit(struct shm_channel *c, struct shm_reservation *at, uint32_t bytes)
{
	struct shm_record *r = (struct shm_record *)at->data - 1;
	struct shm_peer_tx *t = at->to;
	const struct shm_lane lane = { .ring = &t->ring };

	if (at->quiet && !at->more) {
		shm_record_put(r, bytes);
		shm_finish(&t->ring, r, at->skip);
		c->unnotified += !t->ring.unnotified;
		shm_no_notify(&t->ring);
		at->end = t->ring.tail;
	} else {
		at->end = shm_lane_commit(c, &lane, r, bytes, at->skip, at->more);
	}
}

static bool find_lane(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, struct shm_lane *ret)
{
	struct shm_peer_tx *t = shm_peer_open(shm_chan_of(c), f->dst, shm_peer_slot(qpn));

	/* A ring is for one pair of addresses. */
	if (!t || !t->messages || memcmp(t->local_addr, f->src, 16))
		return false;
	*ret = (struct shm_lane){ &t->ring, c->epoch };
	return true;
}

static void wake(struct shm_channel *c, struct shm_tx *ring)
{
	wake_peer(ut_container(ring, struct shm_peer_tx, ring)->wake.fd);
}

static void flush_all(struct shm_chan *ch)
{
	struct shm_peer_tx *t, *s;

	ch->base.unflushed = false;
	ut_list_each_safe(t, s, &ch->tx, node)
		if (t->state == SHM_PEER_OPEN) {
			ch->base.unnotified -= t->ring.unnotified;
			if (t->ring.published != t->ring.tail)
				shm_peer_result(ch, t, shm_publish(&t->ring));
		}
}

static void flush(struct shm_channel *c)
{
	if (c->unflushed)
		flush_all(shm_chan_of(c));
}

static void notify(struct shm_channel *c)
{
	if (c->unnotified)
		flush_all(shm_chan_of(c));
}

static uint64_t consumed(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn)
{
	struct shm_peer_tx *t = shm_peer_open(shm_chan_of(c), f->dst, shm_peer_slot(qpn));

	return t ? shm_taken(&t->ring) : UINT64_MAX;
}

const struct shm_channel_ops shm_chan_ops = {
	.reach = reach,
	.reserve = reserve,
	.commit = commit,
	.lane = find_lane,
	.watch = shm_channel_default_watch,
	.wake = wake,
	.flush = flush,
	.notify = notify,
	.consumed = consumed,
	.poll = poll_messages,
	.inlets = find_inlets,
	.hear = shm_channel_default_hear,
	.took = note_batch,
	.release = release_messages,
	.access_begin = shm_access_begin,
	.access_copy = shm_access_copy,
	.access_attached = shm_access_attached,
	.access_end = shm_access_end,
	.export_area = shm_export_area,
	.end_grants = shm_export_end_grants,
	.quiesce = shm_export_quiesce,
	.next_died = shm_peer_next_died,
	.forget = shm_chan_forget,
};

/* --- the channel that reaches no process, and the slots of those without direct access --- */

static enum shm_reach no_reach(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn)
{
	return SHM_REACH_WIRE;
}

static int no_reserve(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, uint32_t bytes,
		   struct shm_reservation *ret)
{
	return -ENOTCONN;
}

static void no_commit(struct shm_channel *c, struct shm_reservation *at, uint32_t bytes)
{
}

static uint64_t no_consumed(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn)
{
	return UINT64_MAX;
}

static int no_poll(struct shm_channel *c, struct shm_message *v, int max)
{
	return 0;
}

bool shm_channel_default_lane(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, struct shm_lane *ret)
{
	return false;
}

bool shm_channel_default_inlets(struct shm_channel *c, struct shm_inlets *ret)
{
	return false;
}

void shm_channel_default_hear(struct shm_channel *c, const struct shm_inlet *in, const uint8_t *header, uint32_t bytes)
{
}

void shm_channel_default_watch(struct shm_channel *c, const struct ut_flow *f, const uint8_t *header, const uint8_t *data,
			       uint32_t bytes, bool follows)
{
}

void shm_channel_default_wake(struct shm_channel *c, struct shm_tx *ring)
{
}

const struct shm_export *shm_channel_default_access_begin(struct shm_channel *c,
							  const struct ut_flow *f, uint32_t qpn,
							  struct shm_access *ret)
{
	return NULL;
}

ssize_t shm_channel_default_access_copy(const struct shm_access *v, uint64_t addr,
					const struct iovec *iov, int n, bool write)
{
	return -ENOTCONN;
}

uint8_t *shm_channel_default_access_attached(const struct shm_access *v, uint32_t id, uint64_t off,
					     uint64_t len)
{
	return NULL;
}

void shm_channel_default_export_area(struct shm_channel *c, const struct shm_message *m, uint32_t id)
{
}

bool shm_channel_default_next_died(struct shm_channel *c, struct shm_died *ret)
{
	return false;
}

void shm_channel_default_nothing(struct shm_channel *c)
{
}

static const struct shm_channel_ops none = {
	.reach = no_reach,
	.reserve = no_reserve,
	.commit = no_commit,
	.lane = shm_channel_default_lane,
	.watch = shm_channel_default_watch,
	.wake = shm_channel_default_wake,
	.flush = shm_channel_default_nothing,
	.notify = shm_channel_default_nothing,
	.consumed = no_consumed,
	.poll = no_poll,
	.inlets = shm_channel_default_inlets,
	.hear = shm_channel_default_hear,
	.took = shm_channel_default_nothing,
	.release = shm_channel_default_nothing,
	.access_begin = shm_channel_default_access_begin,
	.access_copy = shm_channel_default_access_copy,
	.access_attached = shm_channel_default_access_attached,
	.access_end = shm_channel_default_nothing,
	.export_area = shm_channel_default_export_area,
	.end_grants = shm_channel_default_nothing,
	.quiesce = shm_channel_default_nothing,
	.next_died = shm_channel_default_next_died,
	.forget = shm_channel_default_nothing,
};

struct shm_channel shm_channel_none = { .ops = &none, .epoch = 1 };

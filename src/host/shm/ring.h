/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A ring of records from one process to another.
 *
 * Who writes what. Each segment has one writer, and the others map it read-only:
 *
 *     struct shm_ring      the sender: the records, then the tail (release)
 *     struct shm_consumer  the receiver: the head (release), when it has no more use for the records before it;
 *                          `gone`, when it reads no more
 *     struct shm_page      each process, one for all its rings: whether it sleeps, which direct access it makes,
 *                          its exported tables
 *
 * Neither end trusts the other's segment: each number is read once and checked. A datagram is copied out before
 * it is parsed; of a message the protocol reads each word once, in place.
 *
 * Records are datagrams (link/link.h) or messages (host/shm/channel.h), told apart by `seg`. The room of a message
 * returns to the sender when the receiver releases it.
 *
 * No wake-up is lost: the receiver sets `on` in its page, then reads the tail; the sender stores the tail, then
 * reads `on`. With a full fence between the two on each side, at least one of them sees the other's store. A
 * sender that finds the previous record not yet consumed need not wake: the receiver was woken for that one, or
 * is awake, and reads the tail again before it sleeps.
 *
 * A receiver that has polled for a while says so (SHM_POLLS), and promises to execute the fences of all senders, by
 * ut_barrier_host(), before it sleeps. A sender that has announced itself for that, and reads this value, needs no
 * fence of its own: either its store precedes the fence executed for it, and the receiver's look at the tail behind it sees
 * the store, or the sender reads what the receiver has set since. Each fence that is spared is a wait for the ring's
 * lines to come from the receiver's cache.
 */
#ifndef HOST_SHM_RING_H
#define HOST_SHM_RING_H

#include "host/shm/export.h"
#include "host/liveness.h"
#include "util/barrier.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SHM_LINE 64u
#define SHM_RING_MAGIC 0x444c5052u
#define SHM_RING_BYTES (1u << 20) /* records of one direction; a power of two */
#define SHM_RING_MASK (SHM_RING_BYTES - 1)
#define SHM_RING_SEG (SHM_LINE * 2 + SHM_RING_BYTES)
#define SHM_RING_SEG_MOST (SHM_RING_SEG + 65536u) /* whole pages, whatever a page is */

#define SHM_HEADER_BYTES 40u
#define SHM_INLINE_DATA 8u /* bytes of a message behind its header */
#define SHM_INLINE_WORDS ((SHM_HEADER_BYTES + SHM_INLINE_DATA) / 8)

/*
 * Of shm_ring.extra: the end of the messages that the sender of this ring has executed as they came, and with success, in lines, and
 * how many lines of them there are, at most SHM_EXECUTED_LINES. That acknowledges each request among them some time before an answer carries
 * the acknowledgement, to a peer that polls the tail for that answer: the line comes to it for the one as well as for the other.
 */
enum {
	SHM_NEWEST_BYTES = 0xf,
	SHM_EXECUTED_END = 4,         /* bit of the end's low bits */
	SHM_EXECUTED_MASK = 0xfffff,  /* of these */
	SHM_EXECUTED_COUNT = 24,      /* bit of the number */
	SHM_EXECUTED_LINES = 0xff,
};

/* The sender's segment. */
struct shm_ring {
	uint32_t magic, layout, bytes; /* host/layout.h */
	_Alignas(SHM_LINE) _Atomic uint64_t tail; /* bytes ever written */
	/*
	 * In the tail's cache line, a second copy of the newest record if it is a small message, so
	 * that a reader which has kept up fetches one line from the writer's cache and not two. `newest`
	 * has the low bits of the tail, in lines, that the copy belongs to or is being written for; the
	 * words are valid if it is unchanged after they were read. `extra` has the copy's bytes behind its header
	 * (SHM_NEWEST_BYTES), and which messages of the ring in the other direction were executed last.
	 */
	_Atomic uint32_t newest, extra;
	_Atomic uint64_t inline_slot[SHM_INLINE_WORDS];
	_Alignas(SHM_LINE) uint8_t data[];
};

/* The receiver's segment: one page. */
struct shm_consumer {
	uint32_t magic, layout;
	_Alignas(SHM_LINE) _Atomic uint64_t head; /* bytes ever consumed */
	_Alignas(SHM_LINE) _Atomic uint32_t gone; /* the receiver reads no more */
};

/* What a process does with its rings; any other value is as SHM_ASLEEP. */
enum shm_on {
	SHM_AWAKE,
	SHM_ASLEEP, /* write its wake fd after a store to its ring */
	SHM_POLLS,  /* awake, and before it sleeps it executes the fences of its senders */
};

/* A process's own, one for all its rings. */
struct shm_page {
	uint32_t magic, layout;
	uint32_t id; /* random; names this process in `access` of others */
	struct host_life life;
	_Alignas(SHM_LINE) _Atomic uint32_t on; /* enum shm_on */
	_Alignas(SHM_LINE) _Atomic uint64_t access; /* peer id << 32 | access number; 0: none */
	_Alignas(SHM_LINE) struct shm_export export;
};

/* In front of each payload; records are whole lines long. */
struct shm_record {
	uint32_t bytes; /* of payload; SHM_WRAP: nothing, go on at the start */
	uint16_t seg;   /* datagrams of so many bytes each; 0: a message */
	uint16_t sport;
	union {
		struct {
			uint8_t tos, ttl;
			uint8_t pad[6];
			uint8_t src[16], dst[16];
		};
		uint8_t header[SHM_HEADER_BYTES]; /* the message's own, straight before its bytes */
	};
};

#define SHM_WRAP UINT32_MAX
#define SHM_PAYLOAD_MAX 65536u
#define SHM_MESSAGE_MAX (256u << 10)
#define SHM_AHEAD (8 * SHM_LINE) /* bytes behind the tail whose lines the writer asks for early */

struct shm_tx {
	struct shm_ring *ring; /* ours, writable */
	const struct shm_consumer *consumer;
	const struct shm_page *page;
	uint64_t tail, head; /* head: as last seen */
	uint64_t published;     /* the tail that the reader can see */
	uint64_t full_since;     /* since when no record has found room; 0: the last one did */
	uint32_t extra;          /* the ring's */
	bool unnotified;         /* it can see more, and was not woken for that */
	bool fenced_by_peer;     /* a receiver may execute this process's fences: ut_barrier_has_host() */
};

struct shm_rx {
	const struct shm_ring *ring;
	struct shm_consumer *consumer; /* ours, writable */
	uint64_t head; /* read up to here; the consumer page says less while messages are held */
	/* The tail as last seen. Until all of that is read the writer keeps its line, and stores tails
	 * without having to fetch it back for each. */
	uint64_t seen;
	uint64_t executed_from; /* all messages from here on were executed as they came (shm_release_executed) */
	bool held;     /* messages are, until shm_release() */
	uint64_t inline_slot[SHM_INLINE_WORDS]; /* one that was taken by shm_take_inline() */
};

void shm_ring_init(struct shm_ring *r);
/* Returns true if a peer's segment of `size` bytes has the form of a ring. */
bool shm_ring_valid(const struct shm_ring *r, size_t size);

enum shm_put {
	SHM_PUT,      /* written; the receiver is awake, or has not consumed the record before it */
	SHM_PUT_WAKE, /* written; the receiver sleeps: write its wake fd */
	SHM_FULL,
	SHM_GONE
};
enum shm_put shm_put(struct shm_tx *t, const struct shm_record *h, const void *payload);

/* Bytes of a record in the ring. */
static inline uint64_t shm_record_bytes(uint32_t payload)
{
	return (sizeof(struct shm_record) + payload + SHM_LINE - 1) & ~(uint64_t)(SHM_LINE - 1);
}

/* What precedes the header of a message. */
static inline void shm_record_put(struct shm_record *at, uint32_t bytes)
{
	at->bytes = bytes;
	at->seg = 0;
	at->sport = 0;
}

/* Returns true if so many bytes behind the tail are free, after a look at the reader's head. */
bool shm_has_room(struct shm_tx *t, uint64_t need);

/*
 * The same in two steps: room for a record of at most `bytes` of payload (NULL: SHM_FULL or
 * SHM_GONE is in *ret), and its end. *ret_skip belongs to the second.
 */
static inline struct shm_record *shm_reserve(struct shm_tx *t, uint32_t bytes, uint64_t *ret_skip, enum shm_put *ret)
{
	uint64_t need = shm_record_bytes(bytes), end = SHM_RING_BYTES - (t->tail & (SHM_RING_BYTES - 1));

	*ret = SHM_GONE;
	if (atomic_load_explicit(&t->consumer->gone, memory_order_relaxed))
		return NULL;
	*ret_skip = end < need ? end : 0;
	need += *ret_skip;
	*ret = SHM_FULL;
	if (t->tail + need - t->head > SHM_RING_BYTES && !shm_has_room(t, need))
		return NULL;
	return (struct shm_record *)(t->ring->data + ((t->tail + *ret_skip) & (SHM_RING_BYTES - 1)));
}

/*
 * What lies ahead was last in the reader's cache, and stores become visible in order: one line that
 * is in another cache would hold up the tails behind it.
 */
static inline void shm_prefetch_for_write(const uint8_t *line)
{
#if defined(__x86_64__)
	/* What the compiler makes of its builtin without -mprfchw fetches the line to be read only. Older
	 * processors take this for nothing. */
	__asm__ volatile("prefetchw %0" : : "m"(*line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/* shm_commit() in two: the record is written; later all that was written becomes visible to the reader. Each
 * tail that is published costs both ends a cache line fetched from the other. */
static inline void shm_finish(struct shm_tx *t, const struct shm_record *at, uint64_t skip)
{
	const uint64_t mask = SHM_RING_BYTES - 1;

	if (skip)
		*(uint32_t *)(t->ring->data + (t->tail & mask)) = SHM_WRAP;
	t->tail += skip + shm_record_bytes(at->bytes);
	shm_prefetch_for_write(t->ring->data + ((t->tail + SHM_AHEAD) & mask));
	shm_prefetch_for_write(t->ring->data + ((t->tail + SHM_AHEAD + SHM_LINE) & mask));
}

/*
 * A second fence and a second look, where the receiver does not say that it polls. before: the tail published before. If that has
 * not been consumed, the receiver was woken for it or is awake, and reads the tail again before it sleeps. Records that need no wake-up do not
 * wake it, and it may have gone to sleep since it took half of them.
 */
bool shm_is_sleeper(const struct shm_tx *t, uint64_t before);

/* Returns true if the receiver must be woken for the tail that has just been stored. */
static inline bool shm_must_wake(const struct shm_tx *t, uint64_t before)
{
	ut_barrier_light();
	if (t->fenced_by_peer && atomic_load_explicit(&t->page->on, memory_order_relaxed) == SHM_POLLS)
		return false;
	return shm_is_sleeper(t, before);
}

static inline enum shm_put shm_publish(struct shm_tx *t)
{
	uint64_t before = t->published;
	bool wake;

	t->published = t->tail;
	atomic_store_explicit(&t->ring->tail, t->tail, memory_order_release);
	wake = shm_must_wake(t, before);
	t->unnotified = false;
	return wake ? SHM_PUT_WAKE : SHM_PUT;
}

static inline uint32_t shm_lines(uint64_t at)
{
	return (uint32_t)(at / SHM_LINE);
}

/* A reader may read the words at this moment; it reads `newest` again after them. */
static inline void shm_copy_inline(struct shm_tx *t, const struct shm_record *at)
{
	const uint8_t *from = at->header;
	struct shm_ring *r = t->ring;
	uint64_t v;

	atomic_store_explicit(&r->newest, shm_lines(t->tail), memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	t->extra = (t->extra & ~(uint32_t)SHM_NEWEST_BYTES) | at->bytes;
	atomic_store_explicit(&r->extra, t->extra, memory_order_relaxed);
#pragma GCC unroll 8
	for (unsigned i = 0; i < SHM_INLINE_WORDS; i++) {
		memcpy(&v, from + i * sizeof(v), sizeof(v));
		atomic_store_explicit(&r->inline_slot[i], v, memory_order_relaxed);
	}
}

static inline enum shm_put shm_commit(struct shm_tx *t, struct shm_record *at, uint64_t skip)
{
	shm_finish(t, at, skip);
	if (!at->seg && at->bytes <= SHM_INLINE_DATA)
		shm_copy_inline(t, at);
	return shm_publish(t);
}

/* The record is visible, and the receiver is not woken for it before the next shm_publish() or shm_commit(). */
void shm_no_notify(struct shm_tx *t);
/* Returns the head as the reader states it, which is not checked. */
uint64_t shm_taken(const struct shm_tx *t);

/* Reads the head of the oldest record, which one of the next two takes. Returns 1; 0 if the ring is empty;
 * -EPROTO if there is no valid record: the ring is of no more use. */
int shm_peek(struct shm_rx *r, struct shm_record *h);
/* Takes a datagram: copies its payload out. */
void shm_take(struct shm_rx *r, const struct shm_record *h, void *buf);
/* Takes a message. Returns its header, with h->bytes behind it, in place until shm_release(). */
const uint8_t *shm_hold(struct shm_rx *r, const struct shm_record *h);
/* Takes the oldest message as these two do. Returns its header, with *ret_bytes behind it, until shm_release(), or NULL: none waits, or the
 * oldest record is none. */
const uint8_t *shm_take_odd(struct shm_rx *r, uint32_t *ret_bytes);
/* Takes the message in the inline slot, if that is all that waits. Returns its header, with *ret_bytes behind it,
 * until shm_release(); or NULL: use shm_peek(). */
static inline const uint8_t *shm_take_inline(struct shm_rx *r, uint32_t *ret_bytes)
{
	uint64_t tail;
	uint32_t n;

	if (r->held || (r->seen != r->head && r->seen - r->head != SHM_LINE))
		return NULL;
	tail = atomic_load_explicit(&r->ring->tail, memory_order_acquire);
	if (tail - r->head != SHM_LINE || atomic_load_explicit(&r->ring->newest, memory_order_relaxed) != shm_lines(tail))
		return NULL;
	n = atomic_load_explicit(&r->ring->extra, memory_order_relaxed) & SHM_NEWEST_BYTES;
#pragma GCC unroll 8
	for (unsigned i = 0; i < SHM_INLINE_WORDS; i++)
		r->inline_slot[i] = atomic_load_explicit(&r->ring->inline_slot[i], memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&r->ring->newest, memory_order_relaxed) != shm_lines(tail) || n > SHM_INLINE_DATA)
		return NULL;
	*ret_bytes = n;
	r->head = r->seen = tail;
	r->held = true;
	return (const uint8_t *)r->inline_slot;
}

/* Gives the room of messages that were executed with success back to their sender. */
static inline void shm_release_executed(struct shm_rx *r)
{
	r->held = false;
	atomic_store_explicit(&r->consumer->head, r->head, memory_order_release);
}

/* The same of messages about which that is not said. */
static inline void shm_release(struct shm_rx *r)
{
	r->executed_from = r->head;
	shm_release_executed(r);
}

/* Names the messages of shm_release_executed() in the ring back to their sender. */
static inline void shm_say_executed(struct shm_tx *back, const struct shm_rx *r)
{
	uint64_t lines = (r->head - r->executed_from) / SHM_LINE;

	back->extra = (back->extra & SHM_NEWEST_BYTES) | (shm_lines(r->head) & SHM_EXECUTED_MASK) << SHM_EXECUTED_END |
		     (uint32_t)(lines < SHM_EXECUTED_LINES ? lines : SHM_EXECUTED_LINES) << SHM_EXECUTED_COUNT;
	atomic_store_explicit(&back->ring->extra, back->extra, memory_order_release);
}

/* Returns true if the peer's ring names the message of our ring that ends here as executed. said: shm_ring.extra before our ring was there,
 * which names none of it. False says nothing. */
static inline bool shm_is_executed(const struct shm_rx *from_peer, uint32_t said, uint64_t end)
{
	uint32_t extra = atomic_load_explicit(&from_peer->ring->extra, memory_order_acquire);

	return (extra ^ said) >> SHM_EXECUTED_END && (((extra >> SHM_EXECUTED_END) - shm_lines(end)) & SHM_EXECUTED_MASK) < extra >> SHM_EXECUTED_COUNT;
}

static inline bool shm_waiting(struct shm_rx *r)
{
	if (r->seen == r->head)
		r->seen = atomic_load_explicit(&r->ring->tail, memory_order_acquire);
	return r->seen != r->head;
}

/* One record waits, of the size that shm_take_inline() takes. */
static inline bool shm_is_small(const struct shm_rx *r)
{
	return r->seen - r->head == SHM_LINE;
}

#define SHM_READ_AHEAD 4 /* lines of the next records that the reader asks for early */

/* Goes on behind a message that stays where it is. */
static inline void shm_hold_next(struct shm_rx *r, uint64_t bytes)
{
	r->head += bytes;
	r->held = true;
	for (unsigned i = 0; i < SHM_READ_AHEAD && r->seen - r->head > i * SHM_LINE; i++)
		__builtin_prefetch(r->ring->data + ((r->head + i * SHM_LINE) & SHM_RING_MASK));
}

/* Takes the oldest message in place, as shm_peek() and shm_hold() do, where shm_waiting() was true. NULL: use shm_peek(), which says
 * what else there is. */
static inline const uint8_t *shm_take_next(struct shm_rx *r, uint32_t *ret_bytes)
{
	const uint8_t *at = r->ring->data + (r->head & SHM_RING_MASK);
	uint64_t have = r->seen - r->head, need, first;
	uint32_t bytes;

	if (!have || have > SHM_RING_BYTES || have % SHM_LINE)
		return NULL;
	/* `bytes` and `seg` in one load. A record that goes on at the start is longer than any. */
	memcpy(&first, at, sizeof(first));
	bytes = (uint32_t)first;
	need = shm_record_bytes(bytes);
	if (first >> 32 & UINT16_MAX || bytes > SHM_MESSAGE_MAX || need > have || need > SHM_RING_BYTES - (r->head & SHM_RING_MASK))
		return NULL;
	shm_hold_next(r, need);
	*ret_bytes = bytes;
	return at + offsetof(struct shm_record, header);
}

#endif

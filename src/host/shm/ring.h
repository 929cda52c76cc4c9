/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A ring of records from one process to another. Each segment has one writer: the sender's has the
 * records and the tail, the receiver's the head, and some pages of the receiver's that all its
 * senders share say whether it sleeps. Neither end trusts what it reads from the other: every
 * number is read once and checked, and records are copied out before anybody looks into them.
 *
 * Records are datagrams (link/link.h) or messages (host/shm/channel.h), told apart by `seg`. A message is
 * filled in and looked at in place; its room is given back when the reader has done with it.
 *
 * Sleeping: the receiver raises `page`, then looks at the tail; the sender moves the tail, then
 * looks at `page`. With a full fence between on both sides one of them sees the other.
 */
#ifndef HOST_SHM_RING_H
#define HOST_SHM_RING_H

#include "host/shm/export.h"
#include "host/liveness.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHM_LINE 64u
#define SHM_GENERATIONS 512u /* host/shm/channel.h */
#define SHM_RING_MAGIC 0x444c5052u
#define SHM_RING_BYTES (1u << 20) /* records of one direction; a power of two */
#define SHM_RING_SEG (SHM_LINE * 2 + SHM_RING_BYTES)
#define SHM_RING_SEG_MOST (SHM_RING_SEG + 65536u) /* whole pages, whatever a page is */

#define SHM_HEADER_BYTES 40u
#define SHM_INLINE_DATA 8u /* bytes of a message behind its note */
#define SHM_INLINE_WORDS ((SHM_HEADER_BYTES + SHM_INLINE_DATA) / 8)

/* The sender's segment. */
struct shm_ring {
	uint32_t magic, bytes;
	_Alignas(SHM_LINE) _Atomic uint64_t tail; /* bytes ever written */
	/*
	 * In the tail's cache line, a second copy of the newest record if it is a small message, so
	 * that a reader who has kept up fetches one line from the writer's cache and not two. It is
	 * being written, or was, for the tail with these low bits (in lines); the words are good if
	 * that still holds after they were read.
	 */
	_Atomic uint32_t newest, newest_bytes;
	_Atomic uint64_t inline_slot[SHM_INLINE_WORDS];
	_Alignas(SHM_LINE) uint8_t data[];
};

/* The receiver's segment: one page. */
struct shm_consumer {
	uint32_t magic;
	_Alignas(SHM_LINE) _Atomic uint64_t head; /* bytes ever consumed */
	_Alignas(SHM_LINE) _Atomic uint32_t gone; /* nobody will read any more */
};

/* A process's own, one for all its rings. */
struct shm_page {
	uint32_t magic, id; /* id: random, for `visit` of others */
	struct host_life life;
	_Alignas(SHM_LINE) _Atomic uint32_t on; /* ring the wake after you wrote */
	_Alignas(SHM_LINE) _Atomic uint64_t access; /* to whom (id << 32) and the how manieth; or 0 */
	_Alignas(SHM_LINE) _Atomic uint32_t generations[SHM_GENERATIONS]; /* host/shm/channel.h */
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
		uint8_t header[SHM_HEADER_BYTES]; /* the message's, straight before its bytes */
	};
};

#define SHM_WRAP UINT32_MAX
#define SHM_PAYLOAD_MAX 65536u
#define SHM_MESSAGE_MAX (256u << 10)

struct shm_tx {
	struct shm_ring *ring; /* ours, writable */
	const struct shm_consumer *consumer;
	const struct shm_page *page;
	uint64_t tail, head; /* head: as last seen */
	uint64_t published;  /* the reader has been told of the ring up to here */
	bool unnotified;         /* it may know more */
};

struct shm_rx {
	const struct shm_ring *ring;
	struct shm_consumer *consumer; /* ours, writable */
	uint64_t head; /* read up to here; the ear says less while messages are looked at */
	/* The tail as last seen. Until all of that is read the writer keeps its line, and stores tails
	 * without having to fetch it back for each. */
	uint64_t seen;
	bool held;     /* there are such */
	uint64_t inline_slot[SHM_INLINE_WORDS]; /* one that was taken by shm_take_inline() */
};

void shm_ring_init(struct shm_ring *r);
/* Somebody else's segment of `size` bytes has the shape of a ring. */
bool shm_ring_valid(const struct shm_ring *r, size_t size);

enum shm_put {
	SHM_PUT,      /* written, the receiver is awake or has not consumed the previous one */
	SHM_PUT_RING, /* written; it sleeps: ring the wake */
	SHM_FULL,
	SHM_GONE
};
enum shm_put shm_put(struct shm_tx *t, const struct shm_record *h, const void *payload);
/*
 * The same in two steps: room for a record of at most `bytes` of payload (NULL: SHM_FULL or
 * SHM_GONE is in *ret), and its end. *ret_skip belongs to the second.
 */
struct shm_record *shm_reserve(struct shm_tx *t, uint32_t bytes, uint64_t *ret_skip,
			       enum shm_put *ret);
enum shm_put shm_commit(struct shm_tx *t, struct shm_record *at, uint64_t skip);
/* The same in two: it is written, and later all that was written is published to the reader. Each tail that
 * is published costs both ends a cache line fetched from the other. */
void shm_finish(struct shm_tx *t, struct shm_record *at, uint64_t skip);
enum shm_put shm_show(struct shm_tx *t);
/* It is there for who looks, and nobody is woken for it before the next shm_show() or shm_commit(). */
void shm_no_notify(struct shm_tx *t);
/* The reader says that it has read so far; it may lie. */
uint64_t shm_taken(const struct shm_tx *t);

/* Returns 1 and the head of the oldest record in *h, 0 if the ring is empty, or -EPROTO if the writer's
 * bytes are no record: the ring must not be used any more. One of the next two takes the record. */
int shm_peek(struct shm_rx *r, struct shm_record *h);
/* A datagram's payload, copied out. */
void shm_take(struct shm_rx *r, const struct shm_record *h, void *buf);
/* A message, in place until shm_release(): its note, and h->bytes behind that. */
const uint8_t *shm_hold(struct shm_rx *r, const struct shm_record *h);
/* All that waits is one small message: its note and *ret_bytes behind that, until shm_release().
 * NULL: look with shm_peek(). */
const uint8_t *shm_take_inline(struct shm_rx *r, uint32_t *ret_bytes);
void shm_release(struct shm_rx *r);
static inline bool shm_waiting(struct shm_rx *r)
{
	if (r->seen == r->head)
		r->seen = atomic_load_explicit(&r->ring->tail, memory_order_acquire);
	return r->seen != r->head;
}

#endif

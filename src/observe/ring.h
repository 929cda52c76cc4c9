/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The observation ring: records of one adapter of one process, in a sealed segment that this process alone writes and
 * a reader (dapple capture) maps read-only. The writer never waits, calls nothing and looks at no clock but a counter of
 * the processor: it overwrites the oldest records, and a reader that was overtaken knows by the records' numbers how
 * many it has lost.
 *
 *      writer                                  reader
 *      reserved = head + size, and more        reads head (acquire)
 *      fence (release)                         copies the record
 *      writes the record                       fence (acquire)
 *      head += size (release)                  reads reserved: more than one ring ahead of the record? then it was
 *                                              overwritten meanwhile, and the reader goes on at head
 *
 * Positions count bytes from the beginning and never wrap. A record does not go over the end of the ring: the octets
 * left there are skipped. The writer's side is guarded by the adapter's progress lock.
 *
 * A record of a message without payload is one cache line, written by eight stores. What such records have in common -
 * addresses, ports - is a flow, which is put into a table once. A flow that finds no place there comes with each of its
 * records. Records are made by stores of whole words, since a processor does not forward several narrow stores to one
 * wide load before they have left its store buffer (proto/ib/frame_shm.h).
 */
#ifndef OBSERVE_RING_H
#define OBSERVE_RING_H

#include "observe/record.h"
#include "util/ticks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#define OBS_RING_MAGIC 0x64706c6f62733033u
#define OBS_RING_PAGE 4096u
#define OBS_RING_HEAD (OBS_RING_PAGE + OBS_FLOWS * (uint32_t)sizeof(struct obs_flow))
#define OBS_RING_LEAST (64u << 10)
#define OBS_RING_MOST (1u << 30)
#define OBS_RING_AHEAD 4096u /* bytes that are reserved at a time */
#define OBS_NAME 64

/* The first page of the segment; the table of flows and the records follow. */
struct obs_ring_page {
	uint64_t magic;
	uint64_t bytes;      /* of records: a power of two */
	uint64_t monotonic, realtime; /* both clocks at one time, ns; */
	uint64_t ticks;      /* and the counter */
	uint32_t by_ticks;   /* 1: times are of ut_ticks(); 0: of CLOCK_MONOTONIC */
	uint32_t pid;
	char program[OBS_NAME], adapter[OBS_NAME];
	_Alignas(64) _Atomic uint64_t reserved;
	_Atomic uint64_t head;
	_Atomic uint64_t number; /* records written */
};

struct obs_ring {
	struct obs_ring_page *page;
	struct obs_flow *flows;
	uint8_t *data;
	uint64_t bytes, head, reserved, number;
	bool by_ticks;
	bool used[OBS_FLOWS];
};

/* Makes a ring for `bytes` of records, rounded up to a power of two within the limits. Its memory is there, up to
 * 64 MB, so that no record waits for a page. Returns its descriptor, to be passed and then closed, or -errno. */
int obs_ring_make(struct obs_ring *r, size_t bytes, const char *adapter);
void obs_ring_free(struct obs_ring *r);
/* Returns the index of a flow in the table, into which it is put if need be, or OBS_FLOW_APART. */
uint32_t obs_ring_flow(struct obs_ring *r, const struct obs_flow *f);
/* Adds a record with h->have bytes, which n pieces hold together; h->number is not read. A record longer than a quarter
 * of the ring is cut. */
void obs_ring_put(struct obs_ring *r, const struct obs_record *h, const struct iovec *pieces, int n);

/* --- the parts of obs_ring_put(), for records that are made often --- */

/* Returns a time for a record. */
static inline uint64_t obs_ring_now(const struct obs_ring *r)
{
	return r->by_ticks ? ut_ticks() : ut_now();
}

typedef uint64_t __attribute__((may_alias)) obs_word;

static inline uint64_t obs_word_get(const void *at, size_t i)
{
	return __atomic_load_n((const obs_word *)at + i, __ATOMIC_RELAXED);
}

static inline void obs_word_put(void *at, size_t i, uint64_t v)
{
	__atomic_store_n((obs_word *)at + i, v, __ATOMIC_RELAXED);
}

/* The place of the next record lacks room before the ring's end, or is not reserved. Returns the place. */
uint8_t *obs_ring_make_room(struct obs_ring *r, uint32_t size);

/* Returns the place of a record of `size` bytes, a multiple of 8 and at most a quarter of the ring. */
static inline uint8_t *obs_ring_room(struct obs_ring *r, uint32_t size)
{
	uint64_t at = r->head & (r->bytes - 1);

	if (__builtin_expect(r->head + size > r->reserved || size > r->bytes - at, 0))
		return obs_ring_make_room(r, size);
	return r->data + at;
}

/* Words of a struct obs_stored. */
static inline void obs_ring_stamp(const struct obs_ring *r, uint8_t *at, uint64_t time, enum obs_kind kind, enum obs_way way,
				  bool out, uint32_t flow, uint32_t len, uint32_t have)
{
	obs_word_put(at, 0, time);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	obs_word_put(at, 1, (uint64_t)kind | (uint64_t)way << 4 | (uint64_t)out << 8 | (uint64_t)flow << 16 | r->number << 32);
	obs_word_put(at, 2, len | (uint64_t)have << 32);
#else
	obs_word_put(at, 1, (uint64_t)((uint32_t)kind | (uint32_t)way << 4) << 56 | (uint64_t)out << 48 | (uint64_t)flow << 32 |
				    (uint32_t)r->number);
	obs_word_put(at, 2, (uint64_t)len << 32 | have);
#endif
}

/* The record is complete. */
static inline void obs_ring_done(struct obs_ring *r, uint32_t size)
{
	r->head += size;
	r->number++;
	atomic_store_explicit(&r->page->number, r->number, memory_order_relaxed);
	atomic_store_explicit(&r->page->head, r->head, memory_order_release);
}

/* --- reading --- */

struct obs_reader {
	const struct obs_ring_page *page;
	const struct obs_flow *flows;
	const uint8_t *data;
	const struct ut_ticks_clock *clock;
	uint64_t bytes, pos, number;
	uint64_t lost; /* records that were overwritten before they were read */
	size_t mapped;
};

/* Maps a ring; the descriptor stays the caller's. clock: the reader's own, kept up to date by the caller. Returns 0, or
 * -EPROTO for a segment that is none. */
int obs_reader_open(struct obs_reader *r, int fd, const struct ut_ticks_clock *clock);
void obs_reader_close(struct obs_reader *r);
/* Returns the difference of CLOCK_REALTIME and the times of records, to be added to them. */
int64_t obs_reader_offset(const struct obs_reader *r);
/* Copies the next record, and at most `room` bytes of it (ret->have is cut). Returns 1, 0 if there is none now, or
 * -EPROTO: the ring's contents are impossible, and nothing more is read. */
int obs_reader_next(struct obs_reader *r, struct obs_record *ret, uint8_t *bytes, size_t room);
/* Counts records that were written and not read as lost: nothing is read any more. */
void obs_reader_end(struct obs_reader *r);

#endif

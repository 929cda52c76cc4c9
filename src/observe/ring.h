/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The observation ring: records of one adapter of one process, in a sealed segment that this process alone writes and
 * a reader (dapple capture) maps read-only. The writer never waits: it overwrites the oldest records, and a reader
 * that was overtaken knows by the records' numbers how many it has lost.
 *
 *      writer                                  reader
 *      reserved = head + size                  reads head (acquire)
 *      fence (release)                         copies the record
 *      copies the record                       fence (acquire)
 *      head += size (release)                  reads reserved: more than one ring ahead of the record? then it was
 *                                              overwritten meanwhile, and the reader goes on at head
 *
 * Positions count bytes from the beginning and never wrap. The writer's side is guarded by the adapter's progress lock.
 */
#ifndef OBSERVE_RING_H
#define OBSERVE_RING_H

#include "observe/record.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#define OBS_RING_MAGIC 0x64706c6f62733032u
#define OBS_RING_PAGE 4096u
#define OBS_RING_LEAST (64u << 10)
#define OBS_RING_MOST (1u << 30)
#define OBS_NAME 64

/* The first page of the segment; the records follow. */
struct obs_ring_page {
	uint64_t magic;
	uint64_t bytes;      /* of records: a power of two */
	uint64_t monotonic, realtime; /* both clocks at one time, ns */
	uint32_t pid;
	uint32_t pad;
	char program[OBS_NAME], adapter[OBS_NAME];
	_Alignas(64) _Atomic uint64_t reserved;
	_Atomic uint64_t head;
	_Atomic uint64_t number; /* records written */
};

struct obs_ring {
	struct obs_ring_page *page;
	uint8_t *data;
	uint64_t bytes, head, number;
};

/* Makes a ring for `bytes` of records, rounded up to a power of two within the limits. Returns its descriptor, to be
 * passed and then closed, or -errno. */
int obs_ring_make(struct obs_ring *r, size_t bytes, const char *adapter);
void obs_ring_free(struct obs_ring *r);
/* Adds a record with h->have bytes, which n pieces hold together; sets h->size and h->number. A record longer than a
 * quarter of the ring is cut. */
void obs_ring_put(struct obs_ring *r, struct obs_record *h, const struct iovec *pieces, int n);

struct obs_reader {
	const struct obs_ring_page *page;
	const uint8_t *data;
	uint64_t bytes, pos, number;
	uint64_t lost; /* records that were overwritten before they were read */
	size_t mapped;
};

/* Maps a ring; the descriptor stays the caller's. Returns 0, or -EPROTO for a segment that is none. */
int obs_reader_open(struct obs_reader *r, int fd);
void obs_reader_close(struct obs_reader *r);
/* Copies the next record, at most `room` bytes of it behind the structure (ret->have is cut). Returns 1, 0 if there is
 * none now, or -EPROTO: the ring's contents are impossible, and nothing more is read. */
int obs_reader_next(struct obs_reader *r, struct obs_record *ret, uint8_t *bytes, size_t room);
/* Counts records that were written and not read as lost: nothing is read any more. */
void obs_reader_end(struct obs_reader *r);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One English sentence per failure: what happened, the addresses and queue pairs at both ends, key and
 * bytes. It is made when the failure is noticed, since the attributes of the queue pair may change later.
 * An adapter keeps the last ones in memory, for dapple/control.h.
 */
#ifndef ENGINE_WHY_H
#define ENGINE_WHY_H

#include "engine/dev.h"
#include "engine/verdict.h"

struct eng_qp;
struct eng_why_ring;

/* Facts of a failure for its sentence; fields that are zero are left out. */
struct eng_why {
	uint32_t key;
	uint64_t addr, length;
	union ibv_gid peer;
	uint32_t peer_qpn;
	const char *doing; /* "RDMA WRITE", ... */
};

/* Keeps the sentence of this failure. w may be NULL. Called with dev->lock held, before eng_qp_fail(),
 * which keeps a sentence of its own otherwise. */
void eng_why(struct eng_qp *qp, enum eng_verdict v, const struct eng_why *w);

/* Copies the last sentence about this queue pair (0: about any of the adapter), at most n bytes with the
 * terminating 0. Returns 0 or -ENOENT. */
int eng_why_last(struct eng_dev *dev, uint32_t qpn, char *buf, size_t n) UT_EXCLUDES(dev->lock);

/* The sentences of one adapter. Returns NULL if there is no memory. */
struct eng_why_ring *eng_why_ring_new(void);
void eng_why_ring_free(struct eng_why_ring *r);

#endif

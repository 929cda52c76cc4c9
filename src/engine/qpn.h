/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queue pair numbers that were in use lately, and are not chosen again yet. The peer of a connection that
 * ended keeps its number for a while (TimeWait) and takes a request from the same number for one of the old
 * connection; random numbers of 16 bits collide after some three hundred connections.
 *
 * Two generations of marks, so that a number rests for at least ENG_QPN_REST others. Only the low 16 bits
 * are marked: a mark that is not true only excludes one choice.
 */
#ifndef ENGINE_QPN_H
#define ENGINE_QPN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ENG_QPN_REST 16384

struct eng_qpns {
	uint64_t now[1024], before[1024];
	uint32_t n; /* marks in `now` */
};

static inline bool eng_qpn_rests(const struct eng_qpns *q, uint32_t qpn)
{
	uint64_t bit = 1ull << (qpn & 63);
	uint32_t i = qpn >> 6 & 1023;

	return (q->now[i] | q->before[i]) & bit;
}

static inline void eng_qpn_used(struct eng_qpns *q, uint32_t qpn)
{
	if (q->n == ENG_QPN_REST) {
		memcpy(q->before, q->now, sizeof(q->before));
		memset(q->now, 0, sizeof(q->now));
		q->n = 0;
	}
	q->now[qpn >> 6 & 1023] |= 1ull << (qpn & 63);
	q->n++;
}

#endif

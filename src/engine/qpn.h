/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The order in which queue pair numbers are chosen. The peer of a connection that ended keeps its number for
 * seconds (TimeWait) and takes a request from the same number for one of the old connection; random numbers of 16
 * bits collide after some three hundred connections. So numbers are counted, as adapters do, and a number comes
 * again when all others have been. Processes that get one slot after another would all begin alike: the count begins
 * at the time (eng_qpns_begin). A keyed permutation of the count makes the number, so that numbers seen on the wire
 * do not tell the next ones; the key is the same in all processes of this boot.
 */
#ifndef ENGINE_QPN_H
#define ENGINE_QPN_H

#include <stdint.h>

/* Numbers that a process may use per ms until the next one in its slot repeats them; 16 bits of them last for 8 s. */
#define ENG_QPNS_PER_MS 8u

struct eng_qpns {
	uint64_t key;
	uint32_t next; /* count */
};

/* Sets key and first count; now in ns since boot. */
void eng_qpns_begin(struct eng_qpns *q, uint64_t key, uint64_t now);
/* Returns the number of this count: `mask` (low bits, without gaps) is a permutation of them. */
uint32_t eng_qpn_at(const struct eng_qpns *q, uint32_t count, uint32_t mask);

#endif

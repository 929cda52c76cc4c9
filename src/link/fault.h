/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Seeded faults: a decorator that loses, doubles, delays and damages datagrams of the link below
 * it, in both directions, by chance and by rules (rules.h). Its descriptor is that of the link below. A run is replayed by its seed as far as the link below repeats itself.
 * The simulator uses the same rates for its own wire.
 */
#ifndef LINK_FAULT_H
#define LINK_FAULT_H

#include "link/link.h"
#include "link/rules.h"

#define LINK_FAULT_ENV "DAPPLE_FAULT"

/* Chances per datagram, in 1/1000, together at most 1000; 0 = no faults. */
struct link_fault_rates {
	unsigned loss, dup, reorder, corrupt;
	uint64_t seed;
};

struct link_fault_stats {
	uint64_t passed, lost, doubled, held, damaged;
};

/* Returns true for a text that begins as link_fault_parse() wants it, and false for rules. */
bool link_fault_is_rates(const char *text);
/* Parses "loss=10,dup=5,reorder=20,corrupt=1,seed=42", any subset in any order; a name that is
 * missing is 0. Returns 0 or -EINVAL (*ret untouched). */
int link_fault_parse(const char *text, struct link_fault_rates *ret);
/* Rules act besides the rates, on packets alone; NULL: none. They are the caller's, and stay there until the next call. */
void link_fault_rules(struct link *l, struct link_rules *rules, const char *adapter);
/* Wraps lower, which then belongs to the new link. Returns 0 or -errno (lower stays the caller's). */
int link_fault_open(struct link *lower, const struct link_fault_rates *rates,
		    struct link **ret);
void link_fault_stats(struct link *l, struct link_fault_stats *ret);

#endif

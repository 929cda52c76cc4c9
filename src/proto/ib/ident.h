/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The IPv4 identifications of peers. The ICRC covers the identification, which a UDP socket does not show. So the check
 * of a packet solves for it (wire/icrc.h), and accepting any solution would leave half of the ICRC's strength: one of
 * 32,768 damaged packets would pass. A peer does one of two things: it numbers from 0 in each train, as this port does,
 * or it has one counter for this host. A value that fits neither counts as damage, unless many follow one another.
 * Linux moves such a counter on by as much as a jiffy (1 ms at least) since its last use (ip_idents_reserve()), so
 * that after a minute of silence every value fits.
 */
#ifndef PROTO_IB_IDENT_H
#define PROTO_IB_IDENT_H

#include <stdbool.h>
#include <stdint.h>

#define IBP_IDENT_SOURCES 64u /* a power of two */
#define IBP_IDENT_UNIT(ns) ((uint32_t)((ns) >> 20)) /* some 1.05 ms */
#define IBP_IDENT_TRAIN 64u  /* numbers of a train are less */

/* What a peer's packets had. Zeroed: nothing is known. */
struct ibp_ident {
	uint32_t at;     /* when the last one came, in IBP_IDENT_UNIT */
	uint16_t last;
	uint8_t strikes; /* implausible values in a row */
	bool known;
};

/* The peers of datagrams, by address: a cache. Zeroed: empty. */
struct ibp_idents {
	struct {
		uint8_t addr[16];
		struct ibp_ident ident;
	} v[IBP_IDENT_SOURCES];
};

/* Returns true if the peer has a counter: its next value is last + 1. */
static inline bool ibp_ident_counts(const struct ibp_ident *i)
{
	return i->known && i->last >= IBP_IDENT_TRAIN;
}

/* ibp_ident_fits() for a value that is no number of a train. */
bool ibp_ident_counter_fits(struct ibp_ident *i, uint16_t id, uint64_t now);
/* Returns true if this value fits at the time `now` (ns), and remembers it. */
static inline bool ibp_ident_fits(struct ibp_ident *i, uint16_t id, uint64_t now)
{
	if (id >= IBP_IDENT_TRAIN)
		return ibp_ident_counter_fits(i, id, now);
	*i = (struct ibp_ident){ .at = IBP_IDENT_UNIT(now), .last = id, .known = true };
	return true;
}

/* Returns what is known of the peer with this address, in place of another one's if need be. */
struct ibp_ident *ibp_ident_of(struct ibp_idents *all, const uint8_t addr[16]);

#endif

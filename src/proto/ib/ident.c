/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/ident.h"

#include "proto/ib/frame_wire.h"

#include <string.h>

#define SKIPPED 4096u /* so many values a counter may have given to others */
#define STRIKES 8

_Static_assert(IBP_IDENT_TRAIN == IBP_TRAIN_PACKETS, "the longest train that leaves here");

/* A counter that has come round passes through the numbers of a train. */
static uint64_t reach(const struct ibp_ident *i, uint32_t now)
{
	uint64_t silent = now - i->at;

	return (ibp_ident_counts(i) ? SKIPPED : 2 * IBP_IDENT_TRAIN) + 2 * silent;
}

bool ibp_ident_counter_fits(struct ibp_ident *i, uint16_t id, uint64_t now)
{
	uint32_t at = IBP_IDENT_UNIT(now);
	bool fits = !i->known || (uint16_t)(id - i->last) < reach(i, at);

	if (!fits && ++i->strikes < STRIKES)
		return false;
	*i = (struct ibp_ident){ .at = at, .last = id, .known = true };
	return true;
}

struct ibp_ident *ibp_ident_of(struct ibp_idents *all, const uint8_t addr[16])
{
	unsigned at = (addr[12] * 131u + addr[13] * 31u + addr[14] * 7u + addr[15]) % IBP_IDENT_SOURCES;

	if (memcmp(all->v[at].addr, addr, 16)) {
		memcpy(all->v[at].addr, addr, 16);
		all->v[at].ident = (struct ibp_ident){ 0 };
	}
	return &all->v[at].ident;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Local segments against the regions they name. Verbs would find most errors too, but after the
 * post and at the price of the connection; and rights of DAT are narrower than those of the device
 * (a region with remote write is locally writable there). Local write includes local read, though:
 * other providers cannot forbid it, and dtest sends from its receive buffers.
 */
#ifndef DAT_PROVIDER_MEM_SEGMENTS_H
#define DAT_PROVIDER_MEM_SEGMENTS_H

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_ia;
struct dpr_pz;

/* The sum of n segments. */
struct dpr_gather {
	uint64_t bytes;
	int n;       /* of sge: segments of length 0 are legal and left out */
	bool placed; /* all addresses are those of memory, not offsets in zero based regions */
};

/*
 * Checks n segments for a zone: rights (`need`: DAT_MEM_PRIV_LOCAL_READ_FLAG or _WRITE_FLAG),
 * bounds and zone; fills sge and *g. Returns DAT_SUCCESS, PRIVILEGES_VIOLATION,
 * PROTECTION_VIOLATION, INVALID_PARAMETER, or LENGTH_ERROR if the sum exceeds 2^32-1.
 */
DAT_RETURN dpr_segments(struct dpr_ia *ia, struct dpr_pz *pz, DAT_COUNT n,
			const DAT_LMR_TRIPLET *iov, DAT_MEM_PRIV_FLAGS need, struct ibv_sge *sge,
			struct dpr_gather *g);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Local segments against the regions they name. Verbs would find most of this out too, but only
 * after the post and at the price of the connection; and rights of DAT are narrower than those of
 * the device (a region with remote write is locally writable there). But who may write locally may
 * read: other providers cannot forbid it, and dtest sends from its receive buffers.
 */
#ifndef DAT_PROVIDER_MEM_SEGMENTS_H
#define DAT_PROVIDER_MEM_SEGMENTS_H

#include <dat2/udat.h>
#include <infiniband/verbs.h>

struct dpr_gather;
struct dpr_ia;
struct dpr_pz;

/*
 * Check n segments for an endpoint's zone: rights (DAT_MEM_PRIV_LOCAL_READ or _WRITE), bounds, zone;
 * fills sge. The DAT error (PRIVILEGES_VIOLATION, PROTECTION_VIOLATION, INVALID_PARAMETER,
 * LENGTH_ERROR if the sum passes 2^32-1) or DAT_SUCCESS.
 */
DAT_RETURN dpr_segments(struct dpr_ia *ia, struct dpr_pz *pz, DAT_COUNT n,
			const DAT_LMR_TRIPLET *iov, DAT_MEM_PRIV_FLAGS need, struct ibv_sge *sge,
			struct dpr_gather *g);

#endif

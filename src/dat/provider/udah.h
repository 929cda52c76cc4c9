/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address handles of datagram endpoints. */
#ifndef DAT_PROVIDER_UDAH_H
#define DAT_PROVIDER_UDAH_H

#include "dat/provider/ia.h"

struct dpr_ud_peer;

/* To who asked, by way of the id that heard it. NULL: no such GID of ours, or no memory. */
struct ibv_ah *dpr_ud_ah(struct dpr_ia *ia, struct ibv_pd *pd, const struct rdma_cm_id *id,
			 const struct dpr_ud_peer *peer);

#endif

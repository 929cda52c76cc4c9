/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address handles of datagram endpoints. */
#ifndef DAT_PROVIDER_CM_UD_PEER_H
#define DAT_PROVIDER_CM_UD_PEER_H

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_ia;
struct dpr_private;

/* Who asks. */
struct dpr_ud_peer {
	uint32_t qpn;
	uint16_t lid;
	uint8_t gid[16];
};

/* To who asked, by way of the id that heard it. NULL: no such GID of ours, or no memory. */
struct ibv_ah *dpr_ud_ah(struct dpr_ia *ia, struct ibv_pd *pd, const struct rdma_cm_id *id,
			 const struct dpr_ud_peer *peer);

/* Puts the header on, or takes it off; false: there is none. */
void dpr_ud_wrap(struct dpr_private *p, const struct dpr_ud_peer *peer);
bool dpr_ud_unwrap(struct dpr_private *p, struct dpr_ud_peer *peer);

#endif

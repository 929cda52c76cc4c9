/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The header of a datagram connect, and address handles made from it. SIDR of rdma_cm gives the
 * requester the peer's address and the peer nothing. So a request carries the requester's, in front
 * of the consumer's private data. Only this provider does datagrams over rdma_cm, so both ends know
 * the header.
 */
#ifndef DAT_PROVIDER_CM_UD_PEER_H
#define DAT_PROVIDER_CM_UD_PEER_H

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_ia;
struct dpr_private;

struct dpr_ud_peer {
	uint32_t qpn;
	uint16_t lid;
	uint8_t gid[16];
};

/* Puts the header in front of p. */
void dpr_ud_wrap(struct dpr_private *p, const struct dpr_ud_peer *peer);
/* Takes it off. Returns false if there is none. */
bool dpr_ud_unwrap(struct dpr_private *p, struct dpr_ud_peer *peer);

/* Creates an address handle to the requester, from the id that received the request. Returns NULL
 * if no GID of this adapter fits, or without memory. */
struct ibv_ah *dpr_ud_ah(struct dpr_ia *ia, struct ibv_pd *pd, const struct rdma_cm_id *id,
			 const struct dpr_ud_peer *peer);

#endif

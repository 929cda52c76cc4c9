/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses and routes of an identifier, and the public fields that follow from them. Called by programs
 * (rdma_bind_addr, rdma_resolve_addr, rdma_resolve_route) and by endpoints (ep.c); the RDMA CM resolves
 * (cm/cma/resolve.c), and its event comes back through chan.c.
 */
#ifndef ABI_RDMACM_ADDR_H
#define ABI_RDMACM_ADDR_H

#include "abi/rdmacm/rcm.h"

/* addr.c: the public fields after what the manager knows now. 0 or negative errno. */
int rcm_refresh(struct rcm_id *id);
socklen_t rcm_addr_len(const struct sockaddr *addr); /* 0: a family that is not served */
/*
 * An address of lo may stand for a name of it ("localhost") that was asked for a passive end without a service. It carries a
 * mark, where a sockaddr has room that means nothing at lo.
 */
void rcm_addr_put_name(struct sockaddr *addr);
int rcm_bind(struct rcm_id *id, const struct sockaddr *addr);
int rcm_resolve_addr(struct rcm_id *id, const struct sockaddr *src, const struct sockaddr *dst,
		     int timeout_ms);
int rcm_resolve_route(struct rcm_id *id, int timeout_ms);

#endif

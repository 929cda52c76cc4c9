/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Route data of rdma_getaddrinfo() from the ibacm of this node, if one runs there, as the distribution's librdmacm asks it:
 * by TCP at the port in /run/ibacm.port, else at the socket /run/ibacm.sock; or at the port or path in DAPPLE_IBACM.
 *
 *	program           librdmacm                          ibacm
 *	getaddrinfo  ->   source, destination      ->        endpoints of its ports; its own protocol, or the SA
 *	             <-   ai_src_addr, ai_route    <-        source, paths, or a status: there is none
 *	create_ep    ->   RDMA_OPTION_IB_PATH                the SA is not asked
 *
 * Messages are those of the package ibacm (its header acm.h), in host order but for addresses and paths. What it answers is
 * checked here in form; LIDs that are not of the two ports are refused where connections use them (cm/ibcm).
 */
#ifndef ABI_RDMACM_ACM_H
#define ABI_RDMACM_ACM_H

#include <rdma/rdma_cma.h>

/* Adds ai_route, and ai_src_addr if it has none. Nothing changes where this process is at no node of a fabric, no ibacm runs, or
 * it fails, which is said; then it is not asked for half a minute. Blocks for 10 s at most, with RAI_NOROUTE 2 s. */
void rcm_acm_route(struct rdma_addrinfo *r, const struct rdma_addrinfo *hints);

#endif

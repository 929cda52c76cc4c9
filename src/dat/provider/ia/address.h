/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the words in dat.conf to an adapter: "WHAT [PORT]", where WHAT is a network interface, a
 * verbs device, an address or a host name. In the end it is always an address that rdma_cm can be
 * bound to; for a device, the first local one that leads to it. PORT is the port of a device (0: any)
 * and means nothing otherwise: old files have one there.
 */
#ifndef DAT_PROVIDER_IA_ADDRESS_H
#define DAT_PROVIDER_IA_ADDRESS_H

#include <dat2/udat.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>

struct dpr_ia;

/*
 * A fresh id on the adapter's channel and device, bound to its address with `port` (host order, 0
 * = any). space RDMA_PS_TCP or RDMA_PS_UDP. Positive errno of the call that failed: EADDRINUSE...
 */
int dpr_ia_id(struct dpr_ia *ia, void *context, enum rdma_port_space space, uint16_t port,
	      struct rdma_cm_id **id);

/* ia_addr.c: the adapter that `params` of dat.conf mean: fills channel, id, verbs, port, addr and
 * device_name, or nothing. DAT_SUCCESS or INVALID_ADDRESS. */
DAT_RETURN dpr_ia_bind(struct dpr_ia *ia, const char *params);

/* Undoes it. */
void dpr_ia_unbind(struct dpr_ia *ia);

#endif

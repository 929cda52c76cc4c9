/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parameters of an entry of dat.conf: "WHAT [PORT]". WHAT is a network interface, a verbs
 * device, an address or a host name; it becomes an address to which rdma_cm can bind an id. For a
 * device that is the first local address that leads to it. PORT is the port of a device (0: any),
 * and is ignored otherwise: old files have one there.
 */
#ifndef DAT_PROVIDER_IA_ADDRESS_H
#define DAT_PROVIDER_IA_ADDRESS_H

#include <dat2/udat.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>

struct dpr_ia;

/* Binds ia to the adapter that `params` mean: fills channel, id, verbs, port, addr and device_name.
 * Returns DAT_SUCCESS, or INVALID_ADDRESS or INSUFFICIENT_RESOURCES with nothing bound. */
DAT_RETURN dpr_ia_bind(struct dpr_ia *ia, const char *params);
/* Destroys what dpr_ia_bind made. */
void dpr_ia_unbind(struct dpr_ia *ia);

/*
 * Creates an id on the adapter's channel and device, bound to its address and `port` (host order,
 * 0: any). `space` is RDMA_PS_TCP or RDMA_PS_UDP. Returns 0 or the positive errno of the call that
 * failed, EADDRINUSE for instance.
 */
int dpr_ia_id(struct dpr_ia *ia, void *context, enum rdma_port_space space, uint16_t port,
	      struct rdma_cm_id **id);

#endif

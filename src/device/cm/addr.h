/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses as the RDMA CM asks for them: which adapter has one, which are an adapter's, and which of
 * this host's the kernel takes to reach another one. Slots of struct cma_host, which has the contracts.
 */
#ifndef DEVICE_CM_ADDR_H
#define DEVICE_CM_ADDR_H

#include <stdbool.h>
#include <stdint.h>

struct cm_port;
struct link_end;

bool dev_cm_has_addr(struct cm_port *p, const uint8_t addr[16], uint32_t scope);
int dev_cm_addrs(struct cm_port *p, struct link_end *v, int max);
int dev_cm_route(const struct link_end *dst, struct link_end *src);

#endif

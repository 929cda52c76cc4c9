/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses of the RDMA CM on InfiniBand: each host of a fabric has an IPv4 address, which stands for its port
 * (link/fabric/names.h). Messages of connection management go by GID and LID, connections by LID alone.
 */
#ifndef DEVICE_KIND_IB_WAYS_H
#define DEVICE_KIND_IB_WAYS_H

#include "device/kind/transport.h"

struct link_end;

extern const struct dev_transport_ways dev_ib_ways;

/* Finds the GID of the port that an address stands for. Returns 0 or -EHOSTUNREACH. dev.lock held. */
int dev_ib_gid_of(struct dev_adapter *a, const uint8_t addr[16], uint8_t ret[16]);

/* Finds the address by which the fabric knows the port that has a GID. Returns false if no port has it. dev.lock held. */
bool dev_ib_addr_of(struct dev_adapter *a, const uint8_t gid[16], uint8_t ret[16]);

/* Slots of dev_kind_row. */
int dev_ib_route(struct dev_adapter *a, const struct link_end *dst, struct link_end *src);
bool dev_ib_to_gid(struct dev_adapter *a, const uint8_t addr[16], uint8_t ret[16]);
bool dev_ib_from_gid(struct dev_adapter *a, const uint8_t from[16], uint8_t ret[16]);

#endif

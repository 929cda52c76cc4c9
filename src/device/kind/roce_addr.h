/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The addresses of a RoCE adapter: its GIDs are the addresses at which the link receives, and QP1 with it. An
 * address that cannot be bound is explained in the log and to `dapple why`; the adapter works on the others.
 * dev.lock is held around every call.
 */
#ifndef DEVICE_KIND_ROCE_ADDR_H
#define DEVICE_KIND_ROCE_ADDR_H

#include <infiniband/verbs.h>
#include <stdint.h>

struct dev_adapter;
struct eng_dev;
struct eng_gid;

/* Slots of dev_kind_row: bind, add_addr, del_addr. */
int dev_roce_bind(struct dev_adapter *a);
int dev_roce_add_addr(struct dev_adapter *a, const struct eng_gid *g);
void dev_roce_del_addr(struct dev_adapter *a, const uint8_t addr[16]);
/* Slots of eng_dev_ops. */
int dev_roce_mcast_join(struct eng_dev *dev, const union ibv_gid *mgid);
void dev_roce_mcast_leave(struct eng_dev *dev, const union ibv_gid *mgid);

#endif

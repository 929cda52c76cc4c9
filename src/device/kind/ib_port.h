/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The port of an InfiniBand adapter: a copy of what the port's SMA has in the fabric process, which sends it anew at
 * each change (link/fabric/attach.h). What has changed becomes asynchronous events; queue pairs follow LID and P_Keys.
 *
 *	fabric process          background thread                        application
 *	PORT, events     ->     refresh(): eng_port under dev.lock  ->   ibv_get_async_event()
 *	end of the socket ->    port down, then device fatal
 */
#ifndef DEVICE_KIND_IB_PORT_H
#define DEVICE_KIND_IB_PORT_H

#include "link/fabric/attach.h"

#include <infiniband/verbs.h>

struct dev_adapter;
struct dev_info;
struct eng_dev;

#define DEV_IB_PORT 1 /* of the node: the one that the adapter has */

/* Returns 1 with the place that DAPPLE_FABRIC names, or 0: it is not set, or wrong, which is logged. */
int dev_ib_place(struct att_place *ret);

struct fabric_names;
struct ib_sa;
/* The adapter's connection that finds ports by address; NULL: it has none. */
struct fabric_names *dev_ib_names(const struct dev_adapter *a);
/* Returns true if the host has the port's address on an interface of IP over InfiniBand, as found when first asked. dev.lock
 * held. */
bool dev_ib_has_ipoib(struct dev_adapter *a);
/* Its client of subnet administration. */
struct ib_sa *dev_ib_sa(const struct dev_adapter *a);

/* Slots of dev_kind_row. */
int dev_ib_find(struct dev_info *ret, int max);
int dev_ib_open(struct dev_adapter *a);
void dev_ib_close(struct dev_adapter *a);
int dev_ib_refresh(struct dev_adapter *a);
int dev_ib_port_fd(struct dev_adapter *a);
void dev_ib_forked(struct dev_adapter *a);
struct dev_nl_addr;
int dev_ib_addrs(const struct dev_info *info, struct dev_nl_addr *ret);
int dev_ib_query(const struct dev_info *info, struct ibv_port_attr *ret);
/* Closes the descriptor in a child of fork() that does not take over the adapter. */
void dev_ib_port_forget(struct dev_adapter *a);
/* Slot of eng_dev_ops. */
int dev_ib_query_port(struct eng_dev *dev, struct ibv_port_attr *ret);

#endif

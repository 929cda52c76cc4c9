/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses of an interface -> GIDs of its adapter. Called when an adapter opens (device.c) and when rtnetlink tells of a
 * change (progress/thread.c); what changed goes into the GID table (engine/gid.c), to the link (add_addr, del_addr) and
 * out as asynchronous events.
 */
#ifndef DEVICE_GIDS_H
#define DEVICE_GIDS_H

#include "device/netlink.h"

#include <stdint.h>

struct dev_adapter;
struct dev_info;

#define DEV_ADDRS_MAX 128

/*
 * The addresses an adapter on this interface has now, in GID order: IPv4, then
 * IPv6, then link-local. Returns their number or negative errno.
 */
int dev_addrs_now(const struct dev_info *info, struct dev_nl_addr ret[DEV_ADDRS_MAX]);

/*
 * Makes the GID table, the link's addresses and the port state what the kernel
 * says now; events for what changed. Entries that stay keep their index.
 * Returns 0, or negative errno and nothing changed. Only dev_process_lock may be held.
 */
int dev_gids_refresh(struct dev_adapter *a);

#endif

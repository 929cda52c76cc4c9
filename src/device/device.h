/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The composition root: which adapters exist here, and the process-wide engine
 * (one background thread, fork handling) behind them. Shells and tools enter
 * here. An adapter kind is one row in devices.c.
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "engine/dev.h"

#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdint.h>

struct eng_ctx;

enum dev_kind { DEV_ROCE, DEV_IWARP, DEV_IB };

/* An adapter that could be opened, before anything is. */
struct dev_info {
	char name[IBV_SYSFS_NAME_MAX]; /* dpl_roce_<if> */
	enum dev_kind kind;
	char ifname[IF_NAMESIZE];
	uint32_t ifindex;
	uint64_t guid; /* EUI-64 of the MAC, host order */
	uint8_t mac[6];
	unsigned index; /* stable number within this network namespace: ifindex based */
};

/*
 * The adapters of this network namespace in listing order (DAPPLE_ADAPTER
 * chooses kinds and their order, default "roce,iwarp"; DAPPLE_DEVICES an optional comma list of names). *ret
 * is one allocation to free(). Returns their number or negative errno.
 */
int dev_list(struct dev_info **ret);

/* Opens a context; adapters are shared by all contexts of the process. */
int dev_open(const struct dev_info *info, struct eng_ctx **ret);
/* The last context of an adapter closes it (deferred answers are sent first). */
void dev_close(struct eng_ctx *ctx);
const struct dev_info *dev_info_of(struct eng_dev *dev);

/* True in a child of fork() for objects made by the parent: every call on
 * them answers EIO and touches nothing. */
bool dev_is_foreign(const struct eng_dev *dev);

/* Sysfs stand-in (device/tree.h): the root for this namespace, made when
 * missing; NULL when the runtime directory cannot be used. Static storage. */
const char *dev_tree_root(void);

#endif

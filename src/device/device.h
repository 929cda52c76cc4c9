/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The composition root: opening and closing the adapters of this host, which all contexts of the process
 * share. Shells and tools enter here; devices.h lists the adapters. An adapter kind is one row
 * (kind/kind.h).
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "engine/dev.h"

#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct eng_ctx;

enum dev_kind { DEV_ROCE, DEV_IWARP, DEV_IB };

/* An adapter that could be opened, before anything is. */
struct dev_info {
	char name[IBV_SYSFS_NAME_MAX]; /* dpl_roce_<if> */
	enum dev_kind kind;
	enum ibv_node_type node_type;
	char ifname[IF_NAMESIZE];
	uint32_t ifindex;
	uint64_t guid; /* of the node, made of the MAC: one for each kind on an interface; host order */
	uint64_t image_guid; /* of the system image: one for all kinds on it */
	uint8_t mac[6]; /* an interface without one has one made of its number; never zero */
	bool loopback;
	unsigned index; /* stable number within this network namespace: ifindex based */
};

/* Opens a context; adapters are shared by all contexts of the process. Returns 0 or negative errno. */
int dev_open(const struct dev_info *info, struct eng_ctx **ret);
/* Closes a context; the last one of an adapter closes the adapter, which sends deferred acknowledgements
 * first. */
void dev_close(struct eng_ctx *ctx);

/* 1 in the process that loaded the library, more in children of fork(). */
extern _Atomic unsigned dev_process_number;
/* Returns true in a child of fork() for objects made by the parent: every call on them fails with EIO
 * and touches nothing. Inline, since every post asks. */
static inline bool dev_is_foreign(const struct eng_dev *dev)
{
	return atomic_load_explicit(&dev->process, memory_order_relaxed) !=
	       atomic_load_explicit(&dev_process_number, memory_order_relaxed);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An open adapter: the engine's device, what its kind hangs below it, and the state of its
 * progress. Private to device/; other rooms see struct eng_dev.
 *
 * Lock order of this room, outermost first:
 *
 *	list_lock (cm/cma_host.c)    the adapters that the RDMA CM knows
 *	dev_process_lock (process.h) the list of open adapters, and each turn of the background thread
 *	a->dev.lock                  the progress lock: everything below unless stated otherwise
 *	a->driver.lock               which thread drives the adapter (progress/driver.h)
 *	the thread's timer lock      the one timer of the process (progress/thread.c)
 *
 * The last two are held for a few instructions; under a->driver.lock only the thread's epoll set
 * and the link's sleep() are called. Leaves under dev.lock: the list of hand-overs
 * (kind/handover.c), the list of address changes (cm/cma_host.c). docs/locking.md has the order of
 * the whole tree.
 *
 * A part (`rounds`, `coalescing`, ...) belongs to the file that declares it. dev.lock guards its
 * fields unless they are atomic; UT_GUARDED_BY cannot name that lock from inside a part, so the
 * functions of that file say it: UT_REQUIRES(a->dev.lock), or eng_dev_held() where the header says so in
 * words.
 */
#ifndef DEVICE_ADAPTER_H
#define DEVICE_ADAPTER_H

#include "cm/cm.h"
#include "device/counts.h"
#include "device/device.h"
#include "device/gids.h"
#include "device/kind/kind.h"
#include "device/progress/deferred.h"
#include "device/progress/driver.h"
#include "device/progress/round.h"
#include "device/progress/yield.h"
#include "engine/dev.h"
#include "util/list.h"
#include "util/stage.h"

#include <stdbool.h>
#include <stdint.h>

struct link_rules;
struct obs_tap;

struct dev_adapter {
	struct eng_dev dev;

	/* Fixed by opening. */
	struct dev_info info;
	const struct dev_kind_row *kind;
	const struct dev_machine *machine; /* the kind's; here too, since every poll asks it */
	uint64_t serial;                   /* names the adapter in epoll events; never used again */

	/* dev_process_lock */
	struct ut_list node;
	unsigned refs;
	bool fork_held; /* dev.lock is held across a fork */
	bool port_watched; /* the background thread's set has the kind's port_fd() */
	void *port; /* the kind's, from its open() to its close(); its own locks */

	/* dev.lock: what the kind has made. */
	bool wired; /* link and protocol exist; before that no packet is sent or received */
	struct ut_stage *stage; /* the link's receive stage; set when wired */
	void *parts;   /* the kind's: struct dev_roce, or struct link_streams; set when wired */
	struct cm_port cm; /* cm.ops is NULL until there is a manager */

	/* dev.lock: the interface (gids.c). */
	struct dev_nl_addr addrs[DEV_ADDRS_MAX]; /* its addresses, whether they make GIDs or not */
	int n_addrs;
	bool port_up, gone;
	bool for_cm; /* the RDMA CM is told of its addresses; the adapter is never closed then */

	/* dev.lock: faults.c. */
	struct link_rules *rules; /* NULL: none were given */

	/* dev.lock: observe.c. */
	struct obs_tap *observer; /* NULL: there is none */
	int session; /* of its reader, while there is one */

	/* dev.lock: progress/. */
	struct dev_rounds rounds;
	struct dev_coalescing coalescing;
	struct dev_delayed_ack delayed_ack;
	struct dev_counting counting; /* counts.c */
	struct dev_yielding yielding; /* atomics, without lock */
	struct dev_driver_state driver; /* a lock of its own */
};

static inline struct dev_adapter *dev_adapter_of(const struct eng_dev *dev)
{
	return dev->device;
}

static inline struct dev_adapter *dev_adapter_of_cm(struct cm_port *p)
{
	return ut_container(p, struct dev_adapter, cm);
}

static inline bool dev_is_lo(const struct dev_adapter *a)
{
	return a->info.loopback;
}

#endif

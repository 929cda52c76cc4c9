/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An open adapter: the engine's device, the link under it, and who drives it.
 * Private to device/; everybody else sees struct eng_dev.
 *
 * Lock order of this room: process (registry, process.c) -> dev.lock (progress)
 * -> own.lock -> the thread's timer lock. The last two are leaves of their
 * kind: short, no call into another room under them.
 */
#ifndef DEVICE_ADAPTER_H
#define DEVICE_ADAPTER_H

#include "cm/cm.h"
#include "device/device.h"
#include "device/gids.h"
#include "device/driver.h"
#include "engine/dev.h"
#include "host/shm/channel.h"
#include "link/link.h"
#include "link/stream.h"
#include "util/list.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DEV_RX_BATCH 64

struct dev_adapter;

/*
 * Link, protocol and connection manager of a kind as progress sees them. All
 * called with dev->lock held, once the adapter is wired.
 */
struct dev_machine {
	/*
	 * Two short cuts of who polls, without a look at the clock, a few times between two whole rounds.
	 * What came the usual way is taken in: how many things, or -EAGAIN, a whole round must look.
	 * *ret_whole: whatever came or not, a whole round is due now.
	 */
	int (*fast)(struct dev_adapter *a, bool *ret_whole);
	/* As eng_dev_ops.posted. batch: much was posted since the last poll, so that the next one cannot
	 * be far; what leaves by shared memory may wait for that, or for its like. */
	bool (*post_fast)(struct eng_qp *qp, bool batch);
	/* The same for what is complete at once, whoever looks after the adapter. app: this is a thread
	 * of the application. */
	bool (*post_direct)(struct eng_qp *qp, bool app);
	/* It was not, but may be after a look at what has come. */
	bool (*may_post_direct)(struct eng_qp *qp);
	/* Takes in what has come, bounded work. Returns how many things. */
	int (*receive)(struct dev_adapter *a, uint64_t now);
	/* Takes what the host reported about earlier sends. Returns how many. */
	int (*errors)(struct dev_adapter *a, uint64_t now);
	/* Posted work, timers, sends. */
	int (*transmit)(struct eng_dev *dev, uint64_t now, enum eng_acks acks);
	/* What was posted last may wait a little, to leave together with more. batch: much was posted
	 * since the last poll, so that the next one cannot be far. */
	bool (*may_coalesce)(struct eng_dev *dev, bool batch);
	/* The same of what was posted to a queue pair since it last said so; false where that is not known. */
	bool (*coalesce_more)(struct eng_qp *qp);
	/* Some wait, or their receivers have not been woken. */
	bool (*acks_pending)(struct eng_dev *dev);
	/* They leave, as far as the link takes them, and nothing else does. Not for ENG_ACKS_LATER. */
	void (*acknowledge)(struct eng_dev *dev, enum eng_acks how);
	bool (*busy)(struct eng_dev *dev);
	uint64_t (*deadline)(struct eng_dev *dev);
};

/* An adapter kind: one row in devices.c. */
struct dev_kind_row {
	const char *word;   /* in DAPPLE_ADAPTER */
	const char *alias;  /* another word for it, or NULL */
	const char *prefix; /* of device names */
	enum dev_kind kind;
	/* Makes a->dev from a->info. NULL: this build has no such adapters. */
	int (*open)(struct dev_adapter *a);
	/* A GID has appeared while the link is up. dev.lock held; a failure is logged. */
	int (*add_addr)(struct dev_adapter *a, const struct eng_gid *g);
	/* An address has gone. dev.lock held. */
	void (*del_addr)(struct dev_adapter *a, const uint8_t addr[16]);
	/* In a child of fork(): closes the descriptors it inherited, sends nothing. */
	void (*forget)(struct dev_adapter *a);
	/*
	 * Attaches the adapter and makes its connection manager, once: 0 = a->cm is a port
	 * (a->cm.ops is set), now or since an earlier call. dev.lock held. Else -errno, a->cm is
	 * as it was and a later call tries again; -EOPNOTSUPP: this kind has no manager.
	 */
	int (*cm_attach)(struct dev_adapter *a);
	/* The process exits: what completed here must still reach the peers. Bounded in time;
	 * the adapter is not driven again. dev.lock held, wired. */
	void (*leave)(struct dev_adapter *a);
	/* Ends manager, protocol and link; no context and no thread reaches it any more. */
	void (*close)(struct dev_adapter *a);
};

struct dev_adapter {
	struct eng_dev dev;
	struct dev_info info;
	const struct dev_kind_row *kind;
	const struct dev_machine *machine; /* set by kind->open */
	uint64_t serial;                   /* names it in epoll events; never used again */
	_Atomic unsigned generation;       /* of the process it belongs to, see dev_is_foreign */

	/* process lock */
	struct ut_list node;
	unsigned refs;
	bool fork_held; /* dev.lock is held across a fork */

	/* dev.lock */
	bool wired;        /* link and protocol exist; before that nothing comes or goes */
	struct shm_channel *chan; /* of datagram kinds, to the processes of this host */
	struct link *link; /* of datagram kinds; NULL before it is wired */
	struct link_streams *streams; /* of stream kinds; likewise */
	struct cm_port cm; /* cm.ops is NULL until kind->cm_attach() or, iWARP, the first QP */
	struct dev_records *records;  /* RoCE: connections that others end when we die */
	struct dev_nl_addr addrs[DEV_ADDRS_MAX]; /* of the interface, GIDs or not */
	int n_addrs;
	bool port_up, gone;
	bool for_cm; /* the RDMA CM wants to hear of its addresses; it is never closed then */
	uint64_t last_error_look;
	uint32_t defer_penalty; /* receptions until deferral is tried again */
	uint64_t delayed_since;    /* posted requests wait for more; 0 = none do */
	uint32_t delayed_at;       /* and this was the thread's tick */
	uint32_t delay_penalty;  /* posts until that is tried again */
	uint32_t posts;         /* made since the last poll */
	bool batch;             /* and there were many before that one */
	atomic_uint idle_polls; /* in a row, by any thread; short looks count less */
	atomic_bool short_look; /* the last poll was one */
	atomic_bool slow_yield; /* when the poller gave way last, as if somebody had run, */
	atomic_bool met;        /* or somebody did, for a moment */
	atomic_uint backoff;      /* how often the polls before that have been halved */
	atomic_bool gives_way;  /* it is in a yield just now; */
	atomic_uint yields;     /* how many, when it is sure whom it meets there */
	bool quiescent;              /* the last whole round left nothing to do but wait */
	uint32_t shorts;        /* posts, polls and messages since then that made no round */
	uint32_t empty_polls;          /* polls since an acknowledgement was put off without a look at the clock */
	bool deferred;           /* such a one waits, */
	uint32_t deferred_at;    /* since this tick */
	struct link_rx rx[DEV_RX_BATCH];
	struct shm_message messages[DEV_RX_BATCH];

	/* When the oldest waiting acknowledgement was put off, 0 = none. Written
	 * under dev.lock, looked at by the thread's tick without. */
	_Atomic uint64_t deferred_since;

	struct dev_driver_state driver;
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
	return a->info.guid == DEV_LOOPBACK_GUID;
}

extern const struct dev_kind_row dev_roce_row;
extern const struct dev_kind_row dev_iwarp_row;

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The engine's view of one adapter in this process: tables of objects, the
 * progress lock, and the three parties that make it live - the device room
 * (progress, addresses), the protocol (packets), and the shells that own the
 * handles the application sees.
 *
 * The progress lock `lock` guards all protocol state: QP state and attributes,
 * the consumer ends of send and receive queues, keys, tables. Posting does not
 * take it: a poster fills a queue under the queue's own lock, marks the QP
 * pending and then *tries* the progress lock (eng_dev_kick). Whoever holds it
 * looks at the pending list again after letting go, so no post is left behind.
 *
 * An application that never opens two contexts still may use one eng_dev
 * from many threads; every ibv_open_device() of an adapter shares it.
 */
#ifndef ENGINE_DEV_H
#define ENGINE_DEV_H

#include "engine/counter.h"
#include "engine/port.h"
#include "engine/qpn.h"
#include "util/idtab.h"
#include "util/list.h"
#include "util/lock.h"
#include "util/rng.h"

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct eng_qp;
struct eng_dev;
struct eng_chan;
struct eng_ctx;
struct eng_poller;

/* Whether acknowledgements leave that are due. */
enum eng_acks {
	ENG_ACKS_NOW,
	/* So that a peer finds them, whatever becomes of this process, but is not woken for them, where
	 * there is such a way. */
	ENG_ACKS_QUIETLY,
	ENG_ACKS_LATER, /* they wait for a ride */
};

/* What the device room provides. Every slot is filled. */
struct eng_dev_ops {
	/*
	 * One round of progress without blocking: receive, timers, pending
	 * QPs, transmit. Called with dev->lock held. Returns the number of
	 * things done, 0 = idle. It takes every QP that eng_dev_pop_pending()
	 * gives and, unless eng_qp_flush_if_dead() did the work, hands it to
	 * the protocol's qp_kick; the caller repeats while QPs are pending.
	 */
	int (*progress)(struct eng_dev *dev);
	/*
	 * Sleeps until fd or `also` (-1: none) is readable, the clock shows `until` (UT_NEVER:
	 * no limit) or the adapter may have progress to make, and makes that progress in the
	 * calling thread; called without locks. A cancellation point. Returns 1 if `also` is
	 * readable, 0 after fd or progress (the caller looks again whether its event has
	 * come), -ETIMEDOUT, or -EINTR after a signal.
	 */
	int (*wait)(struct eng_dev *dev, int fd, int also, uint64_t until);
	/* The same until the channel has an event, which the caller takes at once: 0 (or another
	 * thread was faster), or -EINTR. */
	int (*wait_comp)(struct eng_dev *dev, struct eng_chan *chan);
	/*
	 * The application has posted to a QP: true if all of it is on its way without a round of
	 * progress(). False: it waits for one. lock held.
	 */
	bool (*post_fast)(struct eng_dev *dev, struct eng_qp *qp);
	/*
	 * After each poll by the application that found its queue empty; called
	 * without locks. did: what progress did, 0 = nothing, or somebody else
	 * is at it. May give the processor away.
	 */
	void (*polled)(struct eng_dev *dev, int did);
	/*
	 * Before the first QP: binds addresses and fills qpn_fixed / qpn_mask.
	 * Called with dev->lock held; may be called again after a failure.
	 * 0, -EADDRINUSE, ...
	 */
	int (*attach)(struct eng_dev *dev);
	/* The link listens to / leaves a group address. lock held. */
	int (*mcast_join)(struct eng_dev *dev, const union ibv_gid *mgid);
	void (*mcast_leave)(struct eng_dev *dev, const union ibv_gid *mgid);
	/*
	 * What the device room knows of the port now: states, MTUs, width, speed, capabilities,
	 * counters; eng_port_query() adds the rest. Returns 0 or a negative errno. Called from any
	 * thread, also with dev->lock held.
	 */
	int (*query_port)(struct eng_dev *dev, struct ibv_port_attr *ret);
	/* A failure sentence to keep for `dapple why`. lock held; must not block. */
	void (*why)(struct eng_dev *dev, const char *sentence);
};

/*
 * What a protocol provides. All are called with dev->lock held and must not
 * call back into the engine's modify/destroy functions of the same QP.
 */
struct eng_proto_ops {
	const char *name;
	size_t qp_size; /* protocol bytes behind struct eng_qp, zeroed */
	size_t qp_prefetch;  /* of these the first, which a message has to do with */
	/* QP types served, 1u << enum ibv_qp_type. */
	uint32_t qp_types;
	/* Work requests without a form on this wire, 1u << enum ibv_wr_opcode:
	 * refused at the call. */
	uint32_t wr_refused;
	/*
	 * Connections are streams that somebody hands to the QP: only the protocol moves
	 * it to RTS (eng_qp_move), and path, PSN, timer and retry attributes have no
	 * meaning and are taken as they come.
	 */
	bool streams;
	int (*qp_init)(struct eng_qp *qp);  /* 0 or negative errno */
	void (*qp_fini)(struct eng_qp *qp); /* stop timers, leave lists */
	/*
	 * The attributes of a transition are about to be taken over: protocol
	 * rules (address, MTU, ...). 0 or negative errno; changes nothing.
	 */
	int (*qp_check)(struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask,
			enum ibv_qp_state to);
	/* State and attributes have changed; the protocol resets, arms, flushes. */
	void (*qp_moved)(struct eng_qp *qp, enum ibv_qp_state from, int mask);
	/* The state has changed, or COMM_EST was raised: in each case, also amid eng_recv_done(), and before
	 * qp_moved. The protocol may keep what follows from it, and does nothing else. */
	void (*qp_state)(struct eng_qp *qp);
	/* Work was posted to the send queue, or the QP may run again. */
	void (*qp_kick)(struct eng_qp *qp);
	/* An address is usable for an AH: 0, -EINVAL, -ENODATA. */
	int (*ah_check)(struct eng_dev *dev, const struct ibv_ah_attr *attr);
};

struct eng_dev {
	struct ut_mutex lock;
	const struct eng_dev_ops *ops;
	const struct eng_proto_ops *proto;
	void *device;     /* the device room's own */
	void *proto_port; /* the protocol's own (struct ibp_port, struct iwp_port) */
	_Atomic unsigned process; /* the device room's: which process it belongs to, see dev_is_foreign() */

	/* Limits and truths, fixed after creation. orig_attr has what verbs show. */
	struct ibv_device_attr_ex attr;
	char name[IBV_SYSFS_NAME_MAX];
	uint32_t max_inline, max_msg_sz;

	/* lock guards what follows. */
	struct eng_port port UT_GUARDED_BY(lock);
	struct ut_idtab qps UT_GUARDED_BY(lock);   /* by QPN */
	struct ut_idtab mkeys UT_GUARDED_BY(lock); /* by key >> 8 */
	struct ut_idtab srqs UT_GUARDED_BY(lock);  /* by SRQ number, XRC ones */
	struct ut_list mcast UT_GUARDED_BY(lock);  /* struct eng_mcast */
	struct ut_list ctxs UT_GUARDED_BY(lock);   /* struct eng_ctx, for port events */
	struct ut_rng rng UT_GUARDED_BY(lock);
	uint32_t qpn_fixed UT_GUARDED_BY(lock); /* slot bits of every QPN */
	uint32_t qpn_mask UT_GUARDED_BY(lock);  /* bits free to choose; 0 = not attached */
	struct eng_qpns qpns UT_GUARDED_BY(lock);
	uint64_t counters[ENG_C_COUNT] UT_GUARDED_BY(lock);
	uint32_t n_mcast_attach UT_GUARDED_BY(lock);
	struct ut_list xrcds UT_GUARDED_BY(lock); /* struct eng_xrcd with an inode */
	struct ut_list held UT_GUARDED_BY(lock);  /* struct eng_cq with a moderated event */
	bool ticks UT_GUARDED_BY(lock);           /* the device room calls eng_dev_tick() */
	struct eng_why_ring *why UT_GUARDED_BY(lock); /* last failure sentences */
	struct eng_poller *poller UT_GUARDED_BY(lock); /* who makes this round, by polling; or NULL */

	/*
	 * One of these words changes before memory that a key or a send request named is given back
	 * (index: key >> 8, or QPN): for readers that did not take the lock. The device room puts
	 * them where those can see them; else nobody looks.
	 */
	_Atomic uint32_t *generations UT_GUARDED_BY(lock);
	uint32_t generation_mask UT_GUARDED_BY(lock);
	_Atomic uint32_t no_generation;
	/* Likewise, for processes with direct access to this one's memory: returns when none of them can
	 * reach it any more. Default: there are none. */
	void (*revoke)(struct eng_dev *dev, uint32_t index) UT_GUARDED_BY(lock);

	/* QPs with new work; an own lock, so that a poster never waits for progress. */
	struct ut_mutex pending_lock;
	struct ut_list pending UT_GUARDED_BY(pending_lock);
	atomic_bool reaped; /* a poll was served without a look at the adapter; set by it, read and cleared there */
	atomic_uint n_pending;
	_Atomic(const struct eng_qp *) posted; /* the last one that was posted to; a hint */

	/* Live objects by kind, against the limits of attr. */
	atomic_uint n_pd, n_mr, n_mw, n_cq, n_qp, n_srq, n_ah, n_xrcd;
};

int eng_dev_init(struct eng_dev *dev, const char *name, const struct eng_dev_ops *ops,
		 const struct eng_proto_ops *proto, uint64_t seed);
/* From here on no other process sees the generations, or has direct access. */
void eng_dev_unshare(struct eng_dev *dev) UT_REQUIRES(dev->lock);
/* All objects must be gone. */
void eng_dev_fini(struct eng_dev *dev);

/* For code that was told in prose that the progress lock is held. */
static inline void eng_dev_held(struct eng_dev *dev) UT_ASSERT_HELD(dev->lock);
static inline void eng_dev_held(struct eng_dev *dev)
{
	(void)dev;
}

/* host/shm/channel.h. The fence makes whoever saw later stores of ours see this one, too. */
static inline void eng_generation_end(struct eng_dev *dev, uint32_t index) UT_REQUIRES(dev->lock);
static inline void eng_generation_end(struct eng_dev *dev, uint32_t index)
{
	atomic_fetch_add_explicit(&dev->generations[index & dev->generation_mask], 1, memory_order_seq_cst);
	dev->revoke(dev, index);
}

/* --- the progress lock; engine/pending.h has the list of pending queue pairs --- */

/* Runs rounds of progress while queue pairs are pending and the progress lock is free. */
void eng_dev_run_pending(struct eng_dev *dev) UT_EXCLUDES(dev->lock);
/* Releases the progress lock, then serves what was posted meanwhile. Takes the place of ut_unlock(). */
static inline void eng_dev_unlock(struct eng_dev *dev) UT_RELEASE(dev->lock);
static inline void eng_dev_unlock(struct eng_dev *dev)
{
	ut_unlock(&dev->lock);
	if (atomic_load(&dev->n_pending))
		eng_dev_run_pending(dev);
}

/*
 * One round of progress for a polling thread, if the progress lock is free. Completions of the queue that
 * p names go to its array; p may be NULL. Returns what progress() did, or 0 if another thread has the lock.
 */
static inline int eng_dev_poll(struct eng_dev *dev, struct eng_poller *p) UT_EXCLUDES(dev->lock);
static inline int eng_dev_poll(struct eng_dev *dev, struct eng_poller *p)
{
	int did = 0;

	if (ut_trylock(&dev->lock)) {
		dev->poller = p;
		did = dev->ops->progress(dev);
		dev->poller = NULL;
		eng_dev_unlock(dev);
	}
	dev->ops->polled(dev, did);
	return did;
}

/* --- further services of the adapter --- */

/*
 * A number for a QP or an XRC SRQ, not in this table of them and if possible not used lately (all
 * rest among the QPNs: a mark too many there costs nothing). 0: all are taken.
 */
uint32_t eng_dev_number(struct eng_dev *dev, const struct ut_idtab *taken) UT_REQUIRES(dev->lock);
/* eng_dev_tick() if an event is held back. */
uint64_t eng_dev_release_events(struct eng_dev *dev, uint64_t now) UT_REQUIRES(dev->lock);

/*
 * Delivers completion events whose moderation period is over. Returns the next deadline (ns of
 * CLOCK_MONOTONIC) or UINT64_MAX. No event is held back before the device room's first call.
 */
static inline uint64_t eng_dev_tick(struct eng_dev *dev, uint64_t now) UT_REQUIRES(dev->lock);
static inline uint64_t eng_dev_tick(struct eng_dev *dev, uint64_t now)
{
	dev->ticks = true;
	return ut_list_empty(&dev->held) ? UINT64_MAX : eng_dev_release_events(dev, now);
}

/* Counts an object against a limit: 0 or -ENOMEM. Undone by eng_uncount(). */
int eng_count(atomic_uint *n, uint32_t max);
void eng_uncount(atomic_uint *n);

#endif

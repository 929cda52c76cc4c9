/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One adapter in this process: its tables of objects, its progress lock, and the three rooms that it joins
 * - device (progress, addresses, threads), the protocol (packets), and the shells, which own the handles
 * that programs hold. All contexts that a process opens of an adapter share it.
 *
 * What locks what:
 *
 *  - dev->lock, the progress lock, guards all protocol state: state and attributes of queue pairs, the
 *    consumer ends of send and receive queues, keys, tables, counters. Its holder makes progress. Control
 *    verbs take it; posting and polling threads only try it.
 *  - The lock of a ring (ring.h) guards the producer end of one queue. A posting thread holds it while it
 *    fills slots, and releases it before it tries the progress lock.
 *  - dev->pending_lock guards the list of queue pairs with new work (pending.h, which says why no request
 *    stays behind).
 *  - cq->lock guards the ring of one completion queue. Producers hold the progress lock; polling threads
 *    hold no other lock, so that polling a queue that is not empty never meets progress.
 *  - chan->lock and ctx->lock guard queued events; they are taken last.
 *
 * docs/locking.md has the order. Fields that posting threads read without a lock are atomic and name their
 * partner, or do not change after creation.
 */
#ifndef ENGINE_DEV_H
#define ENGINE_DEV_H

#include "engine/counter.h"
#include "engine/port.h"
#include "engine/qpn.h"
#include "util/idtab.h"
#include "util/list.h"
#include "util/lock.h"
#include "util/notice.h"
#include "util/rng.h"

#include <infiniband/verbs.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct eng_qp;
struct eng_qp_facts;
struct eng_dev;
struct eng_chan;
struct eng_ctx;
struct eng_cq;
struct eng_poller;
struct eng_pd;

/* What becomes of acknowledgements that are due. */
enum eng_acks {
	ENG_ACKS_NOW,     /* they are sent */
	ENG_ACKS_QUIETLY, /* they are sent, and a peer on this host that sleeps is not woken for them */
	ENG_ACKS_LATER,   /* they wait for a request of their queue pair */
};

#define ENG_WAIT_FDS 16u /* descriptors of one wait */

/* What the device room provides. Every slot is filled, if need be with its default. */
struct eng_dev_ops {
	/*
	 * One round of progress without blocking: receive, timers, pending
	 * QPs, transmit. Called with dev->lock held. Returns the number of
	 * things done, 0 = idle. It takes every QP that eng_dev_pop_pending()
	 * gives and, unless eng_qp_flush_if_dead() did the work, hands it to
	 * the protocol's qp_kick; the caller repeats while QPs are pending.
	 */
	int (*progress)(struct eng_dev *dev);
	/* The same for a control call of an application, which has given a manager something to send and says
	 * nothing about how often the program polls. Called with dev->lock held. */
	void (*drive)(struct eng_dev *dev);
	/*
	 * Sleeps until one of n descriptors (at most ENG_WAIT_FDS; as of poll(2), and revents are set), the clock shows
	 * `until` (UT_NEVER: no limit) or the adapter may have progress to make, and makes that progress in the
	 * calling thread. Called without locks. A cancellation point. Returns 0 after a descriptor or progress (the caller tests
	 * for its event again), -ETIMEDOUT, or -EINTR after a signal.
	 */
	int (*wait)(struct eng_dev *dev, struct pollfd *fds, unsigned n, uint64_t until);
	/* The same until the channel has an event, which the caller takes at once. Returns 0, also
	 * if another thread has taken the event, or -EINTR. */
	int (*wait_comp)(struct eng_dev *dev, struct eng_chan *chan);
	/*
	 * The application has posted to a queue pair. Returns true if all of it was sent without a
	 * round of progress(); else the caller makes a round. Called with dev->lock held.
	 */
	bool (*post_fast)(struct eng_dev *dev, struct eng_qp *qp);
	/*
	 * The application posts a request for which eng_may_post_now() was true before the locks were taken. Returns true if it was sent,
	 * and is in the send queue, or is complete; false: nothing has happened. Called with dev->lock and the lock of the send queue held.
	 */
	bool (*post_now)(struct eng_dev *dev, struct eng_qp *qp, const struct ibv_send_wr *wr);
	/*
	 * A thread of the application polls cq (NULL: none), which is empty: progress() if the progress lock is free
	 * (eng_dev_poll_begin), else another thread makes progress. Returns what progress() did, or 0. May yield the processor.
	 * Called without locks.
	 */
	int (*poll)(struct eng_dev *dev, const struct eng_cq *cq, struct eng_poller *p);
	/*
	 * Before the first queue pair: binds addresses and sets qpn_fixed and qpn_mask. Called with
	 * dev->lock held, again after a failure. Returns 0, -EADDRINUSE, ...
	 */
	int (*attach)(struct eng_dev *dev);
	/* The link receives, or no longer receives, packets to a group address. Return 0 or a
	 * negative errno. Called with dev->lock held. */
	int (*mcast_join)(struct eng_dev *dev, const union ibv_gid *mgid);
	void (*mcast_leave)(struct eng_dev *dev, const union ibv_gid *mgid);
	/*
	 * The present states, MTUs, width, speed, capabilities and counters of the port;
	 * eng_port_query() adds the rest. Returns 0 or a negative errno. Called from any
	 * thread, also with dev->lock held.
	 */
	int (*query_port)(struct eng_dev *dev, struct ibv_port_attr *ret);
	/* Keeps a sentence for `dapple why`. Called from any thread, with any lock held; never
	 * blocks. */
	void (*why)(struct eng_dev *dev, enum ut_say level, const char *sentence);
};

/*
 * What a protocol provides. All functions are called with dev->lock held and call neither
 * eng_qp_modify() nor eng_qp_destroy() of the same queue pair.
 */
struct eng_proto_ops {
	const char *name;
	size_t qp_size;     /* protocol bytes behind struct eng_qp, zeroed */
	size_t qp_prefetch; /* the first of these, which every message reads */
	/* Types of queue pairs that the protocol serves, 1u << enum ibv_qp_type. */
	uint32_t qp_types;
	/* Work requests that have no form on this wire, 1u << enum ibv_wr_opcode: refused at the
	 * call. */
	uint32_t wr_refused;
	/*
	 * Connections are streams, which a connection manager hands to the queue pair: only the
	 * protocol moves it to RTS (eng_qp_move). Attributes of path, PSN, timers and retries have
	 * no meaning and are not checked.
	 */
	bool streams;
	int (*qp_init)(struct eng_qp *qp);  /* returns 0 or a negative errno */
	void (*qp_fini)(struct eng_qp *qp); /* stops timers, leaves lists */
	/* Checks the attributes of a transition against the protocol's rules (address, MTU, ...).
	 * Returns 0 or a negative errno; changes nothing. */
	int (*qp_check)(struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask,
			enum ibv_qp_state to);
	/* State and attributes have changed; the protocol resets, arms, flushes. */
	void (*qp_moved)(struct eng_qp *qp, enum ibv_qp_state from, int mask);
	/* The state has changed, or COMM_EST was raised. Called at every change, also within
	 * eng_recv_done(), and before qp_moved. The protocol updates values that follow from the
	 * state, and does nothing else. */
	void (*qp_state)(struct eng_qp *qp);
	/* Fills in what it knows of a queue pair's traffic, for views (engine/show.h). Changes nothing. */
	void (*qp_facts)(const struct eng_qp *qp, struct eng_qp_facts *ret);
	/* Requests were posted to the send queue, or the queue pair may send again. */
	void (*qp_kick)(struct eng_qp *qp);
	/* Returns 0 if an address handle may have this address, -EINVAL or -ENODATA (no such GID). */
	int (*ah_check)(struct eng_dev *dev, const struct ibv_ah_attr *attr);
};

/* What the last use of a local key found (eng_sge_at() in mkey.h): a region of one piece. */
struct eng_memo {
	uint32_t key; /* 0: nothing */
	bool writable;
	struct eng_pd *pd;
	uint64_t iova, length;
	uint8_t *at; /* its first byte */
	/* What of it lies on the page that was found present last, for loads [UT_READABLE] and for stores (eng_sge_present()). */
	struct {
		uint64_t iova, length; /* 0: nothing */
		uint8_t *at;
		uint64_t checked_at; /* ut_stage.pages_checked_at then; holds as long as it has this value */
	} page[2];
};

#define ENG_MEMOS 8u

struct eng_dev {
	struct ut_mutex lock;
	const struct eng_dev_ops *ops;
	const struct eng_proto_ops *proto;
	void *device;     /* of the device room: struct dev_adapter */
	void *proto_port; /* of the protocol: struct ibp_port, struct iwp_port */
	_Atomic unsigned process; /* of the device room: the process it belongs to, see dev_is_foreign() */

	/* Limits, fixed after creation. orig_attr has what verbs show. */
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
	struct ut_list cqs UT_GUARDED_BY(lock);   /* struct eng_cq */
	bool ticks UT_GUARDED_BY(lock);           /* the device room calls eng_dev_tick() */
	struct eng_why_ring *why UT_GUARDED_BY(lock); /* last failure sentences */
	struct eng_poller *poller UT_GUARDED_BY(lock); /* of the polling thread that makes this round, or NULL */

	struct eng_memo memos[ENG_MEMOS] UT_GUARDED_BY(lock); /* by index of the key, mod ENG_MEMOS */

	/* Revokes direct access of other processes to the memory that this key or queue pair names (index: key >> 8, or QPN).
	 * Returns when no access is in progress. Default: no process has any. */
	void (*revoke)(struct eng_dev *dev, uint32_t index) UT_GUARDED_BY(lock);
	/* Returns a negative errno with which this call is to fail, since the user tests the program so, or 0. No lock held. Default:
	 * 0. Constant while contexts are open. */
	int (*refuses)(struct eng_dev *dev, const char *function);
	atomic_bool port_faulted; /* the user tests the program so: the port says that it is down */

	/* Queue pairs with new work, see pending.h. */
	struct ut_mutex pending_lock;
	struct ut_list pending UT_GUARDED_BY(pending_lock);
	atomic_uint n_pending;
	/* A poll found a completion without a round of progress: the application polls. Set by
	 * polling threads, read and cleared by the device room. */
	atomic_bool reaped;
	_Atomic(const struct eng_qp *) posted; /* the last queue pair that was posted to; a hint */

	/* Live objects by kind, against the limits of attr. */
	atomic_uint numbers; /* given to domains, completion queues and contexts, which no wire names */
	atomic_uint n_pd, n_mr, n_mw, n_cq, n_qp, n_srq, n_ah, n_xrcd;
};

/* Returns 0 or -ENOMEM. seed: of keys and numbers. */
int eng_dev_init(struct eng_dev *dev, const char *name, const struct eng_dev_ops *ops,
		 const struct eng_proto_ops *proto, uint64_t seed);
/* No other process has direct access from here on. */
void eng_dev_unshare(struct eng_dev *dev) UT_REQUIRES(dev->lock);
/* All objects must be gone. */
void eng_dev_fini(struct eng_dev *dev);

/* Tells the analysis what a contract in prose says: the progress lock is held. */
static inline void eng_dev_held(struct eng_dev *dev) UT_ASSERT_HELD(dev->lock);
static inline void eng_dev_held(struct eng_dev *dev)
{
	(void)dev;
}

/* Revokes direct access before memory that a key or a queue pair names is given back; the memo of a key is forgotten. */
static inline void eng_dev_revoke(struct eng_dev *dev, uint32_t index) UT_REQUIRES(dev->lock);
static inline void eng_dev_revoke(struct eng_dev *dev, uint32_t index)
{
	dev->memos[index % ENG_MEMOS].key = 0;
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
 * For eng_dev_ops.poll: takes the progress lock, if it is free, for a round of progress. Completions of the queue that p names go
 * to its array until eng_dev_poll_end(); p may be NULL.
 */
static inline bool eng_dev_poll_begin(struct eng_dev *dev, struct eng_poller *p) UT_TRY_ACQUIRE(dev->lock);
static inline bool eng_dev_poll_begin(struct eng_dev *dev, struct eng_poller *p)
{
	if (!ut_trylock_quick(&dev->lock))
		return false;
	dev->poller = p;
	return true;
}

static inline void eng_dev_poll_end(struct eng_dev *dev) UT_RELEASE(dev->lock);
static inline void eng_dev_poll_end(struct eng_dev *dev)
{
	dev->poller = NULL;
	eng_dev_unlock(dev);
}

static inline int eng_dev_poll(struct eng_dev *dev, const struct eng_cq *cq, struct eng_poller *p) UT_EXCLUDES(dev->lock);
static inline int eng_dev_poll(struct eng_dev *dev, const struct eng_cq *cq, struct eng_poller *p)
{
	return dev->ops->poll(dev, cq, p);
}

/* eng_dev_ops.wait for one descriptor. */
static inline int eng_dev_wait_fd(struct eng_dev *dev, int fd, uint64_t until)
{
	struct pollfd p = { fd, POLLIN, 0 };

	return dev->ops->wait(dev, &p, 1, until);
}

/* --- further services of the adapter --- */

/*
 * Returns a number for a queue pair or an XRC SRQ that is not in this table of them, the next one in the order of
 * qpn.h, or 0 if all are taken.
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

/* Counts an object against a limit. Returns 0 or -ENOMEM. eng_uncount() undoes it. */
int eng_count(atomic_uint *n, uint32_t max);
void eng_uncount(atomic_uint *n);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Contexts with their asynchronous events, and completion channels. Both wake
 * the application through an eventfd in semaphore mode whose count is the
 * number of queued events: readable exactly while an event waits, and poll,
 * epoll, dup and O_NONBLOCK behave as on a kernel's descriptor.
 *
 * Delivered events are counted by the shell (the counters live in the public
 * structs); the engine only queues and drops.
 */
#ifndef ENGINE_EVENT_H
#define ENGINE_EVENT_H

#include "util/list.h"
#include "util/lock.h"

#include <infiniband/verbs.h>
#include <stdbool.h>

struct eng_dev;
struct eng_cq;

struct eng_ah;
struct eng_mkey;

/*
 * What the engine asks the shell that owns the public structs: its own object
 * behind one that a work request names, or NULL. Called by posters, no lock of
 * the adapter held. The shell sets eng_ctx.shell right after opening.
 */
struct eng_shell {
	struct eng_ah *(*ah)(struct ibv_ah *ah);
	struct eng_mkey *(*mw)(struct ibv_mw *mw);
	struct eng_mkey *(*mr)(struct ibv_mr *mr);
};

/* One ibv_open_device(). */
struct eng_ctx {
	struct eng_dev *dev;
	int async_fd;
	struct ut_mutex lock;
	struct ut_list events UT_GUARDED_BY(lock); /* struct eng_event */
	struct ut_list node;                       /* dev->ctxs */
	const struct eng_shell *shell; /* never NULL; the default knows nothing */
};

/* user: the shell's object (ibv_qp *, ibv_cq *, ibv_srq *), or NULL for port
 * and device events, where port_num counts. */
struct eng_event {
	struct ut_list node;
	enum ibv_event_type type;
	void *user;
	int port_num;
};

int eng_ctx_open(struct eng_dev *dev, struct eng_ctx **ret);
void eng_ctx_close(struct eng_ctx *ctx);

/* Queues an event; a lost allocation is logged, nothing else can be done. */
void eng_async_raise(struct eng_ctx *ctx, enum ibv_event_type type, void *user);
/* The same for each context of the device. dev->lock held. */
void eng_async_port(struct eng_dev *dev, enum ibv_event_type type);
/* Next event without waiting: 0, or -EAGAIN. */
int eng_async_get(struct eng_ctx *ctx, struct eng_event *ret);
/* Drops queued events of an object that goes away. Returns how many. */
int eng_async_drop(struct eng_ctx *ctx, void *user);

struct eng_chan {
	struct eng_ctx *ctx;
	int fd;
	struct ut_mutex lock;
	struct ut_list ready UT_GUARDED_BY(lock); /* struct eng_cq, oldest first */
	unsigned cqs;                             /* CQs made on it; lock */
	/* Somebody waits for an event and makes progress meanwhile, eng_dev_ops.wait_comp. */
	bool attended UT_GUARDED_BY(lock); /* it is awake, and takes the next event at once, */
	bool owed UT_GUARDED_BY(lock);     /* which is queued, and not in the descriptor's count */
	int wake_fd UT_GUARDED_BY(lock);     /* it sleeps on this, not on fd; -1: nobody does */
	bool rung UT_GUARDED_BY(lock);
};

int eng_chan_create(struct eng_ctx *ctx, struct eng_chan **ret);
/* 0 or -EBUSY while a CQ uses it. */
int eng_chan_destroy(struct eng_chan *chan);
/* The CQ of the oldest event without waiting: 0 or -EAGAIN. */
int eng_chan_get(struct eng_chan *chan, struct eng_cq **ret);
/* Has it one? The next eng_chan_get of another thread may be faster. */
bool eng_chan_has(struct eng_chan *chan);
/*
 * For who waits and makes progress itself, no more than one thread at a time. Its event costs no
 * call: what is raised while it is awake is handed over, as if it had been in a read() of the
 * descriptor before all others. It takes the event, or looks for it anew with eng_chan_sleep().
 * It is there, or has gone; true: its wake_fd was rung, and is its to silence.
 */
bool eng_chan_attend(struct eng_chan *chan, bool yes);
/* It is about to sleep until `wake_fd` is written, or, -1, until fd is readable. False: there is an
 * event, and it is not. */
bool eng_chan_sleep(struct eng_chan *chan, int wake_fd);
/* Queues one event for the CQ. Called with the CQ's lock held. */
void eng_chan_raise(struct eng_chan *chan, struct eng_cq *cq);
/* Drops the queued events of a CQ that goes away. */
void eng_chan_drop(struct eng_chan *chan, struct eng_cq *cq);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Contexts with their asynchronous events. Events wake the application through an eventfd in semaphore
 * mode whose count is the number of queued events (semfd.h): readable exactly while an event waits.
 *
 * The shell counts delivered events, since the counters lie in the public structs; the engine only queues
 * and drops.
 */
#ifndef ENGINE_EVENT_H
#define ENGINE_EVENT_H

#include "util/list.h"
#include "util/lock.h"

#include <infiniband/verbs.h>
#include <stdbool.h>

struct eng_ah;
struct eng_dev;
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

#endif

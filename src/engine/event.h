/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Contexts with their asynchronous events. Events wake the application through an eventfd in semaphore
 * mode whose count is the number of queued events (semfd.h): readable exactly while an event waits.
 *
 * The shell (src/abi/verbs/async.c takes the events) counts those delivered, since the counters lie in the public structs; the engine only queues
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
 * The engine's objects behind the public structures that a work request names. abi/verbs owns those structures and
 * sets eng_ctx.objects right after opening. Each function returns NULL for a structure that is not the
 * engine's. Called by posting threads with the lock of the send queue held.
 */
struct eng_objects {
	struct eng_ah *(*ah)(struct ibv_ah *ah);
	struct eng_mkey *(*mw)(struct ibv_mw *mw);
	struct eng_mkey *(*mr)(struct ibv_mr *mr);
};

/* One ibv_open_device(). */
struct eng_ctx {
	struct eng_dev *dev;
	uint32_t number; /* for views; counts from 1 */
	int async_fd;
	struct ut_mutex lock;
	struct ut_list events UT_GUARDED_BY(lock); /* struct eng_event */
	struct ut_list node;                       /* dev->ctxs */
	const struct eng_objects *objects; /* default: returns NULL for all objects */
};

/* user: the shell's object (ibv_qp *, ibv_cq *, ibv_srq *), or NULL for events of the port and the device,
 * which have port_num. */
struct eng_event {
	struct ut_list node;
	enum ibv_event_type type;
	void *user;
	int port_num;
};

/* Returns 0, -ENOMEM, -EMFILE, ... */
int eng_ctx_open(struct eng_dev *dev, struct eng_ctx **ret);
void eng_ctx_close(struct eng_ctx *ctx);

/* Queues an event. Without memory the event is lost, and logged. */
void eng_async_raise(struct eng_ctx *ctx, enum ibv_event_type type, void *user);
/* The same in each context of the adapter. Called with dev->lock held. */
void eng_async_port(struct eng_dev *dev, enum ibv_event_type type);
/* Takes the next event without waiting. Returns 0 or -EAGAIN. */
int eng_async_get(struct eng_ctx *ctx, struct eng_event *ret);
/* Drops the queued events of an object that is destroyed. Returns their number. */
int eng_async_drop(struct eng_ctx *ctx, void *user);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening and closing, fork and exit. Contexts of one adapter share it.
 *
 * fork(): the parent's locks are taken around it, so that the child finds whole
 * lists. In the child an adapter with a link is foreign for ever: its sockets
 * are closed, its objects answer EIO. An adapter that was only opened belongs
 * to the child as well; that is what daemon() needs. Locks are waited for
 * with a bound, because fork() may be called from a signal handler that
 * interrupted their holder; the child then starts with nothing.
 *
 * exit(): answers that were put off are sent, so that a program may leave right
 * after its last completion without failing its peer.
 */
#include "device/process.h"

#include "device/adapter.h"
#include "device/cm.h"
#include "device/devices.h"
#include "device/fork.h"
#include "device/gids.h"
#include "device/thread.h"
#include "engine/event.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Looks a millisecond apart, not time: a process that was not run has not waited. A holder that waits
 * for a processor on a busy machine does for longer than one would think; but not more, since fork()
 * or exit() in a signal handler may find the lock held below it. */
#define LOOKS 1000
#define JOIN_TIMEOUT (200 * UT_MS)

struct ut_mutex dev_process_lock = UT_MUTEX_INIT;
struct ut_list dev_process_adapters = UT_LIST_INIT(dev_process_adapters);

static _Atomic unsigned generation = 1;
static struct ut_list abandoned = UT_LIST_INIT(abandoned); /* the parent's, kept reachable */
static uint64_t next_serial = 16; /* process lock */
static bool fork_held;            /* process lock, across a fork */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

unsigned dev_process_generation(void)
{
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

bool dev_is_foreign(const struct eng_dev *dev)
{
	return atomic_load_explicit(&dev_adapter_of(dev)->generation, memory_order_relaxed) !=
	       dev_process_generation();
}

const struct dev_info *dev_info_of(struct eng_dev *dev)
{
	return &dev_adapter_of(dev)->info;
}

static bool lock_within(struct ut_mutex *l, unsigned looks) UT_TRY_ACQUIRE(*l) UT_NO_TSA;
static bool lock_within(struct ut_mutex *l, unsigned looks)
{
	const struct timespec step = { 0, UT_MS };

	while (!ut_trylock(l)) {
		if (!looks--)
			return false;
		nanosleep(&step, NULL);
	}
	return true;
}

/* --- fork --- */

static void fork_prepare(void) UT_NO_TSA
{
	struct dev_adapter *a;

	fork_held = lock_within(&dev_process_lock, LOOKS);
	if (!fork_held)
		return;
	ut_list_each(a, &dev_process_adapters, node)
		a->fork_held = lock_within(&a->dev.lock, LOOKS);
}

static void fork_parent(void) UT_NO_TSA
{
	struct dev_adapter *a;

	if (!fork_held)
		return;
	ut_list_each(a, &dev_process_adapters, node)
		if (a->fork_held)
			ut_unlock(&a->dev.lock);
	fork_held = false;
	ut_unlock(&dev_process_lock);
}

/* In the child: ours since fork_prepare(), or left locked by a thread that is not here. */
static void renew(struct ut_mutex *l, bool held) UT_NO_TSA
{
	if (held)
		ut_unlock(l);
	ut_mutex_init(l);
}

/* Its threads and their locks are gone, whatever state they were in. */
static void adopt_or_abandon(struct dev_adapter *a)
{
	renew(&a->dev.lock, a->fork_held);
	ut_mutex_init(&a->dev.pending_lock);
	if (a->wired || !a->fork_held) {
		ut_list_del(&a->node);
		ut_list_add_tail(&abandoned, &a->node);
		if (a->wired)
			a->kind->forget(a);
		return;
	}
	a->driver = (struct dev_driver_state){ 0 };
	dev_driver_init(&a->driver);
	atomic_store(&a->generation, dev_process_generation());
}

static void fork_child(void) UT_NO_TSA
{
	struct dev_adapter *a, *tmp;

	atomic_fetch_add(&generation, 1);
	renew(&dev_process_lock, fork_held);
	dev_thread_forget();
	dev_cm_forget();
	if (!fork_held)
		ut_list_init(&dev_process_adapters);
	fork_held = false;
	ut_list_each_safe(a, tmp, &dev_process_adapters, node)
		adopt_or_abandon(a);
}

static void watch_forks(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

void dev_process_watch_forks(void)
{
	pthread_once(&fork_once, watch_forks);
}

/* --- opening and closing --- */

static struct dev_adapter *find(const struct dev_info *info) UT_REQUIRES(dev_process_lock)
{
	struct dev_adapter *a;

	ut_list_each(a, &dev_process_adapters, node)
		if (a->info.ifindex == info->ifindex && strcmp(a->info.name, info->name) == 0)
			return a;
	return NULL;
}

static int make(const struct dev_info *info, struct dev_adapter **ret)
	UT_REQUIRES(dev_process_lock)
{
	const struct dev_kind_row *kind = dev_kind_find(info->kind);
	struct dev_adapter *a;
	int r;

	if (!kind)
		return -ENODEV;
	a = ut_zalloc(sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->info = *info;
	a->kind = kind;
	a->serial = next_serial++;
	a->port_up = true;
	atomic_init(&a->generation, dev_process_generation());
	dev_driver_init(&a->driver);
	r = kind->open(a);
	if (r == 0) {
		/* Without its addresses it would refuse every QP for a wrong reason. */
		r = dev_gids_refresh(a);
		if (r < 0)
			kind->close(a);
	}
	if (r < 0) {
		dev_driver_fini(&a->driver);
		free(a);
		return r;
	}
	ut_list_add_tail(&dev_process_adapters, &a->node);
	*ret = a;
	return 0;
}

static void destroy(struct dev_adapter *a)
{
	a->kind->close(a);
	dev_driver_fini(&a->driver);
	free(a);
}

int dev_open(const struct dev_info *info, struct eng_ctx **ret)
{
	struct dev_adapter *a;
	int r = 0;

	dev_process_watch_forks();
	ut_lock(&dev_process_lock);
	a = find(info);
	if (!a)
		r = make(info, &a);
	if (r == 0)
		r = eng_ctx_open(&a->dev, ret);
	if (r == 0) {
		a->refs++;
		/* Who only waits for events (ibv_asyncwatch) must hear of the port too. Without the
		 * thread all else still works, and it is tried again with the first QP. */
		dev_thread_start();
	} else if (a && a->refs == 0) {
		ut_list_del(&a->node);
		destroy(a);
	}
	ut_unlock(&dev_process_lock);
	return r;
}

static void flush(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	if (!a->wired)
		return;
	if (a->link)
		a->link->leaving = true;
	a->machine->transmit(&a->dev, ut_now(), ENG_ACKS_NOW);
}

void dev_close(struct eng_ctx *ctx)
{
	struct dev_adapter *a = dev_adapter_of(ctx->dev);
	struct dev_thread *t = NULL;
	bool last;

	/* The parent's: its memory here is a copy that nothing refers to. */
	if (dev_is_foreign(&a->dev))
		return;
	eng_ctx_close(ctx);
	ut_lock(&dev_process_lock);
	last = --a->refs == 0;
	if (last)
		ut_list_del(&a->node); /* the thread does not find it any more */
	if (ut_list_empty(&dev_process_adapters))
		t = dev_thread_take();
	ut_unlock(&dev_process_lock);
	if (!last)
		return;
	ut_lock(&a->dev.lock);
	flush(a);
	ut_unlock(&a->dev.lock);
	dev_driver_detach(a);
	dev_thread_join(t);
	destroy(a);
}

/* --- exit --- */

__attribute__((destructor)) static void at_exit(void)
{
	struct dev_adapter *a;

	if (!lock_within(&dev_process_lock, LOOKS))
		return;
	ut_list_each(a, &dev_process_adapters, node) {
		if (!lock_within(&a->dev.lock, LOOKS))
			continue;
		flush(a);
		if (a->wired)
			a->kind->leave(a);
		ut_unlock(&a->dev.lock);
	}
	ut_unlock(&dev_process_lock);
	dev_thread_leave(JOIN_TIMEOUT);
}

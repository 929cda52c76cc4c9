/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fork(): the parent's locks are taken around it, so that the child finds whole
 * lists. In the child an adapter with a link is foreign for ever: its sockets
 * are closed, its objects answer EIO. An adapter that was only opened belongs
 * to the child as well; that is what daemon() needs. Locks are waited for
 * with a bound, because fork() may be called from a signal handler that
 * interrupted their holder; the child then starts with nothing.
 *
 * exit(), _exit(): posts that are held and deferred acknowledgements are sent, so that a program may leave right
 * after its last post or completion, as beside an adapter, which has them by then.
 */
#include "device/process.h"

#include "device/adapter.h"
#include "device/cm/cma_host.h"
#include "device/observe.h"
#include "device/progress/thread.h"
#include "util/clock.h"
#include "util/pause.h"

#include <stdlib.h>
#include <time.h>

/* Looks a millisecond apart, not time: a process that did not run has not waited. So many, since a holder may
 * wait long for a processor on a busy machine; not more, since fork() or exit() in a signal handler may
 * find the lock held below it. */
#define LOOKS 1000
#define TRIES 64 /* in one look */
#define JOIN_TIMEOUT (200 * UT_MS)

struct ut_mutex dev_process_lock = UT_MUTEX_INIT;
struct ut_list dev_process_adapters = UT_LIST_INIT(dev_process_adapters);

/* The preload (tools/preload), where it is loaded: it has the _exit() of libraries that stand before libibverbs. */
extern void (*dapple_preload_leave)(void) __attribute__((weak));

_Atomic unsigned dev_process_number = 1;
static struct ut_list abandoned = UT_LIST_INIT(abandoned); /* the parent's, kept reachable */
static bool fork_held;            /* process lock, across a fork */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static bool lock_within(struct ut_mutex *l, unsigned looks) UT_TRY_ACQUIRE(*l) UT_NO_TSA;
static bool lock_within(struct ut_mutex *l, unsigned looks)
{
	const struct timespec step = { 0, UT_MS };

	for (;;) {
		/* A background thread that spins lets go of it between two looks (progress/attend.h). */
		for (int i = 0; i < TRIES; i++) {
			if (ut_trylock(l))
				return true;
			ut_pause();
		}
		if (!looks--)
			return false;
		nanosleep(&step, NULL);
	}
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

/* In the child: held since fork_prepare() (held), or left locked by a thread that is not here. */
static void renew(struct ut_mutex *l, bool held) UT_NO_TSA
{
	if (held)
		ut_unlock(l);
	ut_mutex_init(l);
}

/* The parent's threads are not here, whatever state their locks were in. */
static void adopt_or_abandon(struct dev_adapter *a)
{
	renew(&a->dev.lock, a->fork_held);
	ut_mutex_init(&a->dev.pending_lock);
	if (a->wired || !a->fork_held) {
		ut_list_del(&a->node);
		ut_list_add_tail(&abandoned, &a->node);
		if (a->wired)
			a->kind->forget(a);
		dev_observe_forget(a);
		return;
	}
	a->driver = (struct dev_driver_state){ 0 };
	dev_driver_init(&a->driver);
	a->port_watched = false;
	a->kind->forked(a);
	atomic_store(&a->dev.process, atomic_load(&dev_process_number));
}

static void fork_child(void) UT_NO_TSA
{
	struct dev_adapter *a, *tmp;

	atomic_fetch_add(&dev_process_number, 1);
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
	at_quick_exit(dev_process_leave);
	if (&dapple_preload_leave)
		dapple_preload_leave = dev_process_leave;
}

void dev_process_watch_forks(void)
{
	pthread_once(&fork_once, watch_forks);
}

/* --- exit --- */

/* counts: the counters that others read have their last values, too. */
static void last_round(bool counts)
{
	struct dev_adapter *a;
	bool wired;

	if (!lock_within(&dev_process_lock, LOOKS))
		return;
	ut_list_each(a, &dev_process_adapters, node) {
		if (!lock_within(&a->dev.lock, LOOKS))
			continue;
		wired = a->wired; /* leave() may end that */
		if (wired) {
			a->machine->drain(a);
			a->kind->leave(a);
		}
		ut_unlock(&a->dev.lock);
		if (wired && counts)
			dev_counting_last(a);
	}
	ut_unlock(&dev_process_lock);
}

__attribute__((destructor)) static void at_exit(void)
{
	last_round(true);
	dev_thread_leave(JOIN_TIMEOUT);
}

void dev_process_last_round(void)
{
	last_round(false);
}

/* What it would interrupt in the calling thread may hold a lock, malloc's too; the background thread blocks all
 * signals, so it can at worst wait, and then not for ever. */
void dev_process_leave(void)
{
	dev_thread_last(LOOKS);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/counts.h"

#include "device/adapter.h"
#include "device/process.h"
#include "device/sysfs/counts.h"
#include "util/lock.h"
#include "util/rundir.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_NS (10 * UT_MS) /* another process was writing */
#define TRIES 64 /* for a lock, by a program that reads: it may hold it below a signal handler */

/* Around `added` and `root` of all adapters; inside dev_process_lock, outside dev.lock, which is not held across a
 * file. */
static struct ut_mutex lock = UT_MUTEX_INIT;

/* Of libdapple-preload.so, if that is there. */
extern void (*dapple_preload_reader)(void) __attribute__((weak));

void dev_counting_init(struct dev_counting *c)
{
	atomic_init(&c->at, UT_NEVER);
}

void dev_counting_fini(struct dev_counting *c)
{
	free(c->root);
}

/* --- adding --- */

static bool find_root(struct dev_counting *c) UT_REQUIRES(lock)
{
	char path[UT_RUNDIR_MAX];

	if (!c->root && ut_rundir_net(path, sizeof(path), NULL, 0) == 0)
		c->root = strdup(path);
	return c->root;
}

static bool take_news(struct dev_adapter *a, uint64_t delta[ENG_C_COUNT]) UT_REQUIRES(lock) UT_REQUIRES(a->dev.lock)
{
	bool any = false;

	for (int i = 0; i < ENG_C_COUNT; i++) {
		delta[i] = a->dev.counters[i] - a->counting.added[i];
		any |= delta[i] != 0;
	}
	a->counting.seen = dev_counting_traffic(a->dev.counters);
	return any;
}

static int add(struct dev_adapter *a, const uint64_t delta[ENG_C_COUNT], bool wait) UT_REQUIRES(lock)
{
	int r = find_root(&a->counting) ? dev_counts_add(a->counting.root, a->info.name, delta, wait) : -ENOENT;

	for (int i = 0; r == 0 && i < ENG_C_COUNT; i++)
		a->counting.added[i] += delta[i];
	return r;
}

void dev_counting_serve(struct dev_adapter *a, uint64_t now)
{
	struct dev_counting *c = &a->counting;
	uint64_t delta[ENG_C_COUNT];
	bool any;

	if (!ut_trylock(&lock))
		return;
	atomic_store_explicit(&c->at, UT_NEVER, memory_order_relaxed);
	ut_lock(&a->dev.lock);
	any = take_news(a, delta);
	ut_unlock(&a->dev.lock);
	if (any && add(a, delta, false) == -EAGAIN)
		atomic_store_explicit(&c->at, now + AGAIN_NS, memory_order_relaxed);
	ut_unlock(&lock);
}

void dev_counting_last(struct dev_adapter *a)
{
	uint64_t delta[ENG_C_COUNT];
	bool any;

	ut_lock(&lock);
	ut_lock(&a->dev.lock);
	any = take_news(a, delta);
	ut_unlock(&a->dev.lock);
	if (any)
		add(a, delta, true);
	ut_unlock(&lock);
}

/* --- a program that reads --- */

static bool try_within(struct ut_mutex *m) UT_TRY_ACQUIRE(*m) UT_NO_TSA;
static bool try_within(struct ut_mutex *m)
{
	for (int i = 0; i < TRIES; i++) {
		if (ut_trylock(m))
			return true;
		sched_yield();
	}
	return false;
}

static void add_now(struct dev_adapter *a) UT_REQUIRES(lock) UT_NO_TSA
{
	uint64_t delta[ENG_C_COUNT];
	bool any;

	if (!try_within(&a->dev.lock))
		return;
	any = take_news(a, delta);
	ut_unlock(&a->dev.lock);
	if (any)
		add(a, delta, true);
}

static void before_read(void) UT_NO_TSA
{
	struct dev_adapter *a;
	int keep = errno;

	if (try_within(&dev_process_lock)) {
		if (try_within(&lock)) {
			ut_list_each(a, &dev_process_adapters, node)
				add_now(a);
			ut_unlock(&lock);
		}
		ut_unlock(&dev_process_lock);
	}
	errno = keep;
}

__attribute__((constructor)) static void meet_preload(void)
{
	if (&dapple_preload_reader)
		dapple_preload_reader = before_read;
}

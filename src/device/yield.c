/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Polls that find nothing, and whom they leave the processor to. */
#include "device/short.h"

#include "device/adapter.h"
#include "device/progress.h"
#include "util/clock.h"

#include <sched.h>
#include <sys/resource.h>

#define DEV_POLL_WEIGHT 4 /* so many short looks are one */
#define DEV_POLLS_TO_YIELD 16 /* empty polls before the processor is given away */
#define DEV_BACKOFF_MOST 4 /* that often halved */
#define DEV_MET_NS 500ull /* a yield in which somebody ran lasts so long at least, */
#define DEV_STRANGER_NS 100000ull /* and with who has other things to do this and more */
#define DEV_YIELDS_ASK 16

unsigned dev_polls_before_yield(struct dev_adapter *a)
{
	return DEV_POLLS_TO_YIELD * DEV_POLL_WEIGHT >>
	       atomic_load_explicit(&a->backoff, memory_order_relaxed);
}

static long switches(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) < 0 ? 0 : u.ru_nvcsw + u.ru_nivcsw;
}

/*
 * Who spins beside its partner on one processor waits for a scheduler tick (4 ms) unless it gives
 * way; on idle processors a yield costs less than the receive call that just found nothing. Was
 * the partner there, just behind a yield in which somebody ran for a moment, it shares this
 * processor, and the next wait gives way sooner. (A stranger would have run for a slice of his.)
 * A yield may be slow by itself; so after one that was, the scheduler is asked about the next, and
 * about one in a few when it has said yes often enough.
 */
static void give_way(struct dev_adapter *a)
{
	bool ask = atomic_load_explicit(&a->slow_yield, memory_order_relaxed), slow;
	bool sure = atomic_load_explicit(&a->backoff, memory_order_relaxed) == DEV_BACKOFF_MOST &&
		    ++a->yields % DEV_YIELDS_ASK;
	long n = ask && !sure ? switches() : 0;
	uint64_t before = ut_now(), took;

	atomic_store_explicit(&a->gives_way, true, memory_order_relaxed);
	sched_yield();
	atomic_store_explicit(&a->gives_way, false, memory_order_relaxed);
	took = ut_now() - before;
	slow = took >= DEV_MET_NS && took < DEV_STRANGER_NS;
	atomic_store_explicit(&a->met, ask && slow && (sure || switches() != n),
			      memory_order_relaxed);
	atomic_store_explicit(&a->slow_yield, slow, memory_order_relaxed);
}

static void found(struct dev_adapter *a)
{
	unsigned backoff = atomic_load_explicit(&a->backoff, memory_order_relaxed), before = backoff;

	if (atomic_load_explicit(&a->met, memory_order_relaxed))
		backoff += backoff < DEV_BACKOFF_MOST;
	else
		backoff -= backoff > 0;
	atomic_store_explicit(&a->met, false, memory_order_relaxed);
	if (backoff != before)
		atomic_store_explicit(&a->backoff, backoff, memory_order_relaxed);
}

void dev_polled(struct eng_dev *dev, int did)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	unsigned idle = atomic_load_explicit(&a->idle_polls, memory_order_relaxed);

	/* Who looks while another thread drives has looked all the same. */
	if (!atomic_load_explicit(&a->driver.beat, memory_order_relaxed))
		atomic_store_explicit(&a->driver.beat, true, memory_order_relaxed);
	if (did) {
		found(a);
		idle = 0;
	} else {
		idle += atomic_load_explicit(&a->short_look, memory_order_relaxed) ? 1
										   : DEV_POLL_WEIGHT;
		if (idle > dev_polls_before_yield(a)) {
			idle = dev_polls_before_yield(a);
			give_way(a);
		}
	}
	/* Two pollers may lose each other's count, which is no harm. */
	atomic_store_explicit(&a->idle_polls, idle, memory_order_relaxed);
}

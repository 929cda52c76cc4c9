/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/progress/coalesce.h"

#include "device/adapter.h"
#include "device/progress/thread.h"

bool dev_coalesce(struct dev_adapter *a, uint64_t now, bool for_posts)
{
	struct dev_coalescing *c = &a->coalescing;

	eng_dev_held(&a->dev);
	if (c->since && now - c->since > DEV_COALESCE_NS)
		c->penalty = DEV_COALESCE_PENALTY;
	else if (for_posts && c->penalty)
		c->penalty--;
	if (!for_posts || c->penalty || atomic_load(&a->driver.waiters) ||
	    !a->machine->may_coalesce(&a->dev, c->batch || dev_posts_in_batch(c))) {
		c->since = 0;
		return false;
	}
	if (!c->since) {
		c->since = now;
		c->since_tick = atomic_load_explicit(&a->driver.ticks, memory_order_relaxed);
	}
	return true;
}

bool dev_coalesce_join(struct dev_adapter *a, struct eng_qp *qp)
{
	struct dev_coalescing *c = &a->coalescing;

	eng_dev_held(&a->dev);
	if (!c->since || dev_thread_is_this() ||
	    c->since_tick != atomic_load_explicit(&a->driver.ticks, memory_order_relaxed) ||
	    atomic_load_explicit(&a->driver.waiters, memory_order_relaxed) ||
	    atomic_load_explicit(&a->dev.n_pending, memory_order_relaxed) ||
	    !a->machine->coalesce_more(qp))
		return false;
	c->posts++;
	return true;
}

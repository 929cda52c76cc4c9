/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The list of queue pairs with new work, which joins posting threads with the thread that makes progress.
 *
 * A posting thread that does not get the progress lock at once lists its queue pair, then tries the lock; the holder
 * releases it, then looks at the list (eng_dev_unlock). All four steps are sequentially consistent (util/lock.h), so
 * one of the two threads sees the other, and no request stays behind. The list has a lock of its own, so
 * that a posting thread never waits for progress.
 */
#ifndef ENGINE_PENDING_H
#define ENGINE_PENDING_H

#include "engine/dev.h"
#include "engine/qp.h"

/* Lists the queue pair, if it is not listed: the holder of the progress lock serves it in a round. */
static inline void eng_dev_mark(struct eng_dev *dev, struct eng_qp *qp)
{
	ut_lock(&dev->pending_lock);
	if (ut_list_empty(&qp->pending)) {
		ut_list_add_tail(&dev->pending, &qp->pending);
		atomic_fetch_add(&dev->n_pending, 1);
	}
	ut_unlock(&dev->pending_lock);
}

static inline void eng_dev_unmark(struct eng_dev *dev, struct eng_qp *qp)
{
	ut_lock(&dev->pending_lock);
	if (!ut_list_empty(&qp->pending)) {
		ut_list_del(&qp->pending);
		atomic_fetch_sub_explicit(&dev->n_pending, 1, memory_order_release);
	}
	ut_unlock(&dev->pending_lock);
}

/* Takes the next queue pair off the list, or returns NULL. */
static inline struct eng_qp *eng_dev_pop_pending(struct eng_dev *dev) UT_REQUIRES(dev->lock);
static inline struct eng_qp *eng_dev_pop_pending(struct eng_dev *dev)
{
	struct ut_list *n;

	if (!atomic_load_explicit(&dev->n_pending, memory_order_acquire))
		return NULL;
	ut_lock(&dev->pending_lock);
	n = ut_list_pop(&dev->pending);
	if (n)
		atomic_fetch_sub_explicit(&dev->n_pending, 1, memory_order_release);
	ut_unlock(&dev->pending_lock);
	return n ? ut_container(n, struct eng_qp, pending) : NULL;
}

/* The posting thread sends what it has posted, or leaves that to the holder of the progress lock. Called
 * without locks. */
static inline void eng_dev_kick(struct eng_dev *dev, struct eng_qp *qp) UT_EXCLUDES(dev->lock);
static inline void eng_dev_kick(struct eng_dev *dev, struct eng_qp *qp)
{
	if (ut_trylock_quick(&dev->lock)) {
		if (!dev->ops->post_fast(dev, qp)) {
			eng_dev_mark(dev, qp);
			dev->ops->progress(dev);
		}
		eng_dev_unlock(dev);
		return;
	}
	eng_dev_mark(dev, qp);
	eng_dev_run_pending(dev);
}

#endif

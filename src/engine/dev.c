/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/dev.h"

#include "engine/chan.h"
#include "engine/event.h"
#include "engine/qp.h"
#include "engine/why.h"

#include <errno.h>
#include <stdio.h>

static void revoke_nothing(struct eng_dev *dev, uint32_t index)
{
}

static int refuse_nothing(struct eng_dev *dev, const char *function)
{
	return 0;
}

void eng_dev_unshare(struct eng_dev *dev)
{
	dev->revoke = revoke_nothing;
}

int eng_dev_init(struct eng_dev *dev, const char *name, const struct eng_dev_ops *ops,
		 const struct eng_proto_ops *proto, uint64_t seed)
{
	*dev = (struct eng_dev){ .ops = ops, .proto = proto, .refuses = refuse_nothing };
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	ut_mutex_init_frequent(&dev->lock);
	ut_mutex_init(&dev->pending_lock);
	ut_list_init(&dev->pending);
	eng_dev_held(dev); /* for the lock checker: no other thread has the device yet */
	eng_port_init(&dev->port);
	ut_list_init(&dev->mcast);
	ut_list_init(&dev->ctxs);
	ut_list_init(&dev->xrcds);
	ut_list_init(&dev->held);
	ut_list_init(&dev->cqs);
	dev->rng.state = seed;
	eng_qpns_begin(&dev->qpns, ut_rng_u64(&dev->rng), ut_rng_u64(&dev->rng));
	eng_dev_unshare(dev);
	dev->why = eng_why_ring_new();
	if (!dev->why) {
		ut_mutex_fini(&dev->lock);
		ut_mutex_fini(&dev->pending_lock);
		return -ENOMEM;
	}
	return 0;
}

void eng_dev_fini(struct eng_dev *dev)
{
	eng_dev_held(dev); /* for the lock checker: no other thread has the device any more */
	eng_why_ring_free(dev->why);
	ut_idtab_fini(&dev->qps);
	ut_idtab_fini(&dev->mkeys);
	ut_idtab_fini(&dev->srqs);
	ut_mutex_fini(&dev->lock);
	ut_mutex_fini(&dev->pending_lock);
}

void eng_dev_run_pending(struct eng_dev *dev)
{
	while (atomic_load(&dev->n_pending) && ut_trylock(&dev->lock)) {
		dev->ops->progress(dev);
		ut_unlock(&dev->lock);
	}
}

uint32_t eng_dev_number(struct eng_dev *dev, const struct ut_idtab *taken)
{
	uint32_t mask = dev->qpn_mask & 0xffffff, fixed = dev->qpn_fixed & ~mask & 0xffffff;

	for (uint32_t i = 0; i <= mask; i++) {
		uint32_t n = fixed | eng_qpn_at(&dev->qpns, dev->qpns.next++, mask);

		if (n > 1 && n < 0xffffff && !ut_idtab_get(taken, n))
			return n;
	}
	return 0;
}

uint64_t eng_dev_release_events(struct eng_dev *dev, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	struct eng_cq *cq, *tmp;

	ut_list_each_safe(cq, tmp, &dev->held, held) {
		if (cq->held_until <= now)
			eng_cq_release(cq);
		else if (cq->held_until < next)
			next = cq->held_until;
	}
	return next;
}

int eng_count(atomic_uint *n, uint32_t max)
{
	if (atomic_fetch_add(n, 1) < max)
		return 0;
	atomic_fetch_sub(n, 1);
	return -ENOMEM;
}

void eng_uncount(atomic_uint *n)
{
	atomic_fetch_sub(n, 1);
}

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

void eng_dev_unshare(struct eng_dev *dev)
{
	dev->generation_mask = 0;
	dev->generations = &dev->no_generation;
	dev->revoke = revoke_nothing;
}

int eng_dev_init(struct eng_dev *dev, const char *name, const struct eng_dev_ops *ops,
		 const struct eng_proto_ops *proto, uint64_t seed)
{
	*dev = (struct eng_dev){ .ops = ops, .proto = proto };
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	ut_mutex_init(&dev->lock);
	ut_mutex_init(&dev->pending_lock);
	ut_list_init(&dev->pending);
	eng_dev_held(dev); /* no other thread knows it yet */
	eng_port_init(&dev->port);
	ut_list_init(&dev->mcast);
	ut_list_init(&dev->ctxs);
	ut_list_init(&dev->xrcds);
	ut_list_init(&dev->held);
	dev->rng.state = seed;
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
	eng_dev_held(dev); /* no other thread knows it any more */
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

/* Starts at a random number and counts up in the free bits until one is unused. Returns 0 if all are taken. */
static uint32_t search(struct eng_dev *dev, const struct ut_idtab *taken, bool rested)
	UT_REQUIRES(dev->lock);
static uint32_t search(struct eng_dev *dev, const struct ut_idtab *taken, bool rested)
{
	uint32_t mask = dev->qpn_mask & 0xffffff, fixed = dev->qpn_fixed & ~mask & 0xffffff;
	uint32_t first = (uint32_t)(ut_rng_u64(&dev->rng) >> 32) & mask, bits = first, n;

	do {
		n = fixed | bits;
		if (n > 1 && n < 0xffffff && !ut_idtab_get(taken, n) &&
		    !(rested && eng_qpn_rests(&dev->qpns, n)))
			return n;
		/* A carry passes the fixed bits. */
		bits = ((bits | ~mask) + 1) & mask;
	} while (bits != first);
	return 0;
}

uint32_t eng_dev_number(struct eng_dev *dev, const struct ut_idtab *taken)
{
	uint32_t n = search(dev, taken, true);

	if (!n)
		n = search(dev, taken, false);
	if (n)
		eng_qpn_used(&dev->qpns, n);
	return n;
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

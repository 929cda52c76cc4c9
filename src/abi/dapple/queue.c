/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Query completion queues, and sleep on their channels. */
#include "dapple/verbs.h"
#include "engine/chan.h"

#include "abi/dapple/verbs_ops.h"
#include "abi/verbs/vrb.h"
#include "engine/cq.h"
#include "engine/dev.h"
#include "engine/event.h"
#include "util/clock.h"
#include "util/export.h"

#define BUSY_ROUNDS 16

static int armed_as(enum eng_cq_arm arm)
{
	switch (arm) {
	case ENG_CQ_SOLICITED:
		return 1;
	case ENG_CQ_ANY:
		return 2;
	default:
		return 0;
	}
}

UT_EXPORT int dpl_query_cq(struct ibv_cq *pub, struct dpl_cq_attr *attr)
{
	struct eng_cq *cq;

	if (!dpl_dev(pub->context))
		return errno;
	cq = vrb_of(pub, vrb_cq)->cq;
	ut_lock(&cq->lock);
	*attr = (struct dpl_cq_attr){
		.size = cq->size,
		.held = cq->tail - cq->head,
		.armed = armed_as((enum eng_cq_arm)atomic_load_explicit(&cq->arm, memory_order_relaxed)),
		.overrun = cq->overrun,
		.moderate_count = cq->mod_count,
		.moderate_period = cq->mod_period,
		.channel = pub->channel,
	};
	ut_unlock(&cq->lock);
	return 0;
}

UT_EXPORT int dpl_wait_comp(struct ibv_comp_channel *channel, int fd, uint64_t until)
{
	struct pollfd p[] = { { channel->fd, POLLIN, 0 }, { fd, POLLIN, 0 } };
	struct eng_dev *dev = dpl_dev(channel->context);
	struct eng_chan *chan = dev ? vrb_of(channel, vrb_chan)->chan : NULL;
	int rc = 0, keep = errno;

	if (!dev)
		return errno;
	/* Progress of other objects of the adapter ends a wait as well, and a wait tests the limit
	 * and fd only without progress. The rounds are limited so that the call returns even if
	 * such progress never ends. */
	for (int i = 0; !rc && !p[1].revents && !eng_chan_has(chan) && i < BUSY_ROUNDS; i++)
		rc = dev->ops->wait(dev, p, 2, until);
	errno = keep;
	return -rc;
}

_Static_assert(DPL_POLL_FDS == ENG_WAIT_FDS, "dpl_poll() takes what a wait takes");

/* A wait that ends with progress has not looked at the descriptors. */
static bool is_ready(struct pollfd *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (fds[i].revents)
			return true;
	return poll(fds, n, 0) > 0;
}

UT_EXPORT int dpl_poll(struct ibv_context *context, struct pollfd *fds, unsigned n, uint64_t until)
{
	struct eng_dev *dev = dpl_dev(context);
	int rc, keep = errno;

	if (!dev)
		return errno;
	if (n > DPL_POLL_FDS)
		return EINVAL;
	do {
		rc = dev->ops->wait(dev, fds, n, until);
		if (!rc && is_ready(fds, n))
			break;
		/* A wait tests its limit only without progress. */
		if (!rc && until != UINT64_MAX && ut_now() >= until)
			rc = -ETIMEDOUT;
	} while (!rc);
	errno = keep;
	return -rc;
}

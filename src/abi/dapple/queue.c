/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Query completion queues, and sleep on their channels. */
#include "dapple/verbs.h"
#include "engine/chan.h"

#include "abi/dapple/verbs_ops.h"
#include "abi/verbs/vrb.h"
#include "engine/cq.h"
#include "engine/dev.h"
#include "engine/event.h"
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
		.armed = armed_as(cq->arm),
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
	struct eng_dev *dev = dpl_dev(channel->context);
	struct eng_chan *chan = dev ? vrb_of(channel, vrb_chan)->chan : NULL;
	int rc = 0, keep = errno;

	if (!dev)
		return errno;
	/* Progress of other objects of the adapter ends a wait as well, and a wait tests the limit
	 * and fd only without progress. The rounds are limited so that the call returns even if
	 * such progress never ends. */
	for (int i = 0; !rc && !eng_chan_has(chan) && i < BUSY_ROUNDS; i++)
		rc = dev->ops->wait(dev, channel->fd, fd, until);
	errno = keep;
	return rc < 0 ? -rc : 0;
}

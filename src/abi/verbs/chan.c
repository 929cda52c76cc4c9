/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion channels and their events. */
#include "abi/verbs/chan.h"

#include "abi/verbs/context.h"
#include "abi/verbs/export.h"
#include "abi/verbs/wait.h"
#include "engine/chan.h"
#include "engine/cq.h"
#include "engine/event.h"
#include "engine/refuse.h"
#include "util/alloc.h"

#include <stdlib.h>

UT_EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
	struct vrb_chan *ch;
	int rc;

	if (!vrb_live(c))
		return NULL;
	ch = ut_zalloc(sizeof(*ch));
	if (!ch)
		return vrb_null(eng_refuse(vrb_ctx(c)->dev, ENG_R_MEMORY));
	rc = eng_chan_create(vrb_ctx(c)->eng, &ch->chan);
	if (rc) {
		free(ch);
		return vrb_null(rc);
	}
	ut_mutex_init(&ch->events);
	ch->pub.context = c;
	ch->pub.fd = ch->chan->fd;
	vrb_hold(c);
	return &ch->pub;
}

UT_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *pub)
{
	struct vrb_chan *ch = vrb_of(pub, vrb_chan);
	struct ibv_context *c = pub->context;
	int rc;

	if (!vrb_live(c))
		return EIO;
	rc = eng_chan_destroy(ch->chan);
	if (rc)
		return vrb_error(eng_refuse(vrb_ctx(c)->dev, ENG_R_CHAN_USED));
	ut_mutex_fini(&ch->events);
	free(ch);
	vrb_release(c);
	return 0;
}

int vrb_take_comp(struct ibv_comp_channel *pub, struct ibv_cq **ret)
{
	struct vrb_chan *ch = vrb_of(pub, vrb_chan);
	struct eng_cq *cq;
	int rc;

	ut_lock(&ch->events);
	rc = eng_chan_get(ch->chan, &cq);
	if (!rc) {
		*ret = cq->user;
		vrb_of(cq->user, vrb_cq)->comp_delivered++;
	}
	ut_unlock(&ch->events);
	return rc;
}

VRB_NOW(get_cq_event) int vrb_get_cq_event(struct ibv_comp_channel *pub, struct ibv_cq **cq,
					   void **cq_context)
{
	struct eng_dev *dev = vrb_live(pub->context);
	int rc, keep = errno;

	if (!dev)
		return -1;
	while ((rc = vrb_take_comp(pub, cq)) == -EAGAIN) {
		int w = vrb_wait_comp(dev, vrb_of(pub, vrb_chan)->chan);

		if (!w)
			continue;
		rc = w == -EAGAIN ? vrb_take_comp(pub, cq) : w;
		break;
	}
	if (rc)
		return vrb_minus(rc);
	*cq_context = (*cq)->cq_context;
	errno = keep;
	return 0;
}

VRB_NOW(ack_cq_events) void vrb_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += n;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

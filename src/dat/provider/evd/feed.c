/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/evd/feed.h"

#include "dat/provider/dto/srq_recv.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/evd/drain.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/evd/push.h"
#include "dat/core/ring.h"
#include "dat/provider/ia/obj.h"

#include <errno.h>

static void count_mode(struct dpr_evd *e, DAT_COMPLETION_FLAGS mode, int n) UT_REQUIRES(e->lock)
{
	e->feeds += (unsigned int)n;
	if (mode & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		e->solicited += (unsigned int)n;
	if (mode & DAT_COMPLETION_UNSIGNALLED_FLAG)
		e->unsignalled += (unsigned int)n;
	/* solicited and plain notification differ: arm anew */
	e->armed = false;
	if (dpr_evd_solicited(e) || e->waiting || (e->cno && !e->disabled))
		dpr_evd_arm(e);
}

int dpr_evd_feed(struct dpr_evd *e, unsigned int hidden, DAT_COMPLETION_FLAGS mode)
{
	unsigned int need;
	int err = 0;

	if (!e->cq)
		return EINVAL;
	ut_lock(&e->shape);
	ut_lock(&e->lock);
	need = e->qlen + e->hidden + hidden;
	ut_unlock(&e->lock);
	if (need > (unsigned int)e->cq->cqe && ibv_resize_cq(e->cq, (int)need))
		err = ENOMEM;
	if (!err) {
		e->hidden += hidden;
		dpr_use(&e->obj);
		ut_lock(&e->lock);
		count_mode(e, mode, 1);
		ut_unlock(&e->lock);
	}
	ut_unlock(&e->shape);
	return err;
}

void dpr_evd_unfeed(struct dpr_evd *e, unsigned int hidden, DAT_COMPLETION_FLAGS mode)
{
	ut_lock(&e->shape);
	e->hidden -= hidden;
	ut_lock(&e->lock);
	count_mode(e, mode, -1);
	ut_unlock(&e->lock);
	ut_unlock(&e->shape);
	dpr_unuse(&e->obj);
}

/* --- forgetting an endpoint --- */

/* A dropped receive is no buffer of its SRQ any more, as if it were reaped. */
static bool of_ep(const DAT_EVENT *ev, void *arg)
{
	if (!dpr_evd_is_dto(ev) || ev->event_data.dto_completion_event_data.ep_handle != arg)
		return false;
	dpr_dto_reaped(ev);
	return true;
}

static void purge_early(struct dpr_evd *e, struct dpr_ep *ep) UT_REQUIRES(e->lock)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < e->nearly; i++)
		if (e->early[i].ep != ep)
			e->early[kept++] = e->early[i];
		else
			dpr_dto_reaped(&e->early[i].ev);
	e->nearly = kept;
}

/* The ring may have to grow for a while until the completion queue is empty. */
void dpr_evd_purge(struct dpr_evd *e, struct dpr_ep *ep)
{
	bool notified = false, full;

	do {
		ut_lock(&e->lock);
		dpr_evd_drain_locked(e, &notified);
		purge_early(e, ep);
		dpr_evring_purge(&e->ring, of_ep, ep);
		full = e->cq && e->ring.count == e->ring.size &&
		       !dpr_evring_resize(&e->ring, 2 * e->ring.size);
		dpr_evd_notify(e, notified);
		ut_unlock(&e->lock);
	} while (full);
}

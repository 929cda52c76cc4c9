/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/evd/modes.h"

#include "dat/provider/evd/cno.h"
#include "dat/provider/evd/drain.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/evd/push.h"
#include "dat/provider/ia/init.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"

static DAT_RETURN no_evd(void)
{
	return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
}

/* Completions may have arrived while the completion queue was not armed. */
static void start_notifying(struct dpr_evd *e) UT_REQUIRES(e->lock)
{
	bool notified = false;

	if (!e->cno || e->disabled || e->waiting)
		return;
	dpr_evd_arm(e);
	dpr_evd_drain_locked(e, &notified);
	if (notified)
		dpr_evd_notify(e, true);
}

static int watch(struct dpr_evd *e, bool on) UT_REQUIRES(e->shape)
{
	if (!e->channel)
		return 0;
	if (!on) {
		dpr_loop_unwatch(&e->watch);
		return 0;
	}
	e->watch.fd = e->channel->fd;
	return dpr_loop_watch(&e->watch);
}

/* *old becomes the CNO that the caller drops, or NULL. */
static DAT_RETURN set_cno(struct dpr_evd *e, struct dpr_cno *c, struct dpr_cno **old)
	UT_REQUIRES(e->shape)
{
	ut_lock(&e->lock);
	*old = e->cno;
	ut_unlock(&e->lock);
	if (*old == c) {
		*old = NULL;
		return DAT_SUCCESS;
	}
	if (c && !*old && watch(e, true))
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
	if (!c)
		watch(e, false);
	if (c) {
		dpr_obj_hold(&c->obj);
		dpr_use(&c->obj);
	}
	ut_lock(&e->lock);
	e->cno = c;
	start_notifying(e);
	ut_unlock(&e->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_evd_modify_cno(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno)
{
	struct dpr_evd *e = dpr_evd_of(evd);
	struct dpr_cno *c = dpr_cno_of(cno), *old = NULL;
	DAT_RETURN ret;

	if (!e)
		return no_evd();
	if (cno && (!c || c->obj.ia != e->obj.ia))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	ut_lock(&e->shape);
	ret = set_cno(e, c, &old);
	ut_unlock(&e->shape);
	if (old)
		dpr_cno_leave(old);
	return ret;
}

/*
 * Events that arrived while e was disabled count as arriving now. Otherwise a consumer that polls
 * the EVD empty, enables it and waits for the CNO would sleep on an event that came in between.
 */
DAT_RETURN dpr_evd_enable(DAT_EVD_HANDLE evd)
{
	struct dpr_evd *e = dpr_evd_of(evd);

	if (!e)
		return no_evd();
	ut_lock(&e->lock);
	if (e->disabled) {
		e->disabled = false;
		start_notifying(e);
		if (e->ring.notified && !e->waiting)
			dpr_evd_notify(e, true);
	}
	ut_unlock(&e->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_evd_disable(DAT_EVD_HANDLE evd)
{
	struct dpr_evd *e = dpr_evd_of(evd);

	if (!e)
		return no_evd();
	ut_lock(&e->lock);
	e->disabled = true;
	ut_unlock(&e->lock);
	return DAT_SUCCESS;
}

static DAT_RETURN make_unwaitable(struct dpr_evd *e, bool unwaitable)
{
	if (!e)
		return no_evd();
	ut_lock(&e->lock);
	e->unwaitable = unwaitable;
	if (unwaitable && e->waiting)
		dpr_evd_wake(e);
	ut_unlock(&e->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_evd_set_unwaitable(DAT_EVD_HANDLE evd)
{
	return make_unwaitable(dpr_evd_of(evd), true);
}

DAT_RETURN dpr_evd_clear_unwaitable(DAT_EVD_HANDLE evd)
{
	return make_unwaitable(dpr_evd_of(evd), false);
}

static DAT_EVD_STATE state(struct dpr_evd *e) UT_REQUIRES(e->lock)
{
	int s = (e->disabled ? DAT_EVD_STATE_DISABLED : DAT_EVD_STATE_ENABLED) |
		(e->unwaitable ? DAT_EVD_STATE_UNWAITABLE : DAT_EVD_STATE_WAITABLE);

	if (e->unsignalled)
		s |= DAT_EVD_STATE_CONFIG_NOTIFY;
	else if (e->solicited)
		s |= DAT_EVD_STATE_CONFIG_SOLICITED;
	else
		s |= DAT_EVD_STATE_CONFIG_THRESHOLD;
	return (DAT_EVD_STATE)s;
}

DAT_RETURN dpr_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	struct dpr_evd *e = dpr_evd_of(evd);
	DAT_RETURN ret = dpr_query_args(e, DAT_INVALID_HANDLE_EVD_REQUEST,
					(unsigned int)mask & ~(unsigned int)DAT_EVD_FIELD_ALL, param);

	if (ret)
		return ret;
	param->ia_handle = dpr_ia_public(e->obj.ia);
	param->evd_flags = e->flags;
	ut_lock(&e->lock);
	param->evd_qlen = (DAT_COUNT)e->qlen;
	param->evd_state = state(e);
	param->cno_handle = (DAT_CNO_HANDLE)e->cno;
	ut_unlock(&e->lock);
	return DAT_SUCCESS;
}

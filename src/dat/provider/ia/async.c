/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ia/async.h"

#include "dat/provider/evd/evd.h"
#include "dat/provider/evd/push.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/init.h"
#include "dat/provider/ia/log.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"

#include <errno.h>
#include <stdlib.h>

/* An EVD that receives the events of an adapter. */
struct link {
	struct ut_list on; /* in ia->asyncs */
	struct dpr_evd *evd; /* a reference; a use if it belongs to another adapter */
};

struct pending {
	struct ut_list on; /* in ia->pending */
	DAT_EVENT ev;
};

int dpr_async_add(struct dpr_ia *ia, struct dpr_evd *e)
{
	struct link *l = malloc(sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->evd = e;
	dpr_obj_hold(&e->obj);
	if (e->obj.ia != ia)
		dpr_use(&e->obj);
	ut_lock(&ia->lock);
	ut_list_add_tail(&ia->asyncs, &l->on);
	ut_unlock(&ia->lock);
	return 0;
}

void dpr_async_del(struct dpr_ia *ia, struct dpr_evd *e)
{
	struct link *l, *tmp, *found = NULL;

	ut_lock(&ia->lock);
	ut_list_each_safe(l, tmp, &ia->asyncs, on) {
		if (l->evd != e)
			continue;
		ut_list_del(&l->on);
		found = l;
		break;
	}
	ut_unlock(&ia->lock);
	if (!found)
		return;
	if (e->obj.ia != ia)
		dpr_unuse(&e->obj);
	dpr_obj_put(&e->obj);
	free(found);
}

void dpr_async_event(struct dpr_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE object,
		     DAT_COUNT reason)
{
	struct pending *n = calloc(1, sizeof(*n));

	dpr_count(&ia->counters[DCNT_IA_ASYNC_ERROR], 1);
	if (!n) {
		dpr_log(DPR_LOG_ERR, "asynchronous event 0x%x: no memory: the consumer does not receive it; "
				     "raise the limit on memory", number);
		return;
	}
	n->ev.event_number = number;
	n->ev.event_data.asynch_error_event_data.dat_handle = object;
	n->ev.event_data.asynch_error_event_data.reason = reason;
	ut_lock(&ia->pending_lock);
	ut_list_add_tail(&ia->pending, &n->on);
	dpr_timer_arm(&ia->deliver, 0);
	ut_unlock(&ia->pending_lock);
}

/* Returns the i-th EVD with a reference. The list may change between two calls: an EVD then
 * receives the event twice or not at all. */
static struct dpr_evd *nth(struct dpr_ia *ia, unsigned int i)
{
	struct dpr_evd *found = NULL;
	struct link *l;

	ut_lock(&ia->lock);
	ut_list_each(l, &ia->asyncs, on) {
		if (i--)
			continue;
		found = l->evd;
		dpr_obj_hold(&found->obj);
		break;
	}
	ut_unlock(&ia->lock);
	return found;
}

static void deliver_one(struct dpr_ia *ia, const DAT_EVENT *ev)
{
	struct dpr_evd *e;

	for (unsigned int i = 0; (e = nth(ia, i)); i++) {
		dpr_evd_push(e, ev, true, false);
		dpr_obj_put(&e->obj);
	}
}

void dpr_async_deliver(struct dpr_timer *t)
{
	struct dpr_ia *ia = ut_container(t, struct dpr_ia, deliver);
	struct ut_list *on;

	for (;;) {
		struct pending *n;

		ut_lock(&ia->pending_lock);
		on = ut_list_pop(&ia->pending);
		ut_unlock(&ia->pending_lock);
		if (!on)
			return;
		n = ut_container(on, struct pending, on);
		if (n->ev.event_data.asynch_error_event_data.dat_handle == (DAT_HANDLE)ia)
			n->ev.event_data.asynch_error_event_data.dat_handle =
				(DAT_HANDLE)dpr_ia_public(ia);
		deliver_one(ia, &n->ev);
		free(n);
	}
}

void dpr_async_fini(struct dpr_ia *ia) UT_NO_TSA
{
	struct ut_list *on;

	dpr_timer_cancel(&ia->deliver);
	while ((on = ut_list_pop(&ia->pending)))
		free(ut_container(on, struct pending, on));
}

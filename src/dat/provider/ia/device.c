/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ia/device.h"

#include "dat/provider/dto/srq.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/evd/push.h"
#include "dat/provider/ia/async.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/log.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

struct dpr_device {
	struct ut_list on; /* in devices */
	struct ibv_context *verbs;
	struct dpr_watch watch;
	struct dpr_ia **ias; /* open on it */
	unsigned int n, size;
};

static struct ut_mutex lock = UT_MUTEX_INIT; /* before ia->lock */
static struct ut_list devices UT_GUARDED_BY(lock) = UT_LIST_INIT(devices);

/* --- verbs to DAT --- */

enum about { ABOUT_IA, ABOUT_EP, ABOUT_EVD, ABOUT_SRQ };

struct row {
	enum ibv_event_type type;
	enum about about;
	DAT_EVENT_NUMBER number; /* 0: the object determines it */
	DAT_COUNT reason;
};

static const struct row rows[] = {
	{ IBV_EVENT_CQ_ERR, ABOUT_EVD, 0, 0 },
	{ IBV_EVENT_QP_FATAL, ABOUT_EP, DAT_ASYNC_ERROR_EP_BROKEN, DAT_EP_TRANSFER_TO_ERROR },
	{ IBV_EVENT_QP_REQ_ERR, ABOUT_EP, DAT_ASYNC_ERROR_EP_BROKEN, DAT_EP_TRANSFER_TO_ERROR },
	{ IBV_EVENT_QP_ACCESS_ERR, ABOUT_EP, DAT_ASYNC_ERROR_EP_BROKEN, DAT_EP_TRANSFER_TO_ERROR },
	{ IBV_EVENT_SQ_DRAINED, ABOUT_EP, DAT_ASYNC_ERROR_EP_BROKEN, DAT_EP_OTHER_ERROR },
	/* an endpoint with an SRQ is in its error state, for whatever reason; dtestsrq waits for
	 * this */
	{ IBV_EVENT_QP_LAST_WQE_REACHED, ABOUT_EP, DAT_ASYNC_ERROR_EP_BROKEN,
	  DAT_EP_TRANSFER_TO_ERROR },
	{ IBV_EVENT_SRQ_ERR, ABOUT_SRQ, 0, 0 },
	{ IBV_EVENT_SRQ_LIMIT_REACHED, ABOUT_SRQ, 0, 0 },
	{ IBV_EVENT_DEVICE_FATAL, ABOUT_IA, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
	  DAT_IA_CATASTROPHIC_ERROR },
	{ IBV_EVENT_PORT_ERR, ABOUT_IA, DAT_ASYNC_ERROR_IA_CATASTROPHIC,
	  DAT_IA_CATASTROPHIC_ERROR },
};

static const struct row *row_of(enum ibv_event_type type)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

static bool is_ep(struct dpr_obj *o, const void *qp)
{
	struct dpr_ep *ep = (struct dpr_ep *)o;
	bool it;

	ut_lock(&ep->lock);
	it = ep->qp == qp;
	ut_unlock(&ep->lock);
	return it;
}

/* The queue that an event concerns. */
struct queue {
	enum about about;
	const struct ibv_async_event *ev;
};

static bool has_queue(struct dpr_obj *o, const void *arg)
{
	const struct queue *q = arg;
	enum dpr_kind kind = o->cls->kind;

	if (q->about == ABOUT_EP)
		return kind == DPR_EP && is_ep(o, q->ev->element.qp);
	if (q->about == ABOUT_EVD)
		return kind == DPR_EVD && ((struct dpr_evd *)o)->cq == q->ev->element.cq;
	if (q->about == ABOUT_SRQ)
		return kind == DPR_SRQ && ((struct dpr_srq *)o)->srq == q->ev->element.srq;
	return false;
}

/* Returns the object of the queue with a reference, or NULL if the queue is not the provider's. */
static struct dpr_obj *object_of(struct dpr_ia *ia, enum about about,
				 const struct ibv_async_event *ev)
{
	const struct queue q = { about, ev };

	return dpr_obj_find(ia, has_queue, &q);
}

/* qp: of an event about an endpoint; it may have been destroyed meanwhile. */
static void report(const struct row *r, struct dpr_ia *ia, struct dpr_obj *o,
		 enum ibv_event_type type, const struct ibv_qp *qp)
{
	if (r->about == ABOUT_EVD) {
		dpr_count(&ia->counters[DCNT_IA_ASYNC_CQ_ERROR], 1);
		dpr_evd_cq_error((struct dpr_evd *)o);
	} else if (r->about == ABOUT_SRQ) {
		dpr_srq_async((struct dpr_srq *)o, type);
	} else if (r->about == ABOUT_EP) {
		dpr_async_event(ia, r->number, (DAT_HANDLE)o, r->reason);
		if (type == IBV_EVENT_QP_LAST_WQE_REACHED)
			return;
		dpr_count(&ia->counters[DCNT_IA_ASYNC_QP_ERROR], 1);
		dpr_ep_failed((struct dpr_ep *)o, qp,
			      type == IBV_EVENT_QP_ACCESS_ERR || type == IBV_EVENT_QP_REQ_ERR);
	} else {
		dpr_async_event(ia, r->number, (DAT_HANDLE)ia, r->reason);
	}
}

/* --- the watch --- */

static struct dpr_device *find(struct ibv_context *verbs) UT_REQUIRES(lock)
{
	struct dpr_device *d;

	ut_list_each(d, &devices, on)
		if (d->verbs == verbs)
			return d;
	return NULL;
}

/* Returns the i-th adapter of the device with a reference, or NULL. */
static struct dpr_ia *nth(struct ibv_context *verbs, unsigned int i)
{
	struct dpr_ia *ia = NULL;
	struct dpr_device *d;

	ut_lock(&lock);
	d = find(verbs);
	if (d && i < d->n) {
		ia = d->ias[i];
		dpr_obj_hold(&ia->obj);
	}
	ut_unlock(&lock);
	return ia;
}

#define MOST 64 /* adapters on one device that one event can concern */

static void one_event(struct ibv_context *verbs, struct ibv_async_event *ev)
{
	const struct row *r = row_of(ev->event_type);
	enum ibv_event_type type = ev->event_type;
	const struct ibv_qp *qp = ev->element.qp;
	struct dpr_ia *ia[MOST];
	struct dpr_obj *o[MOST];
	unsigned int n = 0;

	dpr_log(DPR_LOG_WARN, "device %s: asynchronous event \"%s\": its IAs and endpoints report it; read "
			      "it from the asynchronous EVD",
		ibv_get_device_name(verbs->device), ibv_event_type_str(type));
	for (unsigned int i = 0; r && n < MOST && (ia[n] = nth(verbs, i)); i++) {
		o[n] = r->about == ABOUT_IA ? NULL : object_of(ia[n], r->about, ev);
		if (o[n] || r->about == ABOUT_IA)
			n++;
		else
			dpr_obj_put(&ia[n]->obj);
	}
	ibv_ack_async_event(ev);
	while (n--) {
		report(r, ia[n], o[n], type, qp);
		if (o[n])
			dpr_obj_put(o[n]);
		dpr_obj_put(&ia[n]->obj);
	}
}

static void ready(struct dpr_watch *w)
{
	struct dpr_device *d = ut_container(w, struct dpr_device, watch);
	struct ibv_async_event ev;

	/* one event per call: its handler may end the last adapter and with it the device */
	if (!ibv_get_async_event(d->verbs, &ev))
		one_event(d->verbs, &ev);
}

void dpr_device_events(const struct dpr_ia *ia)
{
	struct ibv_async_event ev;
	bool joined;

	ut_lock(&lock);
	joined = ia->device; /* then async_fd does not block */
	ut_unlock(&lock);
	while (joined && !ibv_get_async_event(ia->verbs, &ev))
		one_event(ia->verbs, &ev);
}

static struct dpr_device *add(struct ibv_context *verbs) UT_REQUIRES(lock)
{
	struct dpr_device *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->verbs = verbs;
	d->watch = (struct dpr_watch){ .fd = verbs->async_fd, .ready = ready };
	ut_list_init(&d->watch.on);
	fcntl(verbs->async_fd, F_SETFL, fcntl(verbs->async_fd, F_GETFL) | O_NONBLOCK);
	if (dpr_loop_watch(&d->watch)) {
		free(d);
		return NULL;
	}
	ut_list_add_tail(&devices, &d->on);
	return d;
}

int dpr_device_join(struct dpr_ia *ia)
{
	struct dpr_device *d;
	int err = -ENOMEM;

	ut_lock(&lock);
	d = find(ia->verbs);
	if (!d)
		d = add(ia->verbs);
	if (d && d->n == d->size) {
		void *p = realloc(d->ias, (d->size + 8) * sizeof(*d->ias));

		if (p) {
			d->ias = p;
			d->size += 8;
		}
	}
	if (d && d->n < d->size) {
		d->ias[d->n++] = ia;
		ia->device = d;
		err = 0;
	}
	ut_unlock(&lock);
	return err;
}

/* A device stays as long as an adapter has joined it. */
void dpr_device_leave(struct dpr_ia *ia)
{
	struct dpr_device *d, *gone = NULL;

	ut_lock(&lock);
	d = ia->device;
	for (unsigned int i = 0; d && i < d->n; i++) {
		if (d->ias[i] != ia)
			continue;
		d->ias[i] = d->ias[--d->n];
		break;
	}
	if (d && !d->n) {
		ut_list_del(&d->on);
		gone = d;
	}
	ia->device = NULL;
	ut_unlock(&lock);
	if (!gone)
		return;
	dpr_loop_unwatch(&gone->watch);
	free(gone->ias);
	free(gone);
}

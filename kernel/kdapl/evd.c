// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/evd.h"

#include "kdapl/ia.h"
#include "kdapl/main.h"

#define KNOWN (DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG)
#define SLEEPING (DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_ASYNC_FLAG)

enum { QLEN_MAX = 1 << 20 };

/* --- upcalls --- */

static bool is_due(const struct kdp_evd *e)
{
	if (e->policy <= DAT_UPCALL_DISABLE || !e->upcall.upcall_func)
		return false;
	return e->policy == DAT_UPCALL_NOTIFY ? e->signal : e->ring.notified > 0;
}

/* Makes one upcall. Called with e->lock held, which it releases meanwhile. */
static void one(struct kdp_evd *e, unsigned long *flags)
{
	DAT_UPCALL_OBJECT up = e->upcall;
	bool notify = e->policy == DAT_UPCALL_NOTIFY, more;
	DAT_EVENT ev __uninitialized;

	if (notify)
		e->signal = false;
	else
		dpr_evring_get(&e->ring, &ev);
	more = e->ring.count > 0;
	spin_unlock_irqrestore(&e->lock, *flags);
	up.upcall_func(up.instance_data, notify ? NULL : &ev, more ? DAT_TRUE : DAT_FALSE);
	spin_lock_irqsave(&e->lock, *flags);
}

/* Makes the upcalls that are due, and is no running instance any more. Called with e->lock held; releases it. */
static void run_rest(struct kdp_evd *e, unsigned long flags) __releases(&e->lock)
{
	while (is_due(e))
		one(e, &flags);
	/* a waiter is in the queue before it looks at `running`, which takes the lock */
	if (!--e->running && waitqueue_active(&e->idle))
		wake_up_all(&e->idle);
	spin_unlock_irqrestore(&e->lock, flags);
}

static void run(struct kdp_evd *e)
{
	unsigned long flags;

	spin_lock_irqsave(&e->lock, flags);
	/* the instance that runs looks again before it ends */
	if (e->running && e->policy != DAT_UPCALL_MANY) {
		spin_unlock_irqrestore(&e->lock, flags);
		return;
	}
	e->running++;
	run_rest(e, flags);
}

static void work(struct work_struct *w)
{
	run(container_of(w, struct kdp_evd, work));
}

void kdp_evd_kick(struct kdp_evd *e)
{
	if (READ_ONCE(e->policy) <= DAT_UPCALL_DISABLE)
		return;
	if (e->flags & SLEEPING)
		queue_work(kdp_wq, &e->work);
	else
		run(e);
}

static bool is_idle(struct kdp_evd *e)
{
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&e->lock, flags);
	idle = !e->running;
	spin_unlock_irqrestore(&e->lock, flags);
	return idle;
}

/* Returns when no upcall runs and none will begin. */
static void stop_upcalls(struct kdp_evd *e)
{
	unsigned long flags;

	spin_lock_irqsave(&e->lock, flags);
	e->policy = DAT_UPCALL_DISABLE;
	spin_unlock_irqrestore(&e->lock, flags);
	if (e->flags & SLEEPING)
		cancel_work_sync(&e->work);
	wait_event(e->idle, is_idle(e));
}

/* --- queueing --- */

/* Called with e->lock held. */
static bool put_locked(struct kdp_evd *e, const DAT_EVENT *ev, bool notify, bool *overflow)
{
	DAT_EVENT *slot = e->dead ? NULL : dpr_evring_slot(&e->ring);

	*overflow = !slot && !e->dead;
	if (!slot)
		return false;
	*slot = *ev;
	dpr_evring_commit(&e->ring, notify);
	e->signal |= notify;
	return true;
}

static bool put(struct kdp_evd *e, DAT_EVENT *ev, bool notify, bool *overflow)
{
	unsigned long flags;
	bool ok;

	ev->evd_handle = (DAT_EVD_HANDLE)e;
	spin_lock_irqsave(&e->lock, flags);
	ok = put_locked(e, ev, notify, overflow);
	spin_unlock_irqrestore(&e->lock, flags);
	return ok;
}

static void overflowed(struct kdp_evd *e)
{
	unsigned long flags;

	spin_lock_irqsave(&e->lock, flags);
	e->dead = true;
	spin_unlock_irqrestore(&e->lock, flags);
	kdp_ia_async(e->obj.ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, (DAT_HANDLE)e, DAT_EVD_OVERFLOW_ERROR);
}

bool kdp_evd_put(struct kdp_evd *e, DAT_EVENT *ev, bool notify)
{
	bool overflow, ok = put(e, ev, notify, &overflow);

	if (overflow)
		overflowed(e);
	return ok;
}

/* Called with e->lock held. */
static bool is_next(const struct kdp_evd *e)
{
	return e->policy == DAT_UPCALL_SINGLE_INSTANCE && !e->running && !e->ring.count && !e->dead &&
	       e->upcall.upcall_func && !(e->flags & SLEEPING);
}

bool kdp_evd_claim(struct kdp_evd *e, DAT_EVENT *ev, bool notify, DAT_UPCALL_OBJECT *up)
{
	bool claimed, overflow = false;
	unsigned long flags;

	ev->evd_handle = (DAT_EVD_HANDLE)e;
	spin_lock_irqsave(&e->lock, flags);
	claimed = notify && is_next(e);
	if (claimed) {
		e->running++;
		*up = e->upcall;
	} else {
		put_locked(e, ev, notify, &overflow);
	}
	spin_unlock_irqrestore(&e->lock, flags);
	if (overflow)
		overflowed(e);
	return claimed;
}

void kdp_evd_hand(struct kdp_evd *e, const DAT_EVENT *ev, const DAT_UPCALL_OBJECT *up)
{
	unsigned long flags;

	up->upcall_func(up->instance_data, ev, DAT_FALSE);
	spin_lock_irqsave(&e->lock, flags);
	run_rest(e, flags);
}

bool kdp_evd_offer(struct kdp_evd *e, DAT_EVENT *ev)
{
	bool overflow;

	return put(e, ev, true, &overflow);
}

void kdp_evd_push(struct kdp_evd *e, DAT_EVENT *ev, bool notify)
{
	if (kdp_evd_put(e, ev, notify))
		kdp_evd_kick(e);
}

static bool of_ep(const DAT_EVENT *ev, void *ep)
{
	return ev->event_number == DAT_DTO_COMPLETION_EVENT &&
	       ev->event_data.dto_completion_event_data.ep_handle == ep;
}

void kdp_evd_purge(struct kdp_evd *e, DAT_EP_HANDLE ep)
{
	unsigned long flags;

	spin_lock_irqsave(&e->lock, flags);
	dpr_evring_purge(&e->ring, of_ep, ep);
	spin_unlock_irqrestore(&e->lock, flags);
}

/* --- the object --- */

static void finish(struct kdp_obj *o)
{
	struct kdp_evd *e = (struct kdp_evd *)o;

	stop_upcalls(e);
	kdp_ia_forget_async(o->ia, e);
}

static void release(struct kdp_obj *o)
{
	struct kdp_evd *e = (struct kdp_evd *)o;

	dpr_evring_fini(&e->ring);
	mutex_destroy(&e->shape);
}

const struct kdp_class kdp_evd_class = {
	.type = DAT_HANDLE_TYPE_EVD,
	.cache = "kdapl_evd",
	.size = sizeof(struct kdp_evd),
	.finish = finish,
	.release = release,
};

struct kdp_evd *kdp_evd_make(struct kdp_ia *ia, DAT_COUNT qlen, DAT_UPCALL_POLICY policy,
			     const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags, bool hidden)
{
	struct kdp_evd *e = kdp_obj_new(ia, &kdp_evd_class, hidden);

	if (!e)
		return NULL;
	spin_lock_init(&e->lock);
	init_waitqueue_head(&e->idle);
	mutex_init(&e->shape);
	/* two classes for lockdep: a consumer's upcall may end the provider's own, whose work it waits for */
	if (hidden)
		INIT_WORK(&e->work, work);
	else
		INIT_WORK(&e->work, work);
	e->flags = flags;
	e->policy = policy;
	if (upcall)
		e->upcall = *upcall;
	if (dpr_evring_init(&e->ring, qlen)) {
		kdp_obj_drop(&e->obj);
		return NULL;
	}
	return e;
}

static bool is_policy(DAT_UPCALL_POLICY policy)
{
	switch (policy) {
	case DAT_UPCALL_DISABLE:
	case DAT_UPCALL_SINGLE_INSTANCE:
	case DAT_UPCALL_NOTIFY:
	case DAT_UPCALL_MANY:
	case DAT_UPCALL_TEARDOWN: return true;
	}
	return false;
}

/* A policy that makes upcalls needs a function. */
static bool is_upcall(DAT_UPCALL_POLICY policy, const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FUNC present)
{
	return policy <= DAT_UPCALL_DISABLE || (upcall ? upcall->upcall_func : present);
}

DAT_RETURN kdp_evd_kcreate(DAT_IA_HANDLE handle, DAT_COUNT qlen, DAT_UPCALL_POLICY policy,
			   const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	struct kdp_ia *ia = kdp_ia_of(handle);
	struct kdp_evd *e;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (qlen < 1 || qlen > QLEN_MAX)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!is_policy(policy))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!is_upcall(policy, upcall, NULL))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!flags || (flags & ~(DAT_EVD_FLAGS)KNOWN))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (!evd)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	e = kdp_evd_make(ia, qlen, policy == DAT_UPCALL_TEARDOWN ? DAT_UPCALL_DISABLE : policy, upcall, flags, false);
	if (!e)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (flags & DAT_EVD_ASYNC_FLAG)
		kdp_ia_add_async(ia, e);
	*evd = (DAT_EVD_HANDLE)e;
	return DAT_SUCCESS;
}

DAT_RETURN kdp_evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	struct kdp_evd *e = kdp_evd_of(handle);
	DAT_RETURN ret = dpr_query_args(e, DAT_INVALID_HANDLE_EVD_REQUEST, mask & ~DAT_EVD_FIELD_ALL, param);
	unsigned long flags;

	if (ret)
		return ret;
	spin_lock_irqsave(&e->lock, flags);
	*param = (DAT_EVD_PARAM){
		.ia_handle = (DAT_IA_HANDLE)e->obj.ia,
		.evd_qlen = e->ring.size,
		.upcall_policy = e->policy,
		.upcall = e->upcall,
		.evd_flags = e->flags,
	};
	spin_unlock_irqrestore(&e->lock, flags);
	return DAT_SUCCESS;
}

DAT_RETURN kdp_evd_modify_upcall(DAT_EVD_HANDLE handle, DAT_UPCALL_POLICY policy, const DAT_UPCALL_OBJECT *upcall,
				 DAT_UPCALL_FLAG flag)
{
	struct kdp_evd *e = kdp_evd_of(handle);
	unsigned long flags;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!e)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!is_policy(policy))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (flag != DAT_UPCALL_INVOC_NEW && flag != DAT_UPCALL_INVOC_ANY)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (policy == DAT_UPCALL_TEARDOWN)
		stop_upcalls(e);
	spin_lock_irqsave(&e->lock, flags);
	if (!is_upcall(policy, upcall, e->upcall.upcall_func)) {
		ret = DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	} else {
		if (upcall)
			e->upcall = *upcall;
		e->policy = policy == DAT_UPCALL_TEARDOWN ? DAT_UPCALL_DISABLE : policy;
		e->signal = e->ring.notified > 0;
	}
	spin_unlock_irqrestore(&e->lock, flags);
	if (!ret && flag == DAT_UPCALL_INVOC_ANY)
		kdp_evd_kick(e);
	return ret;
}

DAT_RETURN kdp_evd_resize(DAT_EVD_HANDLE handle, DAT_COUNT qlen)
{
	struct kdp_evd *e = kdp_evd_of(handle);
	DAT_EVENT *ev;
	unsigned long flags;
	bool fits;

	if (!e)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (qlen < 1 || qlen > QLEN_MAX)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ev = dpr_core_alloc(qlen, sizeof(*ev));
	if (!ev)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	mutex_lock(&e->shape);
	spin_lock_irqsave(&e->lock, flags);
	fits = e->ring.count <= (unsigned int)qlen;
	if (fits)
		ev = dpr_evring_move(&e->ring, ev, qlen);
	spin_unlock_irqrestore(&e->lock, flags);
	mutex_unlock(&e->shape);
	dpr_core_free(ev);
	return fits ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
}

DAT_RETURN kdp_evd_post_se(DAT_EVD_HANDLE handle, const DAT_EVENT *event)
{
	struct kdp_evd *e = kdp_evd_of(handle);
	DAT_EVENT ev;

	if (!e)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!(e->flags & DAT_EVD_SOFTWARE_FLAG))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	ev = *event;
	if (!kdp_evd_offer(e, &ev))
		return DPR_ERR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
	kdp_evd_kick(e);
	return DAT_SUCCESS;
}

DAT_RETURN kdp_evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct kdp_evd *e = kdp_evd_of(handle);
	unsigned long flags;
	bool got;

	if (!e)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!event)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	spin_lock_irqsave(&e->lock, flags);
	got = dpr_evring_get(&e->ring, event);
	spin_unlock_irqrestore(&e->lock, flags);
	return got ? DAT_SUCCESS : DPR_ERR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
}

DAT_RETURN kdp_evd_free(DAT_EVD_HANDLE handle)
{
	struct kdp_evd *e = kdp_evd_of(handle);

	if (!e)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	return kdp_obj_end(&e->obj, true) ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
}

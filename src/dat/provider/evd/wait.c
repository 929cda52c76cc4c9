/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/evd/wait.h"

#include "dat/provider/dto/srq_recv.h"
#include "dat/provider/evd/drain.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/evd/futex.h"
#include "dat/provider/evd/push.h"
#include "dat/core/ring.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"

#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>

#define AGAIN 0xffffffffu /* not a DAT_RETURN */
#define POLLS 2

struct wait {
	struct dpr_evd *e;
	unsigned int threshold;
	DAT_TIMEOUT timeout;
	uint64_t at; /* deadline; UINT64_MAX: none */
	bool notify_all, interrupted, stayed;
	int cancel; /* the thread's cancel state, if `stayed` */
};

/* Written under evd->lock, hence without a locked instruction; read without the lock. */
static void count(struct dpr_evd *e, int which)
{
	__atomic_store_n(&e->counters[which], e->counters[which] + 1, __ATOMIC_RELAXED);
}

static bool take(struct dpr_evd *e, DAT_EVENT *event) UT_REQUIRES(e->lock)
{
	if (!dpr_evring_get(&e->ring, event))
		return false;
	dpr_dto_reaped(event);
	return true;
}

static bool enough(struct wait *w) UT_REQUIRES(w->e->lock)
{
	struct dpr_evring *r = &w->e->ring;

	/* a full ring hides a notification that waits in the completion queue; it may also have
	 * shrunk */
	return dpr_evring_is_ready(r, w->threshold) || r->count >= r->size;
}

/* For a waiter that takes any event while the ring is empty: the event need not pass through it. */
static bool take_first(struct wait *w, DAT_EVENT *event) UT_REQUIRES(w->e->lock)
{
	if (!dpr_evd_next(w->e, event))
		return false;
	dpr_dto_reaped(event);
	return true;
}

static bool take_ripe(struct wait *w, DAT_EVENT *event) UT_REQUIRES(w->e->lock)
{
	bool notified = false;

	/*
	 * Polling an empty completion queue drives the adapter. A consumer that still has events to
	 * handle is not helped by more of them: its receives would run out. But nmore 0 shall be
	 * true.
	 */
	if (w->e->ring.count > 1 && enough(w) && !w->e->unwaitable)
		return take(w->e, event);
	if (dpr_evd_solicited(w->e) && dpr_evd_take_events(w->e))
		w->notify_all = true;
	dpr_evd_drain_locked(w->e, &notified);
	if (w->notify_all)
		w->e->ring.notified = w->e->ring.count;
	w->notify_all = false;
	return !w->e->unwaitable && enough(w) && take(w->e, event);
}

static DAT_RETURN look(struct wait *w, DAT_EVENT *event) UT_REQUIRES(w->e->lock)
{
	struct dpr_evd *e = w->e;
	bool any = w->threshold == 1 && !e->solicited && !e->unsignalled && !e->unwaitable;

	if (any && !e->ring.count ? take_first(w, event) : take_ripe(w, event))
		return DAT_SUCCESS;
	if (e->unwaitable)
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
	if (!dpr_evd_of((DAT_HANDLE)e))
		return DPR_ERR(DAT_ABORT, DAT_SUB_INTERRUPTED); /* e was closed with its adapter */
	if (e->dead)
		return DPR_ERR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
	return AGAIN;
}

/* Drops the wake-ups that were meant for this sleep. */
static void drop_wakes(struct dpr_evd *e) UT_REQUIRES(e->lock)
{
	uint64_t n;

	if (e->woken)
		syscall(SYS_read, e->wake, &n, sizeof(n));
	e->woken = false;
}

/* The waiter leaves: from here on events trigger the CNO. */
static void leave(struct dpr_evd *e) UT_REQUIRES(e->lock)
{
	bool notified = false;

	drop_wakes(e);
	e->waiting = false;
	if (!e->cno || e->disabled || !e->cq || e->armed)
		return;
	dpr_evd_arm(e);
	if (dpr_evd_drain_locked(e, &notified))
		dpr_evd_notify(e, notified);
}

static void cancelled(void *arg) UT_NO_TSA
{
	struct dpr_evd *e = arg;

	ut_lock(&e->lock);
	leave(e);
	ut_unlock(&e->lock);
	dpr_obj_put(&e->obj);
}

static int poll_till(struct pollfd *fd, uint64_t at)
{
	uint64_t now = dpr_now(), left = at > now ? at - now : 0;
	struct timespec ts = { .tv_sec = (time_t)(left / 1000000000u),
			       .tv_nsec = (long)(left % 1000000000u) };

	return ppoll(fd, 2, at == UINT64_MAX ? NULL : &ts, NULL);
}

/* Returns 0 (the channel has an event, `wake` was written to, or the time is over) or -EINTR. */
static int wait_for_either(struct dpr_evd *e, int wake, uint64_t at)
{
	struct pollfd fd[2] = { { .fd = e->channel->fd, .events = POLLIN },
				{ .fd = wake, .events = POLLIN } };
	int err = e->obj.ia->wait_comp ? e->obj.ia->wait_comp(e->channel, wake, at) : EOPNOTSUPP;

	if (err == 0 || err == ETIMEDOUT || err == EINTR)
		return err == EINTR ? -EINTR : 0;
	return poll_till(fd, at) < 0 ? -errno : 0;
}

/* A thread may be cancelled here and in sleep_word only. */
static int sleep_cq(struct wait *w, int wake)
{
	int old, n;

	pthread_cleanup_push(cancelled, w->e);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	n = wait_for_either(w->e, wake, w->at);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_cleanup_pop(0);
	return n;
}

static int sleep_word(struct wait *w, uint32_t seen)
{
	int old, type, n;

	pthread_cleanup_push(cancelled, w->e);
	/* syscall(2) is no cancellation point, so cancellation is asynchronous here. The call
	 * leaves nothing half done. */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	n = dpr_futex_wait(&w->e->pushes, seen, w->at, dpr_now());
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_setcanceltype(type, &type);
	pthread_cleanup_pop(0);
	return n;
}

static DAT_RETURN sleep_once(struct wait *w) UT_REQUIRES(w->e->lock) UT_NO_TSA
{
	struct dpr_evd *e = w->e;
	uint32_t seen = atomic_load_explicit(&e->pushes, memory_order_acquire);
	int ret, wake;

	if (e->cq && e->wake < 0)
		e->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	wake = e->wake;
	if (e->cq && wake < 0)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	count(e, DCNT_EVD_WAIT_BLOCKED);
	ut_unlock(&e->lock);
	ret = e->cq ? sleep_cq(w, wake) : sleep_word(w, seen);
	ut_lock(&e->lock);
	drop_wakes(e);
	if (dpr_evd_take_events(e)) {
		count(e, DCNT_EVD_WAIT_NOTIFY);
		w->notify_all = dpr_evd_solicited(e);
	}
	w->interrupted = ret == -EINTR;
	return AGAIN;
}

/* Called after a poll that found too few events. Returns when look() decides, or with the error of
 * the wait. */
static DAT_RETURN run(struct wait *w, DAT_EVENT *event) UT_REQUIRES(w->e->lock)
{
	struct dpr_evd *e = w->e;
	DAT_RETURN ret = AGAIN;
	unsigned int polls = 0; /* since the completion queue was armed */

	while (ret == AGAIN) {
		if (w->interrupted)
			return DPR_ERR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
		if (!w->timeout || (w->at != UINT64_MAX && dpr_now() >= w->at))
			return DPR_ERR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
		if (e->cq && !e->armed && !dpr_evd_arm(w->e))
			return DPR_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
		if (!e->cq || polls++ > POLLS) {
			ret = sleep_once(w);
			polls = 0;
		}
		if (ret == AGAIN)
			ret = look(w, event);
	}
	return ret;
}

/*
 * Waits as the waiter of e: e is referenced, and the thread is not cancelled while it has the lock.
 */
static DAT_RETURN stay(struct wait *w, DAT_EVENT *event) UT_REQUIRES(w->e->lock)
{
	DAT_RETURN ret;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &w->cancel);
	dpr_obj_hold(&w->e->obj);
	w->stayed = w->e->waiting = true;
	ret = run(w, event);
	leave(w->e);
	return ret;
}

static DAT_RETURN may_wait(struct wait *w) UT_REQUIRES(w->e->lock)
{
	struct dpr_evd *e = w->e;

	if (w->threshold < 1 || w->threshold > e->qlen ||
	    (w->threshold > 1 && (e->solicited || e->unsignalled)))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (e->waiting)
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	return DAT_SUCCESS;
}

static DAT_RETURN wait_locked(struct wait *w, DAT_EVENT *event, DAT_COUNT *nmore)
	UT_REQUIRES(w->e->lock)
{
	DAT_RETURN ret = may_wait(w);

	if (ret != DAT_SUCCESS)
		return ret;
	count(w->e, DCNT_EVD_WAIT);
	ret = look(w, event);
	if (ret == AGAIN)
		ret = stay(w, event);
	*nmore = (DAT_COUNT)w->e->ring.count;
	return ret;
}

DAT_RETURN dpr_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			DAT_EVENT *event, DAT_COUNT *nmore)
{
	struct wait w = { .e = dpr_evd_of(evd), .timeout = timeout, .at = UINT64_MAX };
	int kept = errno;
	DAT_RETURN ret;

	if (!w.e)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!event)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!nmore)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (timeout && timeout != DAT_TIMEOUT_INFINITE)
		w.at = dpr_now() + (uint64_t)timeout * 1000;
	w.threshold = threshold > 0 ? (unsigned int)threshold : 0;
	ut_lock(&w.e->lock);
	ret = wait_locked(&w, event, nmore);
	ut_unlock(&w.e->lock);
	if (w.stayed) {
		dpr_obj_put(&w.e->obj);
		pthread_setcancelstate(w.cancel, NULL);
	}
	errno = kept;
	return ret;
}

/*
 * Beside a completion queue DAT_QUEUE_EMPTY comes without the error class, as from the
 * distribution's providers: dtest -p polls as long as the result equals DAT_QUEUE_EMPTY, and takes
 * anything else for an event. DAT_GET_TYPE is the same.
 */
static DAT_RETURN nothing(const struct dpr_evd *e)
{
	return e->cq ? (DAT_RETURN)DAT_QUEUE_EMPTY : DPR_ERR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
}

DAT_RETURN dpr_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	struct dpr_evd *e = dpr_evd_of(evd);
	DAT_RETURN ret = DAT_SUCCESS;

	if (!e)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!event)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ut_lock(&e->lock);
	count(e, DCNT_EVD_DEQUEUE);
	if (e->waiting) {
		ret = DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	} else if (dpr_evd_next(e, event)) {
		dpr_dto_reaped(event);
		count(e, DCNT_EVD_DEQUEUE_FOUND);
	} else {
		count(e, DCNT_EVD_DEQUEUE_NOT_FOUND);
		ret = e->dead ? DPR_ERR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE) : nothing(e);
	}
	ut_unlock(&e->lock);
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Collecting the trigger of a CNO, with and without sleep. */
#include "dat/provider/cno.h"

#include "dat/provider/futex.h"

static bool collect(struct dpr_cno *c, DAT_EVD_HANDLE *evd) UT_REQUIRES(c->lock)
{
	uint64_t drop;

	if (!c->triggered)
		return false;
	c->triggered = false;
	*evd = c->last;
	if (c->fd >= 0)
		syscall(SYS_read, c->fd, &drop, sizeof(drop));
	return true;
}

/* What dat_cno_wait does without the wait: for programs that watch the descriptor. */
DAT_RETURN dpr_cno_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd)
{
	struct dpr_cno *c = dpr_cno_of(cno);
	bool got;

	if (!c)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	if (!evd)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	*evd = DAT_HANDLE_NULL;
	ut_lock(&c->lock);
	got = collect(c, evd);
	ut_unlock(&c->lock);
	return got ? DAT_SUCCESS : DPR_ERR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
}

static void cancelled(void *arg)
{
	struct dpr_cno *c = arg;

	ut_lock(&c->lock);
	c->waiters--;
	ut_unlock(&c->lock);
	dpr_obj_put(&c->obj);
}

static int sleep_once(struct dpr_cno *c, uint32_t seen, uint64_t at)
{
	int old, type, n;

	pthread_cleanup_push(cancelled, c);
	/* as in evd_wait.c: nothing in here can be cut in two */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	n = dpr_futex_wait(&c->fires, seen, at, dpr_now());
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_setcanceltype(type, &type);
	pthread_cleanup_pop(0);
	return n;
}

static DAT_RETURN run(struct dpr_cno *c, uint64_t at, DAT_EVD_HANDLE *evd)
	UT_REQUIRES(c->lock) UT_NO_TSA
{
	uint32_t ends = c->ends, seen;
	int n = 0;

	for (;;) {
		if (collect(c, evd))
			return DAT_SUCCESS;
		if (c->dead)
			return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_DEAD);
		if (c->ends != ends)
			return DAT_SUCCESS;
		if (n == -EINTR)
			return DPR_ERR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
		if (at != UINT64_MAX && dpr_now() >= at)
			return DPR_ERR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
		seen = atomic_load_explicit(&c->fires, memory_order_acquire);
		ut_unlock(&c->lock);
		n = sleep_once(c, seen, at);
		ut_lock(&c->lock);
	}
}

DAT_RETURN dpr_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd)
{
	struct dpr_cno *c = dpr_cno_of(cno);
	uint64_t at = UINT64_MAX;
	int kept = errno, old;
	DAT_RETURN ret;

	if (!c)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	if (!evd)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	*evd = DAT_HANDLE_NULL;
	if (timeout != DAT_TIMEOUT_INFINITE)
		at = timeout ? dpr_now() + (uint64_t)timeout * 1000 : 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	dpr_obj_hold(&c->obj);
	ut_lock(&c->lock);
	c->waiters++;
	ret = run(c, at, evd);
	c->waiters--;
	ut_unlock(&c->lock);
	dpr_obj_put(&c->obj);
	pthread_setcancelstate(old, &old);
	errno = kept;
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/evd/cno.h"

#include "dat/provider/evd/evd.h"
#include "dat/provider/evd/futex.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/init.h"

#include <limits.h>
#include <sys/eventfd.h>

static DAT_RETURN no_cno(void)
{
	return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
}

static void call_agent(struct dpr_timer *t)
{
	struct dpr_cno *c = ut_container(t, struct dpr_cno, run_agent);
	DAT_OS_WAIT_PROXY_AGENT agent;
	DAT_EVD_HANDLE evd;

	ut_lock(&c->lock);
	agent = c->called;
	c->called = DAT_OS_WAIT_PROXY_AGENT_NULL;
	evd = c->last;
	ut_unlock(&c->lock);
	if (agent.proxy_agent_func)
		agent.proxy_agent_func(agent.instance_data, evd);
}

static void cno_construct(struct dpr_obj *o)
{
	struct dpr_cno *c = (struct dpr_cno *)o;

	ut_mutex_init(&c->lock);
	dpr_timer_init(&c->run_agent, call_agent);
}

/* Hands the trigger to the agent. Returns false without one. */
static bool to_agent(struct dpr_cno *c) UT_REQUIRES(c->lock)
{
	if (!c->agent.proxy_agent_func)
		return false;
	c->called = c->agent;
	c->agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	dpr_timer_arm(&c->run_agent, 0);
	return true;
}

static void fire_locked(struct dpr_cno *c, struct dpr_evd *evd) UT_REQUIRES(c->lock)
{
	uint64_t one = 1;

	c->last = (DAT_EVD_HANDLE)evd;
	if (!evd)
		c->ends++;
	if (to_agent(c))
		return;
	c->triggered = evd != NULL;
	if (c->fd >= 0)
		syscall(SYS_write, c->fd, &one, sizeof(one));
	atomic_fetch_add_explicit(&c->fires, 1, memory_order_release);
	if (c->waiters)
		dpr_futex_wake(&c->fires, evd ? 1 : INT_MAX);
}

void dpr_cno_fire(struct dpr_cno *c, struct dpr_evd *evd)
{
	ut_lock(&c->lock);
	fire_locked(c, evd);
	ut_unlock(&c->lock);
}

void dpr_cno_leave(struct dpr_cno *c)
{
	if (atomic_fetch_sub(&c->obj.uses, 1) == 1)
		dpr_cno_fire(c, NULL);
	dpr_obj_put(&c->obj);
}

/* Ends c. With `tell_agent` (the adapter ends) an agent that the loop has not called is called
 * here. */
static void cno_end(struct dpr_cno *c, bool tell_agent)
{
	if (!dpr_obj_kill(&c->obj))
		return;
	ut_lock(&c->lock);
	c->dead = true;
	if (!tell_agent)
		c->agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	fire_locked(c, NULL);
	ut_unlock(&c->lock);
	if (dpr_timer_cancel(&c->run_agent) && tell_agent)
		call_agent(&c->run_agent);
	dpr_obj_put(&c->obj);
}

static void cno_release(struct dpr_obj *o)
{
	struct dpr_cno *c = (struct dpr_cno *)o;

	dpr_timer_cancel(&c->run_agent);
	if (c->fd >= 0)
		close(c->fd);
}

static void cno_close(struct dpr_obj *o)
{
	cno_end((struct dpr_cno *)o, true);
}

const struct dpr_class dpr_cno_class = {
	.kind = DPR_CNO,
	.type = DAT_HANDLE_TYPE_CNO,
	.size = sizeof(struct dpr_cno),
	.construct = cno_construct,
	.release = cno_release,
	.close = cno_close,
};

static struct dpr_cno *cno_new(struct dpr_ia *ia, DAT_OS_WAIT_PROXY_AGENT agent, int fd) UT_NO_TSA
{
	struct dpr_cno *c = dpr_obj_new(ia, DPR_CNO);

	if (!c)
		return NULL;
	c->fd = fd;
	c->triggered = c->dead = false;
	c->ends = 0;
	c->last = DAT_HANDLE_NULL;
	c->waiters = 0;
	c->agent = agent;
	c->called = DAT_OS_WAIT_PROXY_AGENT_NULL;
	return c;
}

DAT_RETURN dpr_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			  DAT_CNO_HANDLE *cno)
{
	struct dpr_ia *ia = dpr_ia_of(ia_handle);
	struct dpr_cno *c;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!cno)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	c = cno_new(ia, agent, -1);
	if (!c)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	*cno = (DAT_CNO_HANDLE)c;
	return DAT_SUCCESS;
}

DAT_RETURN dpr_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *fd, DAT_CNO_HANDLE *cno)
{
	struct dpr_ia *ia = dpr_ia_of(ia_handle);
	struct dpr_cno *c = NULL;
	int efd;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!fd || !cno)
		return DPR_ERR(DAT_INVALID_PARAMETER, !fd ? DAT_INVALID_ARG2 : DAT_INVALID_ARG3);
	efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (efd >= 0)
		c = cno_new(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, efd);
	if (!c) {
		if (efd >= 0)
			close(efd);
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	*fd = efd;
	*cno = (DAT_CNO_HANDLE)c;
	return DAT_SUCCESS;
}

/* A CNO with a descriptor has no agent. A trigger that was not collected goes to the new agent,
 * also one under way to the old agent, which is not called any more unless it runs already. */
DAT_RETURN dpr_cno_modify_agent(DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct dpr_cno *c = dpr_cno_of(cno);

	if (!c)
		return no_cno();
	if (c->fd >= 0 && agent.proxy_agent_func)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ut_lock(&c->lock);
	if (c->called.proxy_agent_func) {
		c->called = DAT_OS_WAIT_PROXY_AGENT_NULL;
		c->triggered = c->last != DAT_HANDLE_NULL;
	}
	c->agent = agent;
	if (c->triggered && to_agent(c))
		c->triggered = false;
	ut_unlock(&c->lock);
	return DAT_SUCCESS;
}

/*
 * The masks in dat2/udat.h overlap: any of the low three bits is legal, and all fields are filled.
 */
DAT_RETURN dpr_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	struct dpr_cno *c = dpr_cno_of(cno);
	DAT_RETURN ret = dpr_query_args(c, DAT_INVALID_HANDLE_CNO,
					(unsigned int)mask & ~7u, param);

	if (ret)
		return ret;
	param->ia_handle = dpr_ia_public(c->obj.ia);
	param->proxy.agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	ut_lock(&c->lock);
	if (c->fd >= 0) {
		param->proxy_type = DAT_PROXY_TYPE_FD;
		param->proxy.fd = c->fd;
	} else if (c->agent.proxy_agent_func) {
		param->proxy_type = DAT_PROXY_TYPE_AGENT;
		param->proxy.agent = c->agent;
	} else {
		param->proxy_type = DAT_PROXY_TYPE_NONE;
	}
	ut_unlock(&c->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_cno_free(DAT_CNO_HANDLE cno)
{
	struct dpr_cno *c = dpr_cno_of(cno);
	bool busy;

	if (!c)
		return no_cno();
	ut_lock(&c->lock);
	busy = c->waiters || atomic_load(&c->obj.uses);
	ut_unlock(&c->lock);
	if (busy)
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
	cno_end(c, false);
	return DAT_SUCCESS;
}

/* --- collecting the trigger --- */

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

/* As dat_cno_wait, without the wait: for programs that watch the descriptor. */
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
	/* as sleep_word in wait.c: the call leaves nothing half done */
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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Consumer notification objects: triggers, waiters, their end. */
#include "events_lib.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static DAT_EVD_HANDLE other = (DAT_EVD_HANDLE)&other; /* no event was ever queued there */

static void queries(DAT_IA_HANDLE ia, DAT_CNO_HANDLE cno)
{
	DAT_CNO_PARAM p;
	DAT_EVD_HANDLE evd;

	WANT(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, NULL),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	WANT(dat_cno_query(cno, (DAT_CNO_PARAM_MASK)8, &p),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	WANT(dat_cno_query(cno, DAT_CNO_FIELD_ALL, NULL),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	WANT(dat_cno_wait(cno, 0, NULL), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	WANT(dat_evd_create(ia, 1, (DAT_CNO_HANDLE)ia, DAT_EVD_SOFTWARE_FLAG, &evd),
	     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO));
	for (int mask = 0; mask < 8; mask++) {
		memset(&p, 0xee, sizeof(p));
		OK(dat_cno_query(cno, (DAT_CNO_PARAM_MASK)mask, &p));
		CHECK(p.ia_handle == ia && p.proxy_type == DAT_PROXY_TYPE_NONE);
	}
}

/* A trigger stays until it is collected, once, whatever the number of events. */
static void sticky(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	ev_silent(cno);
	for (int i = 0; i < 3; i++)
		OK(ev_post(evd, 1));
	ev_drain(evd);
	ev_fires(cno, evd);
	ev_silent(cno);
}

static void disabled(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	OK(dat_evd_disable(evd));
	OK(ev_post(evd, 1));
	ev_silent(cno);
	ev_drain(evd);
	OK(dat_evd_enable(evd));
	ev_silent(cno);
	/* events that arrived meanwhile and are queued trigger at once */
	OK(dat_evd_disable(evd));
	OK(ev_post(evd, 1));
	OK(dat_evd_enable(evd));
	ev_fires(cno, evd);
	ev_drain(evd);
}

/* A direct waiter takes the event, and the CNO is not triggered. */
static void waited_on(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	struct ev_waiter w = { .evd = evd, .timeout = DAT_TIMEOUT_INFINITE, .threshold = 1 };

	ev_wait_start(&w);
	OK(ev_post(evd, 5));
	ev_wait_join(&w);
	WANT(w.ret, DAT_SUCCESS);
	ev_silent(cno);
	OK(ev_post(evd, 6));
	ev_fires(cno, evd);
	ev_drain(evd);
}

struct cno_waiter {
	DAT_CNO_HANDLE cno;
	pthread_t thread;
	_Atomic pid_t tid;
	DAT_RETURN ret;
	DAT_EVD_HANDLE evd;
	_Atomic bool over;
};

static void *waiting(void *arg)
{
	struct cno_waiter *w = arg;

	w->evd = other;
	atomic_store(&w->tid, (pid_t)syscall(SYS_gettid));
	w->ret = dat_cno_wait(w->cno, DAT_TIMEOUT_INFINITE, &w->evd);
	atomic_store(&w->over, true);
	return NULL;
}

static void start(struct cno_waiter *w, int n, DAT_CNO_HANDLE cno)
{
	for (int i = 0; i < n; i++) {
		w[i] = (struct cno_waiter){ .cno = cno };
		CHECK(!pthread_create(&w[i].thread, NULL, waiting, &w[i]));
		while (!atomic_load(&w[i].tid))
			sched_yield();
		ev_until_asleep(w[i].tid);
	}
}

static int over(struct cno_waiter *w, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += atomic_load(&w[i].over);
	return sum;
}

/* Several waiters; each trigger lets one of them go. */
static void many(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	enum { N = 4 };
	struct cno_waiter w[N];

	start(w, N, cno);
	WANT(dat_cno_free(cno), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE));
	for (int i = 1; i <= N; i++) {
		uint64_t till = ev_now() + MP_TIMEOUT;

		OK(ev_post(evd, 1));
		while (over(w, N) < i && ev_now() < till)
			sched_yield();
		CHECK(over(w, N) == i);
	}
	for (int i = 0; i < N; i++) {
		pthread_join(w[i].thread, NULL);
		WANT(w[i].ret, DAT_SUCCESS);
		CHECK(w[i].evd == evd);
	}
	ev_drain(evd);
	ev_silent(cno);
}

static void handler(int sig)
{
	(void)sig;
}

static void interrupted(DAT_CNO_HANDLE cno)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct cno_waiter w;

	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	start(&w, 1, cno);
	ev_interrupt(w.thread, &w.over);
	pthread_join(w.thread, NULL);
	WANT(w.ret, ERR(DAT_INTERRUPTED_CALL, 0));
	start(&w, 1, cno);
	pthread_cancel(w.thread);
	pthread_join(w.thread, NULL);
}

static void timing(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE got = other;
	uint64_t t = ev_now();

	WANT(dat_cno_wait(cno, 20000, &got), ERR(DAT_QUEUE_EMPTY, 0));
	t = ev_now() - t;
	CHECK(got == DAT_HANDLE_NULL && t + 1 >= 20000);
}

/* Moving an EVD from one CNO to another, and away. */
static void moved(DAT_IA_HANDLE ia, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	DAT_CNO_HANDLE second;
	DAT_EVD_PARAM p;

	OK(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &second));
	OK(dat_evd_modify_cno(evd, second));
	OK(dat_evd_query(evd, DAT_EVD_FIELD_CNO, &p));
	CHECK(p.cno_handle == second);
	OK(ev_post(evd, 1));
	ev_fires(second, evd);
	ev_silent(cno);
	WANT(dat_cno_free(second), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE));
	WANT(dat_evd_modify_cno(evd, (DAT_CNO_HANDLE)evd),
	     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO));
	OK(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	OK(ev_post(evd, 1));
	ev_silent(second);
	OK(dat_cno_free(second));
	WANT(dat_cno_free(second), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO));
	OK(dat_evd_modify_cno(evd, cno));
	ev_drain(evd);
}

/* --- the end --- */

static void ends(DAT_IA_HANDLE ia, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE second = ev_soft(ia, cno, 0);
	struct cno_waiter w[2];

	start(w, 2, cno);
	OK(dat_evd_free(evd));
	CHECK(!over(w, 2));
	OK(dat_evd_free(second));
	for (int i = 0; i < 2; i++) {
		pthread_join(w[i].thread, NULL);
		WANT(w[i].ret, DAT_SUCCESS);
		CHECK(w[i].evd == DAT_HANDLE_NULL);
	}
	/* it may be used again */
	evd = ev_soft(ia, cno, 0);
	OK(ev_post(evd, 1));
	ev_fires(cno, evd);
	start(w, 1, cno);
	OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	pthread_join(w[0].thread, NULL);
	CHECK(w[0].evd == DAT_HANDLE_NULL);
}

int main(void)
{
	for (int with_cq = 0; with_cq < 2; with_cq++) {
		DAT_EVD_HANDLE async, evd;
		DAT_IA_HANDLE ia = ev_open(&async);
		DAT_CNO_HANDLE cno;

		OK(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
		queries(ia, cno);
		evd = ev_soft(ia, cno, with_cq ? DAT_EVD_DTO_FLAG : 0);
		sticky(cno, evd);
		disabled(cno, evd);
		waited_on(cno, evd);
		many(cno, evd);
		interrupted(cno);
		timing(cno);
		moved(ia, cno, evd);
		ends(ia, cno, evd);
	}
	return 0;
}

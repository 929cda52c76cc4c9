/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* CNOs with a proxy: agents that are called, descriptors that become readable. */
#include "events_lib.h"

#include "../support/entries.h"

#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static DAT_EVD_HANDLE other = (DAT_EVD_HANDLE)&other; /* no event was ever queued there */

/* --- agents --- */

static _Atomic int calls;
static _Atomic(DAT_EVD_HANDLE) called_with;
static _Atomic(pid_t) called_in;

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	CHECK(data == (DAT_PVOID)&calls);
	atomic_store(&called_in, (pid_t)syscall(SYS_gettid));
	atomic_store(&called_with, evd);
	atomic_fetch_add(&calls, 1);
}

static void calls_are(int n)
{
	uint64_t till = ev_now() + MP_TIMEOUT;

	while (atomic_load(&calls) < n && ev_now() < till)
		sched_yield();
	CHECK(atomic_load(&calls) == n);
}

static void agents(DAT_IA_HANDLE ia)
{
	const DAT_OS_WAIT_PROXY_AGENT a = { &calls, agent };
	DAT_CNO_HANDLE cno;
	DAT_CNO_PARAM p;
	DAT_EVD_HANDLE evd;

	OK(dat_cno_create(ia, a, &cno));
	OK(dat_cno_query(cno, DAT_CNO_FIELD_PROXY, &p));
	CHECK(p.proxy_type == DAT_PROXY_TYPE_AGENT && p.proxy.agent.proxy_agent_func == agent);
	evd = ev_soft(ia, cno, 0);
	OK(ev_post(evd, 1));
	calls_are(1);
	CHECK(atomic_load(&called_with) == evd);
	CHECK(atomic_load(&called_in) != (pid_t)syscall(SYS_gettid));
	ev_silent(cno); /* the trigger went to the agent */
	/* which is gone: the next trigger stays */
	OK(ev_post(evd, 2));
	OK(dat_cno_query(cno, DAT_CNO_FIELD_PROXY, &p));
	CHECK(p.proxy_type == DAT_PROXY_TYPE_NONE);
	/* until there is an agent again, which is called at once */
	OK(dat_cno_modify_agent(cno, a));
	calls_are(2);
	OK(dat_cno_modify_agent(cno, a));
	OK(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	OK(ev_post(evd, 3));
	ev_fires(cno, evd);
	CHECK(atomic_load(&calls) == 2);
	/* the agent is called at the end, too */
	OK(dat_cno_modify_agent(cno, a));
	OK(dat_evd_free(evd));
	calls_are(3);
	CHECK(atomic_load(&called_with) == DAT_HANDLE_NULL);
	OK(dat_cno_free(cno));
}

/* An agent may make any call; here it takes the events, and at the end closes its adapter. */
struct busy {
	DAT_IA_HANDLE ia;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	_Atomic uintptr_t seen;
	_Atomic bool closing, closed;
};

static void busy_agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct busy *b = data;
	DAT_EVENT ev;

	CHECK(!atomic_load(&b->closing));
	OK(dat_cno_modify_agent(b->cno, (DAT_OS_WAIT_PROXY_AGENT){ b, busy_agent }));
	while (dat_evd_dequeue(b->evd, &ev) == DAT_SUCCESS) {
		ev_is(&ev, b->evd, atomic_load(&b->seen));
		atomic_fetch_add(&b->seen, 1);
	}
	if (atomic_load(&b->seen) < 1000)
		return;
	OK(dat_cno_modify_agent(b->cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	atomic_store(&b->closing, true);
	OK(dat_ia_close(b->ia, DAT_CLOSE_ABRUPT_FLAG));
	atomic_store(&b->closed, true);
}

static void agent_closes(void)
{
	struct busy b = { 0 };
	DAT_EVD_HANDLE async;
	uint64_t till = ev_now() + MP_TIMEOUT;

	b.ia = ev_open(&async);
	OK(dat_cno_create(b.ia, (DAT_OS_WAIT_PROXY_AGENT){ &b, busy_agent }, &b.cno));
	b.evd = ev_soft(b.ia, b.cno, DAT_EVD_DTO_FLAG);
	for (uintptr_t i = 0; i < 1000;) {
		if (ev_post(b.evd, i) == DAT_SUCCESS)
			i++;
		else
			sched_yield();
		CHECK(ev_now() < till);
	}
	while (!atomic_load(&b.closed)) {
		CHECK(ev_now() < till);
		sched_yield();
	}
}

/* --- descriptors --- */

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1 && p.revents & POLLIN;
}

static int descriptor(void *ia_arg)
{
	const DAT_OS_WAIT_PROXY_AGENT a = { &calls, agent };
	DAT_IA_HANDLE ia = ia_arg;
	int before = open_fds();
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd, got;
	DAT_CNO_PARAM p;
	DAT_FD fd = -1;

	WANT(dat_cno_fd_create(ia, NULL, &cno), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	WANT(dat_cno_fd_create(ia, &fd, NULL), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	OK(dat_cno_fd_create(ia, &fd, &cno));
	OK(dat_cno_query(cno, DAT_CNO_FIELD_PROXY, &p));
	CHECK(p.proxy_type == DAT_PROXY_TYPE_FD && p.proxy.fd == fd);
	WANT(dat_cno_modify_agent(cno, a), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	WANT(dat_cno_trigger(cno, NULL), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	evd = ev_soft(ia, cno, DAT_EVD_DTO_FLAG);
	for (int i = 0; i < 3; i++) {
		CHECK(!readable(fd, 0));
		got = other;
		WANT(dat_cno_trigger(cno, &got), ERR(DAT_QUEUE_EMPTY, 0));
		CHECK(got == DAT_HANDLE_NULL);
		OK(ev_post(evd, 1));
		CHECK(readable(fd, 10000));
		OK(dat_cno_trigger(cno, &got));
		CHECK(got == evd);
		ev_drain(evd);
	}
	/* a wait collects as well */
	OK(ev_post(evd, 1));
	ev_fires(cno, evd);
	CHECK(!readable(fd, 0));
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	return before;
}

int main(void)
{
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia = ev_open(&async);

	agents(ia);
	ev_no_fds_left(descriptor, ia);
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	for (int i = 0; i < 5; i++)
		agent_closes();
	return 0;
}

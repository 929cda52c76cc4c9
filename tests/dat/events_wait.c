/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_evd_wait: threshold, the count of remaining events, time, signals, exclusivity; for an EVD
 * without a completion queue behind it and for one with.
 */
#include "events_lib.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

static void arguments(DAT_EVD_HANDLE evd, int qlen)
{
	DAT_COUNT n;
	DAT_EVENT ev;

	WANT(dat_evd_wait(evd, 0, 0, &ev, &n), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	WANT(dat_evd_wait(evd, 0, -1, &ev, &n), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	WANT(dat_evd_wait(evd, 0, qlen + 1, &ev, &n),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	WANT(dat_evd_wait(evd, 0, 1, NULL, &n), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4));
	WANT(dat_evd_wait(evd, 0, 1, &ev, NULL), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5));
}

/* For every number of events and threshold: whether the wait takes one, and nmore. */
static void thresholds(DAT_EVD_HANDLE evd, int qlen, int with_cq)
{
	DAT_COUNT n;
	DAT_EVENT ev;

	for (int have = 0; have <= qlen; have++) {
		for (int want = 1; want <= qlen; want++) {
			DAT_RETURN ret;
			int left = have;

			for (int i = 0; i < have; i++)
				OK(ev_post(evd, (uintptr_t)i));
			n = -1;
			ret = dat_evd_wait(evd, 0, want, &ev, &n);
			if (have >= want) {
				WANT(ret, DAT_SUCCESS);
				ev_is(&ev, evd, 0);
				CHECK(n == --left && n >= want - 1);
			} else {
				WANT(ret, ERR(DAT_TIMEOUT_EXPIRED, 0));
				CHECK(n == have);
			}
			while (left--) {
				OK(dat_evd_dequeue(evd, &ev));
				ev_is(&ev, evd, (uintptr_t)(have - left - 1));
			}
			EMPTY(evd, with_cq);
		}
	}
}

/* A wait does not end before its timeout. How late it ends depends on the machine. */
static void timing(DAT_EVD_HANDLE evd)
{
	static const DAT_TIMEOUT times[] = { 1, 700, 5000, 30000 };

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		DAT_EVENT ev;
		DAT_COUNT n;
		uint64_t t = ev_now();

		WANT(dat_evd_wait(evd, times[i], 1, &ev, &n), ERR(DAT_TIMEOUT_EXPIRED, 0));
		t = ev_now() - t;
		CHECK_MSG(t + 1 >= times[i], "%lu us, not %u", (unsigned long)t, times[i]);
	}
}

/* Events below the threshold neither end the wait nor prolong it. Returns true if all of them
 * arrived during the wait. */
static bool disturbed(DAT_EVD_HANDLE evd, int qlen, DAT_TIMEOUT usec)
{
	struct ev_waiter w = { .evd = evd, .timeout = usec, .threshold = qlen };
	const struct timespec pause = { 0, usec * 50 };
	DAT_EVENT ev;
	int n = 0;

	ev_wait_start(&w);
	while (n < qlen - 1) {
		OK(ev_post(evd, (uintptr_t)n++));
		nanosleep(&pause, NULL);
	}
	ev_wait_join(&w);
	WANT(w.ret, ERR(DAT_TIMEOUT_EXPIRED, 0));
	CHECK_MSG(w.took + 1 >= usec, "%lu us", (unsigned long)w.took);
	CHECK(w.nmore >= 0 && w.nmore <= n);
	for (int i = 0; i < n; i++) {
		OK(dat_evd_dequeue(evd, &ev));
		ev_is(&ev, evd, (uintptr_t)i);
	}
	return w.nmore == n;
}

/* The posting thread may be delayed for longer than the wait: then both get more time. */
static void spurious(DAT_EVD_HANDLE evd, int qlen)
{
	DAT_TIMEOUT usec = 200000;

	while (!disturbed(evd, qlen, usec)) {
		usec *= 2;
		CHECK(usec < MP_TIMEOUT);
	}
}

/* The waiter goes with the event that reaches the threshold. */
static void woken(DAT_EVD_HANDLE evd, int qlen)
{
	DAT_EVENT ev;

	for (int want = 1; want <= qlen; want++) {
		struct ev_waiter w = { .evd = evd, .timeout = DAT_TIMEOUT_INFINITE,
				       .threshold = want };

		ev_wait_start(&w);
		for (int i = 0; i < want; i++)
			OK(ev_post(evd, (uintptr_t)i));
		ev_wait_join(&w);
		WANT(w.ret, DAT_SUCCESS);
		ev_is(&w.event, evd, 0);
		CHECK(w.nmore == want - 1);
		for (int i = 1; i < want; i++) {
			OK(dat_evd_dequeue(evd, &ev));
			ev_is(&ev, evd, (uintptr_t)i);
		}
	}
}

static void alone(DAT_EVD_HANDLE evd)
{
	struct ev_waiter w = { .evd = evd, .timeout = DAT_TIMEOUT_INFINITE, .threshold = 2 };
	DAT_COUNT n = -1;
	DAT_EVENT ev;

	OK(ev_post(evd, 1));
	ev_wait_start(&w);
	WANT(dat_evd_wait(evd, 0, 1, &ev, &n), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER));
	WANT(dat_evd_dequeue(evd, &ev), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER));
	WANT(dat_evd_free(evd), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE));
	/* it may be resized meanwhile, not below the waiter's threshold */
	OK(dat_evd_resize(evd, 64));
	OK(ev_post(evd, 2));
	ev_wait_join(&w);
	WANT(w.ret, DAT_SUCCESS);
	CHECK(w.nmore == 1);
	OK(dat_evd_dequeue(evd, &ev));
	ev_is(&ev, evd, 2);
}

static void made_unwaitable(DAT_EVD_HANDLE evd)
{
	struct ev_waiter w = { .evd = evd, .timeout = DAT_TIMEOUT_INFINITE, .threshold = 1 };

	ev_wait_start(&w);
	OK(dat_evd_set_unwaitable(evd));
	ev_wait_join(&w);
	WANT(w.ret, ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE));
	OK(dat_evd_clear_unwaitable(evd));
}

static void handler(int sig)
{
	(void)sig;
}

/* With and without SA_RESTART: DAT demands INTERRUPTED_CALL. */
static void interrupted(DAT_EVD_HANDLE evd)
{
	for (int restart = 0; restart < 2; restart++) {
		struct ev_waiter w = { .evd = evd, .timeout = restart ? DAT_TIMEOUT_INFINITE :
								      MP_TIMEOUT,
				       .threshold = 1 };
		struct sigaction sa = { .sa_handler = handler,
					.sa_flags = restart ? SA_RESTART : 0 };

		CHECK(!sigaction(SIGUSR1, &sa, NULL));
		ev_wait_start(&w);
		ev_interrupt(w.thread, &w.over);
		ev_wait_join(&w);
		WANT(w.ret, ERR(DAT_INTERRUPTED_CALL, 0));
		CHECK(w.nmore == 0);
	}
}

/* A cancelled waiter leaves the EVD as if it had never waited. */
static void cancelled(DAT_EVD_HANDLE evd, int with_cq)
{
	struct ev_waiter w = { .evd = evd, .timeout = DAT_TIMEOUT_INFINITE, .threshold = 1 };

	ev_wait_start(&w);
	pthread_cancel(w.thread);
	ev_wait_join(&w);
	EMPTY(evd, with_cq);
}

/* Two threads pass events to each other: a lost wake-up would stop them. */
static void *poster(void *arg)
{
	for (uintptr_t i = 0; i < 50000; i++)
		while (ev_post((DAT_EVD_HANDLE)arg, i) != DAT_SUCCESS)
			sched_yield();
	return NULL;
}

static void none_lost(DAT_EVD_HANDLE evd)
{
	pthread_t t;
	DAT_EVENT ev;
	DAT_COUNT n;

	CHECK(!pthread_create(&t, NULL, poster, evd));
	for (uintptr_t i = 0; i < 50000; i++) {
		OK(dat_evd_wait(evd, MP_TIMEOUT, 1, &ev, &n));
		ev_is(&ev, evd, i);
	}
	pthread_join(t, NULL);
}

int main(void)
{
	DAT_EVD_HANDLE async, evd;
	DAT_IA_HANDLE ia = ev_open(&async);

	for (int with_cq = 0; with_cq < 2; with_cq++) {
		struct ev_waiter w = { .timeout = DAT_TIMEOUT_INFINITE, .threshold = 1 };
		const int qlen = 6;

		OK(dat_evd_create(ia, qlen, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)(DAT_EVD_SOFTWARE_FLAG |
				  (with_cq ? DAT_EVD_DTO_FLAG : 0)), &evd));
		arguments(evd, qlen);
		thresholds(evd, qlen, with_cq);
		timing(evd);
		spurious(evd, qlen);
		woken(evd, qlen);
		alone(evd);
		made_unwaitable(evd);
		interrupted(evd);
		cancelled(evd, with_cq);
		none_lost(evd);
		if (!with_cq)
			continue;
		/* closing the adapter ends the wait */
		w.evd = evd;
		ev_wait_start(&w);
		OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
		ev_wait_join(&w);
		WANT(w.ret, ERR(DAT_ABORT, DAT_SUB_INTERRUPTED));
	}
	return 0;
}

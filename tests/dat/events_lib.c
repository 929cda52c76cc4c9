/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "events_lib.h"

#include "../support/entries.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

DAT_IA_HANDLE ev_open(DAT_EVD_HANDLE *async)
{
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	*async = DAT_HANDLE_NULL;
	ret = dat_ia_open((char *)mp_ia_name(), 16, async, &ia);
	if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND)
		SKIP("no adapter %s here", mp_ia_name());
	OK(ret);
	return ia;
}

uint64_t ev_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000;
}

DAT_RETURN ev_post(DAT_EVD_HANDLE evd, uintptr_t what)
{
	DAT_EVENT ev;

	memset(&ev, 0, sizeof(ev));
	ev.event_number = DAT_SOFTWARE_EVENT;
	ev.event_data.software_event_data.pointer = (DAT_PVOID)what;
	return dat_evd_post_se(evd, &ev);
}

void ev_is(const DAT_EVENT *ev, DAT_EVD_HANDLE evd, uintptr_t what)
{
	CHECK_MSG(ev->event_number == DAT_SOFTWARE_EVENT, "event %x", ev->event_number);
	CHECK(ev->evd_handle == evd);
	CHECK_MSG((uintptr_t)ev->event_data.software_event_data.pointer == what, "%lu, not %lu",
		  (unsigned long)(uintptr_t)ev->event_data.software_event_data.pointer,
		  (unsigned long)what);
}

void ev_no_fds_left(int (*round)(void *arg), void *arg)
{
	int before = 0, more = 1;

	for (int i = 0; i < 10 && more > 0; i++) {
		uint64_t till = ev_now() + MP_TIMEOUT / 10;

		before = round(arg);
		do {
			sched_yield();
			more = open_fds() - before;
		} while (more > 0 && ev_now() < till);
	}
	CHECK_MSG(more <= 0, "%d descriptors more than %d, each time", more, before);
}

/* State S in /proc: the thread sleeps in its call, the only one in which threads of these tests
 * sleep, or it has ended if its call had a timeout. */
void ev_until_asleep(pid_t tid)
{
	char path[64], line[256], *end;
	uint64_t till = ev_now() + MP_TIMEOUT;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	for (;;) {
		FILE *f = fopen(path, "r");

		end = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
		if (f)
			fclose(f);
		if (!end || end[2] == 'S')
			return;
		CHECK(ev_now() < till);
		sched_yield();
	}
}

struct start {
	struct ev_waiter *w;
	_Atomic pid_t tid;
};

static void *waiting(void *arg)
{
	struct start *s = arg;
	struct ev_waiter *w = s->w;
	uint64_t t = ev_now();

	atomic_store(&s->tid, (pid_t)syscall(SYS_gettid));
	w->ret = dat_evd_wait(w->evd, w->timeout, w->threshold, &w->event, &w->nmore);
	w->took = ev_now() - t;
	atomic_store(&w->over, true);
	return NULL;
}

void ev_wait_start(struct ev_waiter *w)
{
	struct start s = { .w = w };

	memset(&w->event, 0xee, sizeof(w->event));
	w->nmore = -1;
	atomic_store(&w->over, false);
	CHECK(!pthread_create(&w->thread, NULL, waiting, &s));
	while (!atomic_load(&s.tid))
		sched_yield();
	ev_until_asleep(s.tid);
}

void ev_interrupt(pthread_t thread, _Atomic bool *over)
{
	uint64_t till = ev_now() + MP_TIMEOUT;

	while (!atomic_load(over)) {
		CHECK(!pthread_kill(thread, SIGUSR1));
		CHECK(ev_now() < till);
		usleep(1000);
	}
}

void ev_wait_join(struct ev_waiter *w)
{
	CHECK(!pthread_join(w->thread, NULL));
}

DAT_EVD_HANDLE ev_soft(DAT_IA_HANDLE ia, DAT_CNO_HANDLE cno, int more)
{
	DAT_EVD_HANDLE evd;

	OK(dat_evd_create(ia, 8, cno, (DAT_EVD_FLAGS)(DAT_EVD_SOFTWARE_FLAG | more), &evd));
	return evd;
}

void ev_fires(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE got = (DAT_EVD_HANDLE)&got;

	OK(dat_cno_wait(cno, MP_TIMEOUT, &got));
	CHECK(got == evd);
}

void ev_silent(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE got = (DAT_EVD_HANDLE)&got;

	WANT(dat_cno_wait(cno, 0, &got), ERR(DAT_QUEUE_EMPTY, 0));
	CHECK(got == DAT_HANDLE_NULL);
}

void ev_drain(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	while (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS)
		;
}

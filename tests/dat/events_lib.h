/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For the tests of events, beyond mem_pair.h. */
#ifndef TESTS_DAT_EVENTS_LIB_H
#define TESTS_DAT_EVENTS_LIB_H

#include "mem_pair.h"

#include <pthread.h>

/* An adapter without a peer. */
DAT_IA_HANDLE ev_open(DAT_EVD_HANDLE *async);
uint64_t ev_now(void); /* microseconds */
/* A software event with that pointer. */
DAT_RETURN ev_post(DAT_EVD_HANDLE evd, uintptr_t what);
/* Takes the next software event, which must have that pointer. */
void ev_is(const DAT_EVENT *ev, DAT_EVD_HANDLE evd, uintptr_t what);
/* No event is queued. An EVD with completion streams returns that without the error class. */
#define EMPTY(evd, completions) \
	WANT(dat_evd_dequeue(evd, &(DAT_EVENT){ 0 }), \
	     (completions) ? (DAT_RETURN)DAT_QUEUE_EMPTY : ERR(DAT_QUEUE_EMPTY, 0))
/*
 * round() returns how many descriptors there were before its work, or after its first one: in the
 * end there are no more. It has ten tries, since other processes of this host that connect to the
 * adapter take descriptors here as well; a leak recurs each time.
 */
void ev_no_fds_left(int (*round)(void *arg), void *arg);

/* An EVD for software events and, with `more`, for others. */
DAT_EVD_HANDLE ev_soft(DAT_IA_HANDLE ia, DAT_CNO_HANDLE cno, int more);
void ev_drain(DAT_EVD_HANDLE evd);
/* The CNO is triggered by that EVD; or is not triggered. */
void ev_fires(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd);
void ev_silent(DAT_CNO_HANDLE cno);

/* dat_evd_wait in a thread of its own. */
struct ev_waiter {
	DAT_EVD_HANDLE evd;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold;
	pthread_t thread;
	DAT_RETURN ret;
	DAT_EVENT event;
	DAT_COUNT nmore;
	uint64_t took;
	_Atomic bool over;
};
/* Returns when the thread is asleep in the call, as far as the kernel tells. */
void ev_wait_start(struct ev_waiter *w);
void ev_wait_join(struct ev_waiter *w);
void ev_until_asleep(pid_t tid);
/* Sends SIGUSR1 to the thread until it has left its call: a signal that arrives elsewhere, in a
 * lock for instance, does not interrupt the wait. */
void ev_interrupt(pthread_t thread, _Atomic bool *over);

#endif

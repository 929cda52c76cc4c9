/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ia/loop.h"

#include "util/lock.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCH 32

struct loop {
	int epoll, wake;
	pthread_t thread;
	struct ut_list timers, watches; /* timers in the order of their time */
	bool stop;
	uint64_t sleeps_till; /* ns, as dpr_timer.at; 0: awake */
	const void *running;  /* the watch or timer whose handler is running */
	struct epoll_event batch[BATCH];
	int nbatch;
	bool unwatched; /* dpr_loop_unwatch was called since epoll_wait began */
};

/* Guards `loop` and all behind it; a leaf. */
static struct ut_mutex lock = UT_MUTEX_INIT;
static struct ut_cond idle = UT_COND_INIT; /* `running` changed */
static struct loop *loop UT_GUARDED_BY(lock);
static unsigned int users UT_GUARDED_BY(lock);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread struct loop *mine;

uint64_t dpr_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* By syscall(2), which is no cancellation point: the caller holds locks. */
static void wake_up(struct loop *l)
{
	uint64_t one = 1;

	syscall(SYS_write, l->wake, &one, sizeof(one));
}

static void run_begin(struct loop *l, const void *what) UT_RELEASE(lock) UT_NO_TSA
{
	l->running = what;
	ut_unlock(&lock);
}

static void run_end(struct loop *l) UT_ACQUIRE(lock) UT_NO_TSA
{
	ut_lock(&lock);
	l->running = NULL;
	ut_cond_broadcast(&idle);
}

static void run_timers(struct loop *l) UT_REQUIRES(lock) UT_NO_TSA
{
	uint64_t now = dpr_now();
	struct dpr_timer *t;

	while ((t = ut_list_first(&l->timers, struct dpr_timer, on)) && t->at <= now) {
		ut_list_del(&t->on);
		run_begin(l, t);
		t->fire(t);
		run_end(l);
	}
}

static void run_watches(struct loop *l) UT_REQUIRES(lock) UT_NO_TSA
{
	for (int i = 0; i < l->nbatch; i++) {
		struct dpr_watch *w = l->batch[i].data.ptr;

		if (!w)
			continue;
		run_begin(l, w);
		w->ready(w);
		run_end(l);
	}
	l->nbatch = 0;
}

static int sleep_ms(struct loop *l) UT_REQUIRES(lock)
{
	struct dpr_timer *t = ut_list_first(&l->timers, struct dpr_timer, on);
	uint64_t now, ms;

	l->sleeps_till = UINT64_MAX;
	if (!t)
		return -1;
	l->sleeps_till = t->at;
	now = dpr_now();
	if (t->at <= now)
		return 0;
	ms = (t->at - now + 999999) / 1000000;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

static void wait_once(struct loop *l) UT_REQUIRES(lock) UT_NO_TSA
{
	int ms = sleep_ms(l), n;
	uint64_t drop;

	ut_unlock(&lock);
	n = epoll_wait(l->epoll, l->batch, BATCH, ms);
	ut_lock(&lock);
	l->sleeps_till = 0;
	l->nbatch = n > 0 ? n : 0;
	for (int i = 0; i < l->nbatch; i++) {
		if (l->batch[i].data.ptr != l)
			continue;
		syscall(SYS_read, l->wake, &drop, sizeof(drop));
		l->batch[i].data.ptr = NULL;
	}
}

/*
 * dpr_loop_unwatch cannot clear a batch that epoll_wait is writing, so the batch is compared with
 * the list of watches.
 */
static void drop_unwatched(struct loop *l) UT_REQUIRES(lock)
{
	for (int i = 0; l->unwatched && i < l->nbatch; i++) {
		struct dpr_watch *w;
		bool known = false;

		ut_list_each(w, &l->watches, on)
			known |= w == l->batch[i].data.ptr;
		if (!known)
			l->batch[i].data.ptr = NULL;
	}
	l->unwatched = false;
}

static void loop_free(struct loop *l)
{
	close(l->epoll);
	close(l->wake);
	free(l);
}

static void *body(void *arg)
{
	struct loop *l = arg;

	mine = l;
	ut_lock(&lock);
	while (!l->stop) {
		wait_once(l);
		drop_unwatched(l);
		run_watches(l);
		run_timers(l);
	}
	while (ut_list_pop(&l->timers))
		; /* a late dpr_timer_cancel must not find the freed head */
	while (ut_list_pop(&l->watches))
		;
	ut_unlock(&lock);
	loop_free(l);
	return NULL;
}

static struct loop *loop_new(void)
{
	struct loop *l = calloc(1, sizeof(*l));
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = l };

	if (!l)
		return NULL;
	ut_list_init(&l->timers);
	ut_list_init(&l->watches);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->epoll >= 0 && l->wake >= 0 && !epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake, &ev))
		return l;
	if (l->epoll >= 0)
		close(l->epoll);
	if (l->wake >= 0)
		close(l->wake);
	free(l);
	return NULL;
}

static int loop_start(struct loop *l)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&l->thread, NULL, body, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

/* A child has no thread, and its copies of the parent's objects are useless. */
static void in_child(void) UT_NO_TSA
{
	ut_mutex_init(&lock);
	if (loop) {
		close(loop->epoll);
		close(loop->wake);
	}
	loop = NULL;
	users = 0;
	mine = NULL;
}

static void at_first(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

int dpr_loop_get(void)
{
	struct loop *l;
	int err = 0;

	pthread_once(&once, at_first);
	ut_lock(&lock);
	if (!users) {
		l = loop_new();
		err = l ? loop_start(l) : -ENOMEM;
		if (err && l)
			loop_free(l);
		if (!err)
			loop = l;
	}
	users += !err;
	ut_unlock(&lock);
	return err;
}

void dpr_loop_put(void)
{
	struct loop *l = NULL;
	pthread_t thread;

	ut_lock(&lock);
	if (users && !--users) {
		l = loop;
		loop = NULL;
		l->stop = true;
		thread = l->thread;
		wake_up(l);
	}
	ut_unlock(&lock);
	if (!l)
		return;
	if (mine == l)
		pthread_detach(thread);
	else
		pthread_join(thread, NULL);
}

/* Waits until the handler of `what` has returned, unless the caller is that handler. */
static void wait_handler(struct loop *l, const void *what) UT_REQUIRES(lock) UT_NO_TSA
{
	while (l == loop && mine != l && l->running == what)
		ut_cond_wait(&idle, &lock, UINT64_MAX);
}

int dpr_loop_watch(struct dpr_watch *w)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = w };
	int err = -ENXIO;

	ut_lock(&lock);
	if (loop)
		err = epoll_ctl(loop->epoll, EPOLL_CTL_ADD, w->fd, &ev) ? -errno : 0;
	if (!err)
		ut_list_add_tail(&loop->watches, &w->on);
	ut_unlock(&lock);
	return err;
}

void dpr_loop_unwatch(struct dpr_watch *w)
{
	struct epoll_event unused;

	ut_lock(&lock);
	if (loop) {
		epoll_ctl(loop->epoll, EPOLL_CTL_DEL, w->fd, &unused);
		ut_list_del(&w->on);
		loop->unwatched = true;
		for (int i = 0; i < loop->nbatch; i++)
			if (loop->batch[i].data.ptr == w)
				loop->batch[i].data.ptr = NULL;
		wait_handler(loop, w);
	}
	ut_unlock(&lock);
}

void dpr_timer_init(struct dpr_timer *t, void (*fire)(struct dpr_timer *t))
{
	ut_list_init(&t->on);
	t->fire = fire;
}

int dpr_timer_arm(struct dpr_timer *t, uint64_t usec)
{
	uint64_t at = dpr_now() + usec * 1000;
	struct ut_list *after;
	int err = -ENXIO;

	ut_lock(&lock);
	ut_list_del(&t->on);
	t->at = at;
	if (loop) {
		/* from the end, since timeouts tend to be alike */
		for (after = loop->timers.prev; after != &loop->timers; after = after->prev)
			if (ut_container(after, struct dpr_timer, on)->at <= at)
				break;
		ut_list_add_tail(after->next, &t->on);
		if (loop->sleeps_till > at)
			wake_up(loop);
		err = 0;
	}
	ut_unlock(&lock);
	return err;
}

bool dpr_timer_cancel(struct dpr_timer *t)
{
	bool armed;

	ut_lock(&lock);
	armed = !ut_list_empty(&t->on);
	ut_list_del(&t->on);
	if (loop)
		wait_handler(loop, t);
	ut_unlock(&lock);
	return armed;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that wait for an event of a completion channel and drive the adapter meanwhile. The link
 * is an epoll set with a pipe in it, a byte is a packet, and a packet is an event. The checks:
 * which events the channel's descriptor counts, which waiters they wake, and that no readable
 * descriptor, no readable wake fd and no acknowledgement stays behind when a wait ends in some
 * other way.
 */
#include "device/adapter.h"
#include "device/process.h"
#include "device/progress/fast.h"
#include "device/progress/thread.h"
#include "device/progress/wait.h"
#include "engine/chan.h"
#include "engine/cq.h"
#include "engine/event.h"
#include "support/check.h"
#include "util/clock.h"
#include "util/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct dev_adapter *a;
static struct ut_stage stage = UT_STAGE_INIT;
static int wire[2], set;
static struct eng_chan *chan;
static struct eng_cq cq;
static uint64_t deadline = UT_NEVER; /* dev.lock */
static atomic_int fired, looks, packets;
static atomic_bool acks, untold;
static atomic_bool silent; /* packets make no event */

static int receive(struct dev_adapter *ad, uint64_t now, bool cheap)
{
	uint8_t b[64];
	long n;

	if (cheap)
		return 0;
	atomic_fetch_add(&looks, 1);
	n = syscall(SYS_read, wire[0], b, sizeof(b));
	for (long i = 0; i < n && !silent; i++)
		eng_chan_raise(chan, &cq);
	if (n > 0) {
		atomic_store(&acks, true);
		atomic_fetch_add(&packets, (int)n);
	}
	return n < 0 ? 0 : (int)n;
}

static int transmit(struct eng_dev *dev, uint64_t now, enum eng_acks how)
{
	if (how == ENG_ACKS_QUIETLY && atomic_load(&acks))
		atomic_store(&untold, true);
	if (how == ENG_ACKS_NOW)
		atomic_store(&untold, false);
	if (how != ENG_ACKS_LATER)
		atomic_store(&acks, false);
	if (deadline <= now) {
		deadline = UT_NEVER;
		atomic_fetch_add(&fired, 1);
	}
	return 0;
}

static bool acks_pending(struct eng_dev *dev)
{
	return atomic_load(&acks) || atomic_load(&untold);
}

static void acknowledge(struct eng_dev *dev, enum eng_acks how)
{
	atomic_store(&acks, false);
	atomic_store(&untold, false);
}

static bool busy(struct eng_dev *dev)
{
	return false;
}

static uint64_t next(struct eng_dev *dev)
{
	return deadline;
}

DEV_OVERLAY(static const struct dev_machine machine, DEV_DEFAULT_MACHINE,
	.receive = receive, .transmit = transmit, .acks_pending = acks_pending,
	.acknowledge = acknowledge, .busy = busy, .deadline = next);

DEV_OVERLAY(static const struct dev_kind_row kind, DEV_DEFAULT_ROW, .word = "fake");

static const struct eng_dev_ops ops = {
	.progress = dev_progress, .post_fast = dev_post_fast, .poll = dev_poll,
};

static const struct eng_proto_ops proto = { .name = "fake" };

static void make_adapter(void)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = 1 };

	CHECK(pipe2(wire, O_CLOEXEC | O_NONBLOCK) == 0);
	set = epoll_create1(EPOLL_CLOEXEC);
	CHECK(set >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, wire[0], &e) == 0);
	a = calloc(1, sizeof(*a));
	CHECK(a && eng_dev_init(&a->dev, "fake", &ops, &proto, 1) == 0);
	a->dev.device = a;
	a->kind = &kind;
	a->machine = &machine;
	a->serial = 999;
	a->dev.process = dev_process_number;
	a->info.ifindex = 1;
	dev_driver_init(&a->driver);
	ut_lock(&dev_process_lock);
	ut_list_add_tail(&dev_process_adapters, &a->node);
	ut_unlock(&dev_process_lock);
	ut_lock(&a->dev.lock);
	a->stage = &stage;
	a->wired = true;
	CHECK(dev_driver_attach(a, set) == 0);
	ut_unlock(&a->dev.lock);
	CHECK(eng_chan_create(NULL, &chan) == 0);
	ut_list_init(&cq.ready);
}

static void drop_adapter(void)
{
	struct dev_thread *t;

	ut_lock(&dev_process_lock);
	ut_list_del(&a->node);
	t = dev_thread_take();
	ut_unlock(&dev_process_lock);
	dev_driver_detach(a);
	dev_thread_join(t);
	CHECK(eng_chan_destroy(chan) == 0);
	eng_dev_fini(&a->dev);
	dev_driver_fini(&a->driver);
	dev_counting_fini(&a->counting); /* the thread has looked, if the checks took five seconds */
	free(a);
	close(set);
	close(wire[0]);
	close(wire[1]);
}

static void feed(int n)
{
	static const char b[8];

	CHECK(write(wire[1], b, (size_t)n) == n);
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static bool take(void)
{
	struct eng_cq *got;

	return eng_chan_get(chan, &got) == 0;
}

static void wait_for_driver(enum dev_driver o)
{
	while (atomic_load(&a->driver.current) != (int)o)
		sched_yield();
}

/* The leader sleeps, and on nothing but the set. */
static void wait_for_sleep(void)
{
	bool asleep = false;

	while (!asleep) {
		sched_yield();
		ut_lock(&chan->lock);
		asleep = chan->wake_fd >= 0;
		ut_unlock(&chan->lock);
	}
}

static void *wait_one(void *ret)
{
	int *r = ret;

	*r = dev_wait_comp(&a->dev, chan);
	return NULL;
}

/* A waiter that comes while another thread seems to poll does not lead. */
static pthread_t start(void *(*f)(void *), void *arg)
{
	pthread_t t;

	wait_for_driver(DEV_DRIVER_THREAD);
	CHECK(pthread_create(&t, NULL, f, arg) == 0);
	return t;
}

/* The background thread would take the messages that came before it slept. */
static pthread_t start_sleeper(int *r)
{
	pthread_t t;

	*r = 1;
	t = start(wait_one, r);
	wait_for_sleep();
	return t;
}

static void *wait_and_take(void *arg)
{
	while (!take())
		CHECK(dev_wait_comp(&a->dev, chan) == 0);
	return NULL;
}

/* No event of any waiter, and no wake fd. */
static void check_clean(void)
{
	CHECK(!take() && !readable(chan->fd) && !readable(set));
}

/* Returns when the waiter has. */
static void feed_sleeper(int n)
{
	pthread_t t;
	int r;

	t = start_sleeper(&r);
	feed(n);
	pthread_join(t, NULL);
	CHECK(r == 0);
}

static void own_event_costs_nothing(void)
{
	printf("completions that the waiter finds are handed over\n");
	feed_sleeper(1);
	CHECK(!readable(chan->fd) && take());
	check_clean();
	/* All but the first are there for every waiter. */
	feed_sleeper(3);
	CHECK(readable(chan->fd) && take() && readable(chan->fd) && take() && readable(chan->fd) &&
	      take());
	check_clean();
}

static void dropped_event(void)
{
	printf("a queue goes away whose event was handed over\n");
	feed_sleeper(2);
	eng_chan_drop(chan, &cq);
	check_clean();
}

/* Packets that mean nothing to the channel do not end the wait, and their acknowledgement leaves
 * before it sleeps on. */
static void sleeps_on(void)
{
	int r, before = atomic_load(&packets);
	pthread_t t;

	printf("progress without an event\n");
	silent = true;
	t = start_sleeper(&r);
	for (int i = 0; i < 20; i++) {
		feed(1);
		while (atomic_load(&packets) != before + i + 1 || atomic_load(&acks))
			sched_yield();
	}
	CHECK(atomic_load(&a->driver.waiters) == 1);
	wait_for_sleep();
	silent = false;
	feed(1);
	pthread_join(t, NULL);
	CHECK(r == 0 && take());
	check_clean();
}

static void others_wake_it(void)
{
	printf("an event that another thread raises\n");
	for (int i = 0; i < 200; i++) {
		pthread_t t;
		int r = 1;

		t = i & 1 ? start_sleeper(&r) : start(wait_one, &r);
		eng_chan_raise(chan, &cq);
		pthread_join(t, NULL);
		CHECK(r == 0 && take());
		check_clean();
	}
}

static void two_on_one_channel(void)
{
	printf("two threads, two events\n");
	for (int i = 0; i < 200; i++) {
		pthread_t t[2];

		t[0] = start(wait_and_take, NULL);
		CHECK(pthread_create(&t[1], NULL, wait_and_take, NULL) == 0);
		if (i & 1)
			wait_for_sleep();
		feed(i & 2 ? 2 : 1);
		if (!(i & 2))
			feed(1);
		for (int k = 0; k < 2; k++)
			pthread_join(t[k], NULL);
		check_clean();
	}
}

static void on_signal(int sig)
{
}

static void interrupted(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t t;
	int r;

	printf("a signal\n");
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	t = start_sleeper(&r);
	/* The first may come just before the sleep. */
	while (pthread_tryjoin_np(t, NULL)) {
		pthread_kill(t, SIGUSR1);
		sched_yield();
	}
	CHECK(r == -EINTR);
	eng_chan_raise(chan, &cq);
	CHECK(readable(chan->fd) && take());
	check_clean();
}

__attribute__((unused)) static void cancelled(void)
{
	printf("a cancelled waiter leaves nothing behind\n");
	for (int i = 0; i < 100; i++) {
		pthread_t t;
		int r;

		t = start_sleeper(&r);
		/* Its wake fd may be readable without a waiter. */
		if (i & 1)
			eng_chan_raise(chan, &cq);
		pthread_cancel(t);
		pthread_join(t, NULL);
		CHECK(atomic_load(&a->driver.waiters) == 0);
		if (i & 1)
			CHECK(readable(chan->fd) && take());
		eng_chan_raise(chan, &cq);
		CHECK(readable(chan->fd) && take());
		check_clean();
	}
}

/* A deadline that is far away is served, though the sleeper has set no timer; so is one that another
 * thread's post brings. */
static void deadlines_are_served(void)
{
	pthread_t t;
	int r;

	printf("deadlines\n");
	for (int i = 0; i < 4; i++) {
		int before = atomic_load(&fired);

		ut_lock(&a->dev.lock);
		deadline = ut_now() + (i & 1 ? UT_MS : 20 * UT_MS);
		eng_dev_unlock(&a->dev);
		t = start_sleeper(&r);
		while (atomic_load(&fired) == before)
			sched_yield();
		wait_for_sleep();
		before = atomic_load(&fired);
		ut_lock(&a->dev.lock);
		deadline = ut_now() + (i & 2 ? UT_MS : 20 * UT_MS);
		a->driver.polls = 0;
		dev_run(a, DEV_BY_APP); /* as after a post */
		eng_dev_unlock(&a->dev);
		while (atomic_load(&fired) == before)
			sched_yield();
		feed(1);
		pthread_join(t, NULL);
		CHECK(r == 0 && take());
	}
	check_clean();
}

static struct timespec moment = { 0, UT_MS / 4 };

/*
 * No acknowledgement is left to a next call: a thread that slept for a message may leave by _exit()
 * with it. The wake fd is left, and becomes readable though the program does something else.
 */
static void acknowledged_at_once(void)
{
	unsigned quiet = 0;

	printf("messages that a waiter has taken are acknowledged\n");
	for (int i = 0; i < 1000 && quiet < 20; i++) {
		ut_lock(&a->dev.lock);
		a->delayed_ack.penalty = 0;
		eng_dev_unlock(&a->dev);
		feed_sleeper(1);
		CHECK(take() && !atomic_load(&acks));
		/* The tick may have been faster. */
		quiet += atomic_load(&untold);
		while (atomic_load(&untold))
			nanosleep(&moment, NULL);
	}
	CHECK(quiet == 20);
	wait_for_driver(DEV_DRIVER_THREAD);
}

/* The first poll behind a wait asks the system for nothing, the next one does. */
static void poll_behind_a_wait(void)
{
	int before;

	printf("the poll behind a wait\n");
	do {
		feed_sleeper(1);
		CHECK(take());
		before = atomic_load(&looks);
		eng_dev_poll(&a->dev, NULL, NULL);
	} while (atomic_load(&looks) != before);
	do /* the thread may hold the lock */
		eng_dev_poll(&a->dev, NULL, NULL);
	while (atomic_load(&looks) == before);
}

int main(void)
{
	alarm(300);
	setvbuf(stdout, NULL, _IOLBF, 0);
	make_adapter();
	own_event_costs_nothing();
	dropped_event();
	sleeps_on();
	others_wake_it();
	two_on_one_channel();
	interrupted();
	/* As in device_own.c. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	cancelled();
#endif
	deadlines_are_served();
	acknowledged_at_once();
	poll_behind_a_wait();
	drop_adapter();
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The driver of an adapter, by a fake one: its link is a pipe, a byte is a
 * packet, and a packet makes a completion event on a descriptor.
 *
 *     feeder thread --pipe--> fake link --receive()--> eventfd --> waiters
 *
 * A lost wake-up shows as a wait that does not end; the watchdog ends the
 * program with the name of the part that hung.
 */
#include "device/adapter.h"
#include "device/process.h"
#include "device/progress/fast.h"
#include "device/progress/thread.h"
#include "device/progress/wait.h"
#include "engine/pending.h"
#include "engine/qp.h"
#include "support/check.h"
#include "util/clock.h"
#include "util/heap.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct dev_adapter *a;
static struct ut_stage stage = UT_STAGE_INIT;
static int wire[2], event_fd;
static atomic_int received, events_raised, transmits, fired;
static atomic_bool acks_waiting;
static uint64_t fake_deadline = UT_NEVER; /* dev.lock */
static const char *part = "start";

/* --- the fake link and machine --- */

static int fake_receive(struct dev_adapter *ad, uint64_t now, bool cheap)
{
	uint8_t b[64];
	/* Raw: read() would be a cancellation point under the progress lock. */
	int n = (int)syscall(SYS_read, wire[0], b, sizeof(b));
	uint64_t count = (uint64_t)n;

	if (n <= 0)
		return 0;
	atomic_fetch_add(&received, n);
	CHECK(syscall(SYS_write, event_fd, &count, sizeof(count)) == sizeof(count));
	atomic_fetch_add(&events_raised, n);
	atomic_store(&acks_waiting, true);
	return n;
}

/* The background thread's next round waits in here until told to go on. */
static atomic_bool hold_thread, thread_held;

static void stay(void)
{
	atomic_store(&thread_held, true);
	while (atomic_load(&hold_thread))
		sched_yield();
}

static int fake_transmit(struct eng_dev *dev, uint64_t now, enum eng_acks how)
{
	if (dev_thread_is_this() && atomic_load(&hold_thread))
		stay();
	if (how == ENG_ACKS_NOW)
		atomic_store(&acks_waiting, false);
	if (fake_deadline <= now) {
		fake_deadline = UT_NEVER;
		atomic_fetch_add(&fired, 1);
	}
	atomic_fetch_add(&transmits, 1);
	return 0;
}

static bool fake_acks(struct eng_dev *dev)
{
	return atomic_load(&acks_waiting);
}

static void fake_acknowledge(struct eng_dev *dev, enum eng_acks how)
{
	atomic_store(&acks_waiting, false);
}

static bool fake_busy(struct eng_dev *dev)
{
	return false;
}

static uint64_t fake_next(struct eng_dev *dev)
{
	return fake_deadline;
}

DEV_OVERLAY(static const struct dev_machine fake_machine, DEV_DEFAULT_MACHINE,
	.receive = fake_receive, .transmit = fake_transmit, .acks_pending = fake_acks,
	.acknowledge = fake_acknowledge, .busy = fake_busy, .deadline = fake_next);

static void leave_nothing(struct dev_adapter *ad)
{
}

DEV_OVERLAY(static const struct dev_kind_row fake_kind, DEV_DEFAULT_ROW, .leave = leave_nothing);

static const struct eng_dev_ops fake_ops = {
	.progress = dev_progress, .wait = dev_wait, .post_fast = dev_post_fast, .poll = dev_poll,
};

/* Posted work: the thread that was asked to do it, and whether it might touch the application's memory. */
static atomic_int kicks_app, kicks_thread, kicks_touching;

static void fake_kick(struct eng_qp *qp)
{
	(void)qp;
	atomic_fetch_add(dev_thread_is_this() ? &kicks_thread : &kicks_app, 1);
	atomic_fetch_add(&kicks_touching, stage.pages_checked_at != 0);
}

static const struct eng_proto_ops fake_proto = { .name = "fake", .qp_kick = fake_kick };

static void make_adapter(const struct dev_machine *machine)
{
	CHECK(pipe2(wire, O_CLOEXEC | O_NONBLOCK) == 0);
	event_fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
	CHECK(event_fd >= 0);
	a = calloc(1, sizeof(*a));
	CHECK(a && eng_dev_init(&a->dev, "fake", &fake_ops, &fake_proto, 1) == 0);
	a->dev.device = a;
	a->kind = &fake_kind;
	a->machine = machine;
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
	CHECK(dev_driver_attach(a, wire[0]) == 0);
	ut_unlock(&a->dev.lock);
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
	eng_dev_fini(&a->dev);
	dev_driver_fini(&a->driver);
	dev_counting_fini(&a->counting);
	free(a);
	close(wire[0]);
	close(wire[1]);
	close(event_fd);
}

/* --- helpers --- */

static void on_timeout(int sig)
{
	static const char text[] = "hung in part: ";

	if (write(2, text, sizeof(text) - 1) < 0 || write(2, part, strlen(part)) < 0)
		_exit(1);
	_exit(1);
}

static void begin(const char *name)
{
	part = name;
	printf("part: %s\n", name);
	fflush(stdout);
	alarm(120);
}

static void feed(void)
{
	char b = 1;

	while (write(wire[1], &b, 1) != 1)
		sched_yield();
}

static bool take_event(void)
{
	uint64_t v;

	return read(event_fd, &v, sizeof(v)) == sizeof(v);
}

static void get_event(void)
{
	while (!take_event())
		CHECK(eng_dev_wait_fd(&a->dev, event_fd, UT_NEVER) == 0);
}

static void poll_event(void)
{
	while (!take_event())
		eng_dev_poll(&a->dev, NULL, NULL);
}

/* As a program with an event loop of its own does. */
static void sleep_event(void)
{
	struct pollfd p = { .fd = event_fd, .events = POLLIN };

	while (!take_event())
		CHECK(poll(&p, 1, -1) == 1);
}

static enum dev_driver driver(void)
{
	return (enum dev_driver)atomic_load(&a->driver.current);
}

static void wait_for_driver(enum dev_driver o)
{
	while (driver() != o)
		sched_yield();
}

/* Voluntary context switches of the background thread so far. */
static long thread_switches(void)
{
	char path[300], line[200];
	struct dirent *e;
	long n = -1;
	DIR *d = opendir("/proc/self/task");

	CHECK(d);
	while (n < 0 && (e = readdir(d))) {
		FILE *f;
		bool ours = false;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f)) {
			ours |= strcmp(line, "Name:\tdapple\n") == 0;
			if (ours)
				sscanf(line, "voluntary_ctxt_switches: %ld", &n);
		}
		if (f)
			fclose(f);
	}
	closedir(d);
	CHECK(n >= 0);
	return n;
}

static void pass(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / UT_S), .tv_nsec = (long)(ns % UT_S) };

	nanosleep(&t, NULL);
}

/* Sooner or later there is a long window without a wake-up: all work is done, also by a thread
 * that had to wait for a processor. Any tick would be in all of them. */
static void expect_idle(void)
{
	long n = 1;

	for (int i = 0; i < 50 && n; i++) {
		long before = thread_switches();

		pass(400 * UT_MS);
		n = thread_switches() - before;
	}
	CHECK_MSG(!n, "%ld wake-ups in 400 ms of idleness, fifty times", n);
}

/* --- parts --- */

static void polling_owns_and_returns(void)
{
	begin("polling owns, silence gives back");
	wait_for_driver(DEV_DRIVER_THREAD);
	/* A thread that was held up between two polls has been silent, too. */
	do
		for (int i = 0; i < DEV_POLLS_TO_DRIVE; i++)
			eng_dev_poll(&a->dev, NULL, NULL);
	while (driver() != DEV_DRIVER_APP);
	/* The background thread takes the adapter back by itself, and then serves a packet. */
	wait_for_driver(DEV_DRIVER_THREAD);
	feed();
	sleep_event();
	expect_idle();
}

/*
 * Posts made while the background thread holds the lock are done by it, and by calls post_direct:
 * the thread does not touch pages that may be gone, whichever thread posted.
 */
static void thread_does_posted_work(void)
{
	struct eng_qp qp = { .dev = &a->dev };

	begin("posted work is left to the thread");
	ut_list_init(&qp.pending);
	wait_for_driver(DEV_DRIVER_THREAD);
	atomic_store(&hold_thread, true);
	feed();
	while (!atomic_load(&thread_held))
		sched_yield();
	eng_dev_kick(&a->dev, &qp);
	CHECK(!atomic_load(&kicks_app) && !atomic_load(&kicks_thread));
	atomic_store(&hold_thread, false);
	while (!atomic_load(&kicks_thread))
		sched_yield();
	CHECK(!atomic_load(&kicks_touching) && !atomic_load(&kicks_app));
	/* In a round of its own the application's thread may. */
	get_event();
	do {
		eng_dev_kick(&a->dev, &qp);
		ut_lock(&a->dev.lock); /* no thread runs it any more */
		eng_dev_unlock(&a->dev);
	} while (!atomic_load(&kicks_app));
	CHECK(atomic_load(&kicks_touching) == atomic_load(&kicks_app));
}

/* A thread that was held up for a tick has left the adapter; so sooner or later it keeps it for some ticks. */
static void poster_keeps_the_adapter(void)
{
	struct eng_qp qp = { .dev = &a->dev };
	uint32_t before;

	begin("posts in a batch keep the adapter");
	ut_list_init(&qp.pending);
	do {
		while (driver() != DEV_DRIVER_APP)
			eng_dev_poll(&a->dev, NULL, NULL);
		before = atomic_load(&a->driver.ticks);
		while (driver() == DEV_DRIVER_APP && atomic_load(&a->driver.ticks) - before < 4)
			eng_dev_kick(&a->dev, &qp);
	} while (driver() != DEV_DRIVER_APP);
	ut_lock(&a->dev.lock); /* no thread has the queue pair any more */
	eng_dev_unlock(&a->dev);
	wait_for_driver(DEV_DRIVER_THREAD);
	expect_idle();
}

static void deadlines_are_served(void)
{
	begin("deadlines");
	for (int i = 0; i < 20; i++) {
		int before = atomic_load(&fired);
		uint64_t at = ut_now() + 3 * UT_MS;

		ut_lock(&a->dev.lock);
		fake_deadline = at;
		dev_run(a, DEV_BY_APP); /* as after a post */
		eng_dev_unlock(&a->dev);
		while (atomic_load(&fired) == before)
			pass(UT_MS / 4);
		CHECK(ut_now() >= at);
	}
	expect_idle();
}

/* The waiter serves its deadline itself and sleeps on. */
static void *wait_one(void *arg)
{
	get_event();
	return NULL;
}

static void waiter_leads(void)
{
	pthread_t t;
	int before = atomic_load(&fired);

	begin("a waiter leads");
	CHECK(pthread_create(&t, NULL, wait_one, NULL) == 0);
	wait_for_driver(DEV_DRIVER_WAITER);
	expect_idle();
	/* Another thread's post sets a deadline that the sleeping leader does not know. */
	ut_lock(&a->dev.lock);
	fake_deadline = ut_now() + 2 * UT_MS;
	a->driver.polls = 0;
	dev_run(a, DEV_BY_APP);
	eng_dev_unlock(&a->dev);
	while (atomic_load(&fired) == before)
		pass(UT_MS / 4);
	feed();
	pthread_join(t, NULL);
	wait_for_driver(DEV_DRIVER_THREAD);
	expect_idle();
}

__attribute__((unused)) static void cancelled_waiter(void)
{
	begin("a cancelled leader gives back");
	for (int i = 0; i < 50; i++) {
		pthread_t t;

		CHECK(pthread_create(&t, NULL, wait_one, NULL) == 0);
		if (i & 1)
			wait_for_driver(DEV_DRIVER_WAITER);
		pthread_cancel(t);
		pthread_join(t, NULL);
		CHECK(atomic_load(&a->driver.waiters) == 0);
		ut_lock(&a->driver.lock);
		CHECK(!a->driver.leader);
		ut_unlock(&a->driver.lock);
		feed();
		sleep_event();
	}
	expect_idle();
}

#define MESSAGES 6000

static atomic_int taken;

static void *feeder(void *arg)
{
	struct ut_rng r = { .state = (uint64_t)(uintptr_t)arg };

	for (int i = 0; i < MESSAGES; i++) {
		uint32_t kind = ut_rng_below(&r, 64);

		feed();
		if (kind == 0)
			pass(2 * UT_MS + ut_rng_below(&r, UT_MS));
		else if (kind < 8)
			pass(ut_rng_below(&r, 100000));
		else if (kind < 20)
			while (atomic_load(&taken) < i - 10)
				sched_yield();
	}
	return NULL;
}

/* Changes its manner now and then; stops when all are taken. A blocking taker
 * may be left without a message, so the last ones only poll. */
static void *taker(void *arg)
{
	struct ut_rng r = { .state = (uint64_t)(uintptr_t)arg };
	bool sole = (uintptr_t)arg == 0;
	int n;

	while ((n = atomic_fetch_add(&taken, 1)) < MESSAGES) {
		uint32_t manner = (uint32_t)n / 300 % 4;

		if (!sole && manner == 3)
			manner = ut_rng_below(&r, 3);
		if (manner == 0)
			get_event();
		else if (manner == 1)
			poll_event();
		else if (manner == 2)
			sleep_event();
		else
			ut_rng_below(&r, 2) ? get_event() : poll_event();
	}
	return NULL;
}

/* Each taker claims a message number first, so exactly MESSAGES events are taken, and no taker
 * waits for one that never comes. */
static void stress(int takers)
{
	pthread_t f, t[4];

	begin(takers == 1 ? "stress, one taker" : "stress, four takers");
	atomic_store(&taken, 0);
	CHECK(pthread_create(&f, NULL, feeder, (void *)(uintptr_t)takers) == 0);
	for (int i = 0; i < takers; i++)
		CHECK(pthread_create(&t[i], NULL, taker, (void *)(uintptr_t)i) == 0);
	pthread_join(f, NULL);
	for (int i = 0; i < takers; i++)
		pthread_join(t[i], NULL);
	CHECK(!take_event());
	wait_for_driver(DEV_DRIVER_THREAD);
	expect_idle();
}

/*
 * On one processor the thread runs when a poller has given way, and sees every packet first; still it is
 * the poller that drives the adapter then. Only a driver's tick counts.
 */
static void poller_that_yields_drives(void)
{
	uint32_t before;

	begin("a poller that gives way");
	wait_for_driver(DEV_DRIVER_THREAD);
	ut_lock(&a->dev.lock);
	a->driver.polls_to_drive = DEV_POLLS_TO_DRIVE;
	eng_dev_unlock(&a->dev);
	before = atomic_load(&a->driver.ticks);
	atomic_store(&a->yielding.yields, true);
	feed();
	while (atomic_load(&a->driver.ticks) == before)
		pass(UT_MS / 4);
	atomic_store(&a->yielding.yields, false);
	sleep_event();
	wait_for_driver(DEV_DRIVER_THREAD);
}

/* Returns how many receptions are left until acknowledgements are deferred again. */
static uint32_t penalty(void)
{
	uint32_t n;

	ut_lock(&a->dev.lock);
	n = a->delayed_ack.penalty;
	ut_unlock(&a->dev.lock);
	return n;
}

static void deferred_is_flushed(void)
{
	begin("a deferred acknowledgement does not stay");
	wait_for_driver(DEV_DRIVER_THREAD);
	ut_lock(&a->dev.lock);
	a->delayed_ack.penalty = 0;
	ut_unlock(&a->dev.lock);
	do {
		/* The application owns the adapter, takes one packet and goes away. */
		for (int i = 0; i < 2 * DEV_POLLS_TO_DRIVE; i++)
			eng_dev_poll(&a->dev, NULL, NULL);
		feed();
		eng_dev_poll(&a->dev, NULL, NULL);
		CHECK(take_event() || (poll_event(), true));
	} while (!atomic_load(&a->delayed_ack.since) && penalty() == 0);
	while (atomic_load(&acks_waiting))
		pass(UT_MS / 4);
	wait_for_driver(DEV_DRIVER_THREAD);
	ut_lock(&a->dev.lock);
	CHECK(a->delayed_ack.penalty > 0 && a->dev.counters[ENG_C_acks_deferred] > 0);
	eng_dev_unlock(&a->dev);
	expect_idle();
}

/* --- exit --- */

static int said[2]; /* a byte for each round that defers nothing */

static int last_transmit(struct eng_dev *dev, uint64_t now, enum eng_acks how)
{
	if (how == ENG_ACKS_NOW && write(said[1], "", 1) != 1)
		_exit(2);
	return 0;
}

static void *hold_lock(void *held)
{
	ut_lock(&a->dev.lock);
	atomic_store((atomic_bool *)held, true);
	pass(300 * UT_MS);
	while (read(said[0], &(char){ 0 }, 1) == 1) /* sent until now */
		;
	ut_unlock(&a->dev.lock);
	return NULL;
}

static void leaves(void)
{
	static struct dev_machine machine;
	atomic_bool held = false;
	pthread_t t;

	machine = fake_machine;
	machine.transmit = last_transmit;
	make_adapter(&machine);
	CHECK(pthread_create(&t, NULL, hold_lock, &held) == 0);
	while (!atomic_load(&held))
		sched_yield();
	exit(0);
}

static bool sent_at_exit(void)
{
	bool sent;
	pid_t pid;
	int status;

	CHECK(pipe2(said, O_CLOEXEC | O_NONBLOCK) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		leaves();
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	sent = read(said[0], &(char){ 0 }, 1) == 1;
	close(said[0]);
	close(said[1]);
	return sent;
}

/* The driver of the adapter may wait for a processor when the program leaves; deferred messages
 * are sent all the same. In a process of its own, and again if that one's thread had to wait for
 * seconds. */
static void exit_waits(void)
{
	int i = 0;

	begin("exit waits for the driver");
	while (!sent_at_exit())
		CHECK_MSG(++i < 10, "nothing was sent at the end");
}

/* --- behind a spin --- */

static atomic_int owed; /* rounds that are left to make; -1: the spin has not ended */

static bool end_attend(struct dev_adapter *ad, bool rings, bool sockets)
{
	if (!rings && !sockets && atomic_load(&owed) < 0)
		atomic_store(&owed, 2);
	return true;
}

static int owing_transmit(struct eng_dev *dev, uint64_t now, enum eng_acks how)
{
	if (atomic_load(&owed) > 0)
		atomic_fetch_sub(&owed, 1);
	return fake_transmit(dev, now, how);
}

static bool owing_busy(struct eng_dev *dev)
{
	return atomic_load(&owed) > 0;
}

/* A message that comes while the thread ends its spin is more than one round takes: the thread makes the next one before it
 * sleeps, though no event comes. */
static void round_behind_spin(void)
{
	static struct dev_machine machine;

	begin("round behind a spin");
	CHECK(setenv("DAPPLE_SPIN", "always", 1) == 0);
	atomic_store(&owed, -1);
	machine = fake_machine;
	machine.attend = end_attend;
	machine.transmit = owing_transmit;
	machine.busy = owing_busy;
	make_adapter(&machine);
	/* A thread that waits for a processor behind a message sleeps again without a spin: then the next one. */
	while (atomic_load(&owed) < 0) {
		long before = thread_switches();

		feed();
		while (atomic_load(&owed) < 0 && thread_switches() == before)
			sched_yield();
	}
	while (atomic_load(&owed))
		sched_yield();
	drop_adapter();
	unsetenv("DAPPLE_SPIN");
}

int main(void)
{
	signal(SIGALRM, on_timeout);
#ifndef __SANITIZE_THREAD__ /* it does not follow children that start threads */
	exit_waits();
#endif
	make_adapter(&fake_machine);
	thread_does_posted_work();
	polling_owns_and_returns();
	poster_keeps_the_adapter();
	deadlines_are_served();
	waiter_leads();
	/* After a cancelled ppoll() the one is blind to locks, and the other mistakes
	 * the dead thread's stack for a live one. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	cancelled_waiter();
#endif
	poller_that_yields_drives();
	deferred_is_flushed();
	stress(1);
	stress(4);
	drop_adapter();
	round_behind_spin();
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/progress/thread.h"

#include "device/adapter.h"
#include "device/cm/cma_host.h"
#include "device/control.h"
#include "device/process.h"
#include "device/progress/attend.h"
#include "device/progress/slice.h"
#include "device/progress/spin.h"
#include "device/sys.h"
#include "host/liveness.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/fault_calls.h"
#include "util/heap.h"
#include "util/log.h"
#include "util/pause.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_MAX 16
#define SERIAL_TIMER 0
#define SERIAL_ADDRESSES 1
#define SERIAL_PORTS 2
#define SERIAL_CONTROL 3
#define SPIN_LOOKS 64   /* at the rings, for one at the epoll set, and a yield: some microseconds */
#define SPIN_MESSAGE 8
#define SPIN_ROUND_NS 100000ull /* then timers are set, and news of other kinds are told */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_SIZE (1024 * 1024)
#else
#define STACK_SIZE (128 * 1024)
#endif

struct dev_thread {
	pthread_t id;
	int ep, timer, addresses;
	int control; /* epoll set of the control socket, which device/control.h owns, or -1 */
	pid_t process;
	_Atomic bool begun, stop;
	bool addresses_read; /* since rtnetlink is listened to */
	struct ut_mutex lock;    /* timer */
	_Atomic uint64_t armed;  /* when the timer fires; written under lock */
	struct dev_spin spin;    /* the thread's own, */
	bool attends;            /* as this: it has spun since it slept */
};

static struct ut_mutex start_lock = UT_MUTEX_INIT;
static struct dev_thread *_Atomic current;
/* The process leaves by _exit(): the thread ends with the last round, which is done then. Not in dev_thread, which
 * another thread may free meanwhile. */
static _Atomic bool leaving;
static _Atomic uint32_t left; /* a futex */
__thread bool dev_thread_this;

static void set_timer(struct dev_thread *t, uint64_t at) UT_REQUIRES(t->lock)
{
	/* 0 would disarm. */
	uint64_t ns = at ? at : 1;
	struct itimerspec spec = { .it_value = { .tv_sec = (time_t)(ns / UT_S),
						 .tv_nsec = (long)(ns % UT_S) } };

	atomic_store(&t->armed, at);
	timerfd_settime(t->timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void wake_by(struct dev_thread *t, uint64_t at)
{
	if (at >= atomic_load(&t->armed))
		return;
	ut_lock(&t->lock);
	if (at < atomic_load(&t->armed))
		set_timer(t, at);
	ut_unlock(&t->lock);
}

void dev_thread_wake_by(uint64_t at)
{
	struct dev_thread *t;

	if (at == UT_NEVER)
		return;
	t = atomic_load_explicit(&current, memory_order_acquire);
	if (t)
		wake_by(t, at);
}

int dev_thread_epoll(void)
{
	struct dev_thread *t = atomic_load(&current);

	return t ? t->ep : -1;
}

/* The timer has fired: from here on it counts as unarmed, before the deadlines
 * are read. A thread that sets one meanwhile sees that and arms it again. */
static void take_timer(struct dev_thread *t, uint64_t now)
{
	ut_lock(&t->lock);
	if (atomic_load(&t->armed) <= now)
		atomic_store(&t->armed, UT_NEVER);
	ut_unlock(&t->lock);
}

static bool named(const struct epoll_event *ev, int n, uint64_t serial)
{
	for (int i = 0; i < n; i++)
		if (ev[i].data.u64 == serial)
			return true;
	return false;
}

/* Ports that tell of their changes themselves. */
static void watch_port(struct dev_thread *t, struct dev_adapter *a) UT_REQUIRES(dev_process_lock)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = SERIAL_PORTS };
	int fd = a->kind->port_fd(a);

	a->port_watched = true;
	if (fd >= 0 && ut_epoll_add(t->ep, fd, &e) < 0)
		ut_warn("%s: cannot watch the port (%s): its events are not noticed; raise fs.epoll.max_user_watches, and "
			"start the program again", a->info.name, strerror(errno));
}

static void one_round(struct dev_thread *t, const struct epoll_event *ev, int n)
	UT_REQUIRES(dev_process_lock)
{
	uint64_t now = ut_now(), next = UT_NEVER;
	struct dev_adapter *a;

	take_timer(t, now);
	/* Adapters were opened before the thread listened: look once at the start. */
	if ((named(ev, n, SERIAL_ADDRESSES) && dev_nl_drain(t->addresses)) || named(ev, n, SERIAL_PORTS) ||
	    !t->addresses_read) {
		ut_list_each(a, &dev_process_adapters, node)
			a->kind->refresh(a);
		dev_cm_look();
	}
	t->addresses_read = true;
	if (named(ev, n, SERIAL_CONTROL))
		dev_control_serve();
	ut_list_each(a, &dev_process_adapters, node) {
		uint64_t at;

		if (!a->port_watched)
			watch_port(t, a);
		dev_driver_serve(a, now, named(ev, n, a->serial));
		if (dev_counting_next(&a->counting) <= now)
			dev_counting_serve(a, now);
		at = dev_driver_next(a);
		if (at < next)
			next = at;
		at = dev_counting_next(&a->counting);
		if (at < next)
			next = at;
	}
	if (next != UT_NEVER)
		wake_by(t, next);
}

static bool has_to_stop(const struct dev_thread *t)
{
	return atomic_load(&t->stop) || atomic_load(&leaving);
}

/* Messages, or requests to take one: what a link's descriptor shows. */
static bool is_link(const struct epoll_event *ev, int n)
{
	for (int i = 0; i < n; i++)
		if (ev[i].data.u64 >= DEV_SERIAL_FIRST)
			return true;
	return false;
}

/* A message takes as long as some empty looks do. */
static bool look_at_rings(bool any)
{
	bool found = false, now;

	for (int i = 0; any && i < SPIN_LOOKS; i += now ? SPIN_MESSAGE : 1) {
		now = dev_attend_look() > 0;
		found |= now;
		ut_pause();
	}
	return found;
}

/* Returns the number of events; 0 without any: the spin is over, or a round is due. */
static int spin(struct dev_thread *t, struct epoll_event *ev)
{
	uint64_t now = ut_now(), end = now + SPIN_ROUND_NS;
	bool rings = dev_attend_begin(), beside, found;
	int n;

	t->attends = true;
	do {
		found = dev_attend_ask() > 0;
		found |= look_at_rings(rings && !found);
		if (found)
			dev_spin_found(&t->spin, now);
		n = epoll_wait(t->ep, ev, EVENTS_MAX, 0);
		now = ut_now();
		beside = dev_attend_is_beside();
	} while (!n && !beside && !has_to_stop(t) && dev_spin_goes_on(&t->spin, now) && now < end);
	if (beside)
		dev_spin_refuse(&t->spin);
	dev_attend_leave_rings();
	if (is_link(ev, n))
		dev_spin_found(&t->spin, now);
	return n;
}

static int await(struct dev_thread *t, struct epoll_event *ev)
{
	uint64_t before = ut_now();
	int n;

	if (dev_spin_is_on(&t->spin, before))
		return spin(t, ev);
	if (t->attends) {
		dev_attend_end();
		t->attends = false;
		return 0; /* the rounds at the end may have left more to do, or set deadlines */
	}
	n = epoll_wait(t->ep, ev, EVENTS_MAX, -1);
	if (is_link(ev, n))
		dev_spin_woken(&t->spin, before, ut_now());
	return n;
}

static void *run(void *arg)
{
	struct dev_thread *t = arg;
	struct epoll_event ev[EVENTS_MAX];

	dev_thread_this = true;
	atomic_store(&t->begun, true);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	dev_slice_short();
	host_life_begin();
	while (!has_to_stop(t)) {
		int n = await(t, ev);

		ut_lock(&dev_process_lock);
		if (!has_to_stop(t))
			one_round(t, ev, n);
		ut_unlock(&dev_process_lock);
		if (dev_cm_has_news() && !has_to_stop(t))
			dev_cm_deliver();
	}
	if (atomic_load(&leaving)) {
		dev_process_last_round();
		atomic_store(&left, 1);
		syscall(SYS_futex, &left, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	host_life_end();
	return NULL;
}

static void release(struct dev_thread *t)
{
	dev_control_close();
	ut_close(t->ep);
	ut_close(t->timer);
	ut_close(t->addresses);
	dev_spin_fini(&t->spin);
	ut_mutex_fini(&t->lock);
	free(t);
}

static int open_descriptors(struct dev_thread *t)
{
	/* Edge-triggered: each expiry is one event that need not be read. */
	struct epoll_event timer = { .events = EPOLLIN | EPOLLET, .data.u64 = SERIAL_TIMER };
	struct epoll_event addresses = { .events = EPOLLIN, .data.u64 = SERIAL_ADDRESSES };
	struct epoll_event control = { .events = EPOLLIN, .data.u64 = SERIAL_CONTROL };

	t->ep = ut_epoll();
	if (t->ep < 0)
		return -errno;
	t->timer = ut_timerfd();
	if (t->timer < 0 || ut_epoll_add(t->ep, t->timer, &timer) < 0)
		return -errno;
	/* Without it the addresses stay those of the start; that is a warning, and no reason to fail. */
	t->addresses = dev_nl_listen();
	if (t->addresses < 0)
		ut_warn("cannot listen to rtnetlink (%s): changes of addresses are not noticed; raise the limit on "
			"descriptors, and start the program again", strerror(-t->addresses));
	else if (ut_epoll_add(t->ep, t->addresses, &addresses) < 0)
		return -errno;
	t->control = dev_control_open();
	if (t->control >= 0 && ut_epoll_add(t->ep, t->control, &control) < 0)
		return -errno;
	return 0;
}

static int spawn(struct dev_thread *t)
{
	size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	sigset_t all, old;
	pthread_attr_t attr;
	int r;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE > 2 * least ? STACK_SIZE : 2 * least);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&t->id, &attr, run, t);
	/* A program with much thread-local storage needs a larger stack. */
	if (r == EINVAL)
		r = pthread_create(&t->id, NULL, run, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (r == 0)
		pthread_setname_np(t->id, "dapple");
	return -r;
}

/*
 * A thread that begins is in AddressSanitizer's allocator for a moment, and a lock that it holds there stays
 * held in a child that is forked meanwhile. (fork() of the C library takes care of its own allocator.)
 */
static void let_begin(const struct dev_thread *t)
{
#if defined(__SANITIZE_ADDRESS__)
	while (!atomic_load(&t->begun))
		sched_yield();
#else
	(void)t;
#endif
}

static int start(void) UT_REQUIRES(start_lock)
{
	struct dev_thread *t = ut_zalloc(sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	ut_mutex_init(&t->lock);
	t->process = getpid();
	t->ep = t->timer = t->addresses = t->control = -1;
	atomic_init(&t->armed, UT_NEVER);
	dev_spin_init(&t->spin);
	r = open_descriptors(t);
	if (r == 0) {
		ut_lock(&t->lock);
		set_timer(t, 0);
		ut_unlock(&t->lock);
		r = spawn(t);
	}
	if (r < 0) {
		ut_error("cannot start the background thread (%s): no adapter of this process can be attached; raise "
			 "the limits on processes, descriptors and memory", strerror(-r));
		release(t);
		return r;
	}
	let_begin(t);
	atomic_store_explicit(&current, t, memory_order_release);
	return 0;
}

int dev_thread_start(void)
{
	int r = 0;

	if (atomic_load_explicit(&current, memory_order_acquire))
		return 0;
	ut_lock(&start_lock);
	if (!atomic_load(&current))
		r = start();
	ut_unlock(&start_lock);
	return r;
}

struct dev_thread *dev_thread_take(void)
{
	struct dev_thread *t;

	ut_lock(&start_lock);
	t = atomic_exchange(&current, NULL);
	ut_unlock(&start_lock);
	return t;
}

static void ask_to_stop(struct dev_thread *t)
{
	atomic_store(&t->stop, true);
	ut_lock(&t->lock);
	set_timer(t, 0);
	ut_unlock(&t->lock);
}

void dev_thread_join(struct dev_thread *t)
{
	int old;

	if (!t)
		return;
	ask_to_stop(t);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_join(t->id, NULL);
	pthread_setcancelstate(old, NULL);
	release(t);
}

void dev_thread_leave(uint64_t timeout_ns)
{
	/* Keeps the memory reachable for the leak checker, as its descriptors are still open; volatile, or the compiler drops
	 * the store. */
	static struct dev_thread *volatile last __attribute__((unused));
	struct dev_thread *t = atomic_exchange(&current, NULL);
	struct timespec until;

	if (!t)
		return;
	last = t;
	(void)last;
	ask_to_stop(t);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)timeout_ns;
	until.tv_sec += until.tv_nsec / (long)UT_S;
	until.tv_nsec %= (long)UT_S;
	if (pthread_timedjoin_np(t->id, NULL, &until) == 0)
		dev_control_close();
}

/* The timer is set without its lock, which what this interrupts may hold: an owner that sets it later loses a look. */
void dev_thread_last(unsigned looks)
{
	const struct itimerspec at_once = { .it_value = { .tv_nsec = 1 } };
	const struct timespec step = { 0, UT_MS };
	struct dev_thread *t = atomic_load(&current);

	if (!t || dev_thread_this || t->process != getpid())
		return;
	atomic_store(&leaving, true);
	for (; looks && !atomic_load(&left); looks--) {
		timerfd_settime(t->timer, TFD_TIMER_ABSTIME, &at_once, NULL);
		syscall(SYS_futex, &left, FUTEX_WAIT_PRIVATE, 0, &step, NULL, 0);
	}
}

void dev_thread_forget(void)
{
	struct dev_thread *t = atomic_exchange(&current, NULL);

	start_lock = (struct ut_mutex)UT_MUTEX_INIT;
	atomic_store(&leaving, false);
	atomic_store(&left, 0);
	host_life_forget();
	if (t)
		release(t);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A monotonic clock that goes 200 times slower, to be loaded first. Under callgrind a program is some
 * fifty times slower, so that each timeout and each deadline of coalescing would be over too early.
 */
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SLOWER 200
#define NS 1000000000ll

static int64_t ns_of(const struct timespec *t)
{
	return t->tv_sec * NS + t->tv_nsec;
}

static struct timespec of_ns(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NS, .tv_nsec = ns % NS };
}

/* The first time that the clock showed; threads that race get nearly the same. */
static int64_t start(int64_t now)
{
	static _Atomic int64_t first;

	if (!first)
		first = now;
	return first;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	long r = syscall(SYS_clock_gettime, clock, ret);
	int64_t now;

	if (r < 0 || clock != CLOCK_MONOTONIC)
		return (int)r;
	now = ns_of(ret);
	*ret = of_ns(start(now) + (now - start(now)) / SLOWER);
	return 0;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	struct itimerspec t = *new;
	int64_t at = ns_of(&t.it_value), first = start(at);

	if ((flags & TFD_TIMER_ABSTIME) && at > first && at - first < INT64_MAX / SLOWER - first)
		t.it_value = of_ns(first + (at - first) * SLOWER);
	return (int)syscall(SYS_timerfd_settime, fd, flags, &t, old);
}

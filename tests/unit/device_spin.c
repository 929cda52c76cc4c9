/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * When the background thread spins. What the kernel tells is this test's own: how many threads run, whether another one
 * has run in this one's place, the processors, and the quota of the control group.
 */
#include "device/progress/spin.h"
#include "support/cases.h"
#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOAD = 1000, QUOTA, GROUP, NO_QUOTA };

static long running, online, allowed, switched;
static unsigned yields;
static uint64_t away; /* a thread that switched runs so long in a yield */
static const char *quota; /* of this program's control group */
static struct dev_spin s;

static uint64_t now;

int sched_yield(void)
{
	yields++;
	if (away) {
		now += away;
		switched++;
	}
	away = 0;
	return 0;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	CHECK(id == CLOCK_MONOTONIC);
	t->tv_sec = (time_t)(now / 1000000000);
	t->tv_nsec = (long)(now % 1000000000);
	return 0;
}

int getrusage(__rusage_who_t who, struct rusage *u)
{
	CHECK(who == RUSAGE_THREAD);
	u->ru_nivcsw = switched;
	u->ru_nvcsw = (long)yields; /* of its own will: it says nothing */
	return 0;
}

long sysconf(int name)
{
	return name == _SC_NPROCESSORS_ONLN ? online : 4096;
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	memset(set, 0, size);
	for (long i = 0; i < allowed; i++)
		CPU_SET((int)i, set);
	return 0;
}

int open(const char *path, int flags, ...)
{
	int fd = !strcmp(path, "/proc/loadavg") ? LOAD : !strcmp(path, "/proc/self/cgroup") ? GROUP :
		 !strcmp(path, "/sys/fs/cgroup/a/b/cpu.max") ? NO_QUOTA : !strcmp(path, "/sys/fs/cgroup/a/cpu.max") ? QUOTA : -1;

	CHECK(flags == (O_RDONLY | O_CLOEXEC));
	if (fd < 0)
		errno = ENOENT;
	return fd;
}

ssize_t pread(int fd, void *buf, size_t size, off_t off)
{
	char text[64] = "0::/a/b\n";

	CHECK(off == 0);
	if (fd == LOAD)
		snprintf(text, sizeof(text), "0.52 0.58 0.59 %ld/1242 4711\n", running);
	else if (fd != GROUP)
		snprintf(text, sizeof(text), "%s 100000\n", fd == QUOTA ? quota : "max");
	CHECK(strlen(text) < size);
	memcpy(buf, text, strlen(text));
	return (ssize_t)strlen(text);
}

static void begin(const char *setting)
{
	if (setting)
		CHECK(!setenv("DAPPLE_SPIN", setting, 1));
	else
		CHECK(!unsetenv("DAPPLE_SPIN"));
	running = online = allowed = 2;
	switched = 0;
	quota = "max";
	now = 1000 * DEV_SPIN_MOST_NS;
	dev_spin_init(&s);
}

/* The thread has slept so long until a message came. */
static uint64_t woken(uint64_t ns)
{
	now += ns;
	dev_spin_woken(&s, now - ns, now);
	return s.window;
}

/* It spins from here on until the last look that it may make. Returns how long. */
static uint64_t spins(uint64_t most)
{
	uint64_t from = now;

	while (now - from < most && dev_spin_goes_on(&s, now))
		now += 500;
	return now - from;
}

static void grows(void)
{
	begin(NULL);
	CHECK(woken(1000 * DEV_SPIN_MOST_NS) == 0 && !dev_spin_is_on(&s, now));
	for (uint64_t want = DEV_SPIN_LEAST_NS; want < DEV_SPIN_MOST_NS; want *= 2)
		CHECK(woken(DEV_SPIN_MOST_NS) == want);
	CHECK(woken(1000) == DEV_SPIN_MOST_NS && woken(1000) == DEV_SPIN_MOST_NS);
	CHECK(spins(UINT64_MAX) == DEV_SPIN_MOST_NS && !dev_spin_is_on(&s, now));
	/* Each message begins the while anew. */
	CHECK(woken(1000) == DEV_SPIN_MOST_NS && spins(DEV_SPIN_MOST_NS / 2) == DEV_SPIN_MOST_NS / 2);
	dev_spin_found(&s, now);
	CHECK(spins(UINT64_MAX) == DEV_SPIN_MOST_NS);
	CHECK(woken(DEV_SPIN_MOST_NS + 1) == 0 && !dev_spin_goes_on(&s, now));
}

/* Messages that change nothing behind a refusal. */
static unsigned passed_over(void)
{
	unsigned n = 0;

	while (!woken(1000))
		n++;
	return n;
}

static void gives_way(void)
{
	begin(NULL);
	CHECK(woken(1000));
	yields = 0;
	CHECK(spins(10 * DEV_SPIN_YIELD_NS) == 10 * DEV_SPIN_YIELD_NS && yields >= 9 && yields <= 11);
	/* Another thread ran in a yield, and has a whole slice: no look more. */
	away = 3000000;
	dev_spin_found(&s, now);
	CHECK(spins(UINT64_MAX) <= DEV_SPIN_YIELD_NS + 3000000 && !s.window);
	CHECK(passed_over() == 1);
	for (unsigned want = 2; want <= DEV_SPIN_SKIP_MOST; want *= 2) {
		dev_spin_refuse(&s);
		CHECK(passed_over() == want);
	}
	dev_spin_refuse(&s);
	CHECK(passed_over() == DEV_SPIN_SKIP_MOST);
	/* Peace ends that. */
	for (uint64_t end = now + DEV_SPIN_GOOD_NS + DEV_SPIN_MOST_NS; now < end; dev_spin_found(&s, now))
		CHECK(spins(DEV_SPIN_LEAST_NS / 2));
	dev_spin_refuse(&s);
	CHECK(passed_over() == 1);
}

/* The tick of another process, once in a millisecond, is no reason to sleep; a busy crowd is. */
static void guests(void)
{
	begin(NULL);
	CHECK(woken(1000));
	for (unsigned i = 0; i < 100; i++) {
		away = DEV_SPIN_AWAY_NS / 2;
		for (uint64_t end = now + DEV_SPIN_GOOD_NS; now < end; dev_spin_found(&s, now))
			CHECK(spins(DEV_SPIN_LEAST_NS / 2) && s.window);
	}
	for (unsigned i = 0; s.window; i++, dev_spin_found(&s, now)) {
		CHECK(i <= 2 * DEV_SPIN_GUESTS);
		away = DEV_SPIN_AWAY_NS / 2;
		spins(DEV_SPIN_LEAST_NS / 2);
	}
	CHECK(passed_over() == 1);
}

/* A thread that waits for another processor. */
static void crowded(void)
{
	begin(NULL);
	running = 3;
	CHECK(!woken(1000) && !woken(1000)); /* refused, and passed over */
	running = 2;
	now += DEV_SPIN_COUNT_NS;
	CHECK(woken(1000) == DEV_SPIN_LEAST_NS);
	while (woken(1000) < DEV_SPIN_MOST_NS)
		CHECK(s.window);
	/* A thread that waits for a moment only, as a tick of the requester's process, is met by few looks. */
	for (unsigned i = 0; i < 100; i++) {
		running = i % 2 ? 3 : 2;
		dev_spin_found(&s, now);
		CHECK(spins(DEV_SPIN_COUNT_NS + DEV_SPIN_YIELD_NS) >= DEV_SPIN_COUNT_NS && s.window);
	}
	running = 2;
	dev_spin_found(&s, now);
	CHECK(spins(DEV_SPIN_COUNT_NS + DEV_SPIN_YIELD_NS) >= DEV_SPIN_COUNT_NS && s.window);
	running = 3;
	CHECK(spins(UINT64_MAX) <= DEV_SPIN_CROWDS * (DEV_SPIN_COUNT_NS + DEV_SPIN_YIELD_NS) && !s.window);
	now += DEV_SPIN_COUNT_NS;
	CHECK(!woken(1000) && !woken(DEV_SPIN_COUNT_NS)); /* passed over, and refused again by one look */
	/* Where the kernel shows nothing, nothing is known to be idle. */
	begin(NULL);
	running = 0;
	CHECK(!woken(1000));
}

static bool ever(void)
{
	for (int i = 0; i < 8; i++)
		if (woken(1000) || woken(DEV_SPIN_COUNT_NS))
			return true;
	return false;
}

static void machines(void)
{
	begin(NULL);
	online = allowed = 1;
	dev_spin_init(&s);
	CHECK(!ever());
	begin(NULL);
	quota = "50000";
	dev_spin_init(&s);
	CHECK(!ever());
	/* Of many processors the program may use two: three threads that run elsewhere are in its way. */
	begin(NULL);
	online = 8;
	dev_spin_init(&s);
	running = 3;
	CHECK(!ever());
	running = 2;
	CHECK(passed_over() <= DEV_SPIN_SKIP_MOST);
	/* Bound to one, it sees what runs there by its switches. */
	begin(NULL);
	online = 8;
	allowed = 1;
	dev_spin_init(&s);
	running = 8;
	CHECK(ever());
}

static void settings(void)
{
	begin("0");
	CHECK(!ever());
	begin("always");
	online = 1;
	running = 9;
	CHECK(woken(1000 * DEV_SPIN_MOST_NS) == DEV_SPIN_MOST_NS);
	away = 1;
	CHECK(spins(UINT64_MAX) >= DEV_SPIN_MOST_NS);
}

static const struct test_case cases[] = {
	{ "-", "the while grows with messages", grows },
	{ "-", "a thread that waits for this processor", gives_way },
	{ "-", "threads that run for a moment", guests },
	{ "-", "a thread that waits for another processor", crowded },
	{ "-", "processors and quotas", machines },
	{ "-", "settings", settings },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

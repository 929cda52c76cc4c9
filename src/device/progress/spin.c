/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/progress/spin.h"

#include "util/clock.h"
#include "util/env.h"
#include "util/heap.h"
#include "util/sys.h"
#include "util/syscall.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define GROUPS "/sys/fs/cgroup"

void dev_spin_fini(struct dev_spin *s)
{
	ut_close_fd(&s->load);
}

/* --- what the machine is --- */

/* Reads the first line of a file, of at most size - 1 bytes, without its end. */
static bool read_line(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, ret, size - 1, 0);

	ut_close(fd);
	if (n < 0)
		return false;
	ret[n] = 0;
	ret[strcspn(ret, "\n")] = 0;
	return true;
}

/* A quota of this control group, or of one above it. Groups of version 1 have their files elsewhere, and "max" is -1. */
static bool has_quota(void)
{
	char groups[PATH_MAX], path[PATH_MAX + 64], line[64], *end;

	if (read_line(GROUPS "/cpu/cpu.cfs_quota_us", line, sizeof(line)) && line[0] != '-')
		return true;
	if (!read_line("/proc/self/cgroup", groups, sizeof(groups)) || strncmp(groups, "0::/", 4))
		return false;
	do {
		snprintf(path, sizeof(path), GROUPS "%s/cpu.max", groups + 3);
		if (read_line(path, line, sizeof(line)) && strncmp(line, "max", 3))
			return true;
		end = strrchr(groups + 3, '/');
		if (end)
			*end = 0;
	} while (end);
	return false;
}

/* Returns how many threads may run until one of them waits, or 0: no processor is ever idle for this program. */
static long processors(void)
{
	long here = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	if (here < 2 || has_quota())
		return 0;
	/* A machine with more processors than the set has: it refuses to tell, and the program may use any. */
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return here;
	/* Of one processor the switches tell all. */
	return CPU_COUNT(&set) > 1 ? CPU_COUNT(&set) : here;
}

static void learn(struct dev_spin *s)
{
	s->most = processors();
	if (!s->most)
		return;
	s->load = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	if (s->load >= 0)
		s->mode = DEV_SPIN_IDLE;
}

void dev_spin_init(struct dev_spin *s)
{
	const char *v = ut_env("DAPPLE_SPIN");

	*s = (struct dev_spin){ .load = -1, .crowds = DEV_SPIN_CROWDS - 1 };
	if (v && !strcmp(v, "0"))
		s->mode = DEV_SPIN_NEVER;
	else if (v && !strcmp(v, "always"))
		s->mode = DEV_SPIN_ALWAYS;
	else
		learn(s);
}

/* --- what it does now --- */

/* Of the whole machine, this thread included; or LONG_MAX: not to be known. */
static long running(const struct dev_spin *s)
{
	char text[64];
	ssize_t n = pread(s->load, text, sizeof(text) - 1, 0);
	long count;

	if (n <= 0)
		return LONG_MAX;
	text[n] = 0;
	/* Three averages, runnable threads, a stroke, all threads; 0 where the kernel hides them. */
	return sscanf(text, "%*s %*s %*s %ld/", &count) == 1 && count > 0 ? count : LONG_MAX;
}

static long switches(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) < 0 ? 0 : u.ru_nivcsw;
}

void dev_spin_refuse(struct dev_spin *s)
{
	s->window = 0;
	s->skip_least = !s->skip_least ? 1 : s->skip_least < DEV_SPIN_SKIP_MOST ? 2 * s->skip_least : s->skip_least;
	s->skip = s->skip_least;
}

static bool is_crowded(struct dev_spin *s, uint64_t now)
{
	long n;

	if (now - s->counted < DEV_SPIN_COUNT_NS)
		return false;
	s->counted = now;
	n = running(s);
	if (n <= s->most)
		s->crowds = 0;
	else if (n == LONG_MAX || s->crowds == DEV_SPIN_CROWDS - 1)
		s->crowds = DEV_SPIN_CROWDS;
	else if (s->crowds < DEV_SPIN_CROWDS)
		s->crowds++;
	return s->crowds == DEV_SPIN_CROWDS;
}

void dev_spin_woken(struct dev_spin *s, uint64_t before, uint64_t now)
{
	uint64_t longer = s->window ? 2 * s->window : DEV_SPIN_LEAST_NS;

	s->window = 0;
	if (s->mode == DEV_SPIN_NEVER || (now - before > DEV_SPIN_MOST_NS && s->mode != DEV_SPIN_ALWAYS))
		return;
	if (s->skip) {
		s->skip--;
		return;
	}
	if (s->mode == DEV_SPIN_NEVER)
		return;
	if (s->mode == DEV_SPIN_IDLE && is_crowded(s, now)) {
		dev_spin_refuse(s);
		return;
	}
	s->window = longer < DEV_SPIN_MOST_NS && s->mode == DEV_SPIN_IDLE ? longer : DEV_SPIN_MOST_NS;
	s->last = s->begun = s->yielded = now;
	s->switches = switches();
}

/* Another thread has run in this one's place, which was away for so long at most. */
static bool is_guest(struct dev_spin *s, uint64_t away, uint64_t now)
{
	if (now - s->guests_since > DEV_SPIN_GOOD_NS) {
		s->guests_since = now;
		s->guests = 0;
	}
	return away <= DEV_SPIN_AWAY_NS && ++s->guests <= DEV_SPIN_GUESTS;
}

static bool goes_unhindered(struct dev_spin *s, uint64_t now)
{
	uint64_t before = s->yielded;
	long n;

	if (now - before < DEV_SPIN_YIELD_NS)
		return true;
	s->yielded = now;
	sched_yield();
	if (s->mode == DEV_SPIN_ALWAYS)
		return true;
	if (now - s->begun > DEV_SPIN_GOOD_NS)
		s->skip_least = 0;
	n = switches();
	if (n != s->switches) {
		s->switches = n;
		if (!is_guest(s, ut_now() - before, now))
			return false;
	}
	return !is_crowded(s, now);
}

bool dev_spin_goes_on(struct dev_spin *s, uint64_t now)
{
	if (!dev_spin_is_on(s, now))
		return false;
	if (goes_unhindered(s, now))
		return true;
	dev_spin_refuse(s);
	return false;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "limit.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double lim_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void lim_fail(const char *operation)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, operation, strerror(errno));
	exit(1);
}

void lim_pin(int end)
{
	const char *said = getenv("BENCH_CPUS");
	int cpu[2];
	cpu_set_t set;

	if (!said || sscanf(said, "%d %d", &cpu[0], &cpu[1]) != 2)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu[end], &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		lim_fail("BENCH_CPUS");
}

void *lim_shared(size_t bytes)
{
	int fd = memfd_create("bench", MFD_CLOEXEC);
	void *p;

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		lim_fail("memfd");
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		lim_fail("mmap");
	close(fd);
	memset(p, 0, bytes);
	return p;
}

pid_t lim_fork(void)
{
	pid_t parent = getpid(), child;

	/* Yama, where it is built in, lets only a parent read its child's memory. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	child = fork();
	if (child < 0)
		lim_fail("fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		if (getppid() != parent)
			_exit(1);
	}
	lim_pin(child ? 0 : 1);
	return child;
}

int lim_join(pid_t child)
{
	int status = 1;

	if (waitpid(child, &status, 0) < 0)
		return 1;
	return status != 0;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double lim_median(void (*once)(void *), void *arg, int rounds, int batch)
{
	int n = rounds / batch > 0 ? rounds / batch : 1;
	double *each = calloc((size_t)n, sizeof(*each)), mid;

	if (!each)
		lim_fail("memory");
	for (int i = 0; i < n; i++) {
		double t = lim_now();

		for (int k = 0; k < batch; k++)
			once(arg);
		each[i] = (lim_now() - t) / batch * 1e6;
	}
	qsort(each, (size_t)n, sizeof(*each), by_size);
	mid = each[n / 2];
	free(each);
	return mid;
}

double lim_cpu(void)
{
	double sum = 0;
	struct rusage u;

	for (int children = 0; children < 2; children++) {
		getrusage(children ? RUSAGE_CHILDREN : RUSAGE_SELF, &u);
		sum += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
	}
	return sum;
}

double lim_number(int argc, char **argv, int i, double otherwise)
{
	double said = argc > i ? atof(argv[i]) : 0;

	return said > 0 ? said : otherwise;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that do not help the scheduler: one that polls hundreds of queues in turn, and two ends that watch memory
 * without a yield. To be run alone and beside other work.
 */
#include "measure.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../limits/limit.h"
#include "ends.h"

#define PERCENT_MOST 99.9

/* --- system calls of the polling thread, by calls of libc that this program defines in its place --- */

#define HOOK __attribute__((visibility("default")))

static __thread bool counted;
static struct {
	uint64_t yields, asked, waits;
} calls;

HOOK int sched_yield(void)
{
	calls.yields += counted;
	return (int)syscall(SYS_sched_yield);
}

HOOK int getrusage(__rusage_who_t target, struct rusage *ret)
{
	calls.asked += counted;
	return (int)syscall(SYS_getrusage, target, ret);
}

HOOK int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit, const sigset_t *mask)
{
	struct timespec t = limit ? *limit : (struct timespec){ 0 };

	calls.waits += counted;
	return (int)syscall(SYS_ppoll, fds, n, limit ? &t : NULL, mask, sizeof(long));
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The figure of the first line is the median. */
static void print_times(double *us, size_t n)
{
	qsort(us, n, sizeof(*us), by_size);
	printf("%.3f\n99 %.3f\n99.9 %.3f\nmost %.3f\n", us[n / 2], us[n * 99 / 100], us[(size_t)((double)n * PERCENT_MOST / 100)],
	       us[n - 1]);
}

/* In a thousand of what the thread has done. */
static void print_calls(double thousands)
{
	printf("yields %.3f\nasked %.3f\nwaits %.3f\n", (double)calls.yields / thousands, (double)calls.asked / thousands,
	       (double)calls.waits / thousands);
}

/* --- many queues in turn --- */

struct polled {
	struct ibv_cq **cq;
	int n;
	uint64_t polls;
};

static int poll_one(struct polled *p, int i)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(p->cq[i], 1, &wc);

	p->polls++;
	ends_need(n >= 0 && (!n || !wc.status), "poll");
	return n;
}

/* Polls all queues in turn until the last two, of sends and of receives, have given what they owe. */
static void poll_rounds(struct polled *p)
{
	for (bool sent = false, received = false; !sent || !received;)
		for (int i = 0; i < p->n; i++)
			if (poll_one(p, i)) {
				sent |= i == p->n - 2;
				received |= i == p->n - 1;
			}
}

static void answer(struct ends *e)
{
	struct ibv_wc wc;

	for (;;) { /* ends_wait() leaves when it is over */
		ends_wait(e, e->rcq, &wc, 1);
		ends_post_recv(e);
		ends_post(e, 0, IBV_WR_SEND, 8, true);
		ends_wait(e, e->cq, &wc, 1);
	}
}

static void make_polled(struct ends *e, struct polled *p, int n)
{
	p->n = n < 2 ? 2 : n;
	p->cq = calloc((size_t)p->n, sizeof(struct ibv_cq *));
	ends_need(p->cq != NULL, "memory");
	for (int i = 0; i < p->n - 2; i++) {
		p->cq[i] = ibv_create_cq(e->id[0]->verbs, 1, NULL, NULL, 0);
		ends_need(p->cq[i] != NULL, "completion queue");
	}
	p->cq[p->n - 2] = e->cq;
	p->cq[p->n - 1] = e->rcq;
}

static size_t exchange_for(struct ends *e, struct polled *p, double seconds, double *us, size_t most)
{
	double begin = lim_now(), before, now = begin;
	size_t n = 0;

	counted = true;
	for (; n < most && now - begin < seconds; n++) {
		before = now;
		ends_post(e, 0, IBV_WR_SEND, 8, true);
		poll_rounds(p);
		ends_post_recv(e);
		now = lim_now();
		us[n] = (now - before) * 1e6;
	}
	counted = false;
	return n;
}

#define EXCHANGES 1000000

int measure_rounds(int argc, char **argv)
{
	double seconds = lim_number(argc, argv, 1, 2);
	double *us = calloc(EXCHANGES, sizeof(*us));
	struct polled p = { 0 };
	struct ends e;
	size_t n;

	ends_need(us != NULL, "memory");
	ends_open(&e, 1, 64, 16, false);
	if (e.me == 1)
		answer(&e);
	make_polled(&e, &p, (int)lim_number(argc, argv, 0, 512));
	n = exchange_for(&e, &p, seconds, us, EXCHANGES);
	print_times(us, n);
	printf("exchanges %zu\npolls %llu\n", n, (unsigned long long)p.polls);
	print_calls((double)p.polls / 1000);
	return ends_close(&e);
}

/* --- memory that is watched without a yield --- */

static bool watch(struct ends *e, char count)
{
	volatile char *last = e->buf + e->size;

	for (unsigned looks = 1; *last != count; looks++)
		if (looks % 1024 == 0 && atomic_load_explicit(&e->shared->over, memory_order_relaxed))
			return false;
	return true;
}

/* As ib_write_lat: the completion of the last Write is taken before the next one. */
static void write_count(struct ends *e, char count)
{
	struct ibv_wc wc;

	e->buf[0] = count;
	ends_post(e, 0, IBV_WR_RDMA_WRITE, 1, true);
	ends_wait(e, e->cq, &wc, 1);
}

static char next(char count)
{
	return (char)(count % 100 + 1);
}

int measure_spin(int argc, char **argv)
{
	double seconds = lim_number(argc, argv, 0, 2), begin, before, now;
	double *us = calloc(EXCHANGES, sizeof(*us));
	struct ends e;
	char count = 1;
	size_t n = 0;

	ends_need(us != NULL, "memory");
	ends_open(&e, 1, 64, 16, false);
	for (; e.me == 1 && watch(&e, count); count = next(count))
		write_count(&e, count);
	if (e.me == 1)
		return ends_close(&e);
	counted = true;
	for (begin = now = lim_now(); n < EXCHANGES && now - begin < seconds; count = next(count)) {
		before = now;
		write_count(&e, count);
		ends_need(watch(&e, count), "watch");
		now = lim_now();
		us[n++] = (now - before) * 1e6 / 2;
	}
	counted = false;
	print_times(us, n);
	printf("exchanges %zu\n", n);
	print_calls((double)n / 1000);
	return ends_close(&e);
}

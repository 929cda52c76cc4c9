/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Ping-pongs, each timed by itself: their median, or their tail. */
#include "measure.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/poll.h>

#include "../limits/limit.h"
#include "ends.h"

enum kind { SEND, WRITE, READ, FAA };

static enum kind kind_of(const char *word)
{
	return !strcmp(word, "send") ? SEND : !strcmp(word, "write") ? WRITE :
	       !strcmp(word, "read") ? READ : FAA;
}

static void send_one(struct ends *e, uint64_t bytes)
{
	struct ibv_wc wc;

	ends_post(e, 0, IBV_WR_SEND, bytes, true);
	ends_wait(e, e->cq, &wc, 1);
}

static void receive_one(struct ends *e)
{
	struct ibv_wc wc;

	ends_wait(e, e->rcq, &wc, 1);
	ends_post_recv(e);
}

/* The other end polls the last byte, which counts from 1 to 255 and again. */
static void write_one(struct ends *e, uint64_t bytes, uint64_t count)
{
	struct ibv_wc wc;

	e->buf[bytes - 1] = (char)(count % 255 + 1);
	ends_post(e, 0, IBV_WR_RDMA_WRITE, bytes, true);
	ends_wait(e, e->cq, &wc, 1);
}

static void until_written(struct ends *e, uint64_t bytes, uint64_t count)
{
	volatile char *last = e->buf + e->size + bytes - 1;

	for (unsigned looks = 1; *last != (char)(count % 255 + 1); looks++)
		if (looks % 1024 == 0) {
			sched_yield();
			if (e->me == 1 && atomic_load(&e->shared->over))
				exit(0);
		}
}

/* Until the completion of one request. */
static void request_one(struct ends *e, enum kind kind, uint64_t bytes)
{
	static const enum ibv_wr_opcode op[] = {
		[SEND] = IBV_WR_SEND, [WRITE] = IBV_WR_RDMA_WRITE, [READ] = IBV_WR_RDMA_READ,
		[FAA] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_wc wc;

	ends_post(e, 0, op[kind], kind == FAA ? 8 : bytes, true);
	ends_wait(e, e->cq, &wc, 1);
}

static void serve(struct ends *e, enum kind kind, const uint64_t *size, int sizes, uint64_t n)
{
	for (int s = 0; s < sizes && kind < READ; s++)
		for (uint64_t i = 0; i < n; i++) {
			if (kind == SEND) {
				receive_one(e);
				send_one(e, size[s]);
			} else {
				until_written(e, size[s], i);
				write_one(e, size[s], i);
			}
		}
	while (!atomic_load(&e->shared->over))
		poll(NULL, 0, 20);
	ends_close(e);
}

static double trip(struct ends *e, enum kind kind, uint64_t bytes, uint64_t i)
{
	double t = lim_now();

	if (kind == SEND) {
		send_one(e, bytes);
		receive_one(e);
	} else if (kind == WRITE) {
		write_one(e, bytes, i);
		until_written(e, bytes, i);
	} else {
		request_one(e, kind, bytes);
	}
	return (lim_now() - t) * 1e6 / (kind < READ ? 2 : 1);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* N times, sorted, of round trips or, where the other end is passive, until the completion; the first tenth is for
 * warming up. */
static double *times(struct ends *e, enum kind kind, bool passive, uint64_t bytes, uint64_t n, uint64_t *ret)
{
	double *each = calloc(n, sizeof(*each)), t;

	ends_need(each != NULL, "memory");
	for (uint64_t i = 0; i < n; i++) {
		t = lim_now();
		if (passive)
			request_one(e, kind, bytes);
		each[i] = passive ? (lim_now() - t) * 1e6 : trip(e, kind, bytes, i);
	}
	*ret = n - n / 10;
	memmove(each, each + n / 10, *ret * sizeof(*each));
	qsort(each, *ret, sizeof(*each), by_size);
	return each;
}

static int sizes_of(const char *list, uint64_t *size, int max, uint64_t *ret_largest)
{
	int n = 0;
	char *end;

	for (*ret_largest = 0; n < max && *list; n++, list = *end ? end + 1 : end) {
		size[n] = strtoull(list, &end, 0);
		if (end == list || size[n] == 0 || size[n] > 1 << 28)
			return 0;
		*ret_largest = size[n] > *ret_largest ? size[n] : *ret_largest;
	}
	return n;
}

static int latencies(int argc, char **argv, bool tail)
{
	static const char *const rank[] = { "50", "90", "99", "99.9", "99.99" };
	uint64_t size[32], largest, n = (uint64_t)lim_number(argc, argv, 3, 10000), m;
	int sizes = sizes_of(argc > 2 ? argv[2] : "8", size, 32, &largest);
	enum kind kind = argc > 0 ? kind_of(argv[0]) : SEND;
	struct ends e;
	double *us;

	ends_need(sizes > 0, "sizes");
	ends_open(&e, 1, largest, 16, argc > 1 && argv[1][0] == 'e');
	if (e.me == 1)
		serve(&e, kind, size, sizes, n);
	for (int s = 0; s < (tail ? 1 : sizes); s++) {
		us = times(&e, kind, false, size[s], n, &m);
		if (!tail)
			printf("%llu %.4f\n", (unsigned long long)size[s], us[m / 2]);
		for (size_t i = 0; tail && i < sizeof(rank) / sizeof(*rank); i++)
			printf("%s %.4f\n", rank[i], us[(uint64_t)((double)m * atof(rank[i]) / 100)]);
		free(us);
	}
	return ends_close(&e);
}

int measure_lat(int argc, char **argv)
{
	return latencies(argc, argv, false);
}

int measure_tail(int argc, char **argv)
{
	return latencies(argc, argv, true);
}

int measure_passive(int argc, char **argv)
{
	uint64_t n = (uint64_t)lim_number(argc, argv, 2, 10000), m;
	enum kind kind = argc > 0 ? kind_of(argv[0]) : FAA;
	bool polls = argc > 1 && argv[1][0] == 'p';
	struct ibv_wc wc;
	struct ends e;
	double *us;

	ends_need(kind != SEND, "a kind that takes no receive");
	ends_open(&e, 1, 64, 16, false);
	if (e.me == 1) {
		while (polls)
			ends_wait(&e, e.rcq, &wc, 1);
		serve(&e, FAA, NULL, 0, 0);
	}
	us = times(&e, kind, true, 8, n, &m);
	printf("%.4f\n", us[m / 2]);
	free(us);
	return ends_close(&e);
}

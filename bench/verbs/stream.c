/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Throughput: bandwidth with its processor time, and the rate over many queue pairs. */
#include "measure.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../limits/limit.h"
#include "ends.h"

#define DEPTH 64     /* messages in flight of a bandwidth */
#define FLIGHT 1024  /* of a rate, over all queue pairs; half of it is reaped before more is posted */
#define BURST 16     /* posted to one queue pair before the next one's turn */

/* The receiving end of Sends; for one-sided operations it only stays alive. Never returns. */
static void sink(struct ends *e, bool receives)
{
	struct ibv_wc wc[64];
	int got;

	while (!atomic_load(&e->shared->over)) {
		e->shared->cpu[1] = lim_cpu();
		if (!receives) {
			poll(NULL, 0, 5);
			continue;
		}
		got = ends_wait(e, e->rcq, wc, 64);
		for (int i = 0; i < got; i++)
			ends_post_recv(e);
		atomic_fetch_add(&e->shared->count, (uint64_t)got);
	}
	ends_close(e);
}

/*
 * A Send over iWARP is complete when TCP has it, and without a receive at the other end the
 * stream dies; so the sender is ahead of the receiver by fewer messages than there are receives.
 * The other transports do not need that.
 */
static void stay_behind(struct ends *e, uint64_t sent)
{
	while (sent > atomic_load_explicit(&e->shared->count, memory_order_relaxed) + ENDS_RECEIVES / 2)
		sched_yield();
}

static double cpu_of_both(struct ends *e)
{
	return lim_cpu() + e->shared->cpu[1];
}

/* Bytes per second; all of it is complete at the end. */
static double flow(struct ends *e, enum ibv_wr_opcode op, uint64_t bytes, double seconds)
{
	double t = lim_now(), sum = 0;
	struct ibv_wc wc[DEPTH];
	static uint64_t sent;
	int open = 0;
	bool more;

	do {
		more = lim_now() < t + seconds;
		for (; more && open < DEPTH; open++, sent++) {
			if (op == IBV_WR_SEND)
				stay_behind(e, sent);
			ends_post(e, 0, op, bytes, true);
		}
		for (int n = open ? ends_wait(e, e->cq, wc, DEPTH) : 0; n > 0; n--, open--)
			sum += (double)bytes;
	} while (more || open);
	return sum / (lim_now() - t);
}

int measure_bw(int argc, char **argv)
{
	static const char *const names[] = { "send", "write", "read" };
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };
	double seconds = lim_number(argc, argv, 3, 0.3), cpu, t, r;
	const char *list = argc > 2 ? argv[2] : "65536";
	struct ends e;
	int kind = 0;
	char *end;

	for (int i = 0; i < 3; i++)
		kind = argc > 0 && !strcmp(argv[0], names[i]) ? i : kind;
	ends_open(&e, 1, 1 << 20, DEPTH, argc > 1 && argv[1][0] == 'e');
	if (e.me == 1)
		sink(&e, kind == 0);
	for (; *list; list = *end ? end + 1 : end) {
		uint64_t bytes = strtoull(list, &end, 0);

		ends_need(end != list && bytes && bytes <= 1 << 20, "sizes up to a MiB");
		flow(&e, ops[kind], bytes, seconds / 10);
		cpu = cpu_of_both(&e);
		t = lim_now();
		r = flow(&e, ops[kind], bytes, seconds);
		t = lim_now() - t;
		printf("%llu %.4f\ncpu%llu %.4f\n", (unsigned long long)bytes, r / 1e9,
		       (unsigned long long)bytes, (cpu_of_both(&e) - cpu) / (r * t) * 1e9);
	}
	return ends_close(&e);
}

/* Returns how many were posted: none on a queue pair whose earlier ones are not complete. */
static int post_burst(struct ends *e, int *turn, int *open, int most)
{
	int qp = *turn;

	*turn = (*turn + 1) % e->n;
	if (open[qp] + BURST > most)
		return 0;
	for (int i = 0; i < BURST; i++)
		ends_post(e, qp, IBV_WR_SEND, 64, true);
	open[qp] += BURST;
	return BURST;
}

int measure_rate(int argc, char **argv)
{
	int n = (int)lim_number(argc, argv, 0, 1), flying = 0, turn = 0;
	int depth = n == 1 ? FLIGHT : FLIGHT / (n < 16 ? n : 16) + 2 * BURST;
	double seconds = lim_number(argc, argv, 1, 0.3), sum = 0, t;
	int *open = calloc((size_t)n, sizeof(*open));
	struct ibv_wc wc[64];
	struct ends e;

	ends_need(open != NULL, "memory");
	ends_open(&e, n, 64, depth, false);
	if (e.me == 1)
		sink(&e, true);
	for (t = lim_now(); lim_now() < t + seconds;) {
		stay_behind(&e, (uint64_t)sum + FLIGHT);
		while (flying <= FLIGHT - BURST)
			flying += post_burst(&e, &turn, open, depth);
		while (flying > FLIGHT / 2) {
			int got = ends_wait(&e, e.cq, wc, 64);

			for (int i = 0; i < got; i++)
				open[wc[i].wr_id]--;
			flying -= got;
			sum += got;
		}
	}
	printf("%.0f\n", sum / (lim_now() - t));
	while (flying)
		flying -= ends_wait(&e, e.cq, wc, 64);
	free(open);
	return ends_close(&e);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How fast: Writes with a window of them outstanding, Sends there and back. The clock is the
 * system's own, since the cycle counter of an emulated processor says nothing.
 */
#include "peer.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define WINDOW 16
#define RING 16 /* receives ahead */

static void write_some(struct peer *p, unsigned count)
{
	struct peer_op op = { .code = IBV_WR_RDMA_WRITE, .len = p->a->sizes[0],
			      .remote = p->far.addr, .rkey = p->far.rkey };
	unsigned posted = 0, done = 0;
	struct ibv_wc wc[WINDOW];
	int n;

	while (done < count) {
		for (; posted < count && posted - done < WINDOW; posted++)
			peer_post(p, &op);
		n = ibv_poll_cq(p->scq, WINDOW, wc);
		must(n >= 0, "poll: %d", n);
		for (int i = 0; i < n; i++)
			must(wc[i].status == IBV_WC_SUCCESS, "%s",
			     ibv_wc_status_str(wc[i].status));
		done += (unsigned)n;
		if (!n)
			sched_yield();
	}
}

static void stream_active(struct peer *p)
{
	double t;

	peer_open(p, p->a);
	peer_meet(p);
	write_some(p, p->a->count / 10 + 1);
	t = peer_now();
	write_some(p, p->a->count);
	/* A Read behind them: all are there, not only sent. */
	peer_do(p, &(struct peer_op){ .code = IBV_WR_RDMA_READ, .at = PEER_MEM / 2, .len = 8,
				      .remote = p->far.addr, .rkey = p->far.rkey });
	t = peer_now() - t;
	printf("MB/s %.3f\n", (double)p->a->count * (double)p->a->sizes[0] / t / 1e6);
	peer_leave(p);
	peer_close(p);
}

static void stream_passive(struct peer *p)
{
	peer_open(p, p->a);
	peer_meet(p);
	peer_left(p);
	peer_close(p);
}

static void bounce(struct peer *p, unsigned count, bool first)
{
	struct peer_op op = { .code = IBV_WR_SEND, .len = p->a->sizes[0] };

	if (op.len <= 64)
		op.flags = IBV_SEND_INLINE;
	for (unsigned i = 0; i < count; i++) {
		if (first)
			peer_post(p, &op);
		peer_ok(p, p->rcq);
		peer_recv(p, 1 << 20, op.len);
		if (!first)
			peer_post(p, &op);
		peer_ok(p, p->scq);
	}
}

static void bounces(struct peer *p)
{
	double t;

	peer_open(p, p->a);
	if (p->a->passive)
		peer_request(p);
	else
		peer_resolve(p, p->a->port);
	for (int i = 0; i < RING; i++)
		peer_recv(p, 1 << 20, p->a->sizes[0]);
	peer_meet(p);
	bounce(p, p->a->count / 10 + 1, !p->a->passive);
	t = peer_now();
	bounce(p, p->a->count, !p->a->passive);
	t = peer_now() - t;
	if (p->a->passive) {
		peer_left(p);
	} else {
		printf("us %.3f\n", t / p->a->count / 2 * 1e6);
		peer_leave(p);
	}
	peer_close(p);
}

const struct peer_scenario peer_bench[] = {
	{ "bw", "bandwidth of Writes", stream_passive, stream_active },
	{ "lat", "latency of Sends, one way", bounces, bounces },
	{ 0 }
};

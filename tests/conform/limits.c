/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits of the host (descriptors, locked memory, processor time) and the cost of a QP. */
#include "conf.h"

#include "../support/entries.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void fd_limit(rlim_t n)
{
	struct rlimit r;

	CF_OK(getrlimit(RLIMIT_NOFILE, &r));
	r.rlim_cur = n;
	CF_OK(setrlimit(RLIMIT_NOFILE, &r));
}

/* All that a program does, with n descriptors: each call works or fails with an errno. */
static bool with_fds(int n)
{
	struct ibv_device **list;
	struct ibv_context *ctx = NULL;
	struct ibv_comp_channel *chan = NULL;
	struct ibv_pd *pd = NULL;
	struct ibv_cq *cq = NULL;
	struct ibv_qp *qp = NULL;
	int count, fds = 0, held[256];

	/* Use up the free descriptors but n. */
	fd_limit(256);
	while (fds < 256 && (held[fds] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		fds++;
	while (n-- > 0 && fds > 0)
		close(held[--fds]);
	errno = 0;
	list = ibv_get_device_list(&count);
	if (list && count)
		ctx = ibv_open_device(list[cf_wanted(list, count)]);
	if (list)
		ibv_free_device_list(list);
	if (ctx && (pd = ibv_alloc_pd(ctx)) && (chan = ibv_create_comp_channel(ctx)) &&
	    (cq = ibv_create_cq(ctx, 4, NULL, chan, 0)))
		qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC,
				   .send_cq = cq, .recv_cq = cq, .cap = { 1, 1, 1, 1, 0 } });
	if (!qp && !errno)
		CF_DIE("failed without an errno");
	if (qp)
		CF_OK(ibv_destroy_qp(qp));
	if (cq)
		CF_OK(ibv_destroy_cq(cq));
	if (chan)
		CF_OK(ibv_destroy_comp_channel(chan));
	if (pd)
		CF_OK(ibv_dealloc_pd(pd));
	if (ctx)
		CF_OK(ibv_close_device(ctx));
	while (fds > 0)
		close(held[--fds]);
	return qp != NULL;
}

static void descriptors(void)
{
	bool worked = false;
	int before = 0;

	for (int n = 0; n < 40; n++) {
		worked = with_fds(n);
		if (n == 0)
			before = open_fds();
	}
	CF_TRUE(worked);
	/* Failures leak nothing; the engine may keep what it needs once. */
	if (open_fds() > before + 24)
		CF_DIE("%d descriptors open, %d before", open_fds(), before);
	fd_limit(1024);
	cf_self_send();
}

/* Objects made and destroyed leave no descriptor behind. */
static void no_leak(void)
{
	int before = 0;

	for (int i = 0; i < 30; i++) {
		struct ibv_context *ctx = cf_open();
		struct ibv_pd *pd = cf_pd(ctx);
		struct ibv_comp_channel *ch = cf_chan(ctx);
		struct ibv_cq *cq = cf_cq(ctx, 4, ch);
		struct ibv_qp *qp = cf_qp(pd, &(struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC,
					  .send_cq = cq, .recv_cq = cq, .cap = { 1, 1, 1, 1, 0 } });

		cf_drop(qp);
		cf_drop(cq);
		cf_drop(ch);
		cf_drop(pd);
		cf_drop(ctx);
		if (i == 4)
			before = open_fds();
	}
	/* A background thread may have one for a moment. */
	for (uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull; open_fds() != before && cf_ns() < end;)
		sched_yield();
	CF_EQ(open_fds(), before);
}

static void memlock(void)
{
	struct rlimit none = { 0, 0 };

	CF_OK(setrlimit(RLIMIT_MEMLOCK, &none));
	cf_self_send();
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Processor time while nothing comes for 400 ms. */
static double idle_window(struct ibv_comp_channel *chan)
{
	double t0 = cpu_seconds();

	CF_TRUE(!cf_readable(chan->fd, 400));
	return cpu_seconds() - t0;
}

/* Other processes that join or leave the shared port are work for its members;
 * no process joins a port of our own. */
static void own_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char port[8];

	CF_TRUE(fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0 &&
		getsockname(fd, (struct sockaddr *)&a, &n) == 0);
	close(fd);
	snprintf(port, sizeof(port), "%u", ntohs(a.sin_port));
	setenv("DAPPLE_PORT", port, 1);
}

/*
 * Connected and armed, with receives posted, after some traffic; then nothing.
 * One quiet window of several is enough, since a busy machine may disturb one;
 * a tick of a millisecond would be in all of them.
 */
static void idle(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	double used = 1;

	own_port();
	o.chan = true;
	cf_pair(&a, &b, &o);
	for (int i = 0; i < 8; i++)
		cf_recv(&b, i, 0, 64);
	for (int i = 0; i < 4; i++) {
		cf_post(&a, .op = IBV_WR_SEND, .id = i, .len = 64);
		cf_wc(a.scq, i, SUCCESS);
		cf_wc(b.rcq, i, SUCCESS);
	}
	CF_OK(ibv_req_notify_cq(b.rcq, 0));
	cf_readable(b.chan->fd, 100); /* the traffic's timers run out */
	for (int i = 0; i < 20 && used > 0.001; i++)
		used = idle_window(b.chan);
	if (used > 0.001)
		CF_DIE("%.1f ms of processor time in 400 idle ms, twenty times", used * 1e3);
}

static void cost(void)
{
	enum { N = 1000 };
	struct cf_opt o = cf_opt();
	struct ibv_qp_init_attr init;
	struct cf_side s;
	long before;
	double each;

	if (getenv("ASAN_OPTIONS") || getenv("TSAN_OPTIONS"))
		cf_skip("memory means nothing under a sanitizer");
	cf_side(&s, &o);
	init = (struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC, .send_cq = s.scq, .recv_cq = s.rcq,
					  .cap = { 1, 1, 1, 1, 0 } };
	for (int i = 0; i < 20; i++)
		cf_qp(s.pd, &init);
	before = (long)(cf_resident() / 1024);
	for (int i = 0; i < N; i++) {
		struct cf_side end;

		s.qp = cf_qp(s.pd, &init);
		cf_loop(&s, &end);
	}
	each = ((long)(cf_resident() / 1024) - before) / (double)N;
	if (each > 8)
		CF_DIE("a connected RC QP costs %.1f KiB", each);
}

/* --- threads cancelled inside our calls --- */

static struct cf_side ca, cb;
static volatile bool stop_threads; /* never: they are cancelled */

static void *in_get_event(void *arg)
{
	struct ibv_cq *cq;
	void *ctx;

	ibv_get_cq_event(cb.chan, &cq, &ctx);
	return NULL;
}

static void *in_poll(void *arg)
{
	struct ibv_wc wc;

	while (!stop_threads) {
		ibv_poll_cq(ca.scq, 1, &wc);
		pthread_testcancel();
	}
	return NULL;
}

static void *in_post(void *arg)
{
	struct ibv_wc wc;

	while (!stop_threads) {
		cf_post_try(&ca, &(struct cf_wr){ .op = IBV_WR_RDMA_WRITE, .len = 64, .to = &cb });
		while (ibv_poll_cq(ca.scq, 1, &wc) > 0)
			;
		pthread_testcancel();
	}
	return NULL;
}

static void cancel_one(void *(*fn)(void *), int ms)
{
	pthread_t th;
	void *ret;
	struct ibv_wc wc;
	struct cf_wr last = { .op = IBV_WR_SEND, .id = 0xfeed, .len = 64 };
	int rc;

	CF_OK(pthread_create(&th, NULL, fn, NULL));
	cf_readable(ca.ctx->async_fd, ms); /* somewhere in the middle */
	CF_OK(pthread_cancel(th));
	CF_OK(pthread_join(th, &ret));
	CF_TRUE(ret == PTHREAD_CANCELED);
	/* The engine is whole: the remaining requests complete and new work runs. */
	cf_recv(&cb, 1, 0, 64);
	/* The cancelled thread may have left the queue full. */
	while ((rc = cf_post_try(&ca, &last)) == ENOMEM)
		CF_TRUE(cf_poll(ca.scq, &wc, CF_WAIT_MS));
	CF_OK(rc);
	do
		CF_TRUE(cf_poll(ca.scq, &wc, CF_WAIT_MS));
	while (wc.wr_id != 0xfeed);
	CF_EQ(wc.status, IBV_WC_SUCCESS);
	cf_wc(cb.rcq, 1, SUCCESS);
}

static void cancelled(void)
{
	struct cf_opt o = cf_opt();

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	cf_skip("sanitizers take the unwinding of a cancelled thread for a fault");
#endif
	o.chan = true;
	o.cqe = 4096;
	cf_pair(&ca, &cb, &o);
	cf_drop_events(ca.ctx);
	for (int i = 0; i < 25; i++) {
		cancel_one(in_get_event, 1 + i % 4);
		cancel_one(in_poll, 1 + i % 3);
		cancel_one(in_post, 1 + i % 5);
	}
}

const struct cf_check cf_checks[] = {
	{ "+", "no descriptors left", 0, descriptors },
	{ "+", "descriptors are given back", 0, no_leak },
	{ "+", "no locked memory allowed", 0, memlock },
	{ "+", "an idle process uses no processor", 0, idle },
	{ "+", "the cost of a QP", CF_SELF, cost },
	{ "+", "threads cancelled inside calls", 0, cancelled },
	{ 0 },
};

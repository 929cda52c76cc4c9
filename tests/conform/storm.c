/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Many threads on the same objects, and destruction in the middle of traffic. */
#include "conf.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { THREADS = 6 };

static struct cf_side a, b;
static atomic_int sent, acked, received, posted; /* posted: receives */
static int total;

/* Posts while there is room in the queue and for its completion. */
static void *poster(void *arg)
{
	for (;;) {
		int n = atomic_fetch_add(&sent, 1);

		if (n >= total)
			return NULL;
		if (n & 1)
			cf_credit(&posted, n / 2);
		/* A slot is free when its work completes, the CQ only when it is polled. */
		while (n - atomic_load(&acked) > 200)
			sched_yield();
		while (cf_post_try(&a, &(struct cf_wr){ .op = n & 1 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
							.id = n, .len = 100, .to = &b, .roff = 4096 }))
			sched_yield();
	}
}

static void *send_poller(void *arg)
{
	uint64_t end = cf_ns() + 300000000000ull;
	struct ibv_wc wc[8];

	while (atomic_load(&acked) < total) {
		int n = ibv_poll_cq(a.scq, 8, wc);

		CF_TRUE(n >= 0);
		for (int i = 0; i < n; i++)
			CF_EQ(wc[i].status, IBV_WC_SUCCESS);
		atomic_fetch_add(&acked, n);
		if (!n)
			sched_yield();
		CF_TRUE(cf_ns() < end);
	}
	return NULL;
}

static void *receiver(void *arg)
{
	uint64_t end = cf_ns() + 300000000000ull;
	struct ibv_wc wc[8];

	while (atomic_load(&received) < total / 2) {
		int n = ibv_poll_cq(b.rcq, 8, wc);

		CF_TRUE(n >= 0);
		for (int i = 0; i < n; i++) {
			CF_EQ(wc[i].status, IBV_WC_SUCCESS);
			CF_EQ(wc[i].byte_len, 100);
			cf_recv(&b, 1, 0, 100);
			atomic_fetch_add(&posted, 1);
		}
		atomic_fetch_add(&received, n);
		if (!n)
			sched_yield();
		CF_TRUE(cf_ns() < end);
	}
	return NULL;
}

static void one_qp(int n)
{
	void *(*const fn[THREADS])(void *) = { poster, poster, send_poller, send_poller, receiver,
					       receiver };
	struct cf_opt o = cf_opt();
	pthread_t th[THREADS];

	o.rq = 64;
	total = n;
	cf_pair(&a, &b, &o);
	for (int i = 0; i < 60; i++)
		cf_recv(&b, i, 0, 100);
	atomic_store(&posted, 60);
	for (int i = 0; i < THREADS; i++)
		CF_OK(pthread_create(&th[i], NULL, fn[i], NULL));
	for (int i = 0; i < THREADS; i++)
		CF_OK(pthread_join(th[i], NULL));
	CF_EQ(acked, n);
	CF_EQ(received, n / 2);
	cf_quiet(a.scq);
	cf_quiet(b.rcq);
}

static void one_qp_short(void)
{
	one_qp(20000);
}

static void one_qp_full(void)
{
	one_qp(1000000);
}

/* --- destroy in the middle --- */

static atomic_bool stop;

static void *background_poll(void *arg)
{
	struct ibv_wc wc;

	while (!atomic_load(&stop)) {
		CF_TRUE(ibv_poll_cq(arg, 1, &wc) >= 0);
		sched_yield();
	}
	return NULL;
}

static void destroy_rounds(int rounds)
{
	struct cf_opt o = cf_opt();
	struct cf_side x, y, p, q;
	pthread_t th;

	o.len = 1 << 20;
	o.sq = 64;
	cf_side(&x, &o);
	cf_side(&y, &o);
	for (int r = 0; r < rounds; r++) {
		cf_side_again(&p, &x);
		cf_side_again(&q, &y);
		cf_join(&p, &q);
		atomic_store(&stop, false);
		CF_OK(pthread_create(&th, NULL, background_poll, q.rcq));
		for (int i = 0; i < 4; i++)
			cf_recv(&q, i, 0, 1 << 20);
		for (int i = 0; i < 12; i++)
			cf_post(&p, .op = i % 3 == 0 ? IBV_WR_SEND : i % 3 == 1 ? IBV_WR_RDMA_WRITE :
				IBV_WR_RDMA_READ, .id = i, .len = 60000, .to = &q);
		for (int i = 0; i < r % 50; i++)
			ibv_poll_cq(p.scq, 0, NULL);
		if (r & 1) {
			cf_drop(q.qp);
			cf_drop(p.qp);
		} else {
			cf_drop(p.qp);
			cf_drop(q.qp);
		}
		CF_EQ(cf_drain(p.scq), 0);
		atomic_store(&stop, true);
		CF_OK(pthread_join(th, NULL));
		cf_drop(p.scq);
		cf_drop(p.rcq);
		cf_drop(q.scq);
		cf_drop(q.rcq);
	}
}

static void destroy_short(void)
{
	destroy_rounds(300);
}

static void destroy_full(void)
{
	destroy_rounds(20000);
}

/* --- threads that each make and destroy all kinds --- */

static void *maker(void *arg)
{
	int n = *(int *)arg;

	for (int i = 0; i < n; i++) {
		struct ibv_pd *pd = ibv_alloc_pd(a.ctx);
		struct ibv_cq *cq = ibv_create_cq(a.ctx, 8, NULL, NULL, 0);
		struct ibv_mr *mr = (ibv_reg_mr)(pd, a.buf, 4096, CF_ALL_ACCESS);
		struct ibv_qp *qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){
			.qp_type = i & 1 || cf.iwarp ? IBV_QPT_RC : IBV_QPT_UD, .send_cq = cq, .recv_cq = cq,
			.cap = { 2, 2, 1, 1, 0 } });

		CF_TRUE(pd && cq && mr && qp);
		CF_OK(ibv_destroy_qp(qp));
		CF_OK(ibv_dereg_mr(mr));
		CF_OK(ibv_destroy_cq(cq));
		CF_OK(ibv_dealloc_pd(pd));
	}
	return NULL;
}

static void makers(void)
{
	struct cf_opt o = cf_opt();
	pthread_t th[4];
	int n = cf.full ? 20000 : 500;

	cf_pair(&a, &b, &o);
	for (int i = 0; i < 4; i++)
		CF_OK(pthread_create(&th[i], NULL, maker, &n));
	for (int i = 0; i < n; i++) {
		cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = i, .len = 64, .to = &b);
		cf_wc(a.scq, i, SUCCESS);
	}
	for (int i = 0; i < 4; i++)
		CF_OK(pthread_join(th[i], NULL));
}

const struct cf_check cf_checks[] = {
	{ "100", "six threads on one QP and its CQs", 0, one_qp_short },
	{ "100", "six threads, a million messages", CF_FULL, one_qp_full },
	{ "100", "destroy during traffic", 0, destroy_short },
	{ "100", "destroy during traffic, long", CF_FULL, destroy_full },
	{ "100", "objects made and destroyed by four threads", 0, makers },
	{ 0 },
};

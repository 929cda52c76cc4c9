/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Order of destruction, unacknowledged events, and the descriptors themselves. */
#include "conf.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static void in_use(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a;
	struct ibv_mw *mw;
	struct ibv_ah *ah = NULL;

	o.chan = true;
	o.srq = true;
	cf_side(&a, &o);
	if (cf.dev.orig_attr.max_ah)
		ah = cf_ah(a.pd);
	mw = cf_mw(a.pd, IBV_MW_TYPE_1);
	CF_ERR(ibv_dealloc_pd(a.pd), EBUSY);
	CF_ERR(ibv_destroy_cq(a.scq), EBUSY);
	CF_ERR(ibv_destroy_cq(a.rcq), EBUSY);
	CF_ERR(ibv_destroy_srq(a.srq), EBUSY);
	CF_ERR(ibv_destroy_comp_channel(a.chan), EBUSY);
	cf_drop(a.qp);
	CF_ERR(ibv_dealloc_pd(a.pd), EBUSY);
	CF_ERR(ibv_destroy_comp_channel(a.chan), EBUSY);
	cf_drop(a.scq);
	cf_drop(a.rcq);
	cf_drop(a.chan);
	cf_drop(a.srq);
	cf_drop(mw);
	if (ah)
		cf_drop(ah);
	CF_ERR(ibv_dealloc_pd(a.pd), EBUSY); /* the region is left */
	cf_drop(a.mr);
	cf_drop(a.pd);
}

/* --- destroy waits for acknowledgements --- */

struct waiter {
	atomic_bool done;
	void *obj;
	int (*destroy)(void *);
	int rc;
};

static void *destroyer(void *arg)
{
	struct waiter *w = arg;

	w->rc = w->destroy(w->obj);
	atomic_store(&w->done, true);
	return NULL;
}

static void start(struct waiter *w, pthread_t *th, void *obj, int (*destroy)(void *))
{
	memset(w, 0, sizeof(*w));
	w->obj = obj;
	w->destroy = destroy;
	cf_forget(obj);
	CF_OK(pthread_create(th, NULL, destroyer, w));
	for (uint64_t end = cf_ns() + CF_QUIET_MS * 1000000ull; cf_ns() < end;)
		if (atomic_load(&w->done))
			CF_DIE("destroyed with an event outstanding (%d)", w->rc);
}

static void cq_unacked(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct waiter w;
	struct ibv_cq *cq;
	pthread_t th;
	void *ctx;

	o.chan = true;
	cf_pair(&a, &b, &o);
	for (int i = 0; i < 2; i++) {
		CF_OK(ibv_req_notify_cq(b.rcq, 0));
		cf_recv(&b, i, 0, 64);
		cf_post(&a, .op = IBV_WR_SEND, .id = i, .len = 64);
		cf_wc(a.scq, i, SUCCESS);
		CF_TRUE(cf_readable(b.chan->fd, CF_WAIT_MS));
		CF_OK(ibv_get_cq_event(b.chan, &cq, &ctx));
		CF_TRUE(cq == b.rcq);
	}
	CF_ERR(ibv_destroy_cq(b.rcq), EBUSY); /* fails first, waits after */
	cf_drop(b.qp);
	ibv_ack_cq_events(b.rcq, 1);
	start(&w, &th, b.rcq, (int (*)(void *))ibv_destroy_cq);
	ibv_ack_cq_events(b.rcq, 1);
	CF_OK(pthread_join(th, NULL));
	CF_EQ(w.rc, 0);
}

static void qp_unacked(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_async_event e;
	struct waiter w;
	pthread_t th;

	cf_pair(&a, &b, &o);
	cf_drop_events(b.ctx);
	cf_post(&a, .op = IBV_WR_RDMA_READ, .id = 1, .len = 8, .to = &b, .rkey = 0x77777700);
	cf_wc(a.scq, 1, REM_ACCESS_ERR);
	do {
		CF_TRUE(cf_readable(b.ctx->async_fd, CF_WAIT_MS));
		CF_OK(ibv_get_async_event(b.ctx, &e));
		if (e.event_type == IBV_EVENT_COMM_EST)
			ibv_ack_async_event(&e);
	} while (e.event_type == IBV_EVENT_COMM_EST);
	CF_EQ(e.event_type, IBV_EVENT_QP_ACCESS_ERR);
	start(&w, &th, b.qp, (int (*)(void *))ibv_destroy_qp);
	ibv_ack_async_event(&e);
	CF_OK(pthread_join(th, NULL));
	CF_EQ(w.rc, 0);
}

static void srq_unacked(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_async_event e;
	struct waiter w;
	pthread_t th;

	o.srq = true;
	cf_pair(&a, &b, &o);
	cf_recv(&b, 1, 0, 64);
	CF_OK(ibv_modify_srq(b.srq, &(struct ibv_srq_attr){ .srq_limit = 1 }, IBV_SRQ_LIMIT));
	cf_post(&a, .op = IBV_WR_SEND, .id = 2, .len = 64);
	cf_wc(a.scq, 2, SUCCESS);
	do {
		CF_TRUE(cf_readable(b.ctx->async_fd, CF_WAIT_MS));
		CF_OK(ibv_get_async_event(b.ctx, &e));
		if (e.event_type == IBV_EVENT_COMM_EST)
			ibv_ack_async_event(&e);
	} while (e.event_type == IBV_EVENT_COMM_EST);
	CF_EQ(e.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	cf_drop(b.qp);
	start(&w, &th, b.srq, (int (*)(void *))ibv_destroy_srq);
	ibv_ack_async_event(&e);
	CF_OK(pthread_join(th, NULL));
	CF_EQ(w.rc, 0);
}

/* An event that was not fetched ends with its object. */
static void never_fetched(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.chan = true;
	cf_pair(&a, &b, &o);
	CF_OK(ibv_req_notify_cq(b.rcq, 0));
	cf_recv(&b, 1, 0, 64);
	cf_post(&a, .op = IBV_WR_SEND, .id = 2, .len = 64);
	cf_wc(a.scq, 2, SUCCESS);
	CF_TRUE(cf_readable(b.chan->fd, CF_WAIT_MS));
	cf_drop(b.qp);
	cf_drop(b.rcq);
	CF_TRUE(!cf_readable(b.chan->fd, 0));
	CF_TRUE(!cf_readable(b.ctx->async_fd, 0));
}

/* --- descriptors --- */

static void nonblocking(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_async_event e;
	struct ibv_cq *cq;
	void *ctx;

	o.chan = true;
	cf_pair(&a, &b, &o);
	cf_drop_events(a.ctx);
	CF_TRUE(fcntl(a.chan->fd, F_GETFD) & FD_CLOEXEC);
	CF_TRUE(fcntl(a.ctx->async_fd, F_GETFD) & FD_CLOEXEC);
	for (int i = 0; i < 2; i++) {
		int fd = i ? a.ctx->async_fd : a.chan->fd;

		CF_OK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
		CF_TRUE(!cf_readable(fd, 0));
	}
	errno = 0;
	CF_EQ(ibv_get_cq_event(a.chan, &cq, &ctx), -1);
	CF_EQ(errno, EAGAIN);
	errno = 0;
	CF_EQ(ibv_get_async_event(a.ctx, &e), -1);
	CF_EQ(errno, EAGAIN);
}

static void readable_exactly(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	int copy, ep;
	struct epoll_event ev = { .events = EPOLLIN }, out;

	o.chan = true;
	cf_pair(&a, &b, &o);
	copy = dup(b.chan->fd);
	ep = epoll_create1(EPOLL_CLOEXEC);
	CF_OK(epoll_ctl(ep, EPOLL_CTL_ADD, b.chan->fd, &ev));
	for (int i = 0; i < 50; i++) {
		CF_TRUE(!cf_readable(b.chan->fd, 0));
		CF_OK(ibv_req_notify_cq(b.rcq, 0));
		CF_TRUE(!cf_readable(b.chan->fd, 0));
		cf_recv(&b, i, 0, 64);
		cf_post(&a, .op = IBV_WR_SEND, .id = i, .len = 64);
		/* Only the kernel polls here. */
		CF_EQ(epoll_wait(ep, &out, 1, CF_WAIT_MS), 1);
		CF_TRUE(cf_readable(copy, 0));
		CF_TRUE(cf_cq_event(b.chan, b.rcq, 0));
		CF_TRUE(!cf_readable(copy, 0));
		cf_wc(b.rcq, i, SUCCESS);
		cf_wc(a.scq, i, SUCCESS);
	}
	close(ep);
	close(copy);
}

/* Blocking waits return when something comes, from a thread that does nothing else. */
struct blocked {
	struct ibv_comp_channel *chan;
	struct ibv_context *ctx;
	struct ibv_cq *cq;
	struct ibv_async_event e;
	int rc;
};

static void *wait_cq(void *arg)
{
	struct blocked *b = arg;
	void *ctx;

	b->rc = ibv_get_cq_event(b->chan, &b->cq, &ctx);
	return NULL;
}

static void *wait_async(void *arg)
{
	struct blocked *b = arg;

	b->rc = ibv_get_async_event(b->ctx, &b->e);
	return NULL;
}

static void blocking(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct blocked x = { 0 }, y = { 0 };
	pthread_t t1, t2;

	o.chan = true;
	cf_pair(&a, &b, &o);
	cf_drop_events(b.ctx);
	x.chan = b.chan;
	y.ctx = a.ctx;
	CF_OK(ibv_req_notify_cq(b.rcq, 0));
	CF_OK(pthread_create(&t1, NULL, wait_cq, &x));
	CF_OK(pthread_create(&t2, NULL, wait_async, &y));
	cf_recv(&b, 1, 0, 64);
	cf_post(&a, .op = IBV_WR_SEND, .id = 2, .len = 64);
	CF_OK(pthread_join(t1, NULL));
	CF_EQ(x.rc, 0);
	CF_TRUE(x.cq == b.rcq);
	ibv_ack_cq_events(x.cq, 1);
	cf_wc(a.scq, 2, SUCCESS);
	cf_post(&b, .op = IBV_WR_RDMA_WRITE, .id = 3, .len = 8, .to = &a, .rkey = 0x77777700);
	CF_OK(pthread_join(t2, NULL));
	CF_EQ(y.rc, 0);
	CF_TRUE(y.e.event_type == IBV_EVENT_COMM_EST || y.e.event_type == IBV_EVENT_QP_ACCESS_ERR);
	ibv_ack_async_event(&y.e);
}

const struct cf_check cf_checks[] = {
	{ "91", "objects in use cannot be destroyed", CF_SRQ | CF_MW1, in_use },
	{ "85", "destroy of a CQ waits for acknowledgements", 0, cq_unacked },
	{ "85", "destroy of a QP waits for acknowledgements", 0, qp_unacked },
	{ "85", "destroy of an SRQ waits for acknowledgements", CF_SRQ, srq_unacked },
	{ "92", "events that were not fetched", 0, never_fetched },
	{ "92", "non-blocking: EAGAIN; close-on-exec", 0, nonblocking },
	{ "92", "readable exactly when an event waits; dup, epoll", 0, readable_exactly },
	{ "92", "blocking waits", 0, blocking },
	{ 0 },
};

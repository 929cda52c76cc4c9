/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues: order, arming, resize, purge, moderation, descriptors. */
#include "engine/chan.h"
#include "fake.h"
#include "support/engine.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static bool push(struct eng_cq *cq, uint64_t id, int status, bool solicited, void *qp)
{
	struct eng_cqe e = { .wr_id = id, .status = (uint8_t)status, .solicited = solicited, .qp = qp };

	return eng_cq_push(cq, &e);
}

static bool got_event(struct eng_chan *ch, struct eng_cq *cq)
{
	bool fd = readable(ch->fd);
	struct eng_cq *which = NULL;
	int r = eng_chan_get(ch, &which);

	CHECK(fd == (r == 0) && (r == 0 ? which == cq : r == -EAGAIN));
	return r == 0;
}

static void arming(struct fake *f)
{
	struct eng_chan *ch;
	struct eng_cq *cq;

	CHECK(eng_chan_create(f->ctx, &ch) == 0);
	CHECK(eng_cq_create(f->ctx, 64, ch, false, &cq) == 0);
	CHECK(eng_chan_destroy(ch) == -EBUSY);
	push(cq, 1, 0, true, NULL);
	CHECK(!got_event(ch, cq)); /* not armed */
	eng_cq_arm(cq, true);
	CHECK(!got_event(ch, cq)); /* completions that lie there give none */
	push(cq, 2, 0, false, NULL);
	CHECK(!got_event(ch, cq));
	push(cq, 3, 0, true, NULL);
	push(cq, 4, 0, true, NULL);
	CHECK(got_event(ch, cq) && !got_event(ch, cq)); /* one shot */
	eng_cq_arm(cq, true);
	push(cq, 5, IBV_WC_WR_FLUSH_ERR, false, NULL);
	CHECK(got_event(ch, cq)); /* an error is loud */
	eng_cq_arm(cq, false);
	eng_cq_arm(cq, true); /* never weakened */
	push(cq, 6, 0, false, NULL);
	CHECK(got_event(ch, cq));
	eng_cq_arm(cq, true);
	eng_cq_arm(cq, false); /* but strengthened */
	push(cq, 7, 0, false, NULL);
	CHECK(got_event(ch, cq));
	eng_cq_arm(cq, false);
	push(cq, 8, 0, false, NULL);
	CHECK(readable(ch->fd) && eng_cq_destroy(cq) == 0 && !readable(ch->fd));
	CHECK(eng_chan_destroy(ch) == 0);
}

static void descriptors(struct fake *f)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC), copy;
	struct eng_chan *ch;
	struct eng_cq *cq;

	CHECK(eng_chan_create(f->ctx, &ch) == 0);
	CHECK(eng_cq_create(f->ctx, 8, ch, false, &cq) == 0);
	copy = dup(ch->fd);
	CHECK(copy >= 0 && epoll_ctl(ep, EPOLL_CTL_ADD, ch->fd, &ev) == 0);
	for (int i = 0; i < 2; i++) { /* armed again before the first was fetched */
		eng_cq_arm(cq, false);
		push(cq, 1, 0, false, NULL);
	}
	CHECK(readable(copy) && epoll_wait(ep, &ev, 1, 0) == 1);
	CHECK(got_event(ch, cq) && readable(copy) && got_event(ch, cq) && !readable(copy));
	CHECK(epoll_wait(ep, &ev, 1, 0) == 0);
	close(copy);
	close(ep);
	CHECK(eng_cq_destroy(cq) == 0 && eng_chan_destroy(ch) == 0);
}

static void moderation(struct fake *f)
{
	struct eng_chan *ch;
	struct eng_cq *cq;

	CHECK(eng_chan_create(f->ctx, &ch) == 0);
	CHECK(eng_cq_create(f->ctx, 64, ch, true, &cq) == 0);
	eng_cq_modify(cq, 3, 1000);
	eng_cq_arm(cq, false);
	push(cq, 1, 0, false, NULL);
	CHECK(got_event(ch, cq)); /* no timer runs: at once */
	ut_lock(&f->dev.lock);
	eng_dev_tick(&f->dev, 0);
	ut_unlock(&f->dev.lock);
	eng_cq_arm(cq, false);
	push(cq, 2, 0, false, NULL);
	push(cq, 3, 0, false, NULL);
	CHECK(!got_event(ch, cq));
	push(cq, 4, 0, false, NULL);
	CHECK(got_event(ch, cq));
	eng_cq_arm(cq, false);
	push(cq, 5, 0, false, NULL);
	CHECK(!got_event(ch, cq));
	ut_lock(&f->dev.lock);
	uint64_t next = eng_dev_tick(&f->dev, 0);

	CHECK(next != UINT64_MAX && eng_dev_tick(&f->dev, next) == UINT64_MAX);
	ut_unlock(&f->dev.lock);
	CHECK(got_event(ch, cq));
	CHECK(eng_cq_destroy(cq) == 0 && eng_chan_destroy(ch) == 0);
}

static void sizes(struct fake *f)
{
	struct ibv_wc wc[8];
	struct eng_cq *cq;
	int a, b;

	CHECK(eng_cq_create(f->ctx, 0, NULL, false, &cq) == -EINVAL);
	CHECK(eng_cq_create(f->ctx, 1025, NULL, false, &cq) == -EINVAL);
	CHECK(eng_cq_create(f->ctx, 5, NULL, false, &cq) == 0);
	for (uint64_t i = 0; i < 7; i++) { /* the ring has wrapped when it is resized */
		CHECK(push(cq, i, 0, false, i & 1 ? (void *)&a : (void *)&b));
		if (i < 2)
			CHECK(eng_cq_poll(cq, 1, wc) == 1 && wc[0].wr_id == i);
	}
	CHECK(eng_cq_resize(cq, 4) == -EINVAL && eng_cq_resize(cq, UINT32_MAX) == -EINVAL);
	CHECK(eng_cq_resize(cq, 6) == 0 && push(cq, 7, 0, false, &a));
	eng_cq_purge(cq, (struct eng_qp *)&a);
	CHECK(eng_cq_held(cq) == 3 && eng_cq_poll(cq, 8, wc) == 3);
	CHECK(wc[0].wr_id == 2 && wc[1].wr_id == 4 && wc[2].wr_id == 6);
	for (uint64_t i = 0; i < 6; i++)
		CHECK(push(cq, i, 0, false, NULL));
	CHECK(!push(cq, 9, 0, false, NULL) && !push(cq, 9, 0, false, NULL));
	CHECK(fake_event(f) == IBV_EVENT_CQ_ERR && fake_event(f) == -1);
	errno = EXDEV; /* kept, whatever a poll returns */
	CHECK(eng_cq_poll(cq, 8, wc) == 6 && eng_cq_poll(cq, 8, wc) == -EOVERFLOW && errno == EXDEV);
	CHECK(eng_cq_destroy(cq) == 0);
	CHECK(eng_cq_create(f->ctx, 1, NULL, false, &cq) == 0);
	errno = EXDEV;
	CHECK(eng_cq_poll(cq, 8, wc) == 0 && eng_cq_poll(cq, 0, wc) == 0 && errno == EXDEV);
	CHECK(eng_cq_destroy(cq) == 0);
}

/* A queue of any size uses the entries at its start as long as it becomes empty now and then. */
static void low_entries(struct fake *f)
{
	struct ibv_wc wc[4];
	struct eng_cqe e;
	struct eng_cq *cq;

	CHECK(eng_cq_create(f->ctx, 1024, NULL, false, &cq) == 0);
	for (uint64_t i = 0; i < 100; i++) {
		for (int k = 0; k < 3; k++)
			CHECK(push(cq, i, 0, false, f));
		if (i % 3 == 0)
			CHECK(eng_cq_poll(cq, 4, wc) == 3);
		else if (i % 3 == 1)
			CHECK(eng_cq_take(cq, &e) == 1 && eng_cq_take(cq, &e) == 1 && eng_cq_take(cq, &e) == 1);
		else
			eng_cq_purge(cq, (struct eng_qp *)f);
		ut_lock(&cq->lock);
		CHECK(cq->head == 0 && cq->tail == 0);
		ut_unlock(&cq->lock);
		CHECK(eng_cq_poll(cq, 4, wc) == 0);
	}
	CHECK(eng_cq_destroy(cq) == 0);
}

#define WAKES 5000

static atomic_int turn; /* the consumer's arming */

static void *producer(void *arg)
{
	for (int i = 1; i <= WAKES; i++) {
		while (atomic_load(&turn) < i)
			sched_yield();
		push(arg, (uint64_t)i, 0, false, NULL);
	}
	return NULL;
}

/* A thread that an event wakes looks at once and finds the completion: no other call will come. On one
 * processor the sleeper often runs before the producer goes on behind its wake-up. */
static void wakes(struct fake *f)
{
	cpu_set_t all, one;
	struct eng_chan *ch;
	struct ibv_wc wc;
	struct eng_cq *cq;
	pthread_t t;

	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	CHECK(eng_chan_create(f->ctx, &ch) == 0);
	CHECK(eng_cq_create(f->ctx, 8, ch, false, &cq) == 0);
	CHECK(pthread_create(&t, NULL, producer, cq) == 0);
	for (int i = 1; i <= WAKES; i++) {
		struct pollfd p = { .fd = ch->fd, .events = POLLIN };

		eng_cq_arm(cq, false);
		atomic_store(&turn, i);
		CHECK(poll(&p, 1, 60000) == 1 && got_event(ch, cq));
		CHECK(eng_cq_poll(cq, 1, &wc) == 1 && wc.wr_id == (uint64_t)i);
	}
	pthread_join(t, NULL);
	CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);
	CHECK(eng_cq_destroy(cq) == 0 && eng_chan_destroy(ch) == 0);
}

static void in_order(struct eng_cq *cq, int n, int want, uint64_t *next)
{
	struct ibv_wc wc[8];

	CHECK(eng_cq_poll(cq, n, wc) == want);
	for (int i = 0; i < want; i++)
		CHECK(wc[i].wr_id == (*next)++ && wc[i].status == IBV_WC_SUCCESS);
}

/* Completions of the poller's own round are handed to it, as far as it has room. */
static void straight(struct fake *f)
{
	struct eng_chan *ch;
	struct eng_cq *cq, *other;
	uint64_t next = 0;

	CHECK(eng_cq_create(f->ctx, 3, NULL, false, &cq) == 0);
	CHECK(eng_cq_create(f->ctx, 3, NULL, false, &other) == 0);
	f->fed = cq;
	f->feed = 0;
	in_order(cq, 8, 3, &next); /* more than there are */
	CHECK(eng_cq_held(cq) == 0);
	in_order(cq, 2, 2, &next);
	CHECK(eng_cq_held(cq) == 1);
	in_order(cq, 2, 1, &next); /* completions that lie there, and no round */
	in_order(cq, 3, 3, &next);
	in_order(other, 1, 0, &next); /* another's round */
	CHECK(eng_cq_held(cq) == 3);
	in_order(cq, 8, 3, &next);
	f->fed = NULL;
	CHECK(eng_cq_destroy(cq) == 0 && eng_cq_destroy(other) == 0);
	/* Those that have to make an event go by the queue. */
	CHECK(eng_chan_create(f->ctx, &ch) == 0);
	CHECK(eng_cq_create(f->ctx, 8, ch, false, &cq) == 0);
	f->fed = cq;
	next = f->feed;
	eng_cq_arm(cq, false);
	in_order(cq, 8, 3, &next);
	CHECK(got_event(ch, cq));
	f->fed = NULL;
	CHECK(eng_cq_destroy(cq) == 0);
	/* None was asked for: more than the queue can hold. */
	CHECK(eng_cq_create(f->ctx, 2, ch, false, &cq) == 0);
	f->fed = cq;
	in_order(cq, 8, 3, &next);
	CHECK(eng_cq_held(cq) == 0 && !got_event(ch, cq));
	f->fed = NULL;
	push(cq, next, 0, false, NULL); /* behind the poll that left it empty */
	eng_cq_arm(cq, false);
	CHECK(got_event(ch, cq));
	in_order(cq, 8, 1, &next);
	f->fed = cq;
	f->feed = next;
	in_order(cq, 2, 2, &next);
	f->fed = NULL;
	eng_cq_arm(cq, false); /* the consumer had no room, and knows that there may be more */
	CHECK(eng_cq_held(cq) == 1 && !got_event(ch, cq));
	CHECK(eng_cq_destroy(cq) == 0 && eng_chan_destroy(ch) == 0);
}

int main(void)
{
	struct fake f;

	fake_open(&f);
	arming(&f);
	descriptors(&f);
	moderation(&f);
	sizes(&f);
	low_entries(&f);
	wakes(&f);
	straight(&f);
	fake_close(&f);
	return 0;
}

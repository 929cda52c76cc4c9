/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/loop.h"

#include "ulp/clock.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

int rds_loop_init(struct rds_loop *l)
{
	ut_list_init(&l->timers);
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	return l->epfd < 0 ? -errno : 0;
}

/* --- deadlines --- */

void rds_timer_init(struct rds_timer *t, void (*fire)(struct rds_timer *t))
{
	ut_list_init(&t->node);
	t->fire = fire;
}

void rds_timer_stop(struct rds_timer *t)
{
	ut_list_del(&t->node);
}

void rds_timer_set(struct rds_loop *l, struct rds_timer *t, int ms)
{
	t->due_ms = ulp_now_ms() + ms;
	ut_list_del(&t->node);
	ut_list_add_tail(&l->timers, &t->node);
}

void rds_timer_by(struct rds_loop *l, struct rds_timer *t, int ms)
{
	if (ut_list_empty(&t->node) || t->due_ms > ulp_now_ms() + ms)
		rds_timer_set(l, t, ms);
}

/* The timer with the first deadline, or NULL. */
static struct rds_timer *first(struct rds_loop *l)
{
	struct rds_timer *t, *found = NULL;

	ut_list_each(t, &l->timers, node)
		if (!found || t->due_ms < found->due_ms)
			found = t;
	return found;
}

static int wait_ms(struct rds_loop *l, int most_ms)
{
	struct rds_timer *t = first(l);
	int64_t left = t ? t->due_ms - ulp_now_ms() : most_ms;

	return left < 0 ? 0 : left > most_ms ? most_ms : (int)left;
}

static void fire_due(struct rds_loop *l)
{
	int64_t now = ulp_now_ms();
	struct rds_timer *t;

	while ((t = first(l)) && t->due_ms <= now) {
		rds_timer_stop(t);
		t->fire(t);
	}
}

/* --- descriptors --- */

int rds_watch_add(struct rds_loop *l, struct rds_watch *w)
{
	struct epoll_event ev = { .events = w->events, .data.ptr = w };

	return epoll_ctl(l->epfd, EPOLL_CTL_ADD, w->fd, &ev) ? -errno : 0;
}

void rds_watch_set(struct rds_loop *l, struct rds_watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (w->fd >= 0 && events != w->events && !epoll_ctl(l->epfd, EPOLL_CTL_MOD, w->fd, &ev))
		w->events = events;
}

void rds_watch_forget(struct rds_loop *l, struct rds_watch *w)
{
	if (w->fd >= 0)
		epoll_ctl(l->epfd, EPOLL_CTL_DEL, w->fd, NULL);
	w->fd = -1;
}

void rds_watch_close(struct rds_loop *l, struct rds_watch *w)
{
	int fd = w->fd;

	rds_watch_forget(l, w);
	if (fd >= 0)
		close(fd);
}

void rds_loop_round(struct rds_loop *l, int most_ms)
{
	struct epoll_event ev;
	struct rds_watch *w;

	fire_due(l);
	if (epoll_wait(l->epfd, &ev, 1, wait_ms(l, most_ms)) != 1)
		return;
	w = ev.data.ptr;
	w->ready(w, ev.events);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/poll.h"

#include "link/udp/order.h"
#include "util/clock.h"
#include "util/heap.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#define RESUME_AGAIN (10 * UT_MS) /* when there was no memory for it */

static void mark(struct host *h, struct host_port *at, uint32_t events)
{
	struct udp_link *u = ut_container(h, struct udp_link, host);
	struct udp_port *p = ut_container(at, struct udp_port, at);

	if (events & EPOLLIN)
		udp_poll_add(u, p);
	if (events & EPOLLERR)
		udp_port_error(u, p);
}

static bool resume(struct udp_link *u, struct udp_port *p) UT_REQUIRES(u->pausing)
{
	if (host_watch(&u->host, &p->at) < 0)
		return false;
	ut_list_del(&p->paused_node);
	atomic_store_explicit(&p->paused, false, memory_order_relaxed);
	atomic_fetch_sub_explicit(&u->n_paused, 1, memory_order_relaxed);
	return true;
}

/* Sockets that cannot return are still in the poll set, which each wake-up by the timer reads. */
static void resume_all(struct udp_link *u) UT_REQUIRES(u->pausing)
{
	struct udp_port *p, *t;

	u->resume_failed = false;
	ut_list_each_safe(p, t, &u->paused, paused_node)
		u->resume_failed |= !resume(u, p);
}

static void run_timers(struct host *h, struct host_port *at, uint32_t events)
{
	struct udp_link *u = ut_container(h, struct udp_link, host);
	uint64_t now = ut_now();
	struct udp_local *lo;

	u->timer_at = UT_NEVER;
	ut_lock(&u->pausing);
	if (u->resume_failed && !u->polls)
		resume_all(u);
	ut_unlock(&u->pausing);
	udp_each_local(lo, u) {
		udp_order_tick(u, lo, now);
		host_records_settle(&u->host, &lo->at, now);
	}
	udp_set_timer(u);
}

static const struct host_port_kind kinds[] = {
	[UDP_MAIN] = { .events = EPOLLIN, .ready = mark },
	[UDP_GROUP] = { .events = EPOLLIN, .ready = mark },
	[UDP_TX] = { .events = 0, .ready = mark },
	[UDP_TIMER] = { .events = EPOLLIN, .ready = run_timers },
};

void udp_port_init(struct udp_port *p, enum udp_kind kind, int fd)
{
	*p = (struct udp_port){ .at = { &kinds[kind], fd }, .kind = kind };
	ut_list_init(&p->polled_node);
	ut_list_init(&p->err_node);
	ut_list_init(&p->paused_node);
}

int udp_watch(struct udp_link *u, struct udp_port *p)
{
	return host_watch(&u->host, &p->at);
}

void udp_unwatch(struct udp_link *u, struct udp_port *p)
{
	if (p->at.fd < 0)
		return;
	ut_list_del(&p->polled_node);
	ut_list_del(&p->err_node);
	if (u->kept == p)
		u->kept = NULL;
	ut_lock(&u->pausing);
	if (!ut_list_empty(&p->paused_node)) {
		ut_list_del(&p->paused_node);
		atomic_fetch_sub_explicit(&u->n_paused, 1, memory_order_relaxed);
	}
	ut_unlock(&u->pausing);
	host_unwatch(&u->host, &p->at);
}

void udp_port_error(struct udp_link *u, struct udp_port *p)
{
	if (ut_list_empty(&p->err_node))
		ut_list_add_tail(&u->errors, &p->err_node);
}

void udp_pause(struct udp_link *u, struct udp_port *p)
{
	p->uses = 0;
	if (atomic_load_explicit(&p->paused, memory_order_relaxed))
		return;
	ut_lock(&u->pausing);
	if (u->polls && epoll_ctl(u->host.epfd, EPOLL_CTL_DEL, p->at.fd, NULL) == 0) {
		ut_list_add_tail(&u->paused, &p->paused_node);
		atomic_store_explicit(&p->paused, true, memory_order_relaxed);
		atomic_fetch_add_explicit(&u->n_paused, 1, memory_order_relaxed);
	}
	ut_unlock(&u->pausing);
}

bool udp_resume(struct udp_link *u, struct udp_port *p)
{
	bool good = true;

	if (!atomic_load_explicit(&p->paused, memory_order_relaxed))
		return true;
	ut_lock(&u->pausing);
	if (!ut_list_empty(&p->paused_node))
		good = resume(u, p);
	ut_unlock(&u->pausing);
	return good;
}

static void set_timer(struct udp_link *u, uint64_t at)
{
	struct itimerspec t = { 0 };

	if (at != UT_NEVER) {
		t.it_value.tv_sec = (time_t)(at / UT_S);
		t.it_value.tv_nsec = (long)(at % UT_S);
	}
	timerfd_settime(u->timer.at.fd, TFD_TIMER_ABSTIME, &t, NULL);
}

/* The descriptor shows what has come to a socket that returns: the set is level-triggered. */
static void let_pause(struct udp_link *u, bool polls)
{
	ut_lock(&u->pausing);
	u->polls = polls;
	if (!polls)
		resume_all(u);
	if (u->resume_failed)
		set_timer(u, ut_now() + RESUME_AGAIN);
	ut_unlock(&u->pausing);
}

void udp_sleep(struct link *l, bool on, bool look)
{
	struct udp_link *u = udp_of(l);

	atomic_store_explicit(&u->sleeping, on, memory_order_relaxed);
	let_pause(u, !on);
}

void udp_attend(struct link *l, bool on)
{
	let_pause(udp_of(l), on);
}

/* Setting a timer makes it unreadable until it fires anew. */
void udp_set_timer(struct udp_link *u)
{
	uint64_t at = host_outbox_deadline(&u->host), again;
	struct udp_local *lo;

	udp_each_local(lo, u) {
		if (udp_order_deadline(&lo->order) < at)
			at = udp_order_deadline(&lo->order);
		if (host_records_deadline(&lo->at) < at)
			at = host_records_deadline(&lo->at);
	}
	ut_lock(&u->pausing);
	again = u->resume_failed ? ut_now() + RESUME_AGAIN : UT_NEVER;
	u->timer_at = at < again ? at : again;
	set_timer(u, u->timer_at);
	ut_unlock(&u->pausing);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/poll.h"

#include "link/udp/order.h"
#include "util/clock.h"
#include "util/heap.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

static void mark(struct host *h, struct host_port *at, uint32_t events)
{
	struct udp_link *u = ut_container(h, struct udp_link, host);
	struct udp_port *p = ut_container(at, struct udp_port, at);

	if (events & EPOLLIN)
		udp_poll_add(u, p);
	if (events & EPOLLERR)
		udp_port_error(u, p);
}

static void run_timers(struct host *h, struct host_port *at, uint32_t events)
{
	struct udp_link *u = ut_container(h, struct udp_link, host);
	uint64_t now = ut_now();
	struct udp_local *lo;

	u->timer_at = UT_NEVER;
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
	host_unwatch(&u->host, &p->at);
}

void udp_port_error(struct udp_link *u, struct udp_port *p)
{
	if (ut_list_empty(&p->err_node))
		ut_list_add_tail(&u->errors, &p->err_node);
}

/* Setting a timer makes it unreadable until it fires anew. */
void udp_set_timer(struct udp_link *u)
{
	struct itimerspec t = { 0 };
	uint64_t at = host_outbox_deadline(&u->host);
	struct udp_local *lo;

	udp_each_local(lo, u) {
		if (udp_order_deadline(&lo->order) < at)
			at = udp_order_deadline(&lo->order);
		if (host_records_deadline(&lo->at) < at)
			at = host_records_deadline(&lo->at);
	}
	if (at != UT_NEVER) {
		t.it_value.tv_sec = (time_t)(at / UT_S);
		t.it_value.tv_nsec = (long)(at % UT_S);
	}
	u->timer_at = at;
	timerfd_settime(u->timer.at.fd, TFD_TIMER_ABSTIME, &t, NULL);
}

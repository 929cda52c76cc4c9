/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who may have something. A poller that asks the kernel about every socket
 * every time pays for the quiet ones, so sockets that gave something lately
 * are "polled" and tried directly; the others are found by a look at the epoll
 * set, which is also what the owner sleeps on.
 */
#include "host/shm/peer.h"

#include "link/sys.h"
#include "util/clock.h"
#include "util/faulty.h"
#include "util/heap.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#define UDP_POLLED 1000   /* empty tries until a socket is quiet again */
#define UDP_EVENTS 32

int udp_watch(struct udp_link *u, struct udp_port *p)
{
	/* A wake is never read: each ring is a new edge. */
	struct epoll_event e = { .events = p->kind == UDP_TX ? 0 :
					   p->kind == UDP_WAKE ? EPOLLIN | EPOLLET : EPOLLIN,
				 .data.ptr = p };

	ut_list_init(&p->polled_node);
	ut_list_init(&p->err_node);
	return ut_epoll_add(u->epfd, p->fd, &e) < 0 ? -errno : 0;
}

void udp_unwatch(struct udp_link *u, struct udp_port *p)
{
	if (p->fd < 0)
		return;
	ut_list_del(&p->polled_node);
	ut_list_del(&p->err_node);
	if (u->kept == p)
		u->kept = NULL;
	epoll_ctl(u->epfd, EPOLL_CTL_DEL, p->fd, NULL);
	link_sys_close(&p->fd);
}

void udp_poll_add(struct udp_link *u, struct udp_port *p)
{
	p->polled = UDP_POLLED;
	if (ut_list_empty(&p->polled_node))
		ut_list_add_tail(&u->polled, &p->polled_node);
}

void udp_port_error(struct udp_link *u, struct udp_port *p)
{
	if (ut_list_empty(&p->err_node))
		ut_list_add_tail(&u->errors, &p->err_node);
}

static void mark(struct udp_link *u, struct udp_port *p, uint32_t events)
{
	switch (p->kind) {
	case UDP_MAIL:
		p->local->mail_ready = true;
		return;
	case UDP_SERVICE:
		if (ut_list_empty(&p->service->ready))
			ut_list_add_tail(&u->ready, &p->service->ready);
		return;
	case UDP_PEER:
		shm_peer_died(u, p);
		return;
	case UDP_PEER_WATCH:
		udp_peer_watch_died(u, p->watch);
		return;
	case UDP_TIMER:
	case UDP_WAKE:
		return;
	default:
		break;
	}
	if (events & EPOLLIN)
		udp_poll_add(u, p);
	if (events & EPOLLERR)
		udp_port_error(u, p);
}

static void run_timers(struct udp_link *u)
{
	uint64_t now = ut_now();
	struct udp_local *lo;

	u->timer_at = UT_NEVER;
	ut_list_each(lo, &u->locals, node) {
		udp_order_tick(u, lo, now);
		udp_peer_watch_settle(u, lo, now);
	}
	udp_set_timer(u);
}

bool udp_look(struct udp_link *u)
{
	struct epoll_event v[UDP_EVENTS];
	long n = LINK_SYS(SYS_epoll_pwait, u->epfd, v, UDP_EVENTS, 0, NULL, 8);

	for (long i = 0; i < n; i++) {
		struct udp_port *p = v[i].data.ptr;
		enum udp_kind kind;

		if (!p) /* the owner's own */
			continue;
		kind = p->kind;
		mark(u, p, v[i].events); /* a dead peer's is freed */
		if (kind == UDP_TIMER)
			run_timers(u);
	}
	return n > 0;
}

/* Setting a timer makes it unreadable until it fires anew. */
void udp_set_timer(struct udp_link *u)
{
	struct itimerspec t = { 0 };
	uint64_t at = udp_outbox_deadline(u);
	struct udp_local *lo;

	ut_list_each(lo, &u->locals, node) {
		if (udp_order_deadline(&lo->order) < at)
			at = udp_order_deadline(&lo->order);
		if (udp_peer_watch_deadline(lo) < at)
			at = udp_peer_watch_deadline(lo);
	}
	if (at != UT_NEVER) {
		t.it_value.tv_sec = (time_t)(at / UT_S);
		t.it_value.tv_nsec = (long)(at % UT_S);
	}
	u->timer_at = at;
	timerfd_settime(u->timer.fd, TFD_TIMER_ABSTIME, &t, NULL);
}

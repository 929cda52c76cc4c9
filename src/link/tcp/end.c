/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ends. A socket that is closed with unread bytes, or gets some afterwards,
 * answers with RST, and a RST takes along what is still on its way to the
 * peer: the Terminate, mostly. So a graceful close sends FIN, then reads and
 * throws away until the peer's FIN, for a bounded time and amount.
 *
 * Life: close() takes the stream from its user; it drains, then its descriptor
 * goes; the memory goes when poll() returns, since events and callers up the
 * stack may still name it.
 */
#include "link/tcp/local.h"

#include "link/sys.h"
#include "util/clock.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>

#define DISCARD_READS 16

static void die(struct tcp_stream *s)
{
	struct tcp_link *p = tcp_link_of(s);

	if (s->mask)
		tcp_unwatch(p, s->fd);
	s->mask = 0;
	link_sys_close(&s->fd);
	s->state = TCP_S_DEAD;
	ut_list_del(&s->node);
	ut_list_add_tail(&p->dead, &s->node);
}

static void leave_lists(struct tcp_stream *s)
{
	struct tcp_link *p = tcp_link_of(s);

	tcp_poll_remove(s);
	tcp_local_end(s);
	ut_list_del(&s->todo_node);
	ut_list_del(&s->idle_node);
	if (p->owner == s)
		p->owner = NULL;
	free(s->carry);
	s->carry = NULL;
	s->carry_len = 0;
}

void tcp_close(struct link_stream *l, bool abort)
{
	struct linger now = { .l_onoff = 1 };
	struct tcp_stream *s = tcp_stream_of(l);
	struct tcp_link *p = tcp_link_of(s);
	int keep = errno;

	if (s->state == TCP_S_DEAD || s->state == TCP_S_DRAINING)
		return;
	leave_lists(s);
	s->base.user_ops = NULL;
	if (abort)
		setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	errno = keep;
	if (abort || s->state == TCP_S_CONNECTING) {
		die(s);
		return;
	}
	LINK_SYS(SYS_shutdown, s->fd, SHUT_WR);
	s->state = TCP_S_DRAINING;
	s->blocked = s->news = false;
	s->drain_until = ut_now() + TCP_DRAIN_NS;
	s->drain_left = TCP_DRAIN_BYTES;
	ut_list_del(&s->node);
	ut_list_add_tail(&p->drains, &s->node);
	tcp_drain(s);
	if (s->state == TCP_S_DRAINING)
		tcp_watch(s);
}

/* MSG_TRUNC makes TCP throw away instead of copying. */
void tcp_drain(struct tcp_stream *s)
{
	for (int i = 0; i < DISCARD_READS; i++) {
		long n = LINK_SYS(SYS_recvfrom, s->fd, NULL, (long)TCP_STAGE_BYTES,
				  MSG_DONTWAIT | MSG_TRUNC, NULL, NULL);

		if (n == -EAGAIN)
			return;
		if (n <= 0 || (size_t)n >= s->drain_left) {
			die(s);
			return;
		}
		s->drain_left -= (size_t)n;
	}
}

void tcp_drain_expired(struct tcp_link *p)
{
	struct tcp_stream *s;

	/* All have the same patience: the oldest is first. */
	while ((s = ut_list_first(&p->drains, struct tcp_stream, node)) &&
	       s->drain_until <= p->now)
		die(s);
}

void tcp_reap(struct tcp_link *p)
{
	struct ut_list *n;

	while ((n = ut_list_pop(&p->dead))) {
		struct tcp_stream *s = ut_container(n, struct tcp_stream, node);

		tcp_local_free(s);
		free(s);
	}
	tcp_rendezvous_reap(p);
	while ((n = ut_list_pop(&p->dead_listeners)))
		free(ut_container(n, struct tcp_listener, node));
}

/* --- the end of the place --- */

/* Something that was sent is not at the peer's host yet, where no RST of ours could
 * reach it any more. */
static bool under_way(struct tcp_link *p)
{
	struct tcp_stream *s;

	ut_list_each(s, &p->drains, node)
		if (tcp_sock_unacked(s->fd))
			return true;
	return false;
}

static void drain_all(struct tcp_link *p)
{
	struct tcp_stream *s, *t;

	ut_list_each_safe(s, t, &p->drains, node)
		tcp_drain(s);
}

void tcp_leave(struct link_streams *l)
{
	struct tcp_link *p = tcp_of(l);
	struct timespec ms = { 0, (long)UT_MS };
	struct tcp_stream *s;

	while ((s = ut_list_first(&p->streams, struct tcp_stream, node)))
		tcp_close(&s->base, false);
	for (int i = 0; i < TCP_FINI_MS && under_way(p); i++) {
		LINK_SYS(SYS_ppoll, NULL, 0, &ms, NULL, 8);
		drain_all(p);
	}
}

void tcp_fini(struct link_streams *l)
{
	struct tcp_link *p = tcp_of(l);
	struct tcp_listener *n;
	struct tcp_stream *s;

	while ((n = ut_list_first(&p->listeners, struct tcp_listener, node)))
		tcp_unbind(&n->base);
	tcp_leave(l);
	while ((s = ut_list_first(&p->drains, struct tcp_stream, node)))
		die(s);
	tcp_reap(p);
	tcp_rdv_listeners_fini(p);
	link_sys_close(&p->epfd);
	ut_stage_fini(&p->stage);
	free(p);
}

void tcp_forget(struct link_streams *l)
{
	struct tcp_link *p = tcp_of(l);
	struct ut_list *all[] = { &p->streams, &p->drains };
	struct tcp_listener *n;
	struct tcp_stream *s;

	for (int i = 0; i < 2; i++)
		ut_list_each(s, all[i], node)
			link_sys_close(&s->fd);
	ut_list_each(n, &p->listeners, node)
		link_sys_close(&n->fd);
	tcp_rdv_listeners_forget(p);
	link_sys_close(&p->epfd);
	/* Its pages were not inherited (MADV_DONTFORK), its descriptor was. */
	link_sys_close(&p->stage.fd);
}

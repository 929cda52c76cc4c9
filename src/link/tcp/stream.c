/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The end of a stream. A socket that is closed with unread bytes, or gets some afterwards, answers
 * with RST, and a RST destroys what is still on its way to the peer: the Terminate, mostly. So a
 * graceful close sends FIN, then reads and drops until the peer's FIN, for a bounded time and
 * amount.
 *
 * Life: close() takes the stream from its user; it drains, then its descriptor is closed; its
 * memory is freed when poll() returns, since events and callers up the stack may still name it.
 */
#include "link/tcp/stream.h"

#include "link/tcp/listen.h"
#include "link/tcp/mute.h"
#include "link/tcp/poll.h"
#include "link/tcp/sock.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/ip.h"
#include "util/syscall.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

#define DRAIN_NS 1000000000ull  /* how long a closed stream reads and drops */
#define DRAIN_BYTES (16u << 20) /* ... and how much */
#define DRAIN_READS 16          /* ... in one poll() */

int tcp_stream_new(struct tcp_place *p, int fd, enum tcp_state state, struct tcp_stream **ret)
{
	struct tcp_stream *s = ut_zalloc(sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->kind = TCP_K_STREAM;
	s->state = state;
	s->fd = fd;
	s->base.place = &p->base;
	ut_list_init(&s->polled_node);
	ut_list_init(&s->muted_node);
	ut_list_init(&s->todo_node);
	ut_list_init(&s->idle_node);
	ut_list_init(&s->flight_node);
	ut_list_add_tail(&p->streams, &s->node);
	*ret = s;
	return 0;
}

/* Undoes the creation; the descriptor stays the caller's. */
static void drop(struct tcp_stream *s)
{
	tcp_poll_remove(s);
	ut_list_del(&s->todo_node);
	ut_list_del(&s->node);
	free(s);
}

/* Errors about the peer or the path to it are told by closed(), whenever the kernel finds out;
 * errors about this process are returned at once. */
static bool is_about_peer(int error)
{
	switch (error) {
	case ECONNREFUSED:
	case ECONNRESET:
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ENETUNREACH:
	case ENETDOWN:
		return true;
	default:
		return false;
	}
}

static int start(struct tcp_stream *s, const struct link_end *remote)
{
	struct tcp_place *p = tcp_place_of(s);
	int r = tcp_sock_connect(s->fd, remote, p->ifindex);

	if (r < 0 && r != -EINPROGRESS && !is_about_peer(-r))
		return r;
	s->base.remote = *remote;
	tcp_sock_ends(s->fd, &s->base.local, NULL);
	if (r != -EINPROGRESS) {
		s->error = -r;
		s->news = true;
		s->rx_over = r < 0;
		if (r == 0) {
			s->state = TCP_S_OPEN;
			tcp_sock_tune(s->fd);
			s->asks = tcp_sock_keepalive(s->fd, p->base.keepalive);
		}
		tcp_todo(s);
	}
	tcp_watch_stream(s);
	return 0;
}

static int source(int fd, const struct link_end *local, uint32_t ifindex)
{
	/* The port is chosen when the peer is known: one number serves many peers. */
	if (!local->port)
		tcp_sock_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	return local->port || !ut_ip_is_any(local->addr) ? tcp_sock_bind(fd, local, ifindex) : 0;
}

int tcp_connect(struct link_streams *l, struct link_listener *from, const struct link_end *local,
		const struct link_end *remote, int tos, struct link_stream **ret)
{
	struct tcp_listener *bound = from ? ut_container(from, struct tcp_listener, base) : NULL;
	bool v4 = ut_ip_is_v4(remote->addr);
	struct tcp_place *p = tcp_of(l);
	struct tcp_stream *s = NULL;
	int fd, r = 0;

	if (bound && bound->listening)
		return -EINVAL;
	fd = bound ? bound->fd : tcp_sock_open(v4);
	if (fd < 0)
		return fd;
	if (!bound && local)
		r = source(fd, local, p->ifindex);
	tcp_sock_tos(fd, v4, tos);
	if (r == 0)
		r = tcp_stream_new(p, fd, TCP_S_CONNECTING, &s);
	if (r == 0) {
		r = start(s, remote);
		if (r < 0)
			drop(s);
	}
	if (r < 0) {
		if (!bound)
			ut_close(fd);
		return r;
	}
	if (bound)
		tcp_listener_take(bound);
	*ret = &s->base;
	return 0;
}

void tcp_connect_over(struct tcp_stream *s)
{
	const struct link_stream_user *u = s->base.user_ops;
	int error = tcp_sock_number(s->fd, SOL_SOCKET, SO_ERROR, EIO);

	if (error) {
		s->rx_over = true;
		s->error = error;
		s->news = true;
		tcp_watch_stream(s);
		tcp_todo(s);
		return;
	}
	s->state = TCP_S_OPEN;
	tcp_sock_tune(s->fd);
	s->asks = tcp_sock_keepalive(s->fd, tcp_place_of(s)->base.keepalive);
	tcp_sock_ends(s->fd, &s->base.local, NULL);
	tcp_watch_stream(s);
	if (u)
		u->connected(&s->base, tcp_place_of(s)->now);
}

/* Accepts an established TCP connection and nothing else. */
static int check_adopted(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t n = sizeof(info);
	int domain = tcp_sock_number(fd, SOL_SOCKET, SO_DOMAIN, -1);

	if (domain < 0)
		return fcntl(fd, F_GETFD) < 0 ? -EBADF : -ENOTSOCK;
	if ((domain != AF_INET && domain != AF_INET6) ||
	    tcp_sock_number(fd, SOL_SOCKET, SO_PROTOCOL, -1) != IPPROTO_TCP)
		return -EPROTONOSUPPORT;
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0)
		return -errno;
	return info.tcpi_state == TCP_ESTABLISHED || info.tcpi_state == TCP_CLOSE_WAIT
		       ? 0
		       : -ENOTCONN;
}

int tcp_adopt(struct link_streams *l, int fd, struct link_stream **ret)
{
	struct link_end local, remote;
	struct tcp_stream *s = NULL;
	int keep = errno, r = check_adopted(fd);

	errno = keep;
	if (r == 0)
		r = tcp_sock_ends(fd, &local, &remote);
	if (r == 0)
		r = tcp_stream_new(tcp_of(l), fd, TCP_S_OPEN, &s);
	if (r < 0)
		return r;
	s->base.local = local;
	s->base.remote = remote;
	tcp_watch_stream(s);
	if (s->news) {
		r = -s->error;
		drop(s);
		return r;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	errno = keep;
	tcp_sock_tune(fd);
	*ret = &s->base;
	return 0;
}

/* --- ends --- */

static void die(struct tcp_stream *s)
{
	struct tcp_place *p = tcp_place_of(s);

	tcp_mute_end(s);
	if (s->mask)
		tcp_unwatch_fd(p, s->fd);
	s->mask = 0;
	ut_close_fd(&s->fd);
	s->state = TCP_S_DEAD;
	ut_list_del(&s->node);
	ut_list_add_tail(&p->dead, &s->node);
}

static void leave_lists(struct tcp_stream *s)
{
	struct tcp_place *p = tcp_place_of(s);

	tcp_poll_remove(s);
	ut_list_del(&s->todo_node);
	ut_list_del(&s->idle_node);
	ut_list_del(&s->flight_node);
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
	struct tcp_place *p = tcp_place_of(s);
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
	UT_SYS(SYS_shutdown, s->fd, SHUT_WR);
	s->state = TCP_S_DRAINING;
	s->blocked = s->news = false;
	s->drain_until = ut_now() + DRAIN_NS;
	s->drain_left = DRAIN_BYTES;
	ut_list_del(&s->node);
	ut_list_add_tail(&p->drains, &s->node);
	tcp_drain(s);
	if (s->state == TCP_S_DRAINING)
		tcp_watch_stream(s);
}

/* MSG_TRUNC makes TCP drop bytes instead of copying them. */
void tcp_drain(struct tcp_stream *s)
{
	for (int i = 0; i < DRAIN_READS; i++) {
		long n = UT_SYS(SYS_recvfrom, s->fd, NULL, (long)TCP_STAGE_BYTES,
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

void tcp_drain_expired(struct tcp_place *p, bool all)
{
	struct tcp_stream *s;

	/* All have the same time limit: the oldest is first. */
	while ((s = ut_list_first(&p->drains, struct tcp_stream, node)) &&
	       (all || s->drain_until <= p->now))
		die(s);
}

void tcp_reap(struct tcp_place *p)
{
	struct ut_list *n;

	while ((n = ut_list_pop(&p->dead)))
		free(ut_container(n, struct tcp_stream, node));
	while ((n = ut_list_pop(&p->dead_listeners)))
		free(ut_container(n, struct tcp_listener, node));
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bound ports and listeners. RDMA ports know no TIME_WAIT, and programs written for them restart at
 * once without asking for reuse. So a connection that TCP still remembers must not keep a port:
 * listeners carry SO_REUSEADDR from listen() on, which their connections inherit, and a bind() that
 * was refused is tried again with it. It cannot hit a listener, which the kernel protects, nor a
 * port that is only bound, which does not carry the flag.
 */
#include "link/tcp/listen.h"

#include "link/tcp/poll.h"
#include "link/tcp/sock.h"
#include "link/tcp/stream.h"
#include "util/alloc.h"
#include "util/ip.h"
#include "util/log.h"
#include "util/syscall.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define ACCEPTS 16          /* accepted in one poll() */
#define RETRY_NS 100000000ull /* without descriptors: time until the next accept */

static int bind_port(int fd, const struct link_end *e, uint32_t scope, bool reuse)
{
	int r;

	if (reuse)
		tcp_sock_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	r = tcp_sock_bind(fd, e, scope);
	if (r != -EADDRINUSE || reuse)
		return r;
	tcp_sock_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	r = tcp_sock_bind(fd, e, scope);
	tcp_sock_option(fd, SOL_SOCKET, SO_REUSEADDR, 0);
	return r;
}

static bool overlap(const uint8_t a[16], const uint8_t b[16])
{
	return ut_ip_is_any(a) || ut_ip_is_any(b) || !memcmp(a, b, 16);
}

/* To the kernel, a port that was bound for reuse and does not listen yet looks like a remembered
 * connection. */
static bool held_for_reuse(struct tcp_place *p, const struct link_end *e)
{
	struct tcp_listener *l;

	ut_list_each(l, &p->listeners, node)
		if (l->reuse && l->base.local.port == e->port &&
		    overlap(l->base.local.addr, e->addr))
			return true;
	return false;
}

static int open_bound(struct tcp_place *p, const struct link_end *local, bool reuse, bool v6only)
{
	bool v4 = ut_ip_is_v4(local->addr);
	int fd, r = 0;

	if (!reuse && local->port && held_for_reuse(p, local))
		return -EADDRINUSE;
	fd = tcp_sock_open(v4);
	if (fd < 0)
		return fd;
	if (!v4)
		r = tcp_sock_option(fd, IPPROTO_IPV6, IPV6_V6ONLY,
				    v6only || !ut_ip_is_any(local->addr));
	if (r == 0)
		r = bind_port(fd, local, p->ifindex, reuse);
	if (r < 0) {
		ut_close(fd);
		return r;
	}
	return fd;
}

int tcp_bind(struct link_streams *l, const struct link_end *local, bool reuse, bool v6only,
	     struct link_listener **ret)
{
	struct tcp_place *p = tcp_of(l);
	struct tcp_listener *n = ut_zalloc(sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	n->kind = TCP_K_LISTENER;
	n->reuse = reuse;
	n->base.place = l;
	n->fd = open_bound(p, local, reuse, v6only);
	r = n->fd < 0 ? n->fd : tcp_sock_ends(n->fd, &n->base.local, NULL);
	if (r < 0) {
		ut_close(n->fd);
		free(n);
		return r;
	}
	ut_list_add_tail(&p->listeners, &n->node);
	*ret = &n->base;
	return 0;
}

int tcp_listen(struct link_listener *l, int backlog)
{
	struct tcp_listener *n = ut_container(l, struct tcp_listener, base);
	int r;

	tcp_sock_option(n->fd, SOL_SOCKET, SO_REUSEADDR, 1);
	r = (int)UT_SYS(SYS_listen, n->fd, backlog > 0 ? backlog : SOMAXCONN);
	if (r == 0)
		r = tcp_watch_listener(tcp_of(l->place), n);
	n->listening = r == 0;
	return r;
}

int tcp_listener_take(struct tcp_listener *l)
{
	struct tcp_place *p = tcp_of(l->base.place);
	int fd = l->fd;

	if (l->watched)
		tcp_unwatch_fd(p, fd);
	l->dead = true;
	l->watched = l->listening = false;
	l->fd = -1;
	ut_list_del(&l->node);
	ut_list_add_tail(&p->dead_listeners, &l->node);
	return fd;
}

void tcp_unbind(struct link_listener *l)
{
	ut_close(tcp_listener_take(ut_container(l, struct tcp_listener, base)));
}

/* --- accepting --- */

/* Connections stay in the kernel's queue until there are descriptors again; a listener that stayed
 * in the set would be reported without end. */
static void rest(struct tcp_listener *l, int error)
{
	struct tcp_place *p = tcp_of(l->base.place);

	ut_warn("cannot accept connections on port %u (%s): they wait, and the listener retries every 100 "
		"ms; raise the limit on descriptors (ulimit -n)", l->base.local.port, strerror(error));
	tcp_unwatch_fd(p, l->fd);
	l->watched = false;
	p->accept_at = p->now + RETRY_NS;
}

void tcp_accept_again(struct tcp_place *p)
{
	struct tcp_listener *l;

	p->accept_at = 0;
	ut_list_each(l, &p->listeners, node)
		if (l->listening && tcp_watch_listener(p, l) < 0)
			p->accept_at = p->now + RETRY_NS;
}

static int welcome(struct tcp_listener *l, int fd)
{
	struct tcp_place *p = tcp_of(l->base.place);
	struct link_end local, remote;
	struct tcp_stream *s;

	/* The connection has ended already: no error here. */
	if (tcp_sock_ends(fd, &local, &remote) < 0 ||
	    tcp_stream_new(p, fd, TCP_S_OPEN, &s) < 0) {
		ut_close(fd);
		return 0;
	}
	s->base.local = local;
	s->base.remote = remote;
	tcp_sock_tune(fd);
	s->asks = tcp_sock_keepalive(fd, p->base.keepalive);
	tcp_watch_stream(s);
	l->base.user_ops->accepted(&l->base, &s->base, p->now);
	return 1;
}

static int next_one(struct tcp_listener *l)
{
	if (ut_fault())
		return -EMFILE;
	return (int)UT_SYS(SYS_accept4, l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

int tcp_accept(struct tcp_listener *l)
{
	int done = 0;

	for (int i = 0; i < ACCEPTS && !l->dead; i++) {
		int fd = next_one(l);

		if (fd >= 0) {
			done += welcome(l, fd);
			continue;
		}
		if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM)
			rest(l, -fd);
		/* Other errors are of that connection (accept(2)); the next may succeed. */
		if (fd == -EAGAIN || !l->watched)
			break;
	}
	return done;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How the two ends of a TCP connection within one host leave the wire, without a byte of it changed.
 * The passive end has a door: an abstract unix socket that is named after the address and port it
 * listens on, opened before it answers the Request. The active end, when it has the Reply and before
 * its first byte, knocks there:
 *
 *     active                                      passive
 *     CONNECT  uid?                     ---->     uid?
 *     HELLO    the 4-tuple, its segment ---->     is there such a connection?    OFFERED -> SHOWN
 *     ASKED    <----  its segment
 *     open = 1, end of the call         ---->     open?                          NEAR
 *     NEAR: its first byte goes by the ring
 *
 * The name proves the network namespace, the kernel the user (SO_PEERCRED), the 4-tuple that both are
 * ends of one connection. Who decides is the active end alone, and it is bound to nothing until it
 * has set `open`, so that it may give up whenever it likes: nobody has the name, another user has it,
 * no answer within TCP_NEAR_PATIENCE (a forked child keeps the name of a dead program, or the peer is
 * stopped) - the wire. The passive end, which may not speak before it is spoken to, knows the way
 * when the call ends, or when a byte comes by TCP while `open` is not set. Where it may speak first,
 * its first byte closes the offer, and who comes too late is sent away.
 */
#include "link/tcp/local.h"

#include "link/sys.h"
#include "util/alloc.h"
#include "util/clock.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/un.h>

#define HELLO_MAGIC 0x44504931u /* and a version */
#define CALLS 64                /* taken in one poll() */

struct hello {
	uint32_t magic;
	uint16_t from_port, to_port;
	uint8_t from[16], to[16];
};

static socklen_t name_of(const struct link_end *e, struct sockaddr_un *ret)
{
	char *at = ret->sun_path + 1;
	int n = snprintf(at, sizeof(ret->sun_path) - 1, "dapple-iw/");

	memset(ret->sun_path, 0, 1);
	ret->sun_family = AF_UNIX;
	for (int i = 0; i < 16; i++)
		n += snprintf(at + n, sizeof(ret->sun_path) - 1 - (size_t)n, "%02x", e->addr[i]);
	n += snprintf(at + n, sizeof(ret->sun_path) - 1 - (size_t)n, "/%u", e->port);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int unix_socket(void)
{
	return (int)LINK_SYS(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* What peers are shown of us: getuid() differs between user namespaces. */
static int own_cred(struct tcp_place *p)
{
	struct ucred c = { 0 };
	socklen_t n = sizeof(c);
	int sv[2];
	long r = LINK_SYS(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv);

	if (r < 0)
		return (int)r;
	r = LINK_SYS(SYS_getsockopt, sv[0], SOL_SOCKET, SO_PEERCRED, &c, &n);
	link_sys_close(&sv[0]);
	link_sys_close(&sv[1]);
	p->uid = c.uid;
	p->pid = c.pid;
	return (int)r;
}

/* Another user is a stranger. Within one process the host's stack has nothing to wake. */
static bool is_one_of_us(const struct tcp_place *p, int fd)
{
	struct ucred c = { 0 };
	socklen_t n = sizeof(c);

	if (LINK_SYS(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &c, &n) < 0)
		return false;
	return c.uid == p->uid && (c.pid != p->pid || (p->near & TCP_NEAR_SELF));
}

static int watch(struct tcp_place *p, int fd, void *what)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = what };
	int keep = errno, r = ut_epoll_add(p->epfd, fd, &e) < 0 ? -errno : 0;

	errno = keep;
	return r;
}

/* --- letters --- */

static int tell(int fd, const struct hello *h, int segment)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { (void *)h, sizeof(*h) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	long r;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &segment, sizeof(int));
	r = LINK_SYS(SYS_sendmsg, fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	return r < 0 ? (int)r : 0;
}

/* One is kept, a stranger may send any number. */
static int take_one(struct msghdr *m)
{
	int kept = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (kept < 0)
				kept = fd;
			else
				link_sys_close(&fd);
		}
	}
	return kept;
}

/* A descriptor and what was said with it; -EAGAIN; or another -errno: nothing will come. */
static int hear(int fd, struct hello *h)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
	struct iovec iov = { h, sizeof(*h) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	long r = LINK_SYS(SYS_recvmsg, fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int segment;

	if (r < 0)
		return (int)r;
	segment = take_one(&m);
	if (r == (long)sizeof(*h) && h->magic == HELLO_MAGIC && segment >= 0)
		return segment;
	link_sys_close(&segment);
	return -EPROTO;
}

/* --- calls --- */

static struct tcp_call *call_new(struct tcp_place *p, struct tcp_stream *s, int fd)
{
	struct tcp_call *c = ut_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct tcp_call){ .kind = TCP_K_CALL, .place = p, .s = s, .fd = fd,
				.until = ut_now() + TCP_NEAR_PATIENCE };
	if (watch(p, fd, c) < 0) {
		free(c);
		return NULL;
	}
	ut_list_add_tail(&p->young_calls, &c->node);
	p->n_calls += !s;
	return c;
}

/* An event of this round may still name it. */
static void call_over(struct tcp_call *c)
{
	struct tcp_place *p = c->place;

	if (c->fd < 0)
		return;
	tcp_unwatch(p, c->fd);
	link_sys_close(&c->fd);
	p->n_calls -= !c->s;
	if (c->s)
		c->s->near->call = NULL;
	c->s = NULL;
	ut_list_del(&c->node);
	ut_list_add_tail(&p->dead_calls, &c->node);
}

/* The connection itself is the limit now. */
static void no_limit(struct tcp_call *c)
{
	ut_list_del(&c->node);
	ut_list_add_tail(&c->place->late_calls, &c->node);
}

void tcp_calls_expired(struct tcp_place *p)
{
	struct tcp_call *c;

	while ((c = ut_list_first(&p->young_calls, struct tcp_call, node)) && c->until <= p->now) {
		if (c->s)
			tcp_to_wire(c->s);
		else
			call_over(c);
	}
}

/* --- doors --- */

static bool same_end(const struct link_end *a, const struct link_end *b)
{
	return a->port == b->port && !memcmp(a->addr, b->addr, 16);
}

static struct tcp_door *door_find(struct tcp_place *p, const struct link_end *e)
{
	struct tcp_door *d;

	ut_list_each(d, &p->doors, node)
		if (same_end(&d->local, e))
			return d;
	return NULL;
}

static struct tcp_door *door_open(struct tcp_place *p, const struct link_end *e)
{
	struct tcp_door *d = ut_zalloc(sizeof(*d));
	struct sockaddr_un sun;
	socklen_t n = name_of(e, &sun);

	if (!d)
		return NULL;
	*d = (struct tcp_door){ .kind = TCP_K_DOOR, .place = p, .local = *e, .fd = unix_socket() };
	if (d->fd >= 0 && LINK_SYS(SYS_bind, d->fd, &sun, n) == 0 &&
	    LINK_SYS(SYS_listen, d->fd, SOMAXCONN) == 0 && watch(p, d->fd, d) == 0) {
		ut_list_add_tail(&p->doors, &d->node);
		return d;
	}
	link_sys_close(&d->fd);
	free(d);
	return NULL;
}

/* An event of this round may still name it. */
static void door_close(struct tcp_door *d)
{
	tcp_unwatch(d->place, d->fd);
	link_sys_close(&d->fd);
	ut_list_del(&d->node);
	ut_list_add_tail(&d->place->dead_doors, &d->node);
}

/* Who listens will have more of them. */
static bool has_listener(struct tcp_place *p, const struct link_end *e)
{
	struct tcp_listener *l;

	ut_list_each(l, &p->listeners, node)
		if (l->listening && l->base.local.port == e->port &&
		    (tcp_is_any(l->base.local.addr) || same_end(&l->base.local, e)))
			return true;
	return false;
}

void tcp_doors_close(struct tcp_place *p)
{
	struct tcp_door *d, *next;

	ut_list_each_safe(d, next, &p->doors, node)
		if (!d->offers && !has_listener(p, &d->local))
			door_close(d);
}

static void offer(struct tcp_stream *s)
{
	struct tcp_place *p = tcp_place_of(s);
	struct tcp_door *d = door_find(p, &s->base.local);

	if (!d)
		d = door_open(p, &s->base.local);
	if (!d)
		return;
	d->offers++;
	s->way = TCP_W_OFFERED;
	s->offered_by = s->base.user_ops;
	ut_list_add_tail(&p->offers, &s->offer_node);
}

static void offer_over(struct tcp_stream *s)
{
	struct tcp_door *d = door_find(tcp_place_of(s), &s->base.local);

	ut_list_del(&s->offer_node);
	if (d && --d->offers == 0 && !has_listener(d->place, &d->local))
		door_close(d);
}

/* --- both ends --- */

static bool has_place(const struct tcp_place *p)
{
	return atomic_load_explicit(&p->n_near, memory_order_relaxed) < TCP_NEAR_MOST;
}

/* Returns the segment's descriptor, to be closed, or -errno. */
static int near_new(struct tcp_stream *s)
{
	struct tcp_near *n = ut_zalloc(sizeof(*n));
	int fd;

	if (!n)
		return -ENOMEM;
	fd = shm_pipe_make(&n->pipe);
	if (fd < 0) {
		free(n);
		return fd;
	}
	ut_list_init(&n->hot_node);
	n->s = s;
	s->near = n;
	atomic_fetch_add_explicit(&tcp_place_of(s)->n_near, 1, memory_order_relaxed);
	return fd;
}

void tcp_near_free(struct tcp_stream *s)
{
	struct tcp_near *n = s->near;

	if (s->way == TCP_W_OFFERED)
		offer_over(s);
	s->way = TCP_W_WIRE;
	if (!n)
		return;
	if (n->call)
		call_over(n->call);
	s->near = NULL;
	shm_pipe_fini(&n->pipe);
	free(n);
	atomic_fetch_sub_explicit(&tcp_place_of(s)->n_near, 1, memory_order_relaxed);
}

void tcp_to_wire(struct tcp_stream *s)
{
	bool waited = s->way == TCP_W_ASKED || s->way == TCP_W_SHOWN;

	if (s->way == TCP_W_WIRE || s->way == TCP_W_NEAR)
		return;
	tcp_near_free(s);
	if (waited && s->blocked)
		tcp_watch(s);
}

static void to_near(struct tcp_stream *s)
{
	struct tcp_call *c = s->near->call;

	s->way = TCP_W_NEAR;
	s->base.near = true;
	if (c)
		call_over(c);
	tcp_near_begin(s);
}

/* --- the active end --- */

static int knock(struct tcp_place *p, const struct link_end *at)
{
	struct sockaddr_un sun;
	socklen_t n = name_of(at, &sun);
	int fd = unix_socket();
	long r;

	if (fd < 0)
		return fd;
	r = LINK_SYS(SYS_connect, fd, &sun, n);
	if (r == 0 && is_one_of_us(p, fd))
		return fd;
	link_sys_close(&fd);
	return r < 0 ? (int)r : -EPERM;
}

static void ask(struct tcp_stream *s)
{
	struct hello h = { .magic = HELLO_MAGIC, .from_port = s->base.local.port,
			   .to_port = s->base.remote.port };
	struct tcp_place *p = tcp_place_of(s);
	int fd = knock(p, &s->base.remote), segment;

	if (fd < 0)
		return;
	segment = near_new(s);
	memcpy(h.from, s->base.local.addr, 16);
	memcpy(h.to, s->base.remote.addr, 16);
	if (segment >= 0 && tell(fd, &h, segment) == 0)
		s->near->call = call_new(p, s, fd);
	link_sys_close(&segment);
	if (s->near && s->near->call) {
		s->way = TCP_W_ASKED;
		return;
	}
	link_sys_close(&fd);
	tcp_near_free(s);
}

static int answered(struct tcp_call *c)
{
	struct tcp_stream *s = c->s;
	struct hello h;
	int fd = hear(c->fd, &h);

	if (fd == -EAGAIN)
		return 0;
	if (fd >= 0 && shm_pipe_join(&s->near->pipe, fd) == 0) {
		atomic_store_explicit(&s->near->pipe.own->open, 1, memory_order_release);
		to_near(s);
	} else {
		tcp_to_wire(s);
	}
	link_sys_close(&fd);
	return 1;
}

/* --- the passive end --- */

static struct tcp_stream *offered(struct tcp_place *p, const struct hello *h)
{
	struct tcp_stream *s;
	struct link_end from = { .port = h->from_port }, to = { .port = h->to_port };

	memcpy(from.addr, h->from, 16);
	memcpy(to.addr, h->to, 16);
	/* The newest are asked for first. */
	for (struct ut_list *n = p->offers.prev; n != &p->offers; n = n->prev) {
		s = ut_container(n, struct tcp_stream, offer_node);
		if (same_end(&s->base.remote, &from) && same_end(&s->base.local, &to))
			return s;
	}
	return NULL;
}

/* Who was shown a segment is waited for: s is its own now. */
static int show_segment(struct tcp_call *c, struct tcp_stream *s, int theirs)
{
	struct hello h = { .magic = HELLO_MAGIC };
	int segment = near_new(s), r = segment;

	if (segment < 0)
		return r;
	r = shm_pipe_join(&s->near->pipe, theirs);
	if (r == 0)
		r = tell(c->fd, &h, segment);
	link_sys_close(&segment);
	return r;
}

static void take_hello(struct tcp_call *c, const struct hello *h, int segment)
{
	struct tcp_place *p = c->place;
	struct tcp_stream *s = has_place(p) ? offered(p, h) : NULL;

	if (!s) {
		call_over(c);
		return;
	}
	if (show_segment(c, s, segment) < 0) {
		tcp_to_wire(s);
		call_over(c);
		return;
	}
	offer_over(s);
	s->way = TCP_W_SHOWN;
	p->n_calls--;
	c->s = s;
	s->near->call = c;
	no_limit(c);
}

/* Its silence is not ours to break: until it has decided, a byte on TCP may be a bell. */
void tcp_decide(struct tcp_stream *s)
{
	if (atomic_load_explicit(&s->near->pipe.peer->open, memory_order_acquire))
		to_near(s);
	else
		tcp_to_wire(s);
}

int tcp_call_event(struct tcp_call *c)
{
	struct hello h;
	int fd;

	if (c->fd < 0)
		return 0;
	if (c->s && c->s->way == TCP_W_ASKED)
		return answered(c);
	fd = hear(c->fd, &h);
	if (fd == -EAGAIN)
		return 0;
	if (c->s)
		tcp_decide(c->s);
	else if (fd >= 0)
		take_hello(c, &h, fd);
	else
		call_over(c);
	if (fd >= 0)
		link_sys_close(&fd);
	return 1;
}

int tcp_door_event(struct tcp_door *d)
{
	struct tcp_place *p = d->place;
	int done = 0;

	for (int i = 0; i < CALLS && d->fd >= 0; i++) {
		int fd = (int)LINK_SYS(SYS_accept4, d->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct tcp_call *c = NULL;

		if (fd < 0)
			break;
		if (p->n_calls < TCP_CALLS_MOST && is_one_of_us(p, fd))
			c = call_new(p, NULL, fd);
		if (c)
			tcp_call_event(c);
		else
			link_sys_close(&fd);
		done++;
	}
	return done;
}

/* --- the place --- */

void tcp_near(struct link_stream *l, bool active)
{
	struct tcp_stream *s = tcp_stream_of(l);
	struct tcp_place *p = tcp_place_of(s);

	if (!p->near || s->way != TCP_W_WIRE || s->state != TCP_S_OPEN || s->rx_over || !has_place(p) ||
	    (s->handed_over && !(p->near & TCP_NEAR_HANDED_OVER)))
		return;
	if (active)
		ask(s);
	else
		offer(s);
}

int tcp_go_near(struct link_streams *l, unsigned how)
{
	struct tcp_place *p = tcp_of(l);
	int r = own_cred(p), fd;

	if (r < 0)
		return r;
	fd = (int)LINK_SYS(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return fd;
	p->bell.fd = fd;
	r = watch(p, fd, &p->bell);
	if (r < 0)
		link_sys_close(&p->bell.fd);
	else
		p->near = how;
	return r;
}

void tcp_calls_reap(struct tcp_place *p)
{
	struct ut_list *n;

	while ((n = ut_list_pop(&p->dead_calls)))
		free(ut_container(n, struct tcp_call, node));
	while ((n = ut_list_pop(&p->dead_doors)))
		free(ut_container(n, struct tcp_door, node));
}

/* Its streams are gone. */
void tcp_doors_fini(struct tcp_place *p)
{
	struct tcp_call *c;
	struct tcp_door *d;

	while ((c = ut_list_first(&p->young_calls, struct tcp_call, node)))
		call_over(c);
	while ((d = ut_list_first(&p->doors, struct tcp_door, node)))
		door_close(d);
	tcp_calls_reap(p);
	link_sys_close(&p->bell.fd);
}

void tcp_doors_forget(struct tcp_place *p)
{
	struct ut_list *all[] = { &p->young_calls, &p->late_calls };
	struct tcp_call *c;
	struct tcp_door *d;

	for (int i = 0; i < 2; i++)
		ut_list_each(c, all[i], node)
			link_sys_close(&c->fd);
	ut_list_each(d, &p->doors, node)
		link_sys_close(&d->fd);
	link_sys_close(&p->bell.fd);
}

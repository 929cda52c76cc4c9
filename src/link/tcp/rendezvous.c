/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls between two processes of this host, on which agree.c agrees: unix sockets in the place's set,
 * letters of one shape with a descriptor each, and how long somebody is waited for. Whoever calls or
 * answers may say anything, or nothing.
 */
#include "link/tcp/local.h"

#include "host/rights.h"
#include "link/sys.h"
#include "util/alloc.h"
#include "util/clock.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

socklen_t tcp_rdv_listener_name(const struct link_end *e, struct sockaddr_un *ret)
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

int tcp_unix_socket(void)
{
	return (int)LINK_SYS(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* What peers are shown of us: getuid() differs between user namespaces. */
static int self_cred(struct tcp_link *p)
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
bool tcp_is_one_of_us(const struct tcp_link *p, int fd)
{
	struct ucred c = { 0 };
	socklen_t n = sizeof(c);

	if (LINK_SYS(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &c, &n) < 0)
		return false;
	return c.uid == p->uid && (c.pid != p->pid || (p->local & TCP_LOCAL_SELF));
}

int tcp_watch_unix(struct tcp_link *p, int fd, void *what)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = what };
	int keep = errno, r = ut_epoll_add(p->epfd, fd, &e) < 0 ? -errno : 0;

	errno = keep;
	return r;
}

/* --- letters --- */

int tcp_tell(int fd, const struct tcp_hello *h, int segment)
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

/* A descriptor and what was said with it; -EAGAIN; or another -errno: nothing will come. */
int tcp_hear(int fd, struct tcp_hello *h)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
	struct iovec iov = { h, sizeof(*h) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	long r = LINK_SYS(SYS_recvmsg, fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int segment = -1;

	if (r < 0)
		return (int)r;
	link_rights_take(&m, &segment, 1);
	if (r == (long)sizeof(*h) && h->magic == TCP_HELLO_MAGIC && segment >= 0)
		return segment;
	link_sys_close(&segment);
	return -EPROTO;
}

/* --- calls --- */

struct tcp_rendezvous *tcp_rendezvous_new(struct tcp_link *p, struct tcp_stream *s, int fd)
{
	struct tcp_rendezvous *c = ut_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct tcp_rendezvous){ .kind = TCP_K_RENDEZVOUS, .place = p, .s = s, .fd = fd,
				.until = ut_now() + TCP_LOCAL_TIMEOUT };
	if (tcp_watch_unix(p, fd, c) < 0) {
		free(c);
		return NULL;
	}
	ut_list_add_tail(&p->young_rendezvous, &c->node);
	p->n_rendezvous += !s;
	return c;
}

/* An event of this round may still name it. */
void tcp_rendezvous_over(struct tcp_rendezvous *c)
{
	struct tcp_link *p = c->place;

	if (c->fd < 0)
		return;
	tcp_unwatch(p, c->fd);
	link_sys_close(&c->fd);
	p->n_rendezvous -= !c->s;
	if (c->s)
		c->s->shm->rendezvous = NULL;
	c->s = NULL;
	ut_list_del(&c->node);
	ut_list_add_tail(&p->dead_rendezvous, &c->node);
}

/* The connection itself is the limit now. */
void tcp_rendezvous_keep(struct tcp_rendezvous *c)
{
	ut_list_del(&c->node);
	ut_list_add_tail(&c->place->late_rendezvous, &c->node);
}

void tcp_rendezvous_expired(struct tcp_link *p)
{
	struct tcp_rendezvous *c;

	while ((c = ut_list_first(&p->young_rendezvous, struct tcp_rendezvous, node)) && c->until <= p->now) {
		if (c->s)
			tcp_to_wire(c->s);
		else
			tcp_rendezvous_over(c);
	}
}

void tcp_rendezvous_reap(struct tcp_link *p)
{
	struct ut_list *n;

	while ((n = ut_list_pop(&p->dead_rendezvous)))
		free(ut_container(n, struct tcp_rendezvous, node));
	while ((n = ut_list_pop(&p->dead_rdv_listeners)))
		free(ut_container(n, struct tcp_rdv_listener, node));
}

int tcp_go_local(struct link_streams *l, unsigned how)
{
	struct tcp_link *p = tcp_of(l);
	int r = self_cred(p), fd;

	if (r < 0)
		return r;
	fd = (int)LINK_SYS(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return fd;
	p->wake.fd = fd;
	r = tcp_watch_unix(p, fd, &p->wake);
	if (r < 0)
		link_sys_close(&p->wake.fd);
	else
		p->local = how;
	return r;
}

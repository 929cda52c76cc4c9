/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/err.h"

#include "link/udp/poll.h"
#include "util/syscall.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <string.h>
#include <sys/uio.h>

#define ERR_LOOKS 64u

static int find_errno(struct msghdr *h)
{
	struct sock_extended_err e;
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		bool ours = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
			    (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);

		if (!ours || c->cmsg_len < CMSG_LEN(sizeof(e)))
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		return (int)e.ee_errno;
	}
	return 0;
}

/* Takes one report. Returns 1 with *ret, or 0. The name of the message is the destination of the packet that failed. */
static int read_report(struct udp_port *p, struct link_err *ret)
{
	_Alignas(struct cmsghdr) char control[256];
	uint8_t quoted[64];
	union ut_sockaddr sa;
	struct iovec iov = { quoted, sizeof(quoted) };
	struct msghdr h = { .msg_name = &sa, .msg_iov = &iov, .msg_iovlen = 1 };

	for (int i = 0; i < 64; i++) {
		h.msg_namelen = sizeof(sa);
		h.msg_control = control;
		h.msg_controllen = sizeof(control);
		if (UT_SYS(SYS_recvmsg, p->at.fd, &h, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return 0;
		if (!h.msg_namelen)
			continue;
		ret->error = find_errno(&h);
		ut_ip_from_sockaddr(&sa, ret->dst, NULL);
		if (ret->error)
			return 1;
	}
	return 0;
}

/* A thread that attends asks in each round; one that polls asks seldom by itself. */
static bool is_due(struct udp_link *u)
{
	return !atomic_load_explicit(&u->sleeping, memory_order_relaxed) || ++u->err_looks % ERR_LOOKS == 0;
}

/* The epoll set does not show paused sockets. Those of them that receive report an error to the next receive. */
static void look_at_paused(struct udp_link *u)
{
	for (int i = 0; i < UDP_TX_CACHE; i++)
		if (u->tx[i].used && atomic_load_explicit(&u->tx[i].port.paused, memory_order_relaxed))
			udp_port_error(u, &u->tx[i].port);
}

int udp_error(struct link *l, struct link_err *ret)
{
	struct udp_link *u = udp_of(l);
	struct udp_port *p;

	if (ut_list_empty(&u->errors) && atomic_load_explicit(&u->n_paused, memory_order_relaxed) && is_due(u))
		look_at_paused(u);
	while ((p = ut_list_first(&u->errors, struct udp_port, err_node))) {
		if (read_report(p, ret))
			return 1;
		ut_list_del(&p->err_node);
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages between the members of an address. The names are open to every
 * user of the network namespace, so the kernel's word about the sender's uid
 * decides, and what is inside is checked like any packet.
 */
#include "link/udp/local.h"

#include "host/rights.h"
#include "link/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

int udp_self_pidfd(void)
{
	return (int)LINK_SYS(SYS_pidfd_open, getpid(), 0);
}

static int post(struct udp_link *u, struct udp_local *lo, struct udp_dest to, struct udp_mail *m,
		struct msghdr *h)
{
	const uint8_t *addr = to.addr ? to.addr : lo->addr;
	uint32_t scope = to.addr ? to.scope : lo->scope;
	struct sockaddr_un sun;
	long r;

	h->msg_name = &sun;
	if (to.slot == UDP_NO_SLOT)
		h->msg_namelen = udp_service_name(u, addr, scope, to.service, &sun);
	else
		h->msg_namelen = udp_name(u, addr, scope, to.slot, &sun);
	m->magic = UDP_MAIL_MAGIC;
	m->slot = (uint8_t)u->slot;
	r = LINK_SYS(SYS_sendmsg, lo->mail.fd, h, MSG_DONTWAIT | MSG_NOSIGNAL);
	return r < 0 ? (int)r : 0;
}

int udp_mail_send(struct udp_link *u, struct udp_local *lo, struct udp_dest to,
		  struct udp_mail *m, const void *body, size_t len)
{
	struct iovec iov[2] = { { m, sizeof(*m) }, { (void *)body, len } };
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = 2 };

	return post(u, lo, to, m, &h);
}

int udp_mail_give(struct udp_link *u, struct udp_local *lo, struct udp_dest to,
		  struct udp_mail *m, const void *body, size_t len, const int *fds, int n)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(UDP_MAIL_FDS * sizeof(int))] = { 0 };
	struct iovec iov[2] = { { m, sizeof(*m) }, { (void *)body, len } };
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = 2, .msg_control = control,
			    .msg_controllen = CMSG_SPACE((size_t)n * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
	return post(u, lo, to, m, &h);
}

static bool from_us(struct udp_link *u, struct msghdr *h)
{
	struct cmsghdr *c;
	struct ucred cred;

	for (c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&cred, CMSG_DATA(c), sizeof(cred));
		u->fds_pid = cred.pid;
		return cred.uid == u->uid;
	}
	return false;
}

static void close_fds(struct udp_link *u)
{
	for (int i = 0; i < UDP_MAIL_FDS; i++)
		if (u->fds[i] >= 0)
			link_sys_close(&u->fds[i]);
}

int udp_mail_read(struct udp_link *u, int fd, struct udp_mail *m, uint8_t *body, size_t room,
		  size_t *ret_len)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred)) +
					      CMSG_SPACE(UDP_MAIL_FDS * sizeof(int))];
	struct iovec iov[2] = { { m, sizeof(*m) }, { body, room } };
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = 2 };
	long r;

	close_fds(u);
	for (int i = 0; i < 64; i++) {
		h.msg_control = control;
		h.msg_controllen = sizeof(control);
		h.msg_flags = 0;
		r = LINK_SYS(SYS_recvmsg, fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (r < 0)
			return 0;
		link_rights_take(&h, u->fds, UDP_MAIL_FDS);
		if ((size_t)r < sizeof(*m) || (h.msg_flags & MSG_TRUNC) || !from_us(u, &h) ||
		    m->magic != UDP_MAIL_MAGIC || m->slot >= UDP_SLOTS) {
			close_fds(u);
			continue;
		}
		*ret_len = (size_t)r - sizeof(*m);
		return 1;
	}
	return 0;
}

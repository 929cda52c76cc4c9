/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages between the members of an address. The names are open to every
 * user of the network namespace, so the kernel's word about the sender's uid
 * decides, and what is inside is checked like any packet.
 */
#include "link/udp/local.h"

#include "link/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

static int send_letter(struct udp_link *u, struct udp_local *lo, struct msghdr *h,
		       struct udp_mail *m)
{
	long r;

	m->magic = UDP_MAIL_MAGIC;
	m->slot = (uint8_t)u->slot;
	r = LINK_SYS(SYS_sendmsg, lo->mail.fd, h, MSG_DONTWAIT | MSG_NOSIGNAL);
	return r < 0 ? (int)r : 0;
}

int udp_mail_send(struct udp_link *u, struct udp_local *lo, struct udp_dest to,
		  struct udp_mail *m, const void *body, size_t len)
{
	struct sockaddr_un sun;
	struct iovec iov[2] = { { m, sizeof(*m) }, { (void *)body, len } };
	struct msghdr h = { .msg_name = &sun, .msg_iov = iov, .msg_iovlen = 2 };

	if (to.slot == UDP_NO_SLOT)
		h.msg_namelen = udp_service_name(u, lo->addr, lo->scope, to.service, &sun);
	else
		h.msg_namelen = udp_name(u, lo->addr, lo->scope, to.slot, &sun);
	return send_letter(u, lo, &h, m);
}

int udp_mail_pass(struct udp_link *u, struct udp_local *lo, const uint8_t addr[16], uint32_t scope,
		  unsigned slot, struct udp_mail *m, const void *body, size_t len, const int *fds,
		  int n)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(UDP_GIFTS * sizeof(int))] = { 0 };
	struct sockaddr_un sun;
	struct iovec iov[2] = { { m, sizeof(*m) }, { (void *)body, len } };
	struct msghdr h = { .msg_name = &sun, .msg_iov = iov, .msg_iovlen = 2 };
	struct cmsghdr *c = (struct cmsghdr *)control;

	h.msg_namelen = udp_name(u, addr, scope, slot, &sun);
	if (n) {
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
		h.msg_control = control;
		h.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
	}
	return send_letter(u, lo, &h, m);
}

static bool from_us(const struct udp_link *u, struct msghdr *h)
{
	struct cmsghdr *c;
	struct ucred cred;

	for (c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&cred, CMSG_DATA(c), sizeof(cred));
		return cred.uid == u->uid;
	}
	return false;
}

/* A stranger may send descriptors, too, and more than were asked for. */
static void take_gifts(struct msghdr *h, struct udp_gifts *g)
{
	struct cmsghdr *c;

	g->n = 0;
	for (c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (g->n < UDP_GIFTS)
				g->fd[g->n++] = fd;
			else
				link_sys_close(&fd);
		}
	}
}

void udp_gifts_close(struct udp_gifts *g)
{
	while (g->n > 0)
		link_sys_close(&g->fd[--g->n]);
}

int udp_mail_read(struct udp_link *u, int fd, struct udp_mail *m, uint8_t *body, size_t room,
		  size_t *ret_len, struct udp_gifts *g)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred)) +
					      CMSG_SPACE(UDP_GIFTS * sizeof(int))];
	struct iovec iov[2] = { { m, sizeof(*m) }, { body, room } };
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = 2 };
	long r;

	for (int i = 0; i < 64; i++) {
		h.msg_control = control;
		h.msg_controllen = sizeof(control);
		h.msg_flags = 0;
		r = LINK_SYS(SYS_recvmsg, fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (r < 0)
			return 0;
		take_gifts(&h, g);
		if ((size_t)r < sizeof(*m) || (h.msg_flags & MSG_TRUNC) || !from_us(u, &h) ||
		    m->magic != UDP_MAIL_MAGIC || m->slot >= UDP_SLOTS) {
			udp_gifts_close(g);
			continue;
		}
		*ret_len = (size_t)r - sizeof(*m);
		return 1;
	}
	return 0;
}

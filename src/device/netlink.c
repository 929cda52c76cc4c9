/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Change messages are taken as a mere sign that something changed; the truth
 * is always a fresh dump. That is right as well when messages were lost
 * (ENOBUFS), and there is one reader to test instead of two.
 */
#include "device/netlink.h"

#include "device/sys.h"
#include "util/alloc.h"
#include "util/fault_calls.h"
#include "util/ip.h"

#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define REPLY_SIZE 32768 /* the kernel's largest piece of a dump */

struct dump {
	void *v;
	int n, cap;
	size_t size;
	/* Fills one entry; returns false if it is not wanted. */
	bool (*take)(const struct nlmsghdr *h, void *entry);
};

static int nl_socket(uint32_t groups)
{
	struct sockaddr_nl me = { .nl_family = AF_NETLINK, .nl_groups = groups };
	int fd = ut_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | (groups ? SOCK_NONBLOCK : 0),
			NETLINK_ROUTE);

	if (fd < 0)
		return -errno;
	if (ut_bind(fd, (struct sockaddr *)&me, sizeof(me)) < 0) {
		int r = -errno;

		ut_close(fd);
		return r;
	}
	return fd;
}

static int ask(int fd, int type)
{
	struct {
		struct nlmsghdr h;
		struct rtgenmsg g;
	} q = { .h = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
		       .nlmsg_type = (uint16_t)type,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		       .nlmsg_seq = 1 },
		.g = { .rtgen_family = AF_UNSPEC } };
	long r = DEV_SYS(SYS_sendto, fd, &q, (size_t)q.h.nlmsg_len, 0, NULL, 0);

	return r < 0 ? (int)r : 0;
}

static int add(struct dump *d, const struct nlmsghdr *h)
{
	if (d->n == d->cap) {
		int cap = d->cap ? 2 * d->cap : 16;
		void *v = ut_realloc(d->v, (size_t)cap * d->size);

		if (!v)
			return -ENOMEM;
		d->v = v;
		d->cap = cap;
	}
	memset((char *)d->v + (size_t)d->n * d->size, 0, d->size);
	if (d->take(h, (char *)d->v + (size_t)d->n * d->size))
		d->n++;
	return 0;
}

static int error_of(const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);

	return h->nlmsg_len >= NLMSG_LENGTH(sizeof(*e)) && e->error < 0 ? e->error : -EPROTO;
}

/* Returns the next message, with *left bytes from there on. The last message of a piece may end before its alignment:
 * NLMSG_NEXT() would make *left negative. */
static struct nlmsghdr *next_message(struct nlmsghdr *h, size_t *left)
{
	size_t step = NLMSG_ALIGN(h->nlmsg_len);

	*left -= step < *left ? step : *left;
	return (struct nlmsghdr *)((char *)h + step);
}

/* Takes one received piece. Returns 1 if more is to come, 0 at the end, or negative errno. */
static int take_piece(struct dump *d, void *buf, size_t left)
{
	int r;

	for (struct nlmsghdr *h = buf; NLMSG_OK(h, left); h = next_message(h, &left)) {
		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR)
			return error_of(h);
		r = add(d, h);
		if (r < 0)
			return r;
	}
	return 1;
}

static int receive_dump(int fd, struct dump *d)
{
	void *buf = ut_malloc(REPLY_SIZE);
	long n;
	int r = buf ? 1 : -ENOMEM;

	while (r == 1) {
		n = DEV_SYS(SYS_recvfrom, fd, buf, (size_t)REPLY_SIZE, MSG_TRUNC, NULL, NULL);
		if (n == -EINTR)
			continue;
		if (n < 0)
			r = (int)n;
		else if (n > REPLY_SIZE || n == 0)
			r = -EPROTO;
		else
			r = take_piece(d, buf, (size_t)n);
	}
	free(buf);
	return r;
}

static int run_dump(int type, struct dump *d, void **ret)
{
	int fd = nl_socket(0), r;

	if (fd < 0)
		return fd;
	r = ask(fd, type);
	if (r == 0)
		r = receive_dump(fd, d);
	ut_close(fd);
	if (r < 0) {
		free(d->v);
		return r;
	}
	*ret = d->v;
	return d->n;
}

#define EACH_ATTR(a, first, left) \
	for (struct rtattr *a = (first); RTA_OK(a, left); a = RTA_NEXT(a, left))

static bool take_link(const struct nlmsghdr *h, void *entry)
{
	const struct ifinfomsg *m = NLMSG_DATA(h);
	struct dev_nl_link *l = entry;
	int left;

	if (h->nlmsg_type != RTM_NEWLINK || h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return false;
	left = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));
	l->ifindex = (uint32_t)m->ifi_index;
	l->up = m->ifi_flags & IFF_UP;
	l->running = m->ifi_flags & IFF_RUNNING;
	l->loopback = m->ifi_flags & IFF_LOOPBACK;
	EACH_ATTR(a, IFLA_RTA(m), left) {
		size_t n = RTA_PAYLOAD(a);

		if (a->rta_type == IFLA_IFNAME && n > 0 && n <= sizeof(l->name))
			memcpy(l->name, RTA_DATA(a), n - 1);
		if (a->rta_type == IFLA_MTU && n == sizeof(l->mtu))
			memcpy(&l->mtu, RTA_DATA(a), n);
		if (a->rta_type == IFLA_ADDRESS && n == sizeof(l->mac)) {
			memcpy(l->mac, RTA_DATA(a), n);
			l->has_mac = true;
		}
	}
	return l->name[0] != 0;
}

static void set_address(struct dev_nl_addr *e, int family, const void *raw)
{
	if (family == AF_INET) {
		ut_ip_set_v4(e->addr, raw);
	} else {
		memcpy(e->addr, raw, 16);
		e->link_local = ut_ip_is_linklocal(e->addr);
	}
}

static bool take_addr(const struct nlmsghdr *h, void *entry)
{
	const struct ifaddrmsg *m = NLMSG_DATA(h);
	struct dev_nl_addr *e = entry;
	bool have = false, local = false;
	uint32_t flags;
	size_t want;
	int left;

	if (h->nlmsg_type != RTM_NEWADDR || h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)) ||
	    (m->ifa_family != AF_INET && m->ifa_family != AF_INET6))
		return false;
	left = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));
	flags = m->ifa_flags;
	e->ifindex = m->ifa_index;
	want = m->ifa_family == AF_INET ? 4 : 16;
	EACH_ATTR(a, IFA_RTA(m), left) {
		if (a->rta_type == IFA_FLAGS && RTA_PAYLOAD(a) == sizeof(flags))
			memcpy(&flags, RTA_DATA(a), sizeof(flags));
		/* On a point-to-point link IFA_ADDRESS is the other end's. */
		if (RTA_PAYLOAD(a) == want &&
		    (a->rta_type == IFA_LOCAL || (a->rta_type == IFA_ADDRESS && !local))) {
			set_address(e, m->ifa_family, RTA_DATA(a));
			local |= a->rta_type == IFA_LOCAL;
			have = true;
		}
	}
	return have && !(flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED));
}

int dev_nl_links(struct dev_nl_link **ret)
{
	struct dump d = { .size = sizeof(**ret), .take = take_link };

	return run_dump(RTM_GETLINK, &d, (void **)ret);
}

int dev_nl_addrs(struct dev_nl_addr **ret)
{
	struct dump d = { .size = sizeof(**ret), .take = take_addr };

	return run_dump(RTM_GETADDR, &d, (void **)ret);
}

int dev_nl_listen(void)
{
	return nl_socket(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR);
}

bool dev_nl_drain(int fd)
{
	char buf[1024];
	bool any = false;
	long n;

	/* Cut messages are as good a sign as whole ones. */
	while ((n = DEV_SYS(SYS_recvfrom, fd, buf, sizeof(buf), MSG_DONTWAIT, NULL, NULL)) > 0 ||
	       n == -ENOBUFS || n == -EINTR)
		any = true;
	return any;
}

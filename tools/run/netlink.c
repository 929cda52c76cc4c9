/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct request {
	struct nlmsghdr h;
	char body[512];
};

static void begin(struct request *q, int type, int flags, const void *fixed, size_t size)
{
	memset(q, 0, sizeof(*q));
	q->h.nlmsg_type = (unsigned short)type;
	q->h.nlmsg_flags = (unsigned short)(NLM_F_REQUEST | flags);
	q->h.nlmsg_len = (unsigned)NLMSG_LENGTH(size);
	memcpy(NLMSG_DATA(&q->h), fixed, size);
}

/* The requests below are small and of fixed shape: they fit by construction. */
static struct rtattr *attr(struct request *q, int type, const void *data, size_t size)
{
	struct rtattr *a = (void *)((char *)q + NLMSG_ALIGN(q->h.nlmsg_len));

	a->rta_type = (unsigned short)type;
	a->rta_len = (unsigned short)RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(a), data, size);
	q->h.nlmsg_len = (unsigned)(NLMSG_ALIGN(q->h.nlmsg_len) + RTA_ALIGN(a->rta_len));
	return a;
}

static void close_nest(struct request *q, struct rtattr *a)
{
	a->rta_len = (unsigned short)((char *)q + q->h.nlmsg_len - (char *)a);
}

static int ask(int nl, struct request *q, void *ret, size_t size)
{
	ssize_t n;

	if (send(nl, q, q->h.nlmsg_len, 0) < 0)
		return -errno;
	do
		n = recv(nl, ret, size, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n < (ssize_t)sizeof(struct nlmsghdr) ? -EPROTO : (int)n;
}

static int change(int nl, struct request *q)
{
	char reply[1024] __attribute__((aligned(4)));
	struct nlmsghdr *h = (void *)reply;
	int n;

	q->h.nlmsg_flags |= NLM_F_ACK;
	n = ask(nl, q, reply, sizeof(reply));
	if (n < 0)
		return n;
	if (h->nlmsg_type != NLMSG_ERROR || n < (int)NLMSG_LENGTH(sizeof(struct nlmsgerr)))
		return -EPROTO;
	return ((struct nlmsgerr *)NLMSG_DATA(h))->error;
}

int nl_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return fd < 0 ? -errno : fd;
}

int nl_veth(int nl, const char *name, const char *peer_name, int mtu, int peer_ns)
{
	struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
	struct rtattr *info, *data, *peer;
	struct request q;

	begin(&q, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link));
	attr(&q, IFLA_IFNAME, name, strlen(name) + 1);
	attr(&q, IFLA_MTU, &mtu, sizeof(mtu));
	info = attr(&q, IFLA_LINKINFO, NULL, 0);
	attr(&q, IFLA_INFO_KIND, "veth", 4);
	data = attr(&q, IFLA_INFO_DATA, NULL, 0);
	peer = attr(&q, VETH_INFO_PEER, &link, sizeof(link));
	attr(&q, IFLA_IFNAME, peer_name, strlen(peer_name) + 1);
	attr(&q, IFLA_MTU, &mtu, sizeof(mtu));
	attr(&q, IFLA_NET_NS_FD, &peer_ns, sizeof(peer_ns));
	close_nest(&q, peer);
	close_nest(&q, data);
	close_nest(&q, info);
	return change(nl, &q);
}

/* By name, since if_nametoindex() looks in the caller's namespace. */
static int get_link(int nl, const char *name, struct ifinfomsg *ret)
{
	char reply[16384] __attribute__((aligned(4)));
	struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
	struct nlmsghdr *h = (void *)reply;
	struct request q;
	int n;

	begin(&q, RTM_GETLINK, 0, &link, sizeof(link));
	attr(&q, IFLA_IFNAME, name, strlen(name) + 1);
	n = ask(nl, &q, reply, sizeof(reply));
	if (n < 0)
		return n;
	if (h->nlmsg_type == NLMSG_ERROR && n >= (int)NLMSG_LENGTH(sizeof(struct nlmsgerr)))
		return ((struct nlmsgerr *)NLMSG_DATA(h))->error;
	if (h->nlmsg_type != RTM_NEWLINK || n < (int)NLMSG_LENGTH(sizeof(*ret)))
		return -EPROTO;
	memcpy(ret, NLMSG_DATA(h), sizeof(*ret));
	return 0;
}

int nl_bridge(int nl, const char *name)
{
	struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
	struct rtattr *info;
	struct request q;

	begin(&q, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link));
	attr(&q, IFLA_IFNAME, name, strlen(name) + 1);
	info = attr(&q, IFLA_LINKINFO, NULL, 0);
	attr(&q, IFLA_INFO_KIND, "bridge", 6);
	close_nest(&q, info);
	return change(nl, &q);
}

int nl_port_of(int nl, const char *name, const char *bridge)
{
	struct ifinfomsg link, master;
	struct request q;
	int r = get_link(nl, bridge, &master);

	if (r == 0)
		r = get_link(nl, name, &link);
	if (r < 0)
		return r;
	link = (struct ifinfomsg){ .ifi_index = link.ifi_index };
	begin(&q, RTM_NEWLINK, 0, &link, sizeof(link));
	attr(&q, IFLA_MASTER, &master.ifi_index, sizeof(master.ifi_index));
	return change(nl, &q);
}

int nl_link_up(int nl, const char *name)
{
	struct ifinfomsg link;
	struct request q;
	int r = get_link(nl, name, &link);

	if (r < 0)
		return r;
	link = (struct ifinfomsg){ .ifi_index = link.ifi_index, .ifi_flags = IFF_UP,
				   .ifi_change = IFF_UP };
	begin(&q, RTM_NEWLINK, 0, &link, sizeof(link));
	return change(nl, &q);
}

bool nl_link_running(int nl, const char *name)
{
	struct ifinfomsg link;

	return get_link(nl, name, &link) == 0 && (link.ifi_flags & IFF_RUNNING);
}

int nl_link_wait(int nl, const char *name)
{
	int step = 1, waited;

	for (waited = 0; waited < 5000; waited += step) {
		struct timespec ts = { .tv_nsec = step * 1000000L };

		if (nl_link_running(nl, name))
			return 0;
		nanosleep(&ts, NULL);
		step = step < 32 ? step * 2 : step;
	}
	return -ETIMEDOUT;
}

int nl_address(int nl, const char *name, int family, const char *address, int prefix)
{
	size_t size = family == AF_INET ? 4 : 16;
	struct ifaddrmsg a = { .ifa_family = (unsigned char)family,
			       .ifa_prefixlen = (unsigned char)prefix };
	struct ifinfomsg link;
	unsigned char raw[16];
	struct request q;
	int r;

	if (inet_pton(family, address, raw) != 1)
		return -EINVAL;
	r = get_link(nl, name, &link);
	if (r < 0)
		return r;
	a.ifa_index = (unsigned)link.ifi_index;
	a.ifa_flags = family == AF_INET6 ? IFA_F_NODAD : 0;
	begin(&q, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &a, sizeof(a));
	attr(&q, IFA_LOCAL, raw, size);
	attr(&q, IFA_ADDRESS, raw, size);
	return change(nl, &q);
}

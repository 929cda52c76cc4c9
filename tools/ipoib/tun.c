/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tun.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "device/netlink.h"
#include "netlink.h"
#include "util/ip.h"
#include "util/sys.h"

#define DEVICE "/dev/net/tun"

static struct ifreq named(const char *name)
{
	struct ifreq q = { 0 };

	snprintf(q.ifr_name, sizeof(q.ifr_name), "%s", name);
	return q;
}

/* Returns a descriptor or a negative errno. */
static int make_device(const char *name, const char **ret_step)
{
	struct ifreq q = named(name);
	int fd, r;

	*ret_step = "opening " DEVICE;
	fd = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	q.ifr_flags = IFF_TUN | IFF_NO_PI;
	*ret_step = "making a TUN device";
	if (ioctl(fd, TUNSETIFF, &q) == 0)
		return fd;
	r = -errno;
	ut_close(fd);
	return r;
}

int tun_try(const char **ret_step)
{
	int fd = make_device("", ret_step);

	if (fd < 0)
		return fd;
	ut_close(fd);
	return 0;
}

static int set(const char *name, unsigned long request, struct ifreq *q)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	r = ioctl(fd, request, q) < 0 ? -errno : 0;
	ut_close(fd);
	return r;
}

static int configure(struct tun *t, const char *ip, int prefix, const char *ip6, const char **ret_step)
{
	int nl = nl_open(), r = nl < 0 ? nl : 0;

	*ret_step = "giving a TUN device its address";
	if (r == 0 && *ip)
		r = nl_address(nl, t->name, AF_INET, ip, prefix);
	if (r == 0) {
		*ret_step = "switching a TUN device on";
		r = nl_link_up(nl, t->name);
	}
	/* A host without IPv6 has none here. */
	if (r == 0 && ip6)
		nl_address(nl, t->name, AF_INET6, ip6, 64);
	if (r == 0)
		r = nl_link_up(nl, "lo");
	ut_close(nl);
	t->index = r == 0 ? if_nametoindex(t->name) : 0;
	return r;
}

static int open_steps(struct tun *t, const char *ip, int prefix, const char *ip6, const char **ret_step)
{
	t->fd = make_device(t->name, ret_step);
	if (t->fd < 0)
		return t->fd;
	tun_set_carrier(t, false);
	*ret_step = "listening to changes of addresses";
	t->changes = dev_nl_listen();
	return t->changes < 0 ? t->changes : configure(t, ip, prefix, ip6, ret_step);
}

int tun_open(struct tun *t, const char *name, const char *ip, int prefix, const char *ip6, const char **ret_step)
{
	int r;

	*t = (struct tun){ .fd = -1, .changes = -1 };
	snprintf(t->name, sizeof(t->name), "%s", name);
	r = open_steps(t, ip, prefix, ip6, ret_step);
	if (r < 0)
		tun_close(t);
	else
		tun_read_addrs(t);
	return r;
}

void tun_close(struct tun *t)
{
	ut_close(t->changes);
	ut_close(t->fd);
	t->fd = t->changes = -1;
}

void tun_set_carrier(struct tun *t, bool on)
{
	unsigned carrier = on;

	ioctl(t->fd, TUNSETCARRIER, &carrier);	/* kernels before 5.0 have none: the device counts as running */
}

int tun_set_mtu(struct tun *t, unsigned mtu)
{
	struct ifreq q = named(t->name);

	q.ifr_mtu = (int)mtu;
	return set(t->name, SIOCSIFMTU, &q);
}

void tun_read_addrs(struct tun *t)
{
	struct dev_nl_addr *v = NULL;
	int n, i;

	dev_nl_drain(t->changes);
	n = dev_nl_addrs(&v);
	if (n >= 0)
		t->n_addrs = 0;
	for (i = 0; i < n && t->n_addrs < TUN_ADDRS_MAX; i++)
		if (v[i].ifindex == t->index)
			memcpy(t->addrs[t->n_addrs++], v[i].addr, 16);
	free(v);
}

bool tun_has_addr(const struct tun *t, const uint8_t ip[16])
{
	unsigned i;

	for (i = 0; i < t->n_addrs; i++)
		if (ut_ip_same(t->addrs[i], ip))
			return true;
	return false;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/cm/addr.h"

#include "device/adapter.h"
#include "device/cm/cma_host.h"
#include "device/sys.h"
#include "util/ip.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

bool dev_cm_has_addr(struct cm_port *p, const uint8_t addr[16], uint32_t scope)
{
	struct dev_adapter *a = dev_adapter_of_cm(p);
	bool found = false;

	if (ut_ip_is_loopback_v4(addr))
		return dev_is_lo(a);
	if (scope && ut_ip_is_linklocal(addr) && scope != a->info.ifindex)
		return false;
	ut_lock(&a->dev.lock);
	for (int i = 0; i < a->n_addrs && !found; i++)
		found = memcmp(a->addrs[i].addr, addr, sizeof(a->addrs[i].addr)) == 0;
	eng_dev_unlock(&a->dev);
	return found;
}

int dev_cm_addrs(struct cm_port *p, struct link_end *v, int max)
{
	struct dev_adapter *a = dev_adapter_of_cm(p);
	int n;

	ut_lock(&a->dev.lock);
	n = a->n_addrs;
	for (int i = 0; i < n && i < max; i++) {
		v[i] = (struct link_end){ 0 };
		memcpy(v[i].addr, a->addrs[i].addr, sizeof(v[i].addr));
		if (a->addrs[i].link_local)
			v[i].scope = a->addrs[i].ifindex;
	}
	eng_dev_unlock(&a->dev);
	return n;
}

/*
 * With DAPPLE_ADDRESS lo has another address than the one the kernel would take; packets of its adapter
 * can only come from that.
 */
static void to_loopback_of_adapter(struct link_end *src)
{
	struct link_end v[DEV_ADDRS_MAX];
	int n;

	if (!ut_ip_is_loopback_v4(src->addr))
		return;
	n = dev_cm_lo_addrs(v, DEV_ADDRS_MAX);
	for (int i = 0; i < n; i++)
		if (memcmp(v[i].addr, src->addr, 16) == 0)
			return;
	for (int i = 0; i < n; i++) {
		if (!ut_ip_is_loopback_v4(v[i].addr))
			continue;
		memcpy(src->addr, v[i].addr, sizeof(src->addr));
		return;
	}
}

/* Connecting a datagram socket asks the routing table and sends nothing. */
static int look_up(int fd, const struct link_end *dst, bool chosen, struct link_end *src)
{
	socklen_t len;
	union ut_sockaddr sa;
	long r;

	if (chosen) {
		len = ut_ip_to_sockaddr(src->addr, 0, src->scope, &sa);
		if (bind(fd, &sa.sa, len) < 0)
			return -errno;
	}
	len = ut_ip_to_sockaddr(dst->addr, dst->port ? dst->port : 1, dst->scope, &sa);
	r = DEV_SYS(SYS_connect, fd, &sa, (size_t)len);
	if (r < 0)
		return (int)r;
	len = sizeof(sa);
	if (getsockname(fd, &sa.sa, &len) < 0)
		return -errno;
	ut_ip_from_sockaddr(&sa, src->addr, &src->scope);
	if (!ut_ip_is_linklocal(src->addr))
		src->scope = 0;
	return 0;
}

static bool loopback_v6(const uint8_t addr[16])
{
	return memcmp(addr, &in6addr_loopback, 16) == 0;
}

int dev_cm_route(const struct link_end *dst, struct link_end *src)
{
	bool chosen = !ut_ip_is_any(src->addr);
	struct link_end found = *src;
	int fd, r, keep = errno;

	/* lo has no route for IPv6 groups; the link does without one (link/udp/udp.c). */
	if (chosen && !ut_ip_is_v4(dst->addr) && ut_ip_is_group(dst->addr) && loopback_v6(src->addr))
		return 0;
	fd = socket(ut_ip_is_v4(dst->addr) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	r = fd < 0 ? -errno : look_up(fd, dst, chosen, &found);
	if (fd >= 0)
		ut_close(fd);
	errno = keep;
	if (r < 0)
		return r;
	if (!chosen) {
		to_loopback_of_adapter(&found);
		memcpy(src->addr, found.addr, sizeof(src->addr));
		src->scope = found.scope;
	}
	return 0;
}

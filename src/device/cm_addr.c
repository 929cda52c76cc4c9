/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses as the RDMA CM asks for them: which adapter has one, which are an
 * adapter's, and which of ours the host takes to reach another one.
 */
#include "device/cm.h"

#include "device/adapter.h"
#include "device/sys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static bool loopback_v4(const uint8_t addr[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(addr, mapped, sizeof(mapped)) == 0 && addr[12] == 127;
}

static bool link_local(const uint8_t addr[16])
{
	return addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80;
}

bool dev_cm_has_addr(struct cm_port *p, const uint8_t addr[16], uint32_t scope)
{
	struct dev_adapter *a = dev_adapter_of_cm(p);
	bool found = false;

	if (loopback_v4(addr))
		return dev_is_lo(a);
	if (scope && link_local(addr) && scope != a->info.ifindex)
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

union sa {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static bool is_v4(const uint8_t addr[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(addr, mapped, sizeof(mapped)) == 0;
}

static socklen_t to_sa(const struct link_end *e, uint16_t port, union sa *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (is_v4(e->addr)) {
		ret->in.sin_family = AF_INET;
		ret->in.sin_port = htons(port);
		memcpy(&ret->in.sin_addr, e->addr + 12, 4);
		return sizeof(ret->in);
	}
	ret->in6.sin6_family = AF_INET6;
	ret->in6.sin6_port = htons(port);
	ret->in6.sin6_scope_id = e->scope;
	memcpy(&ret->in6.sin6_addr, e->addr, 16);
	return sizeof(ret->in6);
}

static void from_sa(const union sa *sa, struct link_end *ret)
{
	if (sa->any.sa_family == AF_INET) {
		memset(ret->addr, 0, 10);
		ret->addr[10] = ret->addr[11] = 0xff;
		memcpy(ret->addr + 12, &sa->in.sin_addr, 4);
		ret->scope = 0;
	} else {
		memcpy(ret->addr, &sa->in6.sin6_addr, 16);
		ret->scope = link_local(ret->addr) ? sa->in6.sin6_scope_id : 0;
	}
}

static bool any_addr(const uint8_t addr[16])
{
	static const uint8_t zero[16];

	return memcmp(addr, zero, 16) == 0 || (is_v4(addr) && memcmp(addr + 12, zero, 4) == 0);
}

/*
 * With DAPPLE_ADDRESS lo has another address than the one the host would take;
 * packets of ours can only come from that.
 */
static void is_local_loopback(struct link_end *src)
{
	struct link_end v[DEV_ADDRS_MAX];
	int n;

	if (!loopback_v4(src->addr))
		return;
	n = dev_cm_lo_addrs(v, DEV_ADDRS_MAX);
	for (int i = 0; i < n; i++)
		if (memcmp(v[i].addr, src->addr, 16) == 0)
			return;
	for (int i = 0; i < n; i++) {
		if (!loopback_v4(v[i].addr))
			continue;
		memcpy(src->addr, v[i].addr, sizeof(src->addr));
		return;
	}
}

/* Connecting a datagram socket asks the routing table and sends nothing. */
static int look_up(int fd, const struct link_end *dst, bool chosen, struct link_end *src)
{
	socklen_t len;
	union sa sa;
	long r;

	if (chosen) {
		len = to_sa(src, 0, &sa);
		if (bind(fd, &sa.any, len) < 0)
			return -errno;
	}
	len = to_sa(dst, dst->port ? dst->port : 1, &sa);
	r = DEV_SYS(SYS_connect, fd, &sa, (size_t)len);
	if (r < 0)
		return (int)r;
	len = sizeof(sa);
	if (getsockname(fd, &sa.any, &len) < 0)
		return -errno;
	from_sa(&sa, src);
	return 0;
}

static bool group_v6(const uint8_t addr[16])
{
	return addr[0] == 0xff;
}

static bool loopback_v6(const uint8_t addr[16])
{
	return memcmp(addr, &in6addr_loopback, 16) == 0;
}

int dev_cm_route(const struct link_end *dst, struct link_end *src)
{
	bool chosen = !any_addr(src->addr);
	struct link_end found = *src;
	int fd, r, keep = errno;

	/* lo has no route for them; the link has a way of its own (link/udp/group.c). */
	if (chosen && group_v6(dst->addr) && loopback_v6(src->addr))
		return 0;
	fd = socket(is_v4(dst->addr) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	r = fd < 0 ? -errno : look_up(fd, dst, chosen, &found);
	if (fd >= 0)
		ut_close(fd);
	errno = keep;
	if (r < 0)
		return r;
	if (!chosen) {
		is_local_loopback(&found);
		memcpy(src->addr, found.addr, sizeof(src->addr));
		src->scope = found.scope;
	}
	return 0;
}

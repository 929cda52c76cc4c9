/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/sock.h"

#include "util/fault_calls.h"
#include "util/syscall.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/udp.h>
#include <string.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif

#define UDP_BUFFER (8 << 20) /* asked for; rmem_max and wmem_max decide */

static int opt(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* Options of every socket that sends. */
static int open_sender(bool v4)
{
	int fd = ut_socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return -errno;
	/* Never SO_REUSEADDR beside it: two UDP sockets that both have it may
	 * share a port across users, and the group would let strangers in. */
	r = opt(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (r == 0)
		r = v4 ? opt(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
		       : opt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
	if (r == 0 && !v4)
		r = opt(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (r == 0)
		r = v4 ? opt(fd, IPPROTO_IP, IP_RECVERR, 1)
		       : opt(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
	if (r < 0) {
		ut_close_fd(&fd);
		return r;
	}
	/* A smaller buffer or a missing loop only costs time. */
	opt(fd, SOL_SOCKET, SO_SNDBUF, UDP_BUFFER);
	if (v4)
		opt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1);
	else
		opt(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
	return fd;
}

static int set_receiver(int fd, bool v4)
{
	int r = v4 ? opt(fd, IPPROTO_IP, IP_RECVTOS, 1)
		   : opt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);

	if (r == 0)
		r = v4 ? opt(fd, IPPROTO_IP, IP_RECVTTL, 1)
		       : opt(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
	opt(fd, SOL_SOCKET, SO_RCVBUF, UDP_BUFFER);
	opt(fd, IPPROTO_UDP, UDP_GRO, 1); /* since 5.0; slower without */
	/* rdma_rxe sends IPv6 without a UDP checksum. */
	if (!v4)
		opt(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
	return r;
}

static int bind_or_close(int fd, int r, const uint8_t addr[16], uint16_t port, uint32_t scope)
{
	union ut_sockaddr sa;
	socklen_t n = ut_ip_to_sockaddr(addr, port, scope, &sa);

	if (r == 0 && ut_bind(fd, &sa.sa, n) < 0)
		r = -errno;
	if (r < 0) {
		ut_close_fd(&fd);
		return r;
	}
	return fd;
}

int udp_sock_main(const uint8_t addr[16], uint16_t port, uint32_t scope)
{
	int fd = open_sender(ut_ip_is_v4(addr));

	if (fd < 0)
		return fd;
	return bind_or_close(fd, set_receiver(fd, ut_ip_is_v4(addr)), addr, port, scope);
}

/* Other hosts may send to its port: a filter admits nothing. */
int udp_sock_tx(const uint8_t addr[16], uint16_t port, uint32_t scope)
{
	struct sock_filter none[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	struct sock_fprog prog = { 1, none };
	int fd = open_sender(ut_ip_is_v4(addr)), r = 0;

	if (fd < 0)
		return fd;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0)
		r = -errno;
	opt(fd, SOL_SOCKET, SO_RCVBUF, 0);
	return bind_or_close(fd, r, addr, port, scope);
}

static int join_group(int fd, const uint8_t group[16], uint32_t ifindex)
{
	struct ipv6_mreq m6 = { .ipv6mr_interface = ifindex };
	struct ip_mreqn m4 = { .imr_ifindex = (int)ifindex };
	int r;

	if (ut_ip_is_v4(group)) {
		memcpy(&m4.imr_multiaddr, group + 12, 4);
		/* Only the group that this socket has joined, not those of other sockets. */
		opt(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
		r = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m4, sizeof(m4));
	} else {
		memcpy(&m6.ipv6mr_multiaddr, group, 16);
		opt(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
		r = setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &m6, sizeof(m6));
	}
	return r < 0 ? -errno : 0;
}

/* SO_REUSEADDR alone: in a SO_REUSEPORT group other users could not join, and
 * multicast goes to every matching socket anyway. */
int udp_sock_group(const uint8_t group[16], uint16_t port, uint32_t ifindex)
{
	bool v4 = ut_ip_is_v4(group);
	int fd = ut_socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return -errno;
	r = opt(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (r == 0 && !v4)
		r = opt(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (r == 0)
		r = set_receiver(fd, v4);
	if (r == 0)
		r = join_group(fd, group, ifindex);
	return bind_or_close(fd, r, group, port, ifindex);
}

/*
 * The kernel charges whole buffers (truesize), which for packets of an MTU is
 * less than twice their payload; what getsockopt says is charged in full.
 */
int udp_sock_window(int fd, uint32_t *ret)
{
	int size;
	socklen_t n = sizeof(size);

	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &n) < 0)
		return -errno;
	*ret = (uint32_t)size / 2;
	return 0;
}

/* Two datagrams in one call to ourselves: both must arrive. */
static bool gso_try(int fd, const uint8_t addr[16])
{
	union ut_sockaddr sa;
	socklen_t n = ut_ip_to_sockaddr(addr, 0, 0, &sa);
	char buf[64];

	if (ut_bind(fd, &sa.sa, n) < 0 || getsockname(fd, &sa.sa, &n) < 0 ||
	    opt(fd, IPPROTO_UDP, UDP_SEGMENT, 8) < 0)
		return false;
	if (UT_SYS(SYS_sendto, fd, "0123456789abcdef", 16, MSG_DONTWAIT, &sa, n) != 16)
		return false;
	for (int i = 0; i < 2; i++)
		if (UT_SYS(SYS_recvfrom, fd, buf, sizeof(buf), MSG_DONTWAIT, NULL, NULL) != 8)
			return false;
	return true;
}

bool udp_sock_gso(void)
{
	static const uint8_t lo4[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };
	static const uint8_t lo6[16] = { [15] = 1 };

	for (int v4 = 1; v4 >= 0; v4--) {
		int fd = open_sender(v4);
		bool ok = fd >= 0 && gso_try(fd, v4 ? lo4 : lo6);

		ut_close_fd(&fd);
		if (ok)
			return true;
	}
	return false;
}

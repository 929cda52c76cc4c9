/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "doctor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* dapple doctor: UDP sockets of the host. */

#define ROCE_PORT 4791

/* Receive buffer, in bytes, that holds a full window of one peer. */
#define WANTED_RMEM (1024 * 1024)

static long read_number(const char *path, long otherwise)
{
	FILE *f = fopen(path, "re");
	long n = otherwise;

	if (!f)
		return otherwise;
	if (fscanf(f, "%ld", &n) != 1)
		n = otherwise;
	fclose(f);
	return n;
}

static int udp_socket(int family)
{
	return socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

/* Finds uid and inode of the socket that has the port; the inode of a kernel socket is 0. */
static bool port_owner(unsigned *ret_uid, unsigned long *ret_inode)
{
	unsigned port, uid;
	unsigned long inode;
	char line[512];
	bool found = false;
	FILE *f = fopen("/proc/net/udp", "re");

	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %u %*u %lu", &port,
			   &uid, &inode) == 3 && port == ROCE_PORT) {
			*ret_uid = uid;
			*ret_inode = inode;
			found = true;
		}
	if (f)
		fclose(f);
	return found;
}

static void say_port_taken(struct doctor_finding *f, const char *address)
{
	unsigned long inode = 0;
	unsigned uid = 0;

	if (access("/sys/module/rdma_rxe", F_OK) == 0 && port_owner(&uid, &inode) && !inode) {
		doctor_say(f, DOCTOR_FAIL, "UDP port %d of %s is taken by the kernel's rdma_rxe: no RoCE adapter works", ROCE_PORT, address);
		doctor_remedy(f, "delete the devices of rdma_rxe (rdma link delete NAME), or use another network namespace (dapple pair --hosts)");
	} else if (port_owner(&uid, &inode)) {
		doctor_say(f, DOCTOR_FAIL, "UDP port %d of %s is taken by a socket of user %u: no RoCE adapter works at that address", ROCE_PORT, address, uid);
		doctor_remedy(f, "an address serves one user: use another address (DAPPLE_ADDRESS=127.0.0.2, an alias) or another network namespace");
	} else {
		doctor_say(f, DOCTOR_FAIL, "UDP port %d of %s is taken: no RoCE adapter works", ROCE_PORT, address);
		doctor_remedy(f, "find the process with ss -ulpn and end it; the port is assigned to RoCEv2");
	}
}

void doctor_check_port(struct doctor_finding *f)
{
	static const char *const addresses[] = { "127.0.0.1", "0.0.0.0" };
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(ROCE_PORT) };
	int one = 1, fd;
	size_t i;

	for (i = 0; i < 2; i++) {
		fd = udp_socket(AF_INET);
		inet_pton(AF_INET, addresses[i], &a.sin_addr);
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
		if (fd < 0 || bind(fd, (void *)&a, sizeof(a)) < 0) {
			if (errno == EADDRINUSE)
				say_port_taken(f, addresses[i]);
			else
				doctor_say(f, DOCTOR_FAIL, "UDP port %d of %s cannot be bound (%s): no RoCE adapter works", ROCE_PORT,
				    addresses[i], strerror(errno));
			if (fd >= 0)
				close(fd);
			return;
		}
		close(fd);
	}
	doctor_say(f, DOCTOR_OK, "UDP port %d is free, or used by this user's processes", ROCE_PORT);
}

void doctor_check_reuseport(struct doctor_finding *f)
{
	struct sock_filter zero = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog prog = { .len = 1, .filter = &zero };
	struct sockaddr_in a = { .sin_family = AF_INET };
	int one = 1, fd = udp_socket(AF_INET);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) < 0 ||
	    bind(fd, (void *)&a, sizeof(a)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog)) < 0) {
		doctor_say(f, DOCTOR_FAIL, "the reuseport filter is refused (%s): processes cannot share UDP port 4791, and no RoCE adapter works", strerror(errno));
		doctor_remedy(f, "use Linux 4.5 or newer, and permit SO_ATTACH_REUSEPORT_CBPF");
	} else {
		doctor_say(f, DOCTOR_OK, "reuseport filter: processes can share a UDP port");
	}
	if (fd >= 0)
		close(fd);
}

void doctor_check_udp_batching(struct doctor_finding *f)
{
	int size = 1024, one = 1, fd = udp_socket(AF_INET);

	if (fd < 0 || setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)) < 0)
		doctor_say(f, DOCTOR_WARN, "UDP_SEGMENT is refused (%s): each RoCE packet is a system call, and sending is slower", strerror(errno));
	else if (setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one)) < 0)
		doctor_say(f, DOCTOR_WARN, "UDP_GRO is refused (%s): each RoCE packet is a system call, and receiving is slower", strerror(errno));
	else
		doctor_say(f, DOCTOR_OK, "UDP_SEGMENT and UDP_GRO: many packets in one system call");
	if (f->level != DOCTOR_OK)
		doctor_remedy(f, "use Linux 5.0 or newer");
	if (fd >= 0)
		close(fd);
}

void doctor_check_mtu_discover(struct doctor_finding *f)
{
	int v = IP_PMTUDISC_DO, fd = udp_socket(AF_INET);

	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &v, sizeof(v)) < 0)
		doctor_say(f, DOCTOR_FAIL, "IP_MTU_DISCOVER is refused (%s): the ICRC of RoCE packets cannot be computed, and no RoCE adapter works",
		    strerror(errno));
	else
		doctor_say(f, DOCTOR_OK, "IP_MTU_DISCOVER: the ICRC of RoCE packets can be computed");
	if (fd >= 0)
		close(fd);
}

void doctor_check_ipv6(struct doctor_finding *f)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = udp_socket(AF_INET6);

	if (fd < 0 || bind(fd, (void *)&a, sizeof(a)) < 0) {
		doctor_say(f, DOCTOR_WARN, "IPv6 is not usable (%s): adapters have GIDs of IPv4 addresses only", strerror(errno));
		doctor_remedy(f, "sysctl net.ipv6.conf.all.disable_ipv6=0, or enable IPv6 for the container");
	} else {
		doctor_say(f, DOCTOR_OK, "IPv6: adapters have GIDs of IPv6 addresses");
	}
	if (fd >= 0)
		close(fd);
}

void doctor_check_rmem(struct doctor_finding *f)
{
	long max = read_number("/proc/sys/net/core/rmem_max", -1);
	int want = WANTED_RMEM, have = 0, fd = udp_socket(AF_INET);
	socklen_t len = sizeof(have);

	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &want, sizeof(want));
		getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &have, &len);
		close(fd);
	}
	/* The kernel reports twice the requested size (socket(7)). */
	if (have / 2 >= WANTED_RMEM) {
		doctor_say(f, DOCTOR_OK, "socket receive buffers of %d bytes", have / 2);
		return;
	}
	doctor_say(f, DOCTOR_WARN, "socket receive buffers are limited to %d bytes: windows are smaller, and "
				   "large messages slower", have / 2);
	doctor_remedy(f, "sysctl net.core.rmem_max=%d (now %ld)", WANTED_RMEM, max);
}

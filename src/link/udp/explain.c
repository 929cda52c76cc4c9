/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who has the port. A socket of the kernel (rdma_rxe listens at any address)
 * looks like one of root; the loaded module tells the two apart.
 */
#include "link/udp/local.h"

#include "link/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct holder {
	bool found, wild;
	uint32_t uid;
};

/* The address as /proc/net/udp prints it: words of 32 bits in host order. */
static void print_addr(const uint8_t addr[16], char text[33])
{
	uint32_t w;

	for (int i = ut_ip_is_v4(addr) ? 12 : 0; i < 16; i += 4) {
		memcpy(&w, addr + i, 4);
		text += sprintf(text, "%08X", w);
	}
}

static void scan(const char *path, const uint8_t addr[16], uint16_t port, struct holder *h)
{
	char line[512], want[33], local[64];
	FILE *f = fopen(path, "re");
	unsigned p, uid;

	if (!f)
		return;
	print_addr(addr, want);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %*d: %63[0-9A-F]:%x %*s %*s %*s %*s %*s %u", local, &p,
			   &uid) != 3 || p != port)
			continue;
		if (!strcmp(local, want))
			*h = (struct holder){ true, false, uid };
		else if (!h->found && strspn(local, "0") == strlen(local))
			*h = (struct holder){ true, true, uid };
	}
	fclose(f);
}

static const char *explain_in_use(const uint8_t addr[16], uint16_t port)
{
	struct holder h = { 0 };
	uint32_t uid = UINT32_MAX;

	host_self_uid(&uid);
	scan("/proc/net/udp", addr, port, &h);
	/* An IPv6 socket at any address holds IPv4 too. */
	if (!h.found || !ut_ip_is_v4(addr))
		scan("/proc/net/udp6", addr, port, &h);
	if (!h.found)
		return "the port was in use a moment ago, or all 255 slots of the address are "
		       "claimed";
	if (h.wild && h.uid == 0 && access("/sys/module/rdma_rxe", F_OK) == 0)
		return "the kernel's rdma_rxe holds the port in this network namespace "
		       "(rdma link delete, or another namespace)";
	if (h.wild)
		return "another program holds the port for all addresses of this host";
	if (h.uid != uid)
		return "another user has RoCE on this address; each user needs an address of "
		       "its own (127.0.0.x, or an alias of the interface)";
	return "a program that does not share the port holds it, or the slot of this process "
	       "is taken on this address or all 255 are";
}

const char *udp_explain(const uint8_t addr[16], uint16_t port, int error)
{
	int keep = errno;
	const char *text;

	switch (error < 0 ? -error : error) {
	case 0:
		return "the address can be used";
	case EADDRINUSE:
		text = explain_in_use(addr, port);
		errno = keep;
		return text;
	case EADDRNOTAVAIL:
		return "the address does not belong to this host or network namespace, or is "
		       "not ready yet";
	case EACCES:
	case EPERM:
		return "no permission to bind the port (net.ipv4.ip_unprivileged_port_start, a "
		       "security module or a seccomp filter)";
	case EMFILE:
	case ENFILE:
		return "too many open files (ulimit -n)";
	case EAFNOSUPPORT:
		return "this kernel or namespace has no such address family (IPv6 is off)";
	case ENOMEM:
	case ENOBUFS:
		return "no memory for sockets";
	default:
		return "the system refused a socket for this address";
	}
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/explain.h"

#include "host/owners.h"
#include "host/slot.h"
#include "link/udp/locals.h"
#include "util/ip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Slots that cannot be claimed although the port is free. */
static bool explain_names(const uint8_t addr[16], uint16_t port, uint32_t uid, char *ret, size_t size)
{
	struct host h = { .user = &udp_host_user, .port = port, .uid = uid };
	struct host_owners o;

	if (host_owners(&h, addr, 0, &o) < 0 || !o.n_foreign)
		return false;
	snprintf(ret, size, "user %u holds %u names of slots of the address: its GID carries no RoCE; end that user's "
		 "processes that are bound to @dapple-roce (ss -xp), or use another address (DAPPLE_ADDRESS=127.0.0.2)",
		 o.uid, o.n_foreign);
	return true;
}

static const char *explain_in_use(const uint8_t addr[16], uint16_t port)
{
	static __thread char squat[256];
	struct holder h = { 0 };
	uint32_t uid = UINT32_MAX;

	host_self_uid(&uid);
	scan("/proc/net/udp", addr, port, &h);
	/* An IPv6 socket at any address holds IPv4 too. */
	if (!h.found || !ut_ip_is_v4(addr))
		scan("/proc/net/udp6", addr, port, &h);
	if (!h.found && explain_names(addr, port, uid, squat, sizeof(squat)))
		return squat;
	if (!h.found)
		return "all 255 slots of the address are claimed, or another process has just released the "
		       "port: its GID carries no RoCE; end a process, or try again";
	if (h.wild && h.uid == 0 && access("/sys/module/rdma_rxe", F_OK) == 0)
		return "the kernel's rdma_rxe holds the port: its GID carries no RoCE; use rdma link delete, "
		       "or another network namespace";
	if (h.wild)
		return "another program holds the port for all addresses: its GID carries no RoCE; find it "
		       "with ss -ulpn, and end it";
	if (h.uid != uid)
		return "another user has RoCE on this address: its GID carries no RoCE; use another address "
		       "(DAPPLE_ADDRESS=127.0.0.2, or an alias of the interface)";
	return "a program that does not share the port holds it, or slots are used up: its GID carries no "
	       "RoCE; find it with ss -ulpn, or end a process";
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
		return "the address is not in this network namespace, or not ready yet: its GID carries no "
		       "RoCE; check it with ip address";
	case EACCES:
	case EPERM:
		return "no permission to bind the port: its GID carries no RoCE; check "
		       "net.ipv4.ip_unprivileged_port_start, security modules and seccomp filters";
	case EMFILE:
	case ENFILE:
		return "too many open files: its GID carries no RoCE; raise the limit on descriptors (ulimit "
		       "-n)";
	case EAFNOSUPPORT:
		return "IPv6 is off in this kernel or network namespace: its GID carries no RoCE; enable it "
		       "(sysctl net.ipv6.conf.all.disable_ipv6=0)";
	case ENOMEM:
	case ENOBUFS:
		return "no memory for sockets: its GID carries no RoCE; raise the limits on memory";
	default:
		return "the system refused a socket for the address: its GID carries no RoCE; see dapple "
		       "doctor";
	}
}

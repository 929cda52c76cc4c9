/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names instead of files: an abstract unix socket per claimed slot and one as
 * the lock of an address. The kernel drops them with their owner, they belong
 * to the network namespace as the port does, and nothing is left on disk. A
 * child that was forked may keep a dead owner's name: that slot is lost until
 * the child ends, the next one is taken.
 */
#include "link/udp/local.h"

#include "link/sys.h"
#include "util/clock.h"
#include "util/faulty.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define UDP_SLOT_LOCK UDP_SLOTS /* "slot" of the lock's name */
#define UDP_LOCK_STEP (2 * UT_MS)

/* getuid() differs between user namespaces; what peers are shown does not. */
int udp_self_uid(uint32_t *ret)
{
	struct ucred c;
	socklen_t n = sizeof(c);
	int sv[2], r = 0;

	if (ut_socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
		return -errno;
	if (getsockopt(sv[0], SOL_SOCKET, SO_PEERCRED, &c, &n) < 0)
		r = -errno;
	else
		*ret = c.uid;
	link_sys_close(&sv[0]);
	link_sys_close(&sv[1]);
	return r;
}

void udp_addr_text(const uint8_t addr[16], uint32_t scope, char ret[UDP_ADDR_TEXT])
{
	char text[INET6_ADDRSTRLEN], zone[16] = "";

	if (ut_ip_is_linklocal(addr))
		snprintf(zone, sizeof(zone), "%%%u", scope);
	snprintf(ret, UDP_ADDR_TEXT, "%s%s", ut_ip_text(addr, text), zone);
}

socklen_t udp_name(const struct udp_link *u, const uint8_t addr[16], uint32_t scope,
		   unsigned slot, struct sockaddr_un *ret)
{
	char text[UDP_ADDR_TEXT], tail[16];
	int n;

	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	udp_addr_text(addr, scope, text);
	if (slot == UDP_SLOT_LOCK)
		snprintf(tail, sizeof(tail), "lock");
	else
		snprintf(tail, sizeof(tail), "%u", slot);
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "dapple-roce/%s/%u/%s", text,
		     u->port, tail);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int udp_box(const struct sockaddr_un *sun, socklen_t n)
{
	int fd = ut_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, r;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0 &&
	    ut_bind(fd, (const struct sockaddr *)sun, n) == 0)
		return fd;
	r = -errno;
	link_sys_close(&fd);
	return r;
}

int udp_claim(const struct udp_link *u, const uint8_t addr[16], uint32_t scope, unsigned slot)
{
	struct sockaddr_un sun;
	socklen_t n = udp_name(u, addr, scope, slot, &sun);

	return udp_box(&sun, n);
}

/* Connecting a datagram socket finds out whether a name is bound, nothing more. */
unsigned udp_claims(const struct udp_link *u, const struct udp_local *lo, uint8_t claimed[256])
{
	int fd = ut_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un sun;
	unsigned count = 0;

	memset(claimed, 0, 256);
	for (unsigned slot = 0; slot < UDP_SLOTS; slot++) {
		socklen_t n = udp_name(u, lo->addr, lo->scope, slot, &sun);

		claimed[slot] = slot == u->slot ||
				(fd >= 0 && !LINK_SYS(SYS_connect, fd, &sun, n));
		count += claimed[slot];
	}
	link_sys_close(&fd);
	return count;
}

static int try_lock(const struct sockaddr_un *sun, socklen_t n)
{
	int fd = ut_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return -errno;
	if (ut_bind(fd, (const struct sockaddr *)sun, n) == 0 && listen(fd, 64) == 0)
		return fd;
	r = -errno;
	link_sys_close(&fd);
	return r;
}

static void wait_ns(struct pollfd *p, uint64_t ns)
{
	struct timespec t = { (time_t)(ns / UT_S), (long)(ns % UT_S) };

	LINK_SYS(SYS_ppoll, p, p ? 1 : 0, &t, NULL, 8);
}

/*
 * The holder never accepts: a connection waits in its backlog and hangs up
 * when the holder lets go or dies. False: the holder is not one of us, or
 * connecting says nothing more (it has just let go, or its backlog is full).
 */
static bool await_release(const struct udp_link *u, const struct sockaddr_un *sun, socklen_t n,
			  uint64_t ns)
{
	int fd = ut_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };
	struct ucred c = { 0 };
	socklen_t cn = sizeof(c);
	bool ours = true;

	if (fd >= 0 && LINK_SYS(SYS_connect, fd, sun, n) == 0) {
		ours = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &cn) < 0 || c.uid == u->uid;
		if (ours)
			wait_ns(&p, ns);
	} else {
		wait_ns(NULL, ns < UDP_LOCK_STEP ? ns : UDP_LOCK_STEP);
	}
	link_sys_close(&fd);
	return ours;
}

int udp_lock(const struct udp_link *u, const uint8_t addr[16], uint32_t scope, uint64_t ns)
{
	uint64_t now = ut_now(), end = now + ns;
	struct sockaddr_un sun;
	socklen_t n = udp_name(u, addr, scope, UDP_SLOT_LOCK, &sun);
	int fd;

	for (;;) {
		fd = try_lock(&sun, n);
		if (fd != -EADDRINUSE)
			return fd;
		now = ut_now();
		if (now >= end || !await_release(u, &sun, n, end - now))
			return -EBUSY;
	}
}

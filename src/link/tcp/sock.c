/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/tcp/sock.h"

#include "link/tcp/silence.h"
#include "util/alloc.h"
#include "util/ip.h"
#include "util/log.h"
#include "util/syscall.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>

#define LOOPBACK_MSS 16384 /* no wire carries so much in one segment */

int tcp_sock_option(int fd, int level, int name, int value)
{
	int keep = errno, r = setsockopt(fd, level, name, &value, sizeof(value));

	r = r < 0 ? -errno : 0;
	errno = keep;
	return r;
}

int tcp_sock_number(int fd, int level, int name, int fallback)
{
	int keep = errno, value = fallback;
	socklen_t n = sizeof(value);

	if (getsockopt(fd, level, name, &value, &n) < 0)
		value = fallback;
	errno = keep;
	return value;
}

int tcp_sock_open(bool v4)
{
	if (ut_fault())
		return -ENFILE;
	return (int)UT_SYS(SYS_socket, v4 ? AF_INET : AF_INET6,
			     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
}

static socklen_t addr_of(union ut_sockaddr *sa, const struct link_end *e, uint32_t scope)
{
	return ut_ip_to_sockaddr(e->addr, e->port, e->scope ? e->scope : scope, sa);
}

static void read_end(const union ut_sockaddr *sa, struct link_end *ret)
{
	*ret = (struct link_end){ 0 };
	ret->port = ut_ip_from_sockaddr(sa, ret->addr, &ret->scope);
}

int tcp_sock_bind(int fd, const struct link_end *e, uint32_t scope)
{
	union ut_sockaddr sa;
	socklen_t n = addr_of(&sa, e, scope);

	return (int)UT_SYS(SYS_bind, fd, &sa, n);
}

int tcp_sock_connect(int fd, const struct link_end *e, uint32_t scope)
{
	union ut_sockaddr sa;
	socklen_t n = addr_of(&sa, e, scope);

	return (int)UT_SYS(SYS_connect, fd, &sa, n);
}

int tcp_sock_ends(int fd, struct link_end *local, struct link_end *remote)
{
	union ut_sockaddr sa = { 0 };
	socklen_t n = sizeof(sa);
	long r = UT_SYS(SYS_getsockname, fd, &sa, &n);

	if (r < 0)
		return (int)r;
	read_end(&sa, local);
	if (!remote)
		return 0;
	n = sizeof(sa);
	r = UT_SYS(SYS_getpeername, fd, &sa, &n);
	if (r == 0)
		read_end(&sa, remote);
	return (int)r;
}

void tcp_sock_tos(int fd, bool v4, int tos)
{
	int r;

	if (tos < 0)
		return;
	r = v4 ? tcp_sock_option(fd, IPPROTO_IP, IP_TOS, tos)
	       : tcp_sock_option(fd, IPPROTO_IPV6, IPV6_TCLASS, tos);
	if (r < 0)
		ut_warn("cannot set the type of service %d of a TCP connection (%s): its packets carry 0; choose a value that "
			"the system allows", tos, strerror(-r));
}

/* bbr paces by timers, which costs a third of the bandwidth where there is no wire to share.
 * Elsewhere the administrator's choice stands. */
static void set_congestion(int fd)
{
	char name[16] = "";
	socklen_t n = sizeof(name) - 1;

	if (tcp_sock_number(fd, IPPROTO_TCP, TCP_MAXSEG, 0) < LOOPBACK_MSS ||
	    getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &n) < 0 ||
	    strncmp(name, "bbr", 3) != 0)
		return;
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4) < 0 &&
	    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) < 0)
		ut_debug("loopback keeps congestion control %s", name);
}

void tcp_sock_tune(int fd)
{
	int keep = errno;

	tcp_sock_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_congestion(fd);
	errno = keep;
}

bool tcp_sock_keepalive(int fd, unsigned seconds)
{
	/* The peer's kernel is this one. */
	if (!seconds || tcp_sock_number(fd, IPPROTO_TCP, TCP_MAXSEG, 0) >= LOOPBACK_MSS)
		return false;
	tcp_sock_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, (int)seconds);
	tcp_sock_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, (int)seconds);
	tcp_sock_option(fd, IPPROTO_TCP, TCP_KEEPCNT, TCP_SILENCE - 1);
	tcp_sock_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	return true;
}

size_t tcp_sock_unacked(int fd)
{
	int keep = errno, n = 0;

	if (ioctl(fd, SIOCOUTQ, &n) < 0 || n < 0)
		n = 0;
	errno = keep;
	return (size_t)n;
}

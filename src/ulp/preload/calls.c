/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls that would tell a unix socket from TCP. All others - data, readiness, dup, fork - reach the
 * kernel's socket without this library.
 */
#include "ulp/preload/calls.h"
#include "ulp/preload/convert.h"
#include "ulp/preload/name.h"
#include "ulp/preload/options.h"
#include "ulp/preload/real.h"
#include "ulp/preload/rules.h"
#include "ulp/preload/summon.h"
#include "ulp/preload/told.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define BIND_TRIES 15
#define BIND_WAIT_MS 20

bool (*rsp_receive_here)(int fd, const struct msghdr *msg, int flags, ssize_t *ret_n);

static int ret(int r)
{
	if (r >= 0)
		return r;
	errno = -r;
	return -1;
}

typedef int name_fn(int, struct sockaddr *, socklen_t *);

static bool read_name(int fd, name_fn *get, struct rsp_name *ret_name)
{
	struct sockaddr_un un;
	socklen_t len = sizeof(un);
	int keep = errno;
	bool yes = !get(fd, (struct sockaddr *)&un, &len) && rsp_name_read(&un, len, ret_name);

	errno = keep;
	return yes;
}

/* The program's end of fd. */
static bool ours(int fd, struct rsp_name *name)
{
	return read_name(fd, rsp_real()->getsockname, name) &&
	       (name->kind == RSP_LISTENER || name->kind == RSP_PROGRAM);
}

/* The carrier's end: its kind, or 0 while there is none. */
static int other_end(int fd, struct rsp_name *name)
{
	if (!read_name(fd, rsp_real()->getpeername, name))
		return 0;
	return name->kind == RSP_CARRIER || name->kind == RSP_FAILED ? name->kind : 0;
}

RSP_EXPORT int socket(int family, int type, int protocol)
{
	bool stream = (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) == SOCK_STREAM;

	if (family == AF_INET_SDP && stream && (!protocol || protocol == IPPROTO_TCP) && rsp_sdp_is_on())
		return rsp_sdp_socket(type);
	return rsp_real()->socket(family, type, protocol);
}

/* Sockets of family 27 have addresses of IPv4 and IPv6, and of family 27, which is laid out as IPv4. */
static const struct sockaddr *sdp_address(int fd, const struct sockaddr *addr, socklen_t len, struct sockaddr_in *ret_in)
{
	bool v6 = addr && len >= sizeof(struct sockaddr_in6) && addr->sa_family == AF_INET6;

	if (!addr || len < sizeof(*ret_in) || (addr->sa_family != AF_INET_SDP && !v6) || !rsp_is_sdp(fd))
		return addr;
	rsp_sdp_family(fd, v6 ? AF_INET6 : AF_INET);
	if (v6)
		return addr;
	memcpy(ret_in, addr, sizeof(*ret_in));
	ret_in->sin_family = AF_INET;
	return (const struct sockaddr *)ret_in;
}

/* The port of a listener that the program has closed is free once its carrier has noticed. */
RSP_EXPORT int bind(int fd, __CONST_SOCKADDR_ARG at, socklen_t len)
{
	struct sockaddr_in in;
	const struct sockaddr *addr = sdp_address(fd, at.__sockaddr__, len, &in);
	int r = rsp_real()->bind(fd, addr, len);

	for (int i = 0; r && errno == EADDRINUSE && rsp_was_summoned() && i < BIND_TRIES; i++) {
		poll(NULL, 0, BIND_WAIT_MS);
		r = rsp_real()->bind(fd, addr, len);
	}
	return r;
}

RSP_EXPORT int listen(int fd, int backlog)
{
	int r;

	if (!rsp_is_fresh_tcp(fd))
		return rsp_real()->listen(fd, backlog);
	r = rsp_convert_listen(fd, backlog);
	return !r || r == -EADDRINUSE || rsp_is_sdp(fd) ? ret(rsp_told(RSP_OF_CALL, r)) : rsp_real()->listen(fd, backlog);
}

/* A further connect() returns the state of the attempt, as TCP does. */
static int connect_again(int fd)
{
	struct rsp_name name;

	switch (other_end(fd, &name)) {
	case RSP_CARRIER:
		return -EISCONN;
	case RSP_FAILED:
		return -name.err;
	default:
		return -EALREADY;
	}
}

RSP_EXPORT int connect(int fd, __CONST_SOCKADDR_ARG at, socklen_t len)
{
	struct sockaddr_in in;
	const struct sockaddr *addr = sdp_address(fd, at.__sockaddr__, len, &in);
	struct rsp_name name;
	int r;

	if (!addr || len < sizeof(sa_family_t) || (addr->sa_family != AF_INET && addr->sa_family != AF_INET6))
		return rsp_real()->connect(fd, addr, len);
	if (ours(fd, &name))
		return ret(connect_again(fd));
	if (!rsp_is_fresh_tcp(fd))
		return rsp_real()->connect(fd, addr, len);
	r = rsp_convert_connect(fd, addr, len);
	return !r || r == -EINPROGRESS || rsp_is_sdp(fd) ? ret(rsp_told(RSP_OF_CALL, r)) : rsp_real()->connect(fd, addr, len);
}

static uid_t uid_of(int fd)
{
	struct ucred c = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(c);

	rsp_real()->getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len);
	return c.uid;
}

/*
 * Abstract names have no permissions: another user of the host could connect to the listener and claim
 * any address. A carrier has the uid that called listen().
 */
static bool from_carrier(int listener, int fd, const struct sockaddr_storage *from, socklen_t len,
			 struct rsp_name *name)
{
	return rsp_name_read((const struct sockaddr_un *)from, len, name) && name->kind == RSP_CARRIER &&
	       uid_of(listener) == uid_of(fd);
}

static void give_address(const struct sockaddr_storage *from, socklen_t full, struct sockaddr *to, socklen_t *len)
{
	if (!to || !len)
		return;
	memcpy(to, from, *len < full ? *len : full);
	*len = full;
}

RSP_EXPORT int accept4(int fd, __SOCKADDR_ARG at, socklen_t *len, int flags)
{
	struct sockaddr *addr = at.__sockaddr__;
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	struct rsp_name name, mine;
	socklen_t full;
	int r;

	for (;;) {
		full = sizeof(from);
		r = rsp_real()->accept4(fd, (struct sockaddr *)&from, &full, flags);
		if (r < 0)
			return r;
		if (from.ss_family != AF_UNIX || !ours(fd, &mine)) {
			give_address(&from, full, addr, len);
			return r;
		}
		if (from_carrier(fd, r, &from, full, &name))
			break;
		close(r);
	}
	if (addr && len)
		rsp_addr_give(&name.peer, addr, len);
	if (rsp_expect)
		rsp_expect(r);
	return r;
}

RSP_EXPORT int accept(int fd, __SOCKADDR_ARG at, socklen_t *len)
{
	return accept4(fd, at, len, 0);
}

RSP_EXPORT int getsockname(int fd, __SOCKADDR_ARG at, socklen_t *len)
{
	struct sockaddr *addr = at.__sockaddr__;
	struct rsp_name name, other;

	if (!addr || !len || !ours(fd, &name))
		return rsp_real()->getsockname(fd, addr, len);
	rsp_addr_give(other_end(fd, &other) == RSP_CARRIER ? &other.local : &name.local, addr, len);
	return 0;
}

RSP_EXPORT int getpeername(int fd, __SOCKADDR_ARG at, socklen_t *len)
{
	struct sockaddr *addr = at.__sockaddr__;
	struct rsp_name name;

	if (!addr || !len || !ours(fd, &name))
		return rsp_real()->getpeername(fd, addr, len);
	if (other_end(fd, &name) != RSP_CARRIER)
		return ret(-ENOTCONN);
	rsp_addr_give(&name.peer, addr, len);
	return 0;
}

RSP_EXPORT int getsockopt(int fd, int level, int opt, void *val, socklen_t *len)
{
	struct rsp_name name, other;
	int err = 0;

	if (!ours(fd, &name))
		return rsp_real()->getsockopt(fd, level, opt, val, len);
	if (opt == SO_ERROR && other_end(fd, &other) == RSP_FAILED)
		err = other.err;
	return ret(rsp_option_get(fd, &name, err, level, opt, val, len));
}

RSP_EXPORT int setsockopt(int fd, int level, int opt, const void *val, socklen_t len)
{
	struct rsp_name name;

	return ours(fd, &name) ? ret(rsp_option_set(fd, level, opt, val, len))
			       : rsp_real()->setsockopt(fd, level, opt, val, len);
}

/* A TCP socket names no sender. */
static void hide_sender(const void *name, socklen_t *len)
{
	struct rsp_name n;

	if (name && len && rsp_name_read(name, *len, &n))
		*len = 0;
}

RSP_EXPORT ssize_t recvfrom(int fd, void *buf, size_t size, int flags, __SOCKADDR_ARG at,
			    socklen_t *len)
{
	struct sockaddr *addr = at.__sockaddr__;
	struct iovec part = { buf, size };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (rsp_receive_here && rsp_receive_here(fd, &msg, flags, &n)) {
		if (addr && len)
			*len = 0;
		return n;
	}
	n = rsp_real()->recvfrom(fd, buf, size, flags, addr, len);
	if (n >= 0 && addr)
		hide_sender(addr, len);
	return n;
}

RSP_EXPORT ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t n;

	if (rsp_receive_here && rsp_receive_here(fd, msg, flags, &n)) {
		msg->msg_namelen = 0;
		msg->msg_controllen = 0;
		msg->msg_flags = 0;
		return n;
	}
	n = rsp_real()->recvmsg(fd, msg, flags);
	if (n >= 0)
		hide_sender(msg->msg_name, &msg->msg_namelen);
	return n;
}

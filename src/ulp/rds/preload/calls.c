/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A call on any other descriptor goes to the function that this one replaces. All other calls - readiness, dup, fork,
 * close - reach the kernel's socket without this library.
 */
#include "ulp/rds/preload/calls.h"

#include "ulp/preload/told.h"
#include "ulp/rds/preload/address.h"
#include "ulp/rds/preload/ask.h"
#include "ulp/rds/preload/options.h"
#include "ulp/rds/preload/recv.h"
#include "ulp/rds/preload/send.h"
#include "ulp/rds/preload/sockets.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Calls the function behind this one, which is looked up once; several threads may write the same pointer. */
#define REAL(name, ...) \
	__extension__({ static _Atomic(__typeof__(name) *) real; \
			if (!real) \
				real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
			real(__VA_ARGS__); })

static ssize_t ret(ssize_t r)
{
	if (r >= 0)
		return r;
	errno = -rsp_told(RSP_OF_CALL, (int)r);
	return -1;
}

/* Of a call that gives a descriptor. */
static int ret_fd(int r)
{
	if (r >= 0)
		return r;
	errno = -r;
	return -1;
}

/* --- names --- */

RDS_EXPORT int socket(int family, int type, int protocol)
{
	int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (family != AF_RDS_FAMILY)
		return REAL(socket, family, type, protocol);
	return ret_fd(kind == SOCK_SEQPACKET && !protocol ? rds_socket(type) : -ESOCKTNOSUPPORT);
}

static int name_op(struct rds_request *q, enum rds_op op, const struct sockaddr *addr, socklen_t len)
{
	struct rds_answer a;
	int r = rds_address(addr, len, &q->addr);

	if (r == -EDESTADDRREQ && op == RDS_OP_BIND)
		r = -EINVAL;
	q->op = op;
	return r ? r : rds_ask(q, -1, &a, NULL);
}

RDS_EXPORT int bind(int fd, __CONST_SOCKADDR_ARG at, socklen_t len)
{
	const struct sockaddr *addr = at.__sockaddr__;
	struct rds_request q = { 0 };

	if (!rds_is_socket(fd, &q))
		return REAL(bind, fd, addr, len);
	return (int)ret(name_op(&q, RDS_OP_BIND, addr, len));
}

RDS_EXPORT int connect(int fd, __CONST_SOCKADDR_ARG at, socklen_t len)
{
	const struct sockaddr *addr = at.__sockaddr__;
	struct rds_request q = { 0 };

	if (!rds_is_socket(fd, &q))
		return REAL(connect, fd, addr, len);
	return (int)ret(name_op(&q, RDS_OP_CONNECT, addr, len));
}

RDS_EXPORT int getsockname(int fd, __SOCKADDR_ARG at, socklen_t *len)
{
	struct sockaddr *addr = at.__sockaddr__;
	struct rsp_addr local = { 0 };

	if (!addr || !len || !rds_is_socket(fd, NULL))
		return REAL(getsockname, fd, addr, len);
	rds_bound(fd, &local);
	rsp_addr_give(&local, addr, len);
	return 0;
}

RDS_EXPORT int getpeername(int fd, __SOCKADDR_ARG at, socklen_t *len)
{
	struct sockaddr *addr = at.__sockaddr__;
	struct rds_request q = { .op = RDS_OP_PEER };
	struct rds_answer a;
	int r;

	if (!addr || !len || !rds_is_socket(fd, &q))
		return REAL(getpeername, fd, addr, len);
	r = rds_ask(&q, -1, &a, NULL);
	if (!r)
		rsp_addr_give(&a.addr, addr, len);
	return (int)ret(r);
}

RDS_EXPORT int getsockopt(int fd, int level, int opt, void *val, socklen_t *len)
{
	struct rds_request q = { 0 };

	if (!rds_is_socket(fd, &q))
		return REAL(getsockopt, fd, level, opt, val, len);
	return (int)ret(rds_option_get(fd, &q, level, opt, val, len));
}

RDS_EXPORT int setsockopt(int fd, int level, int opt, const void *val, socklen_t len)
{
	struct rds_request q = { 0 };

	if (!rds_is_socket(fd, &q))
		return REAL(setsockopt, fd, level, opt, val, len);
	return (int)ret(rds_option_set(fd, &q, level, opt, val, len));
}

RDS_EXPORT int listen(int fd, int backlog)
{
	return rds_is_socket(fd, NULL) ? (int)ret(-EOPNOTSUPP) : REAL(listen, fd, backlog);
}

RDS_EXPORT int shutdown(int fd, int how)
{
	return rds_is_socket(fd, NULL) ? (int)ret(-EOPNOTSUPP) : REAL(shutdown, fd, how);
}

/* --- sending --- */

RDS_EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	return rds_is_socket(fd, NULL) ? ret(rds_send(fd, m, flags)) : REAL(sendmsg, fd, m, flags);
}

static ssize_t send_one(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct msghdr m = { .msg_name = (void *)(uintptr_t)to, .msg_namelen = to ? to_len : 0, .msg_iov = &iov,
			    .msg_iovlen = 1 };

	return ret(rds_send(fd, &m, flags));
}

RDS_EXPORT ssize_t sendto(int fd, const void *buf, size_t len, int flags, __CONST_SOCKADDR_ARG at, socklen_t to_len)
{
	const struct sockaddr *to = at.__sockaddr__;

	return rds_is_socket(fd, NULL) ? send_one(fd, buf, len, flags, to, to_len)
				       : REAL(sendto, fd, buf, len, flags, to, to_len);
}

RDS_EXPORT ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	return rds_is_socket(fd, NULL) ? send_one(fd, buf, len, flags, NULL, 0) : REAL(send, fd, buf, len, flags);
}

RDS_EXPORT ssize_t write(int fd, const void *buf, size_t len)
{
	return rds_is_socket(fd, NULL) ? send_one(fd, buf, len, 0, NULL, 0) : REAL(write, fd, buf, len);
}

RDS_EXPORT ssize_t writev(int fd, const struct iovec *iov, int nr)
{
	struct msghdr m = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = nr < 0 ? 0 : (size_t)nr };

	return rds_is_socket(fd, NULL) ? ret(rds_send(fd, &m, 0)) : REAL(writev, fd, iov, nr);
}

RDS_EXPORT int sendmmsg(int fd, struct mmsghdr *m, unsigned nr, int flags)
{
	ssize_t n = 0;
	unsigned i;

	if (!rds_is_socket(fd, NULL))
		return REAL(sendmmsg, fd, m, nr, flags);
	for (i = 0; i < nr; i++) {
		n = rds_send(fd, &m[i].msg_hdr, flags);
		if (n < 0)
			break;
		m[i].msg_len = (unsigned)n;
	}
	return i ? (int)i : (int)ret(n);
}

/* --- receiving --- */

RDS_EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t n;

	if (rds_is_socket(fd, NULL))
		return ret(rds_recv(fd, m, flags));
	n = REAL(recvmsg, fd, m, flags);
	/* A descriptor may have come with it. */
	if (n >= 0 && m->msg_controllen)
		rds_may_have_got();
	return n;
}

static ssize_t recv_one(int fd, void *buf, size_t len, int flags, struct sockaddr *from, socklen_t *from_len)
{
	struct iovec iov = { buf, len };
	struct msghdr m = { .msg_name = from, .msg_namelen = from && from_len ? *from_len : 0, .msg_iov = &iov,
			    .msg_iovlen = 1 };
	ssize_t n = rds_recv(fd, &m, flags);

	if (n >= 0 && from && from_len)
		*from_len = m.msg_namelen;
	return ret(n);
}

RDS_EXPORT ssize_t recvfrom(int fd, void *buf, size_t len, int flags, __SOCKADDR_ARG at, socklen_t *from_len)
{
	struct sockaddr *from = at.__sockaddr__;

	return rds_is_socket(fd, NULL) ? recv_one(fd, buf, len, flags, from, from_len)
				       : REAL(recvfrom, fd, buf, len, flags, from, from_len);
}

RDS_EXPORT ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	return rds_is_socket(fd, NULL) ? recv_one(fd, buf, len, flags, NULL, NULL) : REAL(recv, fd, buf, len, flags);
}

RDS_EXPORT ssize_t read(int fd, void *buf, size_t len)
{
	return rds_is_socket(fd, NULL) ? recv_one(fd, buf, len, 0, NULL, NULL) : REAL(read, fd, buf, len);
}

RDS_EXPORT ssize_t readv(int fd, const struct iovec *iov, int nr)
{
	struct msghdr m = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = nr < 0 ? 0 : (size_t)nr };

	return rds_is_socket(fd, NULL) ? ret(rds_recv(fd, &m, 0)) : REAL(readv, fd, iov, nr);
}

#define SECOND_NS 1000000000
#define LIMIT_MOST_S (INT64_MAX / SECOND_NS / 2)

static int64_t limit_ns(const struct timespec *t)
{
	return (t->tv_sec < LIMIT_MOST_S ? t->tv_sec : LIMIT_MOST_S) * SECOND_NS + t->tv_nsec;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return limit_ns(&t);
}

/* Leaves what is left of the time in the limit, as the kernel does. */
static bool time_is_over(struct timespec *limit, int64_t end)
{
	int64_t left = end - now_ns();

	left = left > 0 ? left : 0;
	*limit = (struct timespec){ left / SECOND_NS, left % SECOND_NS };
	return !left;
}

/* As recvmmsg(2): the limit of time is looked at after each message. */
RDS_EXPORT int recvmmsg(int fd, struct mmsghdr *m, unsigned nr, int flags, struct timespec *limit)
{
	int64_t end = 0;
	ssize_t n = 0;
	unsigned i;

	if (!rds_is_socket(fd, NULL))
		return REAL(recvmmsg, fd, m, nr, flags, limit);
	if (limit && (limit->tv_sec < 0 || limit->tv_nsec < 0 || limit->tv_nsec >= SECOND_NS))
		return (int)ret(-EINVAL);
	if (limit)
		end = now_ns() + limit_ns(limit);
	for (i = 0; i < nr; i++) {
		n = rds_recv(fd, &m[i].msg_hdr, flags & ~MSG_WAITFORONE);
		if (n < 0)
			break;
		m[i].msg_len = (unsigned)n;
		if (flags & MSG_WAITFORONE)
			flags |= MSG_DONTWAIT;
		if (limit && time_is_over(limit, end))
			return (int)i + 1;
	}
	return i ? (int)i : (int)ret(n);
}

/* What a program compiled with _FORTIFY_SOURCE calls in place of the ones above. */

_Noreturn void __chk_fail(void);
ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t room, int flags, __SOCKADDR_ARG at, socklen_t *from_len);
ssize_t __read_chk(int fd, void *buf, size_t len, size_t room);

RDS_EXPORT ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags)
{
	if (len > room)
		__chk_fail();
	return recv(fd, buf, len, flags);
}

RDS_EXPORT ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t room, int flags, __SOCKADDR_ARG at,
				  socklen_t *from_len)
{
	if (len > room)
		__chk_fail();
	return recvfrom(fd, buf, len, flags, at, from_len);
}

RDS_EXPORT ssize_t __read_chk(int fd, void *buf, size_t len, size_t room)
{
	if (len > room)
		__chk_fail();
	return read(fd, buf, len);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls for octets, and those that look at descriptors. glibc's own calls, as those of streams of stdio, do not come here: they go
 * by the stream of the kernel, and so does whatever this file does not know.
 */
#include "ulp/preload/calls.h"
#include "ulp/preload/real.h"
#include "ulp/preload/tap.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CALLER __builtin_return_address(0)

/* --- octets --- */

static bool get(int fd, const struct iovec *iov, size_t nr, int flags, ssize_t *ret)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = nr };

	return rsp_tap_has(fd) && rsp_tap_receive(fd, &msg, flags, ret);
}

static bool put(int fd, const struct iovec *iov, size_t nr, int flags, ssize_t *ret)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = nr };

	return rsp_tap_has(fd) && rsp_tap_send(fd, &msg, flags, ret);
}

RSP_EXPORT ssize_t read(int fd, void *buf, size_t size)
{
	struct iovec part = { buf, size };
	ssize_t n;

	return get(fd, &part, 1, 0, &n) ? n : rsp_real()->read(fd, buf, size);
}

RSP_EXPORT ssize_t readv(int fd, const struct iovec *iov, int nr)
{
	ssize_t n;

	return nr > 0 && get(fd, iov, (size_t)nr, 0, &n) ? n : rsp_real()->readv(fd, iov, nr);
}

RSP_EXPORT ssize_t recv(int fd, void *buf, size_t size, int flags)
{
	struct iovec part = { buf, size };
	ssize_t n;

	return get(fd, &part, 1, flags, &n) ? n : rsp_real()->recv(fd, buf, size, flags);
}

RSP_EXPORT ssize_t write(int fd, const void *buf, size_t size)
{
	struct iovec part = { (void *)(uintptr_t)buf, size };
	ssize_t n;

	return put(fd, &part, 1, 0, &n) ? n : rsp_real()->write(fd, buf, size);
}

RSP_EXPORT ssize_t writev(int fd, const struct iovec *iov, int nr)
{
	ssize_t n;

	return nr > 0 && put(fd, iov, (size_t)nr, 0, &n) ? n : rsp_real()->writev(fd, iov, nr);
}

RSP_EXPORT ssize_t send(int fd, const void *buf, size_t size, int flags)
{
	struct iovec part = { (void *)(uintptr_t)buf, size };
	ssize_t n;

	return put(fd, &part, 1, flags, &n) ? n : rsp_real()->send(fd, buf, size, flags);
}

/* A stream that is connected ignores the address. */
RSP_EXPORT ssize_t sendto(int fd, const void *buf, size_t size, int flags, __CONST_SOCKADDR_ARG at, socklen_t len)
{
	struct iovec part = { (void *)(uintptr_t)buf, size };
	ssize_t n;

	return put(fd, &part, 1, flags, &n) ? n : rsp_real()->sendto(fd, buf, size, flags, at.__sockaddr__, len);
}

RSP_EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t n;

	return rsp_tap_has(fd) && rsp_tap_send(fd, msg, flags, &n) ? n : rsp_real()->sendmsg(fd, msg, flags);
}

/* What programs call that were built with _FORTIFY_SOURCE. */
ssize_t __read_chk(int fd, void *buf, size_t size, size_t room);
ssize_t __recv_chk(int fd, void *buf, size_t size, size_t room, int flags);

RSP_EXPORT ssize_t __read_chk(int fd, void *buf, size_t size, size_t room)
{
	if (size > room)
		abort();
	return read(fd, buf, size);
}

RSP_EXPORT ssize_t __recv_chk(int fd, void *buf, size_t size, size_t room, int flags)
{
	if (size > room)
		abort();
	return recv(fd, buf, size, flags);
}

/* --- descriptors --- */

RSP_EXPORT int shutdown(int fd, int how)
{
	rsp_tap_share(fd);
	return rsp_real()->shutdown(fd, how);
}

RSP_EXPORT int close(int fd)
{
	rsp_tap_forget(fd);
	return rsp_real()->close(fd);
}

RSP_EXPORT int dup2(int from, int to)
{
	if (from != to)
		rsp_tap_forget(to);
	return rsp_real()->dup2(from, to);
}

RSP_EXPORT int dup3(int from, int to, int flags)
{
	rsp_tap_forget(to);
	return rsp_real()->dup3(from, to, flags);
}

/* How many octets wait is asked of the stream; what the connection has is given to it first. */
RSP_EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;
	char nothing;
	struct iovec part = { &nothing, 1 };
	ssize_t n;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (request == FIONREAD || request == SIOCATMARK)
		get(fd, &part, 1, MSG_PEEK, &n);
	return rsp_real()->ioctl(fd, request, arg);
}

RSP_EXPORT int poll(struct pollfd *fds, nfds_t nr, int ms)
{
	rsp_tap_release(CALLER);
	return rsp_real()->poll(fds, nr, ms);
}

RSP_EXPORT int ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *t, const sigset_t *mask)
{
	rsp_tap_release(CALLER);
	return rsp_real()->ppoll(fds, nr, t, mask);
}

RSP_EXPORT int select(int nr, fd_set *in, fd_set *out, fd_set *except, struct timeval *t)
{
	rsp_tap_release(CALLER);
	return rsp_real()->select(nr, in, out, except, t);
}

RSP_EXPORT int pselect(int nr, fd_set *in, fd_set *out, fd_set *except, const struct timespec *t, const sigset_t *mask)
{
	rsp_tap_release(CALLER);
	return rsp_real()->pselect(nr, in, out, except, t, mask);
}

RSP_EXPORT int epoll_wait(int epfd, struct epoll_event *events, int nr, int ms)
{
	rsp_tap_release(CALLER);
	return rsp_real()->epoll_wait(epfd, events, nr, ms);
}

RSP_EXPORT int epoll_pwait(int epfd, struct epoll_event *events, int nr, int ms, const sigset_t *mask)
{
	rsp_tap_release(CALLER);
	return rsp_real()->epoll_pwait(epfd, events, nr, ms, mask);
}

RSP_EXPORT void _exit(int status)
{
	rsp_tap_leave();
	rsp_real()->_exit(status);
}

RSP_EXPORT void _Exit(int status)
{
	rsp_tap_leave();
	rsp_real()->_Exit(status);
}

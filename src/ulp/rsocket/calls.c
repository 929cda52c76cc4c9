/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The exported calls: each takes a reference of the rsocket from the table, calls the function that
 * serves both types of socket, drops the reference, and turns a negative errno into -1 and errno. A
 * call that moves data becomes one with a scatter list.
 */
#include "ulp/rsocket/calls.h"
#include "ulp/rsocket/close.h"
#include "ulp/rsocket/dgram.h"
#include "ulp/rsocket/iomap.h"
#include "ulp/rsocket/listen.h"
#include "ulp/rsocket/options.h"
#include "ulp/rsocket/poll.h"
#include "ulp/rsocket/repoll.h"
#include "ulp/rsocket/socket.h"
#include "ulp/rsocket/stream.h"
#include "ulp/rsocket/table.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* Drops the reference of a call and returns its result. */
static int done(struct rs_sock *s, int r)
{
	rs_put(s);
	return (int)rs_ret(r);
}

RS_EXPORT int rsocket(int domain, int type, int protocol)
{
	return (int)rs_ret(rs_socket_make(domain, type, protocol));
}

RS_EXPORT int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct rs_sock *s = rs_get(socket);

	return s ? done(s, rs_socket_bind(s, addr, addrlen)) : (int)rs_ret(-EBADF);
}

RS_EXPORT int rlisten(int socket, int backlog)
{
	struct rs_sock *s = rs_get(socket);

	return s ? done(s, rs_listen(s, backlog)) : (int)rs_ret(-EBADF);
}

RS_EXPORT int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs_sock *s = rs_get(socket);
	int r = s ? done(s, rs_accept(s)) : (int)rs_ret(-EBADF);

	if (r >= 0 && addr && addrlen)
		rgetpeername(r, addr, addrlen);
	return r;
}

RS_EXPORT int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct rs_sock *s = rs_get(socket);

	return s ? done(s, rs_socket_connect(s, addr, addrlen)) : (int)rs_ret(-EBADF);
}

RS_EXPORT int rshutdown(int socket, int how)
{
	struct rs_sock *s = rs_get(socket);

	return s ? done(s, rs_shutdown(s, how)) : (int)rs_ret(-EBADF);
}

/* A descriptor inherited through fork() is closed without the rsocket, which is the parent's. */
RS_EXPORT int rclose(int socket)
{
	struct rs_sock *s = rs_get(socket);
	bool first;

	if (!s && rs_repoll_close(socket))
		return 0;
	if (!s)
		return rs_stale(socket) ? close(socket) : (int)rs_ret(-EBADF);
	first = rs_unpublish(s);
	rs_put(s);
	if (!first)
		return (int)rs_ret(-EBADF);
	rs_close(s);
	return done(s, 0);
}

RS_EXPORT int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs_sock *s = rs_get(socket);

	return s ? done(s, rs_socket_name(s, addr, addrlen)) : (int)rs_ret(-EBADF);
}

RS_EXPORT int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs_sock *s = rs_get(socket);

	return s ? done(s, rs_socket_peer(s, addr, addrlen)) : (int)rs_ret(-EBADF);
}

RS_EXPORT int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	struct rs_sock *s = rs_get(socket);

	return s ? done(s, rs_option_set(s, level, optname, optval, optlen)) : (int)rs_ret(-EBADF);
}

RS_EXPORT int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	struct rs_sock *s = rs_get(socket);

	return s ? done(s, rs_option_get(s, level, optname, optval, optlen)) : (int)rs_ret(-EBADF);
}

RS_EXPORT int rfcntl(int socket, int cmd, ...)
{
	struct rs_sock *s = rs_get(socket);
	va_list args;
	int arg = 0;

	if (!s)
		return (int)rs_ret(-EBADF);
	if (cmd == F_SETFL || cmd == F_SETFD) {
		va_start(args, cmd);
		arg = va_arg(args, int);
		va_end(args);
	}
	return done(s, rs_socket_control(s, cmd, arg));
}

RS_EXPORT int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	return (int)rs_ret(rs_poll(fds, nfds, timeout));
}

RS_EXPORT int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
		      struct timeval *timeout)
{
	return (int)rs_ret(rs_select(nfds, readfds, writefds, exceptfds, timeout));
}

/* Headers before rdma-core 65 do not declare these. */
int repoll_create(int flags);
int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);

RS_EXPORT int repoll_create(int flags)
{
	return (int)rs_ret(rs_repoll_create(flags));
}

RS_EXPORT int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	return (int)rs_ret(rs_repoll_ctl(epfd, op, fd, event));
}

RS_EXPORT int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
	return (int)rs_ret(rs_repoll_wait(epfd, events, maxevents, timeout));
}

RS_EXPORT off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	struct rs_sock *s = rs_get(socket);

	if (!s)
		return rs_ret(-EBADF);
	if (offset == -1)
		offset = (off_t)(uintptr_t)buf;
	return done(s, rs_map_add(s, buf, len, prot, (uint64_t)offset)) ? -1 : offset;
}

RS_EXPORT int riounmap(int socket, void *buf, size_t len)
{
	struct rs_sock *s = rs_get(socket);

	return s ? done(s, rs_map_remove(s, buf, len)) : (int)rs_ret(-EBADF);
}

RS_EXPORT size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	struct rs_sock *s = rs_get(socket);
	ssize_t r;

	if (!s)
		return (size_t)rs_ret(-EBADF);
	r = rs_map_write(s, buf, count, (uint64_t)offset, flags);
	rs_put(s);
	return (size_t)rs_ret(r);
}

static bool bad_iov(const struct iovec *iov, size_t nr)
{
	size_t sum = 0;

	if (nr > IOV_MAX || (nr && !iov))
		return true;
	for (size_t i = 0; i < nr; i++) {
		if (iov[i].iov_len > SSIZE_MAX - sum)
			return true;
		sum += iov[i].iov_len;
	}
	return false;
}

static ssize_t send_to(int socket, const struct iovec *iov, size_t nr, int flags,
		       const struct sockaddr *to, socklen_t tolen)
{
	struct rs_sock *s = rs_get(socket);
	ssize_t r;

	if (!s)
		return rs_ret(-EBADF);
	if (bad_iov(iov, nr))
		r = -EINVAL;
	else if (s->type == SOCK_DGRAM)
		r = rs_dgram_send(s, iov, (int)nr, flags, to, tolen);
	else if (to && tolen)
		r = -EISCONN;
	else
		r = rs_stream_send(s, iov, (int)nr, flags);
	rs_put(s);
	return rs_ret(r);
}

static ssize_t recv_from(int socket, const struct iovec *iov, size_t nr, int flags,
			 struct sockaddr *from, socklen_t *fromlen, int *ret_flags)
{
	struct rs_sock *s = rs_get(socket);
	ssize_t r;

	if (!s)
		return rs_ret(-EBADF);
	if (bad_iov(iov, nr))
		r = -EINVAL;
	else if (s->type == SOCK_DGRAM)
		r = rs_dgram_recv(s, iov, (int)nr, flags, from, fromlen, ret_flags);
	else
		r = rs_stream_recv(s, iov, (int)nr, flags);
	if (r >= 0 && s->type == SOCK_STREAM && from && fromlen)
		rs_name(from, fromlen, (struct sockaddr *)&s->peer);
	rs_put(s);
	return rs_ret(r);
}

RS_EXPORT ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	struct iovec iov = { (void *)buf, len };

	return send_to(socket, &iov, 1, flags, NULL, 0);
}

RS_EXPORT ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
			  const struct sockaddr *dest_addr, socklen_t addrlen)
{
	struct iovec iov = { (void *)buf, len };

	return send_to(socket, &iov, 1, flags, dest_addr, addrlen);
}

/* Ancillary data is not supported: to send some is refused, none is ever received. */
RS_EXPORT ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	if (!msg)
		return rs_ret(-EFAULT);
	if (msg->msg_control && msg->msg_controllen)
		return rs_ret(-ENOTSUP);
	return send_to(socket, msg->msg_iov, msg->msg_iovlen, flags, msg->msg_name,
		       msg->msg_name ? msg->msg_namelen : 0);
}

RS_EXPORT ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return rsend(socket, buf, count, 0);
}

RS_EXPORT ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	return send_to(socket, iov, iovcnt < 0 ? SIZE_MAX : (size_t)iovcnt, 0, NULL, 0);
}

RS_EXPORT ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	struct iovec iov = { buf, len };

	return recv_from(socket, &iov, 1, flags, NULL, NULL, NULL);
}

RS_EXPORT ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags,
			    struct sockaddr *src_addr, socklen_t *addrlen)
{
	struct iovec iov = { buf, len };

	return recv_from(socket, &iov, 1, flags, src_addr, addrlen, NULL);
}

RS_EXPORT ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	int out = 0;
	ssize_t r;

	if (!msg)
		return rs_ret(-EFAULT);
	r = recv_from(socket, msg->msg_iov, msg->msg_iovlen, flags, msg->msg_name,
		      msg->msg_name ? &msg->msg_namelen : NULL, &out);
	if (r >= 0) {
		msg->msg_controllen = 0;
		msg->msg_flags = out;
	}
	return r;
}

RS_EXPORT ssize_t rread(int socket, void *buf, size_t count)
{
	return rrecv(socket, buf, count, 0);
}

RS_EXPORT ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	return recv_from(socket, iov, iovcnt < 0 ? SIZE_MAX : (size_t)iovcnt, 0, NULL, NULL, NULL);
}

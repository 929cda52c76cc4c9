/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls that move data, for both types of socket; each becomes a scatter list. */
#include "ulp/rsocket/export.h"
#include "ulp/rsocket/dgram.h"
#include "ulp/rsocket/socket.h"
#include "ulp/rsocket/stream.h"
#include "ulp/rsocket/table.h"

#include <limits.h>
#include <string.h>

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

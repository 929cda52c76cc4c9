/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bytes in: copied out of the ring, whose halves are lent again as they empty. */
#include "ulp/rsocket/rs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static void scatter(const struct iovec *iov, size_t skip, const uint8_t *from, size_t len)
{
	size_t part;

	for (; len; iov++) {
		if (skip >= iov->iov_len) {
			skip -= iov->iov_len;
			continue;
		}
		part = iov->iov_len - skip;
		if (part > len)
			part = len;
		memcpy((uint8_t *)iov->iov_base + skip, from, part);
		from += part;
		len -= part;
		skip = 0;
	}
}

/* r_lock and lock held; the latter is given up while the bytes are copied: nobody else moves
 * r_head, and the peer was not lent what is ready. */
static uint32_t recv_ready(struct rs_sock *rs, const struct iovec *iov, size_t skip, size_t left,
			   bool peek)
{
	uint32_t len = left < rs->r_ready ? (uint32_t)left : rs->r_ready;
	uint32_t first = rs->size.rmem - rs->r_head;

	if (first > len)
		first = len;
	pthread_mutex_unlock(&rs->lock);
	scatter(iov, skip, rs->rbuf + rs->r_head, first);
	scatter(iov, skip + first, rs->rbuf, len - first);
	pthread_mutex_lock(&rs->lock);
	if (peek)
		return len;
	rs->r_head = first < len ? len - first : rs->r_head + first;
	if (rs->r_head == rs->size.rmem)
		rs->r_head = 0;
	rs->r_ready -= len;
	rs->r_freed += len;
	rs_credits(rs);
	return len;
}

static bool may_go_on(struct rs_sock *rs)
{
	return rs->r_ready || rs->closing || !rs->readable || rs->state == RS_IDLE ||
	       rs->state == RS_LISTENING;
}

static int wait_for_data(struct rs_sock *rs, bool nonblock)
{
	int rc, err;

	rs_look(rs, false);
	if (may_go_on(rs))
		return 0;
	pthread_mutex_unlock(&rs->r_lock);
	rc = rs_wait(rs, may_go_on, nonblock ? 0 : RS_FOREVER);
	err = errno;
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_lock(&rs->r_lock);
	pthread_mutex_lock(&rs->lock);
	errno = err;
	return rc;
}

/* There is nothing and will be nothing: 0 is the end of the stream. */
static int ended(struct rs_sock *rs)
{
	int err = rs->error;

	if (rs->state == RS_IDLE || rs->state == RS_LISTENING)
		return rs_fail(ENOTCONN);
	rs->error = 0;
	return err ? rs_fail(err) : 0;
}

ssize_t rs_recvv(struct rs_sock *rs, const struct iovec *iov, int n, int flags)
{
	bool nonblock = rs->nonblock || flags & MSG_DONTWAIT;
	bool peek = flags & MSG_PEEK, all = flags & MSG_WAITALL && !peek;
	ssize_t total = rs_iov_len(iov, n), done = 0;
	int rc = 0;

	if (total <= 0)
		return total;
	if (flags & MSG_OOB)
		return rs_fail(EOPNOTSUPP);
	pthread_mutex_lock(&rs->r_lock);
	pthread_mutex_lock(&rs->lock);
	while (done < total) {
		if (done && !all)
			rs_look(rs, false);
		else
			rc = wait_for_data(rs, nonblock);
		if (rc || (done && !all && !rs->r_ready))
			break;
		if (!rs->r_ready) {
			if (!rs->readable || rs->closing || rs->state <= RS_LISTENING) {
				rc = done ? 0 : ended(rs);
				break;
			}
			continue; /* another reader was quicker */
		}
		done += recv_ready(rs, iov, (size_t)done, (size_t)(total - done), peek);
		if (peek)
			break;
	}
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->r_lock);
	return done || !rc ? done : -1;
}

static ssize_t recv_any(int socket, const struct iovec *iov, int n, int flags,
			struct sockaddr *from, socklen_t *from_len, int *truncated)
{
	struct rs_sock *rs = rs_get(socket);
	ssize_t rc;

	if (!rs)
		return -1;
	if (rs->type == SOCK_DGRAM) {
		rc = rs_dg_recv(rs, iov, n, flags, from, from_len, truncated);
	} else {
		rc = rs_recvv(rs, iov, n, flags);
		if (rc >= 0 && from && from_len)
			rs_addr_out(&rs->peer.sa, from, from_len);
	}
	rs_put(rs);
	return rc;
}

RS_EXPORT ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	struct iovec iov = { buf, len };
	int truncated;

	return recv_any(socket, &iov, 1, flags, NULL, NULL, &truncated);
}

RS_EXPORT ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags,
			    struct sockaddr *src_addr, socklen_t *addrlen)
{
	struct iovec iov = { buf, len };
	int truncated;

	return recv_any(socket, &iov, 1, flags, src_addr, addrlen, &truncated);
}

RS_EXPORT ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	socklen_t *name_len = msg->msg_name ? &msg->msg_namelen : NULL;
	int truncated = 0;
	ssize_t rc;

	if (msg->msg_iovlen > IOV_MAX)
		return rs_fail(EMSGSIZE);
	rc = recv_any(socket, msg->msg_iov, (int)msg->msg_iovlen, flags, msg->msg_name, name_len,
		      &truncated);
	if (rc >= 0) {
		msg->msg_controllen = 0;
		msg->msg_flags = truncated ? MSG_TRUNC : 0;
	}
	return rc;
}

RS_EXPORT ssize_t rread(int socket, void *buf, size_t count)
{
	return rrecv(socket, buf, count, 0);
}

RS_EXPORT ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	int truncated;

	return recv_any(socket, iov, iovcnt, 0, NULL, NULL, &truncated);
}

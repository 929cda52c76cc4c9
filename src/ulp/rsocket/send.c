/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bytes out: copied to the sending ring, written to where the peer lent room, announced. */
#include "ulp/rsocket/rs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

ssize_t rs_iov_len(const struct iovec *iov, int n)
{
	size_t sum = 0;
	int i;

	if (n < 0 || n > IOV_MAX || (n && !iov))
		return rs_fail(EINVAL);
	for (i = 0; i < n; i++) {
		if (iov[i].iov_len > (size_t)SSIZE_MAX - sum)
			return rs_fail(EINVAL);
		sum += iov[i].iov_len;
	}
	return (ssize_t)sum;
}

/* Where in the program's vector we are. */
struct cursor {
	const struct iovec *iov;
	size_t off;
};

static void gather(uint8_t *to, struct cursor *c, size_t len)
{
	size_t part;

	for (; len; len -= part, to += part) {
		while (c->off == c->iov->iov_len) {
			c->iov++;
			c->off = 0;
		}
		part = c->iov->iov_len - c->off;
		if (part > len)
			part = len;
		memcpy(to, (const uint8_t *)c->iov->iov_base + c->off, part);
		c->off += part;
	}
}

/* A chunk no longer than this, so that several are under way in one ring. */
static uint32_t chunk_len(const struct rs_sock *rs, size_t left)
{
	uint32_t len = rs->size.smem / 4;

	if (len < RS_LOW)
		len = RS_LOW;
	if (len > RS_TRANSFER)
		len = RS_TRANSFER;
	if (len > rs->room.len)
		len = rs->room.len;
	if (len > rs->s_free)
		len = rs->s_free;
	return left < len ? (uint32_t)left : len;
}

int rs_ring_take(struct rs_sock *rs, uint32_t len, struct ibv_sge sge[2])
{
	uint32_t first = rs->size.smem - rs->s_head;

	if (first > len)
		first = len;
	sge[0] = (struct ibv_sge){ (uintptr_t)rs->sbuf + rs->s_head, first, rs->s_mr->lkey };
	sge[1] = (struct ibv_sge){ (uintptr_t)rs->sbuf, len - first, rs->s_mr->lkey };
	rs->s_head = first < len ? len - first : rs->s_head + first;
	if (rs->s_head == rs->size.smem)
		rs->s_head = 0;
	return first < len ? 2 : 1;
}

/* s_lock and lock held; the latter is given up while the bytes are copied. What may be written
 * only grows meanwhile. False: the connection is no longer what it was. */
static bool send_chunk(struct rs_sock *rs, struct cursor *c, uint32_t len)
{
	struct ibv_sge sge[2];
	struct rsp_sge to;
	int n;

	n = rs_ring_take(rs, len, sge);
	pthread_mutex_unlock(&rs->lock);
	gather((uint8_t *)(uintptr_t)sge[0].addr, c, sge[0].length);
	gather((uint8_t *)(uintptr_t)sge[1].addr, c, sge[1].length);
	pthread_mutex_lock(&rs->lock);
	if (rs->state != RS_OPEN || !rs->writable)
		return false;
	to = rs->room;
	rs->room.addr += len;
	rs->room.len -= len;
	if (!rs_post_write(rs, sge, n, to.addr, to.key, rsp_msg(RSP_DATA, len),
			   len <= rs->size.inline_len, len))
		return true;
	rs_over(rs, ECONNRESET);
	return false;
}

static bool may_go_on(struct rs_sock *rs)
{
	return rs->closing || !rs->writable || rs->state == RS_IDLE ||
	       rs->state == RS_LISTENING || (rs->state == RS_OPEN && rs_can_send(rs));
}

static int why_not(struct rs_sock *rs)
{
	int err = rs->error;

	rs->error = 0;
	if (err)
		return rs_fail(err);
	if (rs->state == RS_IDLE || rs->state == RS_LISTENING)
		return rs_fail(ENOTCONN);
	return rs_fail(rs->peer_done ? ECONNRESET : EPIPE);
}

/* Gives both locks up to sleep, so that another sender can be served or refused. */
static int wait_for_room(struct rs_sock *rs, bool nonblock)
{
	int rc, err;

	rs_look(rs, false);
	if (may_go_on(rs))
		return 0;
	pthread_mutex_unlock(&rs->s_lock);
	rc = rs_wait(rs, may_go_on, nonblock ? 0 : RS_FOREVER);
	err = errno;
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_lock(&rs->s_lock);
	pthread_mutex_lock(&rs->lock);
	errno = err;
	return rc;
}

ssize_t rs_sendv(struct rs_sock *rs, const struct iovec *iov, int n, int flags)
{
	bool nonblock = rs->nonblock || flags & MSG_DONTWAIT;
	ssize_t total = rs_iov_len(iov, n), done = 0;
	struct cursor c = { iov, 0 };
	uint32_t len;
	int rc = 0;

	if (total < 0)
		return -1;
	if (flags & MSG_OOB)
		return rs_fail(EOPNOTSUPP);
	pthread_mutex_lock(&rs->s_lock);
	pthread_mutex_lock(&rs->lock);
	do {
		rc = wait_for_room(rs, nonblock);
		if (rc)
			break;
		if (rs->state != RS_OPEN || !rs->writable || rs->closing) {
			rc = why_not(rs);
			break;
		}
		if (rs_iomap_pending(rs)) {
			rc = rs_iomap_flush(rs);
			continue;
		}
		if (!total || !rs_can_send(rs))
			continue;
		len = chunk_len(rs, (size_t)(total - done));
		if (send_chunk(rs, &c, len))
			done += len;
	} while (!rc && done < total);
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->s_lock);
	return done || !rc ? done : -1;
}

static ssize_t send_any(int socket, const struct iovec *iov, int n, int flags,
			const struct sockaddr *to, socklen_t to_len)
{
	struct rs_sock *rs = rs_get(socket);
	ssize_t rc;

	if (!rs)
		return -1;
	if (rs->type == SOCK_DGRAM)
		rc = rs_dg_send(rs, iov, n, flags, to, to_len);
	else
		rc = rs_sendv(rs, iov, n, flags);
	rs_put(rs);
	return rc;
}

RS_EXPORT ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return send_any(socket, &iov, 1, flags, NULL, 0);
}

RS_EXPORT ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
			  const struct sockaddr *dest_addr, socklen_t addrlen)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return send_any(socket, &iov, 1, flags, dest_addr, addrlen);
}

RS_EXPORT ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	if (msg->msg_control && msg->msg_controllen)
		return rs_fail(ENOTSUP);
	if (msg->msg_iovlen > IOV_MAX)
		return rs_fail(EMSGSIZE);
	return send_any(socket, msg->msg_iov, (int)msg->msg_iovlen, flags, msg->msg_name,
			msg->msg_namelen);
}

RS_EXPORT ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return rsend(socket, buf, count, 0);
}

RS_EXPORT ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	return send_any(socket, iov, iovcnt, 0, NULL, 0);
}

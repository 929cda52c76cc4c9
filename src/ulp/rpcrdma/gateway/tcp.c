/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/gateway/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define BACKLOG 64
#define RESERVED_FIRST 665      /* below 1024, above those of well-known services */
#define RESERVED_LAST 1023

int rpg_tcp_prepare(int fd)
{
	int one = 1;

	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)))
		return -errno;
	return 0;
}

/* NFS servers refuse other ports unless an export is "insecure". Without the right to it any port serves. */
static void bind_reserved(int fd, sa_family_t family)
{
	struct sockaddr_storage any = { .ss_family = family };
	unsigned nr = RESERVED_LAST - RESERVED_FIRST + 1, first = (unsigned)getpid() * 7u + (unsigned)fd;
	socklen_t len = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

	for (unsigned i = 0; i < nr; i++) {
		((struct sockaddr_in *)(void *)&any)->sin_port = htons((uint16_t)(RESERVED_FIRST + (first + i) % nr));
		if (!bind(fd, (struct sockaddr *)&any, len) || errno != EADDRINUSE)
			return;
	}
}

static int finish_connect(int fd, int timeout_ms)
{
	struct pollfd p = { fd, POLLOUT, 0 };
	int err = 0, r = poll(&p, 1, timeout_ms);
	socklen_t len = sizeof(err);

	if (r <= 0)
		return r ? -errno : -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len))
		return -errno;
	return -err;
}

int rpg_tcp_connect(const struct sockaddr_storage *to, socklen_t len, int timeout_ms)
{
	int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return -errno;
	bind_reserved(fd, to->ss_family);
	r = rpg_tcp_prepare(fd);
	if (!r && connect(fd, (const struct sockaddr *)to, len))
		r = errno == EINPROGRESS ? finish_connect(fd, timeout_ms) : -errno;
	if (!r)
		return fd;
	close(fd);
	return r;
}

int rpg_tcp_listen(struct sockaddr_storage *addr, socklen_t len)
{
	int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, r;

	if (fd < 0)
		return -errno;
	if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
	    !bind(fd, (struct sockaddr *)addr, len) && !listen(fd, BACKLOG) &&
	    !getsockname(fd, (struct sockaddr *)addr, &len))
		return fd;
	r = -errno;
	close(fd);
	return r;
}

void rpg_tcp_init(struct rpg_tcp *t, int fd, size_t max)
{
	*t = (struct rpg_tcp){ .fd = fd };
	rpg_record_init(&t->in, max);
}

void rpg_tcp_fini(struct rpg_tcp *t, struct rpr_conn *c)
{
	struct rpr_buf *b;

	if (c)
		rpr_conn_buf_put(c, t->in_buf);
	while ((b = t->out_first)) {
		t->out_first = b->next;
		rpr_conn_buf_put(c, b);
	}
	close(t->fd);
}

int rpg_tcp_read(struct rpg_tcp *t, struct rpr_conn *c, struct rpr_buf **ret)
{
	size_t want, at;
	ssize_t n;
	bool mark;
	int r;

	if (!t->in_buf)
		t->in_buf = rpr_conn_buf(c);
	if (!t->in_buf)
		return -ENOBUFS;
	do {
		want = rpg_record_want(&t->in, &mark, &at);
		n = read(t->fd, mark ? t->in.mark + at : t->in_buf->data + at, want);
		if (n <= 0)
			return n == 0 ? -EPIPE : errno == EAGAIN || errno == EINTR ? 0 : -errno;
		r = rpg_record_take(&t->in, (size_t)n);
	} while (!r);
	if (r < 0)
		return r;
	*ret = t->in_buf;
	t->in_buf = NULL;
	(*ret)->len = t->in.len;
	return 1;
}

void rpg_tcp_add(struct rpg_tcp *t, struct rpr_buf *buf)
{
	buf->next = NULL;
	if (t->out_first)
		t->out_last->next = buf;
	else
		t->out_first = buf;
	t->out_last = buf;
}

/* Returns the bytes written of the first message, or a negative errno. */
static ssize_t write_first(struct rpg_tcp *t)
{
	struct rpr_buf *b = t->out_first;
	size_t in_mark = t->out_done < RPG_MARK_LEN ? RPG_MARK_LEN - t->out_done : 0;
	size_t in_data = t->out_done > RPG_MARK_LEN ? t->out_done - RPG_MARK_LEN : 0;
	struct iovec v[2] = { { t->mark + RPG_MARK_LEN - in_mark, in_mark }, { b->data + in_data, b->len - in_data } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	ssize_t n;

	rpg_record_mark(t->mark, b->len);
	n = sendmsg(t->fd, &m, MSG_NOSIGNAL);
	return n < 0 ? -errno : n;
}

int rpg_tcp_write(struct rpg_tcp *t, struct rpr_conn *c)
{
	struct rpr_buf *b;
	ssize_t n;

	while ((b = t->out_first)) {
		n = write_first(t);
		if (n < 0)
			return n == -EAGAIN || n == -EINTR ? 0 : (int)n;
		t->out_done += (size_t)n;
		if (t->out_done < RPG_MARK_LEN + b->len)
			continue;
		t->out_first = b->next;
		t->out_done = 0;
		rpr_conn_buf_put(c, b);
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receiving from a stream: copy out of the receive ring what was announced, give back what was
 * read. What came before the end is read whatever ended the connection.
 */
#include "ulp/rsocket/sock.h"

#define EXPLAIN_MS 1000

/* With r and c held; c is released around each copy, which only r protects. */
static size_t copy_out(struct rs_sock *s, struct rs_cursor *cur, size_t want, bool peek)
{
	size_t done = 0;
	uint32_t n, at;

	while (done < want &&
	       (n = rs_flow_chunk(&s->flow, peek ? (uint32_t)done : 0, want - done, &at))) {
		pthread_mutex_unlock(&s->c);
		rs_cursor_in(cur, s->rbuf + at, n);
		pthread_mutex_lock(&s->c);
		if (!peek)
			rs_flow_read(&s->flow, n);
		done += n;
	}
	if (done && !peek)
		rs_cq_grant(s);
	return done;
}

/* Nothing there: 0 at the end, -EAGAIN before it, -EINPROGRESS while it is not known which end it
 * is, or the error, once. */
static int why_nothing(struct rs_sock *s)
{
	int err;

	if (s->shut_rd)
		return 0;
	if (s->flow.readable)
		return -EAGAIN;
	if (s->rd_open)
		return s->state >= RS_CONNECTED ? -EAGAIN : -ENOTCONN;
	if (s->unexplained)
		return -EINPROGRESS;
	err = rs_take_err(s);
	return err ? -err : s->state == RS_REFUSED ? -ENOTCONN : 0;
}

static ssize_t recv_some(struct rs_sock *s, struct rs_cursor *cur, size_t want, bool peek)
{
	ssize_t n;

	pthread_mutex_lock(&s->r);
	pthread_mutex_lock(&s->c);
	if (!s->flow.readable)
		rs_cq_drive(s);
	n = s->shut_rd ? 0 : (ssize_t)copy_out(s, cur, want, peek);
	if (!n)
		n = why_nothing(s);
	pthread_mutex_unlock(&s->c);
	pthread_mutex_unlock(&s->r);
	return n;
}

static bool test_explained(struct rs_sock *s)
{
	return !s->unexplained;
}

/* The identifier's event comes right behind the flushed requests: this is no wait on the peer. */
static void explain(struct rs_sock *s)
{
	rs_conn_look(s, true);
	if (!rs_wait(s, test_explained, false, EXPLAIN_MS))
		return;
	pthread_mutex_lock(&s->c);
	rs_conn_explained(s, 0);
	pthread_mutex_unlock(&s->c);
}

ssize_t rs_stream_recv(struct rs_sock *s, const struct iovec *iov, int nr, int flags)
{
	struct rs_cursor cur = { .iov = iov };
	size_t len = rs_iov_length(iov, nr), done = 0;
	bool nowait = rs_nowait(s, flags);
	ssize_t r;

	if (flags & (MSG_OOB | MSG_ERRQUEUE))
		return flags & MSG_OOB ? -EINVAL : -EAGAIN;
	r = rs_conn_wait(s, flags);
	if (r)
		return r;
	if (!len)
		return 0;
	for (;;) {
		r = recv_some(s, &cur, len - done, flags & MSG_PEEK);
		if (r > 0)
			done += (size_t)r;
		else if (r != -EAGAIN && (r != -EINPROGRESS || done))
			break;
		if (done == len || (done && (!(flags & MSG_WAITALL) || flags & MSG_PEEK || nowait)))
			break;
		if (r == -EINPROGRESS)
			explain(s);
		if (r > 0 || r == -EINPROGRESS)
			continue;
		r = rs_wait(s, rs_test_read, nowait, -1);
		if (r)
			break;
	}
	return done ? (ssize_t)done : r;
}

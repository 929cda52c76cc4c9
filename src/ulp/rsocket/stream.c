/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sending copies data into the send ring (or inline), writes it to the peer and announces it. The
 * first piece of a large send is small and each next one twice as large, so that the transfer
 * starts early.
 *
 * Receiving copies announced data out of the receive ring and grants the peer the bytes that were
 * read. Data that arrived before the end is read first, whatever ended the connection.
 */
#include "ulp/rsocket/stream.h"
#include "ulp/rsocket/conn.h"
#include "ulp/rsocket/cq.h"
#include "ulp/rsocket/iomap.h"
#include "ulp/rsocket/post.h"
#include "ulp/rsocket/wait.h"

#include <string.h>

#define INLINE_MAX 512u
#define EXPLAIN_MS 1000

int rs_send_ready(struct rs_sock *s)
{
	int err;

	if (s->state == RS_CONNECTED)
		return s->wr_open ? 0 : -EPIPE;
	if (s->state < RS_CONNECTED)
		return -ENOTCONN;
	err = rs_take_err(s);
	return err ? -err : s->state == RS_REFUSED ? -ENOTCONN : -ECONNRESET;
}

int rs_send_piece(struct rs_sock *s, const struct rs_piece *piece, const void *inl_data,
		  uint32_t msg, bool message, uint64_t remote, uint32_t key)
{
	uint32_t ring = piece->part[0] + piece->part[1];
	struct ibv_sge sg[2];
	int nr = 0, r, flags = ring ? 0 : IBV_SEND_INLINE;

	if (!ring)
		sg[nr++] = (struct ibv_sge){ (uintptr_t)inl_data, piece->length, 0 };
	for (int i = 0; i < 2 && piece->part[i]; i++)
		sg[nr++] = (struct ibv_sge){ (uintptr_t)s->sbuf + piece->at[i], piece->part[i],
					     s->smr->lkey };
	pthread_mutex_lock(&s->c);
	if (message)
		r = rs_post_write_message(s, sg, nr, msg, RS_WR_DATA | ring, remote, key, flags);
	else
		r = rs_post_write(s, sg, nr, RS_WR_DATA | ring, remote, key, flags);
	if (r) {
		if (s->state == RS_CONNECTED)
			rs_end(s, RS_BROKEN, -r);
		r = rs_send_ready(s);
	}
	pthread_mutex_unlock(&s->c);
	return r;
}

static int send_some(struct rs_sock *s, struct rs_cursor *cur, size_t want, uint32_t *ret_sent)
{
	uint8_t small[INLINE_MAX];
	uint32_t inl = s->inl < INLINE_MAX ? s->inl : INLINE_MAX;
	struct rs_piece piece;
	int r;

	pthread_mutex_lock(&s->c);
	if (!rs_flow_can_send(&s->flow))
		rs_cq_drive(s);
	r = rs_send_ready(s);
	if (!r && !rs_flow_can_send(&s->flow))
		r = -EAGAIN;
	if (!r)
		rs_flow_take(&s->flow, want, inl, &piece);
	pthread_mutex_unlock(&s->c);
	if (r)
		return r;
	if (piece.length <= inl)
		rs_cursor_out(cur, small, piece.length);
	for (int i = 0; i < 2; i++)
		rs_cursor_out(cur, s->sbuf + piece.at[i], piece.part[i]);
	*ret_sent = piece.length;
	return rs_send_piece(s, &piece, small, rs_msg(RS_OP_DATA, piece.length), true,
			     piece.remote, piece.key);
}

ssize_t rs_stream_send(struct rs_sock *s, const struct iovec *iov, int nr, int flags)
{
	struct rs_cursor cur = { .iov = iov };
	size_t len = rs_iov_length(iov, nr), done = 0, step = RS_SEND_FIRST;
	bool nowait = rs_nowait(s, flags);
	uint32_t sent;
	int r;

	if (flags & MSG_OOB)
		return -EOPNOTSUPP;
	r = rs_conn_wait(s, flags);
	if (r)
		return r;
	pthread_mutex_lock(&s->s);
	if (atomic_load(&s->maps_pending))
		r = rs_maps_send(s, nowait);
	while (!r && done < len) {
		r = send_some(s, &cur, len - done < step ? len - done : step, &sent);
		if (!r) {
			done += sent;
			step = step < RS_SEND_MAX ? step * 2 : step;
		} else if (r == -EAGAIN && !(nowait && done)) {
			pthread_mutex_unlock(&s->s);
			r = rs_wait(s, rs_test_write, nowait, -1);
			pthread_mutex_lock(&s->s);
		}
	}
	pthread_mutex_unlock(&s->s);
	return done ? (ssize_t)done : r;
}

/* Called with r and c held; c is released around each copy, which r alone protects. */
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

/*
 * No data is readable: returns -EAGAIN before the end of the stream, -EINPROGRESS while the cause of
 * the end is unknown, 0 at an end in order, else the error, once.
 */
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

/* The identifier's event follows the flushed requests at once, without an action of the peer. */
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

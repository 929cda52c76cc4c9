/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sending on a stream: copy into the send ring (or inline), write to the peer, announce. The first
 * piece of a large send is small and each next one twice as large, so that the wire starts early.
 */
#include "ulp/rsocket/sock.h"

#include <string.h>

#define INLINE_MAX 512u

size_t rs_iov_length(const struct iovec *iov, int nr)
{
	size_t sum = 0;

	for (int i = 0; i < nr; i++)
		sum += iov[i].iov_len;
	return sum;
}

static size_t run(struct rs_cursor *cur, size_t len)
{
	while (cur->at == cur->iov->iov_len) {
		cur->iov++;
		cur->at = 0;
	}
	return cur->iov->iov_len - cur->at < len ? cur->iov->iov_len - cur->at : len;
}

void rs_cursor_out(struct rs_cursor *cur, void *to, size_t len)
{
	for (uint8_t *p = to; len;) {
		size_t n = run(cur, len);

		memcpy(p, (const uint8_t *)cur->iov->iov_base + cur->at, n);
		cur->at += n;
		p += n;
		len -= n;
	}
}

void rs_cursor_in(struct rs_cursor *cur, const void *from, size_t len)
{
	for (const uint8_t *p = from; len;) {
		size_t n = run(cur, len);

		memcpy((uint8_t *)cur->iov->iov_base + cur->at, p, n);
		cur->at += n;
		p += n;
		len -= n;
	}
}

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

/* Copies are made by the caller; c is taken here. Inline data is the caller's until then. */
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

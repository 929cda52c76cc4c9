/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sending. What the kernel does not take stays with the user. */
#include "link/tcp/tx.h"

#include "link/tcp/poll.h"
#include "link/tcp/sock.h"
#include "util/clock.h"
#include "util/syscall.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#define ROOM_LEAST (16u * 1024) /* less is not worth asking the kernel for */
#define MSS_KEEP (10 * UT_MS)
#define MSS_DEFAULT 536         /* RFC 9293 3.7.1, until the kernel knows better */

static void blocked(struct tcp_stream *s)
{
	s->blocked = true;
	s->credit = 0;
	tcp_watch_stream(s);
}

/*
 * The reason is kept: the kernel tells it once, and a later read only sees the
 * end. What had come before is read first, unless the user does not read.
 */
static void broken(struct tcp_stream *s, int error)
{
	s->blocked = false;
	if (!s->error && error != EPIPE)
		s->error = error;
	if (s->rx_over || s->paused) {
		s->error = s->error ? s->error : error;
		s->news = !s->told;
		s->rx_over = true;
		tcp_todo(s);
	}
	tcp_watch_stream(s);
}

ssize_t tcp_send(struct link_stream *l, const void *data, size_t len)
{
	struct tcp_stream *s = tcp_stream_of(l);
	long n;

	if (s->state != TCP_S_OPEN)
		return s->state == TCP_S_CONNECTING ? -ENOTCONN : -EPIPE;
	n = UT_SYS(SYS_sendto, s->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
	if (n == -EAGAIN || n == -ENOBUFS) {
		blocked(s);
		return -EAGAIN;
	}
	if (n < 0) {
		broken(s, (int)-n);
		return n;
	}
	s->credit -= s->credit < (size_t)n ? s->credit : (size_t)n;
	if ((size_t)n < len)
		blocked(s);
	return n;
}

/*
 * The kernel counts memory, not payload, and grows the buffer by itself: half
 * of it in payload is safe. Asked again only when the last answer is used up,
 * so that small messages do not pay.
 */
size_t tcp_room(struct link_stream *l)
{
	struct tcp_stream *s = tcp_stream_of(l);
	size_t buffer, queued;

	if (s->state != TCP_S_OPEN || s->blocked)
		return 0;
	if (s->credit >= ROOM_LEAST)
		return s->credit;
	buffer = (size_t)tcp_sock_number(s->fd, SOL_SOCKET, SO_SNDBUF, ROOM_LEAST);
	queued = tcp_sock_unacked(s->fd);
	s->credit = buffer > queued ? (buffer - queued) / 2 : 0;
	return s->credit > ROOM_LEAST ? s->credit : ROOM_LEAST;
}

uint32_t tcp_mss(struct link_stream *l)
{
	struct tcp_stream *s = tcp_stream_of(l);
	uint64_t now = tcp_place_of(s)->now;
	int mss;

	if (s->fd < 0)
		return MSS_DEFAULT;
	/* It follows the path's MTU and the options in use, which change seldom; and half of the
	 * largest window seen, which on loopback starts below what the MTU would allow. */
	if (s->mss && now - s->mss_at < MSS_KEEP)
		return s->mss;
	mss = tcp_sock_number(s->fd, IPPROTO_TCP, TCP_MAXSEG, MSS_DEFAULT);
	s->mss = mss > 0 ? (uint32_t)mss : MSS_DEFAULT;
	s->mss_at = now;
	return s->mss;
}

bool tcp_drained(struct link_stream *l)
{
	struct tcp_stream *s = tcp_stream_of(l);

	return s->fd < 0 || tcp_sock_unacked(s->fd) == 0;
}

void tcp_shutdown(struct link_stream *l)
{
	struct tcp_stream *s = tcp_stream_of(l);

	if (s->state == TCP_S_OPEN)
		UT_SYS(SYS_shutdown, s->fd, SHUT_WR);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Long payload goes from the socket to the application without a second copy of ours: its user
 * says what one look should show, the look leaves the bytes in the socket, and what was found
 * right is read once more, now to where it belongs. The kernel's second copy finds the bytes in the
 * cache, and the user may check all of a frame before anything of it is placed.
 *
 * The user never acts on bytes of the second reading: the headers and what lies around the
 * payload were taken from the first, whatever a peer on this host does to pages that it
 * spliced into the stream.
 */
#include "link/tcp/local.h"

#include "link/sys.h"

#define ASIDE 256 /* bytes around the payload that are read into the void with it */

/* Bytes that were shown leave the socket. */
static void forget(struct tcp_stream *s, size_t n)
{
	struct tcp_link *p = tcp_link_of(s);

	while (n && p->peek_at < p->peek_end) {
		/* Nothing is written there; checkers want an address. */
		long r = LINK_SYS(SYS_recvfrom, s->fd, p->stage.base + p->peek_at, n,
				  MSG_DONTWAIT | MSG_TRUNC, NULL, NULL);

		if (r <= 0) {
			/* They would be shown twice. */
			p->peek_at = p->peek_end;
			s->rx_over = s->news = true;
			s->error = r < 0 && r != -EAGAIN ? (int)-r : EIO;
			tcp_todo(s);
			return;
		}
		p->peek_at += (size_t)r;
		n -= (size_t)r < n ? (size_t)r : n;
	}
}

void tcp_settle(struct tcp_stream *s)
{
	struct tcp_link *p = tcp_link_of(s);

	if (s->state == TCP_S_OPEN)
		forget(s, p->peek_end - p->peek_at);
	p->peek_at = p->peek_end = 0;
}

bool tcp_take(struct link_stream *l, size_t off, const struct iovec *iov, int n, size_t len)
{
	struct tcp_stream *s = tcp_stream_of(l);
	struct tcp_link *p = tcp_link_of(s);
	uint8_t before[ASIDE], behind[ASIDE];
	struct iovec v[LINK_TAKE_IOV + 2];
	struct msghdr m = { .msg_iov = v, .msg_iovlen = (size_t)n + 1 };
	size_t gap, rest;
	long r;

	if (s->state != TCP_S_OPEN || s->rx_over || n > LINK_TAKE_IOV || off < p->peek_at ||
	    off + len > p->peek_end)
		return false;
	if (off - p->peek_at > ASIDE)
		forget(s, off - p->peek_at);
	if (s->rx_over)
		return false;
	gap = off - p->peek_at;
	v[0] = (struct iovec){ before, gap };
	for (int i = 0; i < n; i++)
		v[i + 1] = iov[i];
	rest = p->peek_end - off - len;
	if (rest <= ASIDE)
		v[m.msg_iovlen++] = (struct iovec){ behind, rest };
	else
		rest = 0;
	r = LINK_SYS(SYS_recvmsg, s->fd, &m, MSG_DONTWAIT);
	if (r > 0)
		p->peek_at += (size_t)r;
	return r == (long)(gap + len + rest);
}

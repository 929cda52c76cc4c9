/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One recv() into the stage, then the user consumes what it can. A rest (part of a frame) stays in
 * the stage as long as this stream is the next to be read, and the next bytes follow it; when
 * another stream needs the stage the rest is copied to memory of its own. So a single busy stream
 * is never copied, and a thousand quiet ones hold no memory.
 *
 * Long payload goes from the socket to the application without a second copy here: its user says
 * how much one look should show, the look leaves the bytes in the socket, and bytes that passed the
 * checks are read once more, now to their destination (take). The kernel's second copy finds them
 * in the cache, and the user may check all of a frame before any of it is placed.
 *
 * The user never acts on bytes of the second reading: the headers and the bytes around the payload
 * were taken from the first, whatever a peer on this host does to pages that it spliced into the
 * stream.
 */
#include "link/tcp/bytes.h"

#include "link/tcp/mute.h"
#include "link/tcp/poll.h"
#include "link/tcp/silence.h"
#include "link/tcp/sock.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/syscall.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#define READ_LEAST (64u * 1024) /* room for one read, or the rest moves to the front */
#define READ_MOST (512u * 1024) /* of one stream in one poll() */
#define ASIDE 256 /* bytes around the payload that are read and dropped with it */

static void evict(struct tcp_place *p)
{
	struct tcp_stream *s = p->owner;

	p->owner = NULL;
	if (!s || !p->rest_len)
		return;
	s->carry = ut_malloc(p->rest_len);
	if (s->carry) {
		memcpy(s->carry, p->stage.base + p->rest_off, p->rest_len);
		s->carry_len = p->rest_len;
		return;
	}
	/* Bytes are lost, so the stream fails. */
	s->rx_over = s->news = true;
	s->error = ENOMEM;
	tcp_todo(s);
}

static bool may_read(const struct tcp_stream *s)
{
	return s->state == TCP_S_OPEN && !s->paused && !s->rx_over && s->base.user_ops;
}

/* The rest of s, if any, lies in the stage. */
static void own(struct tcp_place *p, struct tcp_stream *s)
{
	if (p->owner == s)
		return;
	evict(p);
	p->owner = s;
	p->rest_off = 0;
	p->rest_len = s->carry_len;
	if (s->carry)
		memcpy(p->stage.base, s->carry, s->carry_len);
	free(s->carry);
	s->carry = NULL;
	s->carry_len = 0;
}

static void keep(struct tcp_place *p, struct tcp_stream *s, size_t off, size_t len)
{
	p->owner = len ? s : NULL;
	p->rest_off = off;
	p->rest_len = len;
}

void tcp_tell_closed(struct tcp_stream *s, int error)
{
	s->rx_over = true;
	tcp_poll_remove(s);
	if (s->told || !s->base.user_ops)
		return;
	s->told = true;
	s->base.user_ops->closed(&s->base, error, tcp_place_of(s)->now);
}

/* The stage is the callee's while a callback runs: no other stream is read in between. */
static void show(struct tcp_stream *s, size_t off, size_t len)
{
	struct tcp_place *p = tcp_place_of(s);
	bool stuck = false;

	p->owner = NULL;
	while (len && may_read(s)) {
		const struct link_stream_user *ops = s->base.user_ops;
		void *user = s->base.user;
		size_t used;

		used = ops->received(&s->base, p->stage.base + off, off, len, p->now);
		if (s->state != TCP_S_OPEN)
			return;
		off += used;
		len -= used;
		if (ops == s->base.user_ops && user == s->base.user) {
			stuck = !used && len >= LINK_STREAM_KEEP && !s->paused;
			break;
		}
	}
	keep(p, s, off, len);
	if (stuck)
		tcp_tell_closed(s, EMSGSIZE);
}

void tcp_show_rest(struct tcp_stream *s)
{
	struct tcp_place *p = tcp_place_of(s);

	if (!may_read(s) || (!s->carry_len && p->owner != s))
		return;
	own(p, s);
	show(s, p->rest_off, p->rest_len);
}

/* Removes bytes that were shown from the socket. */
static void forget(struct tcp_stream *s, size_t n)
{
	struct tcp_place *p = tcp_place_of(s);

	while (n && p->peek_at < p->peek_end) {
		/* Nothing is written there; memory checkers want an address. */
		long r = UT_SYS(SYS_recvfrom, s->fd, p->stage.base + p->peek_at, n,
				  MSG_DONTWAIT | MSG_TRUNC, NULL, NULL);

		if (r <= 0) {
			/* The bytes would be shown twice. */
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

static void settle(struct tcp_stream *s)
{
	struct tcp_place *p = tcp_place_of(s);

	if (s->state == TCP_S_OPEN)
		forget(s, p->peek_end - p->peek_at);
	p->peek_at = p->peek_end = 0;
}

/* One read behind the rest. Returns as recv(); *ret_full: there may be more. */
static long read_once(struct tcp_stream *s, bool *ret_full)
{
	struct tcp_place *p = tcp_place_of(s);
	size_t end, room;
	bool peek;
	long n;

	own(p, s);
	if (!p->rest_len)
		p->rest_off = 0;
	if (p->stage.size - (p->rest_off + p->rest_len) < READ_LEAST) {
		memmove(p->stage.base, p->stage.base + p->rest_off, p->rest_len);
		p->rest_off = 0;
	}
	end = p->rest_off + p->rest_len;
	room = p->stage.size - end;
	if (!room)
		return -EMSGSIZE;
	peek = s->base.want > p->rest_len;
	if (peek && s->base.want - p->rest_len < room)
		room = s->base.want - p->rest_len;
	n = UT_SYS(SYS_recvfrom, s->fd, p->stage.base + end, room,
		     MSG_DONTWAIT | (peek ? MSG_PEEK : 0), NULL, NULL);
	*ret_full = n == (long)room;
	if (n <= 0) {
		keep(p, s, p->rest_off, p->rest_len);
		return n;
	}
	if (peek) {
		p->peek_at = end;
		p->peek_end = end + (size_t)n;
	}
	show(s, p->rest_off, p->rest_len + (size_t)n);
	if (peek)
		settle(s);
	return n;
}

/* Its bytes stay in the kernel until a user takes them. */
static void wait_for_user(struct tcp_stream *s)
{
	if (s->base.user_ops || s->state != TCP_S_OPEN)
		return;
	tcp_poll_remove(s);
	if (ut_list_empty(&s->idle_node))
		ut_list_add_tail(&tcp_place_of(s)->unclaimed, &s->idle_node);
}

/*
 * Streams of the poll set are read out of turn, and epoll reports events out of turn, too; so an
 * end is told when the other streams have been asked. A peer that closes one connection after it
 * began another one is then seen in that order, as programs expect that count connections as they
 * come and go.
 */
static void over(struct tcp_stream *s, int error)
{
	s->rx_over = s->news = true;
	s->error = error;
	tcp_poll_remove(s);
	/* An end that waits for its turn is not told by the list of due work. */
	if (!ut_list_empty(&s->todo_node))
		ut_list_del(&s->todo_node);
	ut_list_add_tail(&tcp_place_of(s)->over, &s->todo_node);
}

int tcp_read_stream(struct tcp_stream *s)
{
	bool more = true;
	size_t sum = 0;
	int done = 0;

	if (!s->base.user_ops)
		wait_for_user(s);
	while (sum < READ_MOST && more && may_read(s)) {
		long n = read_once(s, &more);

		if (n == -EAGAIN)
			break;
		done++;
		if (n <= 0) {
			/* A failed send may have been given the reason before this call. */
			over(s, n < 0 ? (int)-n : s->error);
			break;
		}
		sum += (size_t)n;
		if (s->state == TCP_S_OPEN && !s->base.seldom) {
			tcp_poll_add(s);
			tcp_used(s);
		}
	}
	if (s->state == TCP_S_OPEN)
		tcp_watch_stream(s);
	return done;
}

int tcp_read(struct link_stream *l)
{
	struct tcp_stream *s = tcp_stream_of(l);

	return s->state == TCP_S_OPEN ? tcp_read_stream(s) : 0;
}

void tcp_pause(struct link_stream *l, bool on)
{
	struct tcp_stream *s = tcp_stream_of(l);

	if (s->paused == on || s->state == TCP_S_DEAD || s->state == TCP_S_DRAINING)
		return;
	s->paused = on;
	if (on)
		tcp_poll_remove(s);
	else if (s->carry_len || tcp_place_of(s)->owner == s)
		tcp_todo(s);
	tcp_watch_stream(s);
}

/* --- take --- */

bool tcp_take(struct link_stream *l, size_t off, const struct iovec *iov, int n, size_t len)
{
	struct tcp_stream *s = tcp_stream_of(l);
	struct tcp_place *p = tcp_place_of(s);
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
	r = UT_SYS(SYS_recvmsg, s->fd, &m, MSG_DONTWAIT);
	if (r > 0)
		p->peek_at += (size_t)r;
	return r == (long)(gap + len + rest);
}

/* --- sending --- */

/* Bytes that the kernel does not take stay with the user. */

#define ROOM_LEAST (16u * 1024) /* less is not worth asking the kernel for */
#define MSS_KEEP (10 * UT_MS)
#define MSS_DEFAULT 536         /* RFC 9293 3.7.1, until the kernel knows better */

static void blocked(struct tcp_stream *s)
{
	s->blocked = true;
	s->credit = 0;
	tcp_watch_stream(s);
}

/* The reason is stored: the kernel tells it once, and a later read sees only the end. Bytes that
 * came before are read first, unless the user does not read. */
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
	n = UT_SYS(SYS_sendto, s->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL | (l->whole ? MSG_EOR : 0), NULL, 0);
	if (n == -EAGAIN || n == -ENOBUFS) {
		blocked(s);
		return -EAGAIN;
	}
	if (n < 0) {
		broken(s, (int)-n);
		return n;
	}
	if (s->asks && ut_list_empty(&s->flight_node))
		tcp_silence_sent(s);
	s->credit -= s->credit < (size_t)n ? s->credit : (size_t)n;
	if ((size_t)n < len)
		blocked(s);
	return n;
}

/*
 * The kernel counts memory, not payload, and grows the buffer by itself: half of it is safe for
 * payload. It is asked again only when the last answer is used up, so that small messages cost no
 * call.
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
	/* The segment size follows the path's MTU and the options in use, which change seldom; and
	 * half of the largest window seen, which on loopback starts below the MTU's value. */
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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receiving: one recv() into the stage, then the user takes what it can. A rest
 * (half a frame) stays where it is as long as this stream is the next to be
 * read, and the next bytes come behind it; only when another stream needs the
 * stage is it copied to memory of its own. So a single busy stream is never
 * copied, and a thousand quiet ones hold no memory.
 */
#include "link/tcp/local.h"

#include "link/sys.h"
#include "util/alloc.h"

#include <stdlib.h>
#include <string.h>

void tcp_evict(struct tcp_link *p)
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
	/* Bytes are lost, so the stream is. */
	s->rx_over = s->news = true;
	s->error = ENOMEM;
	tcp_todo(s);
}

/* The rest of s, if any, lies in the stage. */
static void own(struct tcp_link *p, struct tcp_stream *s)
{
	if (p->owner == s)
		return;
	tcp_evict(p);
	p->owner = s;
	p->rest_off = 0;
	p->rest_len = s->carry_len;
	if (s->carry)
		memcpy(p->stage.base, s->carry, s->carry_len);
	free(s->carry);
	s->carry = NULL;
	s->carry_len = 0;
}

static void keep(struct tcp_link *p, struct tcp_stream *s, size_t off, size_t len)
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
	s->base.user_ops->closed(&s->base, error, tcp_link_of(s)->now);
}

/* The stage is the callee's while a callback runs: nobody else reads in between. */
static void show(struct tcp_stream *s, size_t off, size_t len)
{
	struct tcp_link *p = tcp_link_of(s);
	bool stuck = false;

	p->owner = NULL;
	while (len && tcp_may_read(s)) {
		const struct link_stream_user *ops = s->base.user_ops;
		void *user = s->base.user;
		size_t used;

		/* Who has sent this by TCP has chosen. */
		if (s->way != TCP_W_WIRE)
			tcp_to_wire(s);
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
	struct tcp_link *p = tcp_link_of(s);

	if (!tcp_may_read(s) || s->way == TCP_W_LOCAL || (!s->carry_len && p->owner != s))
		return;
	own(p, s);
	show(s, p->rest_off, p->rest_len);
}

/* One read behind the rest. Returns what recv() said; *ret_full: there may be more. */
static long read_once(struct tcp_stream *s, bool *ret_full)
{
	struct tcp_link *p = tcp_link_of(s);
	size_t end, room;
	bool peek;
	long n;

	own(p, s);
	if (!p->rest_len)
		p->rest_off = 0;
	if (p->stage.size - (p->rest_off + p->rest_len) < TCP_READ_LEAST) {
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
	n = LINK_SYS(SYS_recvfrom, s->fd, p->stage.base + end, room,
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
		tcp_settle(s);
	return n;
}

/* Its bytes wait in the kernel until somebody is there to take them. */
static void orphan(struct tcp_stream *s)
{
	if (s->base.user_ops || s->state != TCP_S_OPEN)
		return;
	tcp_poll_remove(s);
	if (ut_list_empty(&s->idle_node))
		ut_list_add_tail(&tcp_link_of(s)->unclaimed, &s->idle_node);
}

/*
 * Hot streams are read out of turn, and what epoll reports twice comes out of turn too; so an end
 * is told when the others have been asked. Who closes one connection after it began another one
 * is then heard in that order, as programs expect that count connections as they come and go.
 */
void tcp_over(struct tcp_stream *s, int error)
{
	tcp_to_wire(s);
	s->rx_over = s->news = true;
	s->error = error;
	tcp_poll_remove(s);
	/* What is to be done of it anyway is no reason to be told sooner. */
	if (!ut_list_empty(&s->todo_node))
		ut_list_del(&s->todo_node);
	ut_list_add_tail(&tcp_link_of(s)->over, &s->todo_node);
}

/* Its first byte by TCP tells the way, or it is a wake: it stays where it is until that is known. */
static bool is_decided(struct tcp_stream *s)
{
	uint8_t c;
	long n;

	if (s->way != TCP_W_ANSWERED)
		return true;
	n = LINK_SYS(SYS_recvfrom, s->fd, &c, 1, MSG_DONTWAIT | MSG_PEEK, NULL, NULL);
	if (n == -EAGAIN)
		return false;
	if (n < 0)
		s->error = (int)-n; /* the kernel tells it once */
	tcp_decide(s);
	return true;
}

int tcp_read(struct tcp_stream *s)
{
	bool more = true;
	size_t sum = 0;
	int done = 0;

	if (!is_decided(s))
		return 0;
	if (s->way == TCP_W_LOCAL)
		return tcp_local_wake(s);
	if (!s->base.user_ops)
		orphan(s);
	while (sum < TCP_READ_MOST && more && tcp_may_read(s)) {
		long n = read_once(s, &more);

		if (n == -EAGAIN)
			break;
		done++;
		if (n <= 0) {
			/* A failed send may have been told the reason before us. */
			tcp_over(s, n < 0 ? (int)-n : s->error);
			break;
		}
		sum += (size_t)n;
		if (s->state == TCP_S_OPEN)
			tcp_poll_add(s);
	}
	if (s->state == TCP_S_OPEN)
		tcp_watch(s);
	return done;
}

void tcp_pause(struct link_stream *l, bool on)
{
	struct tcp_stream *s = tcp_stream_of(l);

	if (s->paused == on || s->state == TCP_S_DEAD || s->state == TCP_S_DRAINING)
		return;
	s->paused = on;
	if (s->way == TCP_W_LOCAL && !on)
		tcp_local_again(s);
	else if (on)
		tcp_poll_remove(s);
	else if (s->carry_len || tcp_link_of(s)->owner == s)
		tcp_todo(s);
	tcp_watch(s);
}

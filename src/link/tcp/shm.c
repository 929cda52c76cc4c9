/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams that have left the wire: their bytes go through a pair of rings (host/shm/pipe.h). The
 * socket stays what it was for everything else: FIN and RST, from the peer or from the kernel when
 * its process dies, mean what they meant, behind all that lies in the ring. A byte that comes by it
 * is a wake and says nothing but "look". So nobody needs a descriptor more, the owner sleeps on the
 * set as ever, and the kernel says which of a thousand streams has news.
 *
 * Streams that were busy lately are polled and looked at by poll(), where there are many in turns; they
 * sleep only when the owner does. The others sleep each for itself, and are rung for.
 */
#include "link/tcp/local.h"

#include "link/sys.h"
#include "util/log.h"

#include <string.h>

#define LOCAL_SHOW (72u << 10) /* bytes in one show, so that the peer gets its room back meanwhile */

static void ring(struct tcp_stream *s)
{
	long r = LINK_SYS(SYS_sendto, s->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);

	/* If there is no room, there are bells; where there is no peer, nobody sleeps. */
	s->shm->wake_due = r == -ENOBUFS || r == -ENOMEM;
	if (s->shm->wake_due)
		tcp_todo(s);
	else if (r < 0 && r != -EAGAIN && r != -EPIPE && !s->error)
		s->error = (int)-r; /* the kernel tells it once */
}

bool tcp_local_has_news(const struct tcp_stream *s)
{
	return tcp_may_read(s) && shm_pipe_end(&s->shm->pipe) != s->shm->seen;
}

bool tcp_local_has_room(const struct tcp_stream *s)
{
	return s->blocked && shm_pipe_room(&s->shm->pipe, TCP_LOCAL_ROOM) >= TCP_LOCAL_ROOM;
}

void tcp_local_begin(struct tcp_stream *s)
{
	tcp_poll_remove(s);
	tcp_local_poll_add(s);
	tcp_todo(s);
	tcp_watch(s);
}

/* Its memory goes with the stream's: who closes it may be looking at it. */
void tcp_local_end(struct tcp_stream *s)
{
	if (s->way == TCP_W_LOCAL)
		tcp_local_poll_remove(s);
	else
		tcp_local_free(s);
}

void tcp_local_again(struct tcp_stream *s)
{
	s->shm->seen = s->shm->pipe.head;
	tcp_todo(s);
}

/* --- out --- */

/* The owner may be asleep on its way back from here: a stream that waits for room says so at once. */
static void blocked(struct tcp_stream *s)
{
	s->blocked = true;
	if (tcp_sleeping(tcp_link_of(s)) || shm_pipe_sleeps(&s->shm->pipe))
		tcp_local_sleep(s);
}

ssize_t tcp_local_send(struct tcp_stream *s, const void *data, size_t len)
{
	struct shm_pipe *p = &s->shm->pipe;
	size_t room = shm_pipe_room(p, len), n = len < room ? len : room;

	if (s->shm->fin && s->error)
		return -EPIPE;
	if (n < len)
		blocked(s);
	if (!n)
		return -EAGAIN;
	shm_pipe_begin(p);
	memcpy(shm_pipe_at(p), data, n);
	if (shm_pipe_commit(p, n))
		ring(s);
	return (ssize_t)n;
}

size_t tcp_local_room(struct tcp_stream *s)
{
	size_t room = shm_pipe_room(&s->shm->pipe, TCP_LOCAL_ROOM);

	if (s->blocked)
		return 0;
	if (room >= TCP_LOCAL_ROOM)
		return room;
	blocked(s);
	return 0;
}

bool tcp_local_drained(struct tcp_stream *s)
{
	return shm_pipe_room(&s->shm->pipe, SHM_PIPE_BYTES) == SHM_PIPE_BYTES;
}

uint8_t *tcp_reserve(struct link_stream *l, size_t len)
{
	struct tcp_stream *s = tcp_stream_of(l);

	if (s->way != TCP_W_LOCAL || s->state != TCP_S_OPEN || s->blocked ||
	    shm_pipe_room(&s->shm->pipe, len) < len)
		return NULL;
	shm_pipe_begin(&s->shm->pipe);
	return shm_pipe_at(&s->shm->pipe);
}

void tcp_commit(struct link_stream *l, size_t len)
{
	struct tcp_stream *s = tcp_stream_of(l);

	if (shm_pipe_commit(&s->shm->pipe, len))
		ring(s);
}

/* --- in --- */

/* Up to `end`, a piece at a time. */
static void show(struct tcp_stream *s, uint64_t end)
{
	struct tcp_local *n = s->shm;
	bool stuck = false;

	tcp_evict(tcp_link_of(s)); /* the user may need the stage */
	while (n->pipe.head != end && tcp_may_read(s)) {
		const struct link_stream_user *ops = s->base.user_ops;
		size_t len = (size_t)(end - n->pipe.head), used;

		len = len < LOCAL_SHOW ? len : LOCAL_SHOW;
		used = ops->shown(&s->base, shm_pipe_in(&n->pipe), len, tcp_link_of(s)->now);
		if (s->state != TCP_S_OPEN)
			return;
		if (used && shm_pipe_consume(&n->pipe, used))
			ring(s);
		if (!used && ops == s->base.user_ops) {
			stuck = len >= LINK_STREAM_KEEP && !s->paused;
			break;
		}
	}
	n->seen = end;
	if (stuck)
		tcp_tell_closed(s, EMSGSIZE);
}

static int read_ring(struct tcp_stream *s)
{
	uint64_t end = shm_pipe_end(&s->shm->pipe);

	if (!tcp_may_read(s) || end == s->shm->seen)
		return 0;
	if (shm_pipe_sane(&s->shm->pipe, end)) {
		show(s, end);
	} else {
		ut_warn("a process of this user wrote nonsense into its ring; its connection ends");
		tcp_over(s, EPROTO);
	}
	return 1;
}

static int tell_room(struct tcp_stream *s)
{
	if (s->state != TCP_S_OPEN || !tcp_local_has_room(s))
		return 0;
	s->blocked = false;
	if (s->base.user_ops)
		s->base.user_ops->writable(&s->base, tcp_link_of(s)->now);
	return 1;
}

/*
 * Bells are thrown away. One that was late, for something that was seen before this sleep, was
 * rung for this sleep all the same: there will be no other for it, so it is over. An end waits until
 * all that came before has been shown.
 */
static void take_wakes(struct tcp_stream *s)
{
	struct tcp_local *n = s->shm;
	long r;

	if (n->fin)
		return;
	r = LINK_SYS(SYS_recvfrom, s->fd, NULL, (long)TCP_STAGE_BYTES, MSG_DONTWAIT | MSG_TRUNC, NULL,
		     NULL);
	if (r > 0) {
		shm_pipe_wake(&n->pipe);
		tcp_local_poll_add(s);
	}
	if (r > 0 || r == -EAGAIN)
		return;
	n->fin = true;
	s->error = r < 0 && !s->error ? (int)-r : s->error;
	tcp_watch(s);
}

/* Told behind all that came, or to somebody who does not read and cannot send either. */
static bool is_over(const struct tcp_stream *s)
{
	if (s->state != TCP_S_OPEN || !s->shm->fin || s->rx_over || !s->base.user_ops)
		return false;
	return s->paused ? s->blocked && s->error : !tcp_local_has_news(s);
}

/* Bytes wait for a user. */
static void orphan(struct tcp_stream *s)
{
	if (s->state == TCP_S_OPEN && !s->base.user_ops && ut_list_empty(&s->idle_node))
		ut_list_add_tail(&tcp_link_of(s)->unclaimed, &s->idle_node);
}

int tcp_local_serve(struct tcp_stream *s)
{
	struct tcp_local *n = s->shm;
	bool slept = shm_pipe_sleeps(&n->pipe);
	int done = 0;

	if (n->wake_due)
		ring(s);
	if (tcp_local_has_news(s) || tcp_local_has_room(s)) {
		/* There is a wake, or there will be soon. */
		if (slept && tcp_sleeping(tcp_link_of(s)))
			take_wakes(s);
		shm_pipe_wake(&n->pipe);
		tcp_local_poll_add(s);
		done = read_ring(s) + tell_room(s);
	} else if (slept && !ut_list_empty(&n->polled_node) && !tcp_sleeping(tcp_link_of(s))) {
		shm_pipe_wake(&n->pipe);
	}
	orphan(s);
	if (is_over(s)) {
		tcp_over(s, s->error);
		done++;
	}
	return done;
}

int tcp_local_wake(struct tcp_stream *s)
{
	take_wakes(s);
	return tcp_local_serve(s);
}

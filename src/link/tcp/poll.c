/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams that had bytes lately are in the poll set and read directly; the others are found by a
 * look at the epoll set, which is also what the owner sleeps on. Few are polled at a time: an empty
 * read costs as much as a look at all of them. While looks find streams that were quiet (many
 * connections begin at once, or many take turns) there are only looks: four empty reads in between,
 * with the others waiting for the eighth, had cost iWARP two thirds of its connections per second.
 */
#include "link/tcp/poll.h"

#include "link/tcp/listen.h"
#include "link/tcp/bytes.h"
#include "link/tcp/mute.h"
#include "link/tcp/silence.h"
#include "link/tcp/stream.h"
#include "util/alloc.h"
#include "util/heap.h"
#include "util/syscall.h"

#include <sys/epoll.h>

#define POLLED_MAX 4
#define POLLED_EMPTY 1000  /* empty reads until a stream is quiet again */
#define LOOK_CALLS 16   /* calls per look at the quiet streams; most calls of a thread that waits are empty */
#define LOOK_ONLY 8     /* looks that find no quiet stream, until the polled ones are read again */
#define EVENTS 64
#define LOOKS_OVER 8    /* looks before an end is told, while each finds EVENTS that are ready */

/* An event of another owner's descriptor (link_watch) carries this bit beside the pointer. */
#define WATCH_BIT 1ull

static uint32_t wanted(const struct tcp_stream *s)
{
	switch (s->state) {
	case TCP_S_CONNECTING:
		return s->rx_over ? 0 : EPOLLOUT;
	case TCP_S_OPEN:
		return (s->paused || s->rx_over || !ut_list_empty(&s->idle_node) ? 0 : EPOLLIN) |
		       (s->blocked ? EPOLLOUT : 0);
	case TCP_S_DRAINING:
		return EPOLLIN;
	default:
		return 0;
	}
}

void tcp_unwatch_fd(struct tcp_place *p, int fd)
{
	int keep = errno;

	epoll_ctl(p->epfd, EPOLL_CTL_DEL, fd, NULL);
	errno = keep;
}

/* Its bytes would never be seen: the stream ends. */
static void cannot_watch(struct tcp_stream *s, int error)
{
	if (s->state == TCP_S_DRAINING) {
		s->drain_until = 0;
		return;
	}
	s->rx_over = s->news = true;
	s->error = error;
	tcp_todo(s);
}

/* Reset and hang-up are reported whatever the mask, so a stream of which nothing is wanted leaves
 * the set. Coming back may fail for want of memory. */
void tcp_watch_stream(struct tcp_stream *s)
{
	struct epoll_event e = { .events = wanted(s), .data.ptr = s };
	int keep = errno, op;

	if (e.events == s->mask)
		return;
	tcp_mute_end(s);
	if (e.events == s->mask)
		return;
	op = !e.events ? EPOLL_CTL_DEL : s->mask ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	if (op == EPOLL_CTL_ADD && ut_fault())
		cannot_watch(s, ENOMEM);
	else if (epoll_ctl(tcp_place_of(s)->epfd, op, s->fd, &e) < 0)
		cannot_watch(s, errno);
	else
		s->mask = e.events;
	errno = keep;
}

int tcp_watch_listener(struct tcp_place *p, struct tcp_listener *l)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = l };
	int keep = errno, r = 0;

	if (l->watched)
		return 0;
	if (ut_fault())
		return -ENOMEM;
	if (epoll_ctl(p->epfd, EPOLL_CTL_ADD, l->fd, &e) < 0)
		r = -errno;
	l->watched = r == 0;
	errno = keep;
	return r;
}

void tcp_poll_add(struct tcp_stream *s)
{
	struct tcp_place *p = tcp_place_of(s);

	s->polled = POLLED_EMPTY;
	if (!ut_list_empty(&s->polled_node))
		return;
	if (p->n_polled == POLLED_MAX)
		tcp_poll_remove(ut_list_first(&p->polled, struct tcp_stream, polled_node));
	ut_list_add_tail(&p->polled, &s->polled_node);
	p->n_polled++;
}

void tcp_poll_remove(struct tcp_stream *s)
{
	if (ut_list_empty(&s->polled_node))
		return;
	tcp_unmute(s);
	ut_list_del(&s->polled_node);
	tcp_place_of(s)->n_polled--;
}

void tcp_todo(struct tcp_stream *s)
{
	if (ut_list_empty(&s->todo_node))
		ut_list_add_tail(&tcp_place_of(s)->todo, &s->todo_node);
}

/* --- poll --- */

static int stream_event(struct tcp_stream *s, uint32_t events)
{
	int done = 0;

	switch (s->state) {
	case TCP_S_CONNECTING:
		tcp_connect_over(s);
		return 1;
	case TCP_S_DRAINING:
		tcp_drain(s);
		return 1;
	case TCP_S_OPEN:
		break;
	default:
		return 0;
	}
	if ((events & ~(uint32_t)EPOLLOUT) && (s->mask & EPOLLIN))
		done += tcp_read_stream(s);
	/* A reset shows as writable too; the user's next send() returns it. */
	if (s->state == TCP_S_OPEN && s->blocked && (events & ~(uint32_t)EPOLLIN)) {
		s->blocked = false;
		s->credit = 0;
		if (s->base.user_ops)
			s->base.user_ops->writable(&s->base, tcp_place_of(s)->now);
		done++;
	}
	if (s->state == TCP_S_OPEN)
		tcp_watch_stream(s);
	return done;
}

/* For a while the epoll set alone is asked. */
static void look_only(struct tcp_place *p)
{
	if (!p->look_only)
		tcp_unmute_all(p);
	p->look_only = LOOK_ONLY;
}

static int event_of(struct tcp_place *p, const struct epoll_event *e)
{
	enum tcp_kind *kind = e->data.ptr;
	struct tcp_stream *s = (struct tcp_stream *)kind;

	if (!kind) /* of a descriptor that the owner of fd() has added */
		return 0;
	if (e->data.u64 & WATCH_BIT) {
		struct link_watch *w = (struct link_watch *)(uintptr_t)(e->data.u64 & ~WATCH_BIT);

		return w->ready(w, p->now);
	}
	if (*kind == TCP_K_AGAIN) {
		tcp_mute_again(p);
		return 0;
	}
	if (*kind == TCP_K_LISTENER) {
		look_only(p);
		return tcp_accept((struct tcp_listener *)kind);
	}
	if (ut_list_empty(&s->polled_node) && !s->base.seldom)
		look_only(p);
	return stream_event(s, e->events);
}

static int look(struct tcp_place *p, bool *more)
{
	struct epoll_event v[EVENTS];
	long n = UT_SYS(SYS_epoll_pwait, p->epfd, v, EVENTS, 0, NULL, 8);
	int done = 0;

	*more = n == EVENTS;
	if (p->look_only)
		p->look_only--;
	/* No object that an event names is freed before poll() returns. */
	for (long i = 0; i < n; i++)
		done += event_of(p, &v[i]);
	return done;
}

/* A thread that sleeps on the set must find it empty. */
static bool is_time_to_look(struct tcp_place *p, bool idle)
{
	return p->look_only || (ut_list_empty(&p->polled) && !p->base.rare) ||
	       (idle && atomic_load(&p->sleeping)) || ++p->calls % LOOK_CALLS == 0;
}

static int read_polled(struct tcp_place *p)
{
	struct tcp_stream *s, *v[POLLED_MAX];
	int n = 0, done = 0;

	/* A callback may close or remove any of them. */
	ut_list_each(s, &p->polled, polled_node)
		v[n++] = s;
	for (int i = 0; i < n; i++) {
		int did;

		if (v[i]->state != TCP_S_OPEN || ut_list_empty(&v[i]->polled_node))
			continue;
		if (v[i]->base.seldom) {
			tcp_poll_remove(v[i]);
			continue;
		}
		did = tcp_read_stream(v[i]);
		done += did;
		if (!did && --v[i]->polled == 0)
			tcp_poll_remove(v[i]);
	}
	return done;
}

static void tell_news(struct tcp_stream *s)
{
	s->news = false;
	if (s->rx_over)
		tcp_tell_closed(s, s->error);
	else if (s->base.user_ops)
		s->base.user_ops->connected(&s->base, tcp_place_of(s)->now);
}

static int run_todo(struct ut_list *todo)
{
	struct ut_list mine = UT_LIST_INIT(mine);
	struct ut_list *n;
	int done = 0;

	/* Streams that join the list meanwhile wait for the next call. */
	while ((n = ut_list_pop(todo)))
		ut_list_add_tail(&mine, n);
	while ((n = ut_list_pop(&mine))) {
		struct tcp_stream *s = ut_container(n, struct tcp_stream, todo_node);

		if (s->news && s->base.user_ops)
			tell_news(s);
		else if (s->news)
			tcp_todo(s);
		if (s->state == TCP_S_OPEN)
			tcp_show_rest(s);
		if (s->state != TCP_S_DEAD)
			tcp_watch_stream(s);
		done++;
	}
	return done;
}

/* Serves streams that had bytes and no user, and have one now. */
static void adopt_unclaimed(struct tcp_place *p)
{
	struct tcp_stream *s, *t;

	ut_list_each_safe(s, t, &p->unclaimed, idle_node) {
		if (!s->base.user_ops)
			continue;
		ut_list_del(&s->idle_node);
		tcp_watch_stream(s);
		tcp_todo(s);
	}
}

static int look_around(struct tcp_place *p)
{
	bool more = true;
	int done = 0;

	for (int i = 0; more && (i == 0 || (i < LOOKS_OVER && !ut_list_empty(&p->over))); i++)
		done += look(p, &more);
	/* Bytes that other streams got before an end come before it. */
	if (!ut_list_empty(&p->over))
		done += run_todo(&p->todo);
	return done + run_todo(&p->over);
}

int tcp_poll(struct link_streams *l, uint64_t now)
{
	struct tcp_place *p = tcp_of(l);
	int done = 0;

	p->now = now;
	if (!ut_list_empty(&p->unclaimed))
		adopt_unclaimed(p);
	if (!ut_list_empty(&p->todo))
		done += run_todo(&p->todo);
	if (!p->look_only && !l->cheap)
		done += read_polled(p);
	if ((!l->cheap && is_time_to_look(p, !done && !l->found)) || !ut_list_empty(&p->over))
		done += look_around(p);
	if (p->accept_at && p->accept_at <= now)
		tcp_accept_again(p);
	tcp_drain_expired(p, false);
	if (!ut_list_empty(&p->in_flight))
		tcp_silence_look(p);
	tcp_reap(p);
	return done;
}

/* The polls that look at the quiet streams are whole ones. */
int tcp_peek(struct link_streams *l)
{
	struct tcp_place *p = tcp_of(l);

	if (l->cheap || p->look_only || ut_list_empty(&p->polled) || !ut_list_empty(&p->todo) || !ut_list_empty(&p->over) ||
	    atomic_load(&p->sleeping) || (p->calls + 1) % LOOK_CALLS == 0)
		return -EAGAIN;
	p->calls++;
	l->asked = true;
	return read_polled(p);
}

uint64_t tcp_deadline(struct link_streams *l)
{
	struct tcp_place *p = tcp_of(l);
	struct tcp_stream *s = ut_list_first(&p->drains, struct tcp_stream, node);
	uint64_t at = s ? s->drain_until : UT_NEVER;

	if (p->accept_at && p->accept_at < at)
		at = p->accept_at;
	s = ut_list_first(&p->in_flight, struct tcp_stream, flight_node);
	if (s && s->look_at < at)
		at = s->look_at;
	ut_list_each(s, &p->todo, todo_node)
		if (!s->news || s->base.user_ops)
			return 0;
	ut_list_each(s, &p->unclaimed, idle_node)
		if (s->base.user_ops)
			return 0;
	return at;
}

bool tcp_is_quiet(struct link_streams *l)
{
	struct tcp_place *p = tcp_of(l);

	return ut_list_empty(&p->todo) && ut_list_empty(&p->over) && ut_list_empty(&p->polled) &&
	       !p->look_only;
}

int tcp_fd(struct link_streams *l)
{
	return tcp_of(l)->epfd;
}

/* Every event shows at the descriptor, so there is nothing to `look` for. */
void tcp_sleep(struct link_streams *l, bool on, bool look)
{
	struct tcp_place *p = tcp_of(l);

	(void)look;
	atomic_store(&p->sleeping, on);
	tcp_mute_allow(p, !on);
}

int tcp_watch(struct link_streams *l, struct link_watch *w)
{
	struct epoll_event e = { .events = EPOLLIN | (w->edge ? (uint32_t)EPOLLET : 0), .data.u64 = (uintptr_t)w | WATCH_BIT };
	int keep = errno, r = ut_epoll_add(tcp_of(l)->epfd, w->fd, &e) < 0 ? -errno : 0;

	errno = keep;
	return r;
}

void tcp_unwatch(struct link_streams *l, struct link_watch *w)
{
	tcp_unwatch_fd(tcp_of(l), w->fd);
}

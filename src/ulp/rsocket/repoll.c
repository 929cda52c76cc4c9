/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The descriptor of a set is an eventfd. A wait copies the members, lets go of the lock and calls rs_poll() with
 * the eventfd as one member more; a change of the set writes it, so that a thread that waits begins anew.
 */
#include "ulp/rsocket/repoll.h"

#include "ulp/rsocket/conf.h"
#include "ulp/rsocket/poll.h"
#include "ulp/rsocket/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ROOM 16 /* members at the beginning */

struct member {
	int fd;
	struct epoll_event e; /* events 0: reported once (EPOLLONESHOT) */
};

struct set {
	struct set *next;
	int fd;
	unsigned users; /* the list, and threads inside a call */
	int n, room;
	struct member *v;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* all sets */
static struct set *sets;

static struct set *find(int fd)
{
	struct set *s = sets;

	while (s && s->fd != fd)
		s = s->next;
	return s;
}

static void let_go(struct set *s)
{
	if (--s->users)
		return;
	close(s->fd);
	free(s->v);
	free(s);
}

int rs_repoll_create(int flags)
{
	struct set *s = calloc(1, sizeof(*s));
	int fd;

	if (!s)
		return -ENOMEM;
	s->v = calloc(ROOM, sizeof(*s->v));
	fd = s->v ? eventfd(0, EFD_NONBLOCK | (flags & O_CLOEXEC ? EFD_CLOEXEC : 0)) : -1;
	if (fd < 0) {
		int error = s->v ? errno : ENOMEM;

		free(s->v);
		free(s);
		return -error;
	}
	s->room = ROOM;
	s->users = 1;
	s->fd = fd;
	pthread_mutex_lock(&lock);
	s->next = sets;
	sets = s;
	pthread_mutex_unlock(&lock);
	return fd;
}

bool rs_repoll_close(int fd)
{
	struct set **at = &sets, *s;

	pthread_mutex_lock(&lock);
	while (*at && (*at)->fd != fd)
		at = &(*at)->next;
	s = *at;
	if (s) {
		*at = s->next;
		let_go(s);
	}
	pthread_mutex_unlock(&lock);
	return s;
}

static struct member *member_of(struct set *s, int fd)
{
	for (int i = 0; i < s->n; i++)
		if (s->v[i].fd == fd)
			return &s->v[i];
	return NULL;
}

static int add(struct set *s, int fd, const struct epoll_event *e)
{
	if (s->n == s->room) {
		struct member *more = realloc(s->v, 2 * (size_t)s->room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->v = more;
		s->room *= 2;
	}
	s->v[s->n++] = (struct member){ fd, *e };
	return 0;
}

static int change(struct set *s, int op, int fd, const struct epoll_event *e)
{
	struct member *m = member_of(s, fd);

	if (op != EPOLL_CTL_DEL && !e)
		return -EFAULT;
	switch (op) {
	case EPOLL_CTL_ADD:
		return m ? -EEXIST : add(s, fd, e);
	case EPOLL_CTL_MOD:
		if (m)
			m->e = *e;
		return m ? 0 : -ENOENT;
	case EPOLL_CTL_DEL:
		if (m)
			*m = s->v[--s->n];
		return m ? 0 : -ENOENT;
	default:
		return -EINVAL;
	}
}

int rs_repoll_ctl(int epfd, int op, int fd, const struct epoll_event *e)
{
	struct set *s;
	int rc = -EINVAL;

	if (fd < 0)
		return -EBADF;
	pthread_mutex_lock(&lock);
	s = fd == epfd ? NULL : find(epfd);
	if (s)
		rc = change(s, op, fd, e);
	if (!rc)
		eventfd_write(s->fd, 1);
	pthread_mutex_unlock(&lock);
	return rc;
}

_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLPRI == POLLPRI && EPOLLERR == POLLERR &&
	       EPOLLHUP == POLLHUP && EPOLLRDHUP == POLLRDHUP, "events of poll(2) and epoll(7) have the same bits");

#define POLLED (EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP)

/* The members as poll(2) wants them, and the set's own descriptor behind them. Returns their number. */
static int copy(struct set *s, struct pollfd **ret)
{
	struct pollfd *v;
	int n;

	pthread_mutex_lock(&lock);
	n = s->n;
	v = calloc((size_t)n + 1, sizeof(*v));
	for (int i = 0; v && i < n; i++) {
		bool muted = !(s->v[i].e.events & ~(uint32_t)(EPOLLONESHOT | EPOLLET));

		v[i] = (struct pollfd){ muted ? -1 : s->v[i].fd, (short)(s->v[i].e.events & POLLED), 0 };
	}
	pthread_mutex_unlock(&lock);
	if (!v)
		return -ENOMEM;
	v[n] = (struct pollfd){ s->fd, POLLIN, 0 };
	*ret = v;
	return n;
}

/* Members that were removed meanwhile are passed over. */
static int collect(struct set *s, const struct pollfd *v, int n, struct epoll_event *events, int max)
{
	int got = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < n && got < max; i++) {
		struct member *m = v[i].revents ? member_of(s, v[i].fd) : NULL;

		if (!m)
			continue;
		events[got].events = (uint32_t)(unsigned short)v[i].revents;
		events[got++].data = m->e.data;
		if (m->e.events & EPOLLONESHOT)
			m->e.events = 0;
	}
	pthread_mutex_unlock(&lock);
	return got;
}

struct wait {
	struct set *s;
	struct pollfd *v;
};

static void end_wait(void *arg)
{
	struct wait *w = arg;

	free(w->v);
	pthread_mutex_lock(&lock);
	let_go(w->s);
	pthread_mutex_unlock(&lock);
}

/* One look at all members. Returns events, 0 if the time is over, -EAGAIN if the set has changed, or another errno. */
static int wait_once(struct wait *w, struct epoll_event *events, int max, int timeout_ms)
{
	eventfd_t changes;
	int n, got;

	free(w->v);
	w->v = NULL;
	n = copy(w->s, &w->v);
	if (n < 0)
		return n;
	got = rs_poll(w->v, (nfds_t)n + 1, timeout_ms);
	if (got <= 0)
		return got;
	if (w->v[n].revents)
		eventfd_read(w->s->fd, &changes);
	got = collect(w->s, w->v, n, events, max);
	return got ? got : -EAGAIN;
}

static int left_of(uint64_t end)
{
	uint64_t now = rs_now();

	return end == UINT64_MAX ? -1 : now < end ? (int)((end - now + 999) / 1000) : 0;
}

int rs_repoll_wait(int epfd, struct epoll_event *events, int max, int timeout_ms)
{
	uint64_t end = timeout_ms < 0 ? UINT64_MAX : rs_now() + (uint64_t)timeout_ms * 1000;
	struct wait w = { 0 };
	int rc;

	if (max <= 0)
		return -EINVAL;
	pthread_mutex_lock(&lock);
	w.s = find(epfd);
	if (w.s)
		w.s->users++;
	pthread_mutex_unlock(&lock);
	if (!w.s)
		return -EINVAL;
	pthread_cleanup_push(end_wait, &w);
	do
		rc = wait_once(&w, events, max, left_of(end));
	while (rc == -EAGAIN && (timeout_ms || left_of(end)));
	pthread_cleanup_pop(1);
	return rc == -EAGAIN ? 0 : rc;
}

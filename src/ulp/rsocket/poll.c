/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rpoll() and rselect() over sockets of ours and ordinary descriptors at once. */
#include "ulp/rsocket/rs.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ON_STACK 32

static short stream_events(struct rs_sock *rs, short events)
{
	short got = 0;

	switch (rs->state) {
	case RS_IDLE:
		return (short)(POLLHUP | (events & POLLOUT));
	case RS_LISTENING:
		return rs->request ? events & POLLIN : 0;
	case RS_OPEN:
		if (rs->r_ready || !rs->readable)
			got |= POLLIN | POLLRDNORM;
		if (!rs->readable)
			got |= POLLRDHUP;
		if (!rs->writable || (events & POLLOUT && rs_can_send(rs)))
			got |= POLLOUT | POLLWRNORM;
		return got & events;
	case RS_OVER:
		got = POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLRDHUP;
		return (short)((got & events) | POLLHUP | (rs->error ? POLLERR : 0));
	default:
		return rs->r_ready ? events & (POLLIN | POLLRDNORM) : 0;
	}
}

short rs_revents(struct rs_sock *rs, short events)
{
	short got = 0;

	if (rs->type == SOCK_STREAM)
		return stream_events(rs, events);
	if (events & POLLIN && rs_dg_can_recv(rs))
		got |= POLLIN;
	if (events & POLLOUT && rs_dg_can_send(rs))
		got |= POLLOUT;
	return (short)(got | (rs->error ? POLLERR : 0));
}

struct set {
	struct pollfd *fds; /* the program's */
	struct pollfd *real;
	struct rs_sock **rs; /* NULL: an ordinary descriptor */
	nfds_t n;
};

static short look_at(struct rs_sock *rs, short events, bool woken)
{
	short got;

	pthread_mutex_lock(&rs->lock);
	rs_look(rs, woken);
	got = rs_revents(rs, events);
	pthread_mutex_unlock(&rs->lock);
	return got;
}

/* Without sleeping. Number of descriptors with events, or -1. */
static int check(struct set *s, bool ordinary)
{
	int count = 0;
	nfds_t i;

	for (i = 0; i < s->n; i++) {
		s->fds[i].revents = 0;
		if (s->rs[i])
			s->fds[i].revents = look_at(s->rs[i], s->fds[i].events, false);
		else if (ordinary && s->fds[i].fd >= 0 && poll(&s->fds[i], 1, 0) < 0)
			return -1;
		count += !!s->fds[i].revents;
	}
	return count;
}

static void begin(struct set *s, int *timeout)
{
	nfds_t i;

	for (i = 0; i < s->n; i++) {
		s->real[i] = s->fds[i];
		s->real[i].revents = 0;
		if (!s->rs[i])
			continue;
		pthread_mutex_lock(&s->rs[i]->lock);
		rs_sleep_begin(s->rs[i]);
		rs_look(s->rs[i], false);
		if (rs_revents(s->rs[i], s->fds[i].events))
			*timeout = 0;
		pthread_mutex_unlock(&s->rs[i]->lock);
		s->real[i].fd = s->rs[i]->fd;
		s->real[i].events = POLLIN;
	}
}

static int end(struct set *s)
{
	int count = 0;
	nfds_t i;

	for (i = 0; i < s->n; i++) {
		if (!s->rs[i]) {
			s->fds[i].revents = s->real[i].revents;
		} else {
			pthread_mutex_lock(&s->rs[i]->lock);
			rs_sleep_end(s->rs[i]);
			rs_look(s->rs[i], s->real[i].revents);
			s->fds[i].revents = rs_revents(s->rs[i], s->fds[i].events);
			pthread_mutex_unlock(&s->rs[i]->lock);
		}
		count += !!s->fds[i].revents;
	}
	return count;
}

static int sleep_once(struct set *s, uint64_t until)
{
	uint64_t now = rs_now_us();
	int ms = (int)rs_wake_ms, rc, err, count;

	if (until != RS_FOREVER && until <= now)
		ms = 0;
	else if (until != RS_FOREVER && until - now < (uint64_t)ms * 1000)
		ms = (int)((until - now + 999) / 1000);
	begin(s, &ms);
	rc = poll(s->real, s->n, ms);
	err = errno;
	count = end(s);
	errno = err;
	return count || rc >= 0 ? count : -1;
}

static int wait_for(struct set *s, int timeout)
{
	uint64_t start = rs_now_us(), until = RS_FOREVER, now;
	int rc = check(s, true);

	if (rc || !timeout)
		return rc;
	if (timeout > 0)
		until = start + (uint64_t)timeout * 1000;
	do {
		rc = check(s, false);
		now = rs_now_us();
	} while (!rc && now - start < rs_poll_us && now < until);
	while (!rc) {
		rc = sleep_once(s, until);
		if (!rc && until != RS_FOREVER && rs_now_us() >= until)
			break;
	}
	return rc;
}

static bool any_of_ours(const struct pollfd *fds, nfds_t n)
{
	nfds_t i;

	for (i = 0; i < n; i++)
		if (rs_is(fds[i].fd))
			return true;
	return false;
}

RS_EXPORT int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	struct pollfd few_real[ON_STACK];
	struct rs_sock *few[ON_STACK];
	struct set s = { fds, few_real, few, nfds };
	int rc = -1, kept;
	nfds_t i;

	if (!any_of_ours(fds, nfds))
		return poll(fds, nfds, timeout);
	if (nfds > ON_STACK) {
		s.real = calloc(nfds, sizeof(*s.real));
		s.rs = calloc(nfds, sizeof(struct rs_sock *));
	}
	if (s.real && s.rs) {
		kept = errno;
		for (i = 0; i < nfds; i++)
			s.rs[i] = rs_get(fds[i].fd);
		errno = kept;
		rc = wait_for(&s, timeout);
		for (i = 0; i < nfds; i++)
			if (s.rs[i])
				rs_put(s.rs[i]);
	}
	if (nfds > ON_STACK) {
		kept = errno;
		free(s.real);
		free(s.rs);
		errno = kept;
	}
	return rc;
}

static short wanted(int fd, fd_set *r, fd_set *w, fd_set *e)
{
	return (short)((r && FD_ISSET(fd, r) ? POLLIN : 0) | (w && FD_ISSET(fd, w) ? POLLOUT : 0) |
		       (e && FD_ISSET(fd, e) ? POLLPRI : 0));
}

static int mark(fd_set *set, int fd, bool asked, bool on)
{
	if (!asked)
		return 0;
	if (on)
		FD_SET(fd, set);
	else
		FD_CLR(fd, set);
	return on;
}

static int report(const struct pollfd *p, fd_set *r, fd_set *w, fd_set *e)
{
	return mark(r, p->fd, p->events & POLLIN, p->revents & (POLLIN | POLLHUP | POLLERR)) +
	       mark(w, p->fd, p->events & POLLOUT, p->revents & (POLLOUT | POLLERR)) +
	       mark(e, p->fd, p->events & POLLPRI, p->revents & POLLPRI);
}

static int to_ms(const struct timeval *t)
{
	if (!t)
		return -1;
	if (t->tv_sec > 2000000)
		return 2000000000;
	return (int)(t->tv_sec * 1000 + (t->tv_usec + 999) / 1000);
}

RS_EXPORT int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
		      struct timeval *timeout)
{
	struct pollfd *p;
	nfds_t n = 0, i;
	int fd, rc, count = 0;

	if (nfds < 0 || nfds > FD_SETSIZE)
		return rs_fail(EINVAL);
	p = calloc(nfds ? (size_t)nfds : 1, sizeof(*p));
	if (!p)
		return rs_fail(ENOMEM);
	for (fd = 0; fd < nfds; fd++) {
		p[n].fd = fd;
		p[n].events = wanted(fd, readfds, writefds, exceptfds);
		n += !!p[n].events;
	}
	rc = rpoll(p, n, to_ms(timeout));
	for (i = 0; rc > 0 && i < n; i++)
		if (p[i].revents & POLLNVAL)
			rc = rs_fail(EBADF);
	for (i = 0; rc >= 0 && i < n; i++)
		count += report(&p[i], readfds, writefds, exceptfds);
	fd = errno;
	free(p);
	errno = fd;
	return rc < 0 ? -1 : count;
}

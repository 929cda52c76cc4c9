/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rpoll() waits for rsockets and ordinary descriptors together: it looks at all of them, polls for a
 * moment, then arms every rsocket, enters its list of sleepers, looks once more and sleeps on the real
 * descriptors, as one that waits for a single rsocket does (wait.c). The sleep is a cancellation point and holds only references.
 * rselect() is rpoll() with sets of descriptors.
 */
#include "ulp/rsocket/poll.h"
#include "ulp/rsocket/conn.h"
#include "ulp/rsocket/cq.h"
#include "ulp/rsocket/dgram.h"
#include "ulp/rsocket/keepalive.h"
#include "ulp/rsocket/listen.h"
#include "ulp/rsocket/table.h"
#include "ulp/rsocket/wait.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static short stream_events(struct rs_sock *s, short events)
{
	short re = 0;

	if (s->state < RS_CONNECTED)
		return 0;
	if (rs_test_read(s))
		re |= POLLIN | POLLRDNORM;
	if (rs_test_write(s))
		re |= POLLOUT | POLLWRNORM;
	if (!s->rd_open)
		re |= POLLRDHUP;
	re &= events;
	if (s->state == RS_CONNECTED)
		return re;
	if (s->state != RS_GONE)
		return re | POLLERR | POLLHUP;
	/* Programs close at POLLHUP: it is reported after the received data has been read. */
	return re & POLLIN && s->flow.readable ? re : re | POLLHUP;
}

static short poll_events(struct rs_sock *s, short events)
{
	short re;

	if (s->type == SOCK_STREAM && s->state == RS_LISTENING)
		return rs_listen_look(s) ? events & (POLLIN | POLLRDNORM) : 0;
	if (rs_opening(s->state))
		rs_conn_step(s);
	pthread_mutex_lock(&s->c);
	rs_cq_drive(s);
	re = s->dg ? rs_dgram_events(s, events) : stream_events(s, events);
	pthread_mutex_unlock(&s->c);
	if (re || s->state != RS_CONNECTED)
		return re;
	rs_conn_look(s, false);
	if (s->state == RS_CONNECTED)
		return 0;
	pthread_mutex_lock(&s->c);
	re = stream_events(s, events);
	pthread_mutex_unlock(&s->c);
	return re;
}

struct entry {
	struct rs_sock *sock;           /* NULL: an ordinary descriptor */
	struct rs_sleeper sleeper;
};

/* One call of rpoll(). `real` has two descriptors per entry, and the eventfd last. */
struct round {
	struct pollfd *fds;
	nfds_t nr;
	struct entry *entries;
	struct pollfd *real;
	void *block;
	int efd;
	bool plain;                     /* at least one entry is an ordinary descriptor */
};

static int open_round(struct round *r, struct pollfd *fds, nfds_t nr)
{
	*r = (struct round){ .fds = fds, .nr = nr, .efd = -1 };
	if (nr > INT_MAX / 4)
		return -EINVAL;
	r->block = calloc(1, nr * sizeof(*r->entries) + (2 * nr + 1) * sizeof(*r->real));
	if (!r->block)
		return -ENOMEM;
	r->entries = r->block;
	r->real = (struct pollfd *)(r->entries + nr);
	for (nfds_t i = 0; i < nr; i++) {
		r->entries[i].sock = fds[i].fd < 0 ? NULL : rs_get(fds[i].fd);
		r->plain |= !r->entries[i].sock && fds[i].fd >= 0;
	}
	return 0;
}

static void leave_lists(struct round *r)
{
	for (nfds_t i = 0; i < r->nr; i++) {
		struct rs_sock *s = r->entries[i].sock;

		if (!s)
			continue;
		pthread_mutex_lock(&s->c);
		rs_sleeper_leave(&r->entries[i].sleeper);
		pthread_mutex_unlock(&s->c);
	}
}

static void close_round(void *arg)
{
	struct round *r = arg;

	leave_lists(r);
	for (nfds_t i = 0; i < r->nr; i++)
		if (r->entries[i].sock)
			rs_put(r->entries[i].sock);
	if (r->efd >= 0)
		rs_sleeper_fd_put(r->efd);
	free(r->block);
}

static int look_plain(struct round *r)
{
	int n, state = rs_cancel_off();

	for (nfds_t i = 0; i < r->nr; i++)
		r->real[i] = (struct pollfd){ r->entries[i].sock ? -1 : r->fds[i].fd,
					      r->fds[i].events, 0 };
	n = poll(r->real, r->nr, 0);
	rs_cancel_back(state);
	if (n < 0)
		return -errno;
	for (nfds_t i = 0; i < r->nr; i++)
		if (!r->entries[i].sock)
			r->fds[i].revents = r->real[i].revents;
	return n;
}

/* Returns the number of entries with events. */
static int look(struct round *r)
{
	int nr = 0;

	for (nfds_t i = 0; i < r->nr; i++) {
		struct rs_sock *s = r->entries[i].sock;

		r->fds[i].revents = s ? poll_events(s, r->fds[i].events) : 0;
		nr += r->fds[i].revents != 0;
	}
	if (r->plain) {
		int n = look_plain(r);

		return n < 0 ? n : nr + n;
	}
	return nr;
}

/* Later events wake this thread; earlier ones are found by the look that follows. */
static int arm_all(struct round *r, int *timeout_ms)
{
	if (r->efd < 0)
		r->efd = rs_sleeper_fd_get();
	if (r->efd < 0)
		return r->efd;
	for (nfds_t i = 0; i < r->nr; i++) {
		struct rs_sock *s = r->entries[i].sock;
		int keep;

		if (!s)
			continue;
		pthread_mutex_lock(&s->c);
		rs_cq_arm(s);
		if (!r->entries[i].sleeper.prev)
			rs_sleeper_enter(&s->sleepers, &r->entries[i].sleeper, r->efd);
		keep = rs_keep_wait(s);
		pthread_mutex_unlock(&s->c);
		if (keep >= 0 && (*timeout_ms < 0 || keep < *timeout_ms))
			*timeout_ms = keep;
	}
	return 0;
}

static void fill(struct round *r)
{
	for (nfds_t i = 0; i < r->nr; i++) {
		struct rs_sock *s = r->entries[i].sock;
		struct pollfd *real = &r->real[2 * i];
		int fd[2] = { r->fds[i].fd, -1 };

		if (s)
			rs_fds(s, fd);
		/* Requests that the program does not wait for must not wake it. */
		if (s && s->state == RS_LISTENING && !(r->fds[i].events & (POLLIN | POLLRDNORM)))
			fd[1] = -1;
		real[0] = (struct pollfd){ fd[0], s ? POLLIN : r->fds[i].events, 0 };
		real[1] = (struct pollfd){ fd[1], POLLIN, 0 };
	}
	r->real[2 * r->nr] = (struct pollfd){ r->efd, POLLIN, 0 };
}

/* The first adapter that this thread can drive, or NULL. */
static struct ibv_context *driven(const struct round *r)
{
	struct ibv_context *adapter = NULL;

	for (nfds_t i = 0; i < r->nr && !adapter; i++)
		adapter = r->entries[i].sock ? rs_adapter(r->entries[i].sock) : NULL;
	return adapter;
}

static int poll_real(struct round *r, int timeout_ms)
{
	int n;

	pthread_cleanup_push(close_round, r);
	n = rs_poll_driving(driven(r), r->real, 2 * r->nr + 1, timeout_ms);
	pthread_cleanup_pop(0);
	return n;
}

/* A signalled eventfd returns to the pool, which empties it; the next round takes another. */
static void take_events(struct round *r)
{
	leave_lists(r);
	if (r->real[2 * r->nr].revents) {
		rs_sleeper_fd_put(r->efd);
		r->efd = -1;
	}
	for (nfds_t i = 0; i < r->nr; i++)
		if (r->entries[i].sock)
			rs_ready(r->entries[i].sock, r->real[2 * i].revents,
				 r->real[2 * i + 1].revents);
}

static int wait_ms(uint64_t end)
{
	uint64_t now = rs_now(), wake = rs_conf()->wake_ms, left;

	if (end == UINT64_MAX)
		return wake ? (int)wake : -1;
	left = now < end ? (end - now + 999) / 1000 : 0;
	return (int)(wake && left > wake ? wake : left);
}

static int sleep_round(struct round *r, uint64_t end)
{
	int ms = wait_ms(end), n = arm_all(r, &ms);

	if (!n)
		n = look(r);
	if (n)
		return n;
	fill(r);
	n = poll_real(r, ms);
	if (n < 0)
		return n;
	take_events(r);
	return 0;
}

static int poll_all(struct round *r, int timeout_ms)
{
	uint64_t start = rs_now(), spin = start + rs_spin_us();
	uint64_t end = timeout_ms < 0 ? UINT64_MAX : start + (uint64_t)timeout_ms * 1000;
	int n;

	do {
		n = look(r);
	} while (!n && timeout_ms && rs_now() < spin);
	while (!n && timeout_ms) {
		n = sleep_round(r, end);
		if (!n)
			n = look(r);
		if (!n && rs_now() >= end)
			break;
	}
	return n;
}

int rs_poll(struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	struct round r;
	int n = open_round(&r, fds, nr);

	if (!n) {
		n = poll_all(&r, timeout_ms);
		close_round(&r);
	}
	return n;
}

static int gather(struct pollfd *fds, int nfds, fd_set *rd, fd_set *wr, fd_set *ex)
{
	int nr = 0;

	for (int fd = 0; fd < nfds; fd++) {
		short events = 0;

		if (rd && FD_ISSET(fd, rd))
			events |= POLLIN;
		if (wr && FD_ISSET(fd, wr))
			events |= POLLOUT;
		if (ex && FD_ISSET(fd, ex))
			events |= POLLPRI;
		if (events)
			fds[nr++] = (struct pollfd){ fd, events, 0 };
	}
	return nr;
}

/* A bit stays set if its event has occurred; returns 1 then. */
static int keep(fd_set *set, int fd, bool asked, bool yes)
{
	if (!set || !asked)
		return 0;
	if (yes)
		return 1;
	FD_CLR(fd, set);
	return 0;
}

static int scatter(const struct pollfd *fds, int nr, fd_set *rd, fd_set *wr, fd_set *ex)
{
	int count = 0;

	for (int i = 0; i < nr; i++)
		if (fds[i].revents & POLLNVAL)
			return -EBADF;
	for (int i = 0; i < nr; i++) {
		short ev = fds[i].events, re = fds[i].revents;

		count += keep(rd, fds[i].fd, ev & POLLIN, re & (POLLIN | POLLHUP | POLLERR));
		count += keep(wr, fds[i].fd, ev & POLLOUT, re & (POLLOUT | POLLERR));
		count += keep(ex, fds[i].fd, ev & POLLPRI, re & POLLPRI);
	}
	return count;
}

/* Returns -1 for no timeout, -2 for an invalid one; rounded up, so as not to return early. */
static int milliseconds(const struct timeval *t)
{
	if (!t)
		return -1;
	if (t->tv_sec < 0 || t->tv_usec < 0 || t->tv_usec >= 1000000)
		return -2;
	return t->tv_sec >= INT_MAX / 1000 ? INT_MAX
					   : (int)(t->tv_sec * 1000 + (t->tv_usec + 999) / 1000);
}

int rs_select(int nfds, fd_set *rd, fd_set *wr, fd_set *ex, const struct timeval *timeout)
{
	struct pollfd fds[FD_SETSIZE];
	int nr, n, ms = milliseconds(timeout);

	if (nfds < 0 || nfds > FD_SETSIZE || ms == -2)
		return -EINVAL;
	nr = gather(fds, nfds, rd, wr, ex);
	n = rs_poll(fds, (nfds_t)nr, ms);
	return n < 0 ? n : scatter(fds, nr, rd, wr, ex);
}

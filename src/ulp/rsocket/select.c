/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rselect: sets into a list for rpoll and back, with the meanings that select(2) gives them. */
#include "ulp/rsocket/export.h"
#include "ulp/rsocket/sock.h"

#include <limits.h>
#include <stdlib.h>

#include <rdma/rsocket.h>

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

/* In place: a bit stays only where what it asked for came true. */
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

/* Rounded up: a select never returns early. */
static int milliseconds(const struct timeval *t)
{
	if (!t)
		return -1;
	if (t->tv_sec < 0 || t->tv_usec < 0 || t->tv_usec >= 1000000)
		return -2;
	return t->tv_sec >= INT_MAX / 1000 ? INT_MAX
					   : (int)(t->tv_sec * 1000 + (t->tv_usec + 999) / 1000);
}

RS_EXPORT int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
		      struct timeval *timeout)
{
	struct pollfd fds[FD_SETSIZE];
	int nr, n, ms = milliseconds(timeout);

	if (nfds < 0 || nfds > FD_SETSIZE || ms == -2)
		return (int)rs_ret(-EINVAL);
	nr = gather(fds, nfds, readfds, writefds, exceptfds);
	n = rpoll(fds, (nfds_t)nr, ms);
	if (n >= 0)
		n = (int)rs_ret(scatter(fds, nr, readfds, writefds, exceptfds));
	return n;
}

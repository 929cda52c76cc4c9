/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The last entry of each low descriptor: enough for programs that watch a socket in one instance. */
#include "ulp/preload/watch.h"
#include "ulp/preload/real.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define FDS 65536

struct entry {
	int epfd;               /* 0 for none: descriptor 0 is no epoll instance of a server */
	struct epoll_event ev;
};

static struct entry entries[FDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void remember(int epfd, int op, int fd, const struct epoll_event *ev)
{
	if (fd < 0 || fd >= FDS)
		return;
	pthread_mutex_lock(&lock);
	if (op == EPOLL_CTL_DEL)
		entries[fd].epfd = 0;
	else
		entries[fd] = (struct entry){ epfd, *ev };
	pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default")))
int epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev)
{
	int r = rsp_real()->epoll_ctl(epfd, op, fd, ev);

	if (!r)
		remember(epfd, op, fd, ev);
	return r;
}

/* A stale entry names an instance that has gone, or one that the socket is in already: both refuse. */
void rsp_watch_again(int fd)
{
	struct entry e = { 0 };
	int keep = errno;

	if (fd < 0 || fd >= FDS)
		return;
	pthread_mutex_lock(&lock);
	e = entries[fd];
	pthread_mutex_unlock(&lock);
	if (e.epfd)
		rsp_real()->epoll_ctl(e.epfd, EPOLL_CTL_ADD, fd, &e.ev);
	errno = keep;
}

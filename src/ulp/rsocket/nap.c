/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sleepers and their eventfds: see nap.h. */
#include "ulp/rsocket/nap.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define POOL 32

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static int pool[POOL];
static unsigned pool_nr;

int rs_nap_fd_get(void)
{
	int fd = -1;

	pthread_mutex_lock(&pool_lock);
	if (pool_nr)
		fd = pool[--pool_nr];
	pthread_mutex_unlock(&pool_lock);
	if (fd < 0)
		fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* read() and close() are cancellation points, but the callers are at no such place. */
void rs_nap_fd_put(int fd)
{
	int keep = errno, state;
	uint64_t count;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (read(fd, &count, sizeof(count)) < 0)
		count = 0;
	pthread_mutex_lock(&pool_lock);
	if (pool_nr < POOL) {
		pool[pool_nr++] = fd;
		fd = -1;
	}
	pthread_mutex_unlock(&pool_lock);
	if (fd >= 0)
		close(fd);
	pthread_setcancelstate(state, NULL);
	errno = keep;
}

void rs_nap_enter(struct rs_nap **list, struct rs_nap *nap, int efd)
{
	nap->efd = efd;
	nap->next = *list;
	nap->prev = list;
	if (nap->next)
		nap->next->prev = &nap->next;
	*list = nap;
}

void rs_nap_leave(struct rs_nap *nap)
{
	if (!nap->prev)
		return;
	*nap->prev = nap->next;
	if (nap->next)
		nap->next->prev = nap->prev;
	nap->prev = NULL;
}

void rs_nap_wake(struct rs_nap *list, int except_fd)
{
	uint64_t one = 1;
	int keep = errno, state;

	if (!list)
		return;
	/* write() is a cancellation point and the caller holds the list's lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	for (; list; list = list->next)
		if (list->efd != except_fd && write(list->efd, &one, sizeof(one)) < 0)
			continue;       /* full: it is awake already */
	pthread_setcancelstate(state, NULL);
	errno = keep;
}

/* The parent's eventfds are the child's too, so the child must not use them. */
void rs_nap_after_fork(void)
{
	pthread_mutex_init(&pool_lock, NULL);
	while (pool_nr)
		close(pool[--pool_nr]);
}

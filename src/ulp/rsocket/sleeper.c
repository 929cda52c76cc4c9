/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rsocket/sleeper.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define POOL 32

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static int pool[POOL];
static unsigned pool_nr;

int rs_sleeper_fd_get(void)
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

/* read() and close() are cancellation points; the callers are none. */
void rs_sleeper_fd_put(int fd)
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

void rs_sleeper_enter(struct rs_sleeper **list, struct rs_sleeper *sleeper, int efd)
{
	sleeper->efd = efd;
	sleeper->next = *list;
	sleeper->prev = list;
	if (sleeper->next)
		sleeper->next->prev = &sleeper->next;
	*list = sleeper;
}

void rs_sleeper_leave(struct rs_sleeper *sleeper)
{
	if (!sleeper->prev)
		return;
	*sleeper->prev = sleeper->next;
	if (sleeper->next)
		sleeper->next->prev = sleeper->prev;
	sleeper->prev = NULL;
}

void rs_sleepers_wake(struct rs_sleeper *list, int except_fd)
{
	uint64_t one = 1;
	int keep = errno, state;

	if (!list)
		return;
	/* write() is a cancellation point and the caller holds the list's lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	for (; list; list = list->next)
		if (list->efd != except_fd && write(list->efd, &one, sizeof(one)) < 0)
			continue;       /* the counter is full: that sleeper is awake already */
	pthread_setcancelstate(state, NULL);
	errno = keep;
}

void rs_sleepers_after_fork(void)
{
	pthread_mutex_init(&pool_lock, NULL);
	while (pool_nr)
		close(pool[--pool_nr]);
}

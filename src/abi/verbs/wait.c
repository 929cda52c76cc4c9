/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "abi/verbs/wait.h"

#include "engine/chan.h"
#include "util/heap.h"
#include "util/restart.h"

#include <fcntl.h>

/* 0: it is one to sleep on. */
static int may_sleep(struct eng_dev *dev, int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	if (!(flags & O_NONBLOCK))
		return 0;
	/* A program that polls the descriptor expects progress without calls of its own; one round here costs
	 * little. */
	eng_dev_poll(dev, NULL, NULL);
	return -EAGAIN;
}

static int slept(int rc)
{
	return rc == -EINTR && ut_restartable() ? 0 : rc;
}

int vrb_wait(struct eng_dev *dev, int fd)
{
	int rc = may_sleep(dev, fd);

	return rc ? rc : slept(eng_dev_wait_fd(dev, fd, UT_NEVER));
}

int vrb_wait_comp(struct eng_dev *dev, struct eng_chan *chan)
{
	int rc = may_sleep(dev, chan->fd);

	return rc ? rc : slept(dev->ops->wait_comp(dev, chan));
}

void vrb_await_acks(pthread_mutex_t *m, pthread_cond_t *c, const uint32_t *acked,
		    const unsigned *delivered)
{
	pthread_mutex_lock(m);
	while (*acked != *delivered)
		pthread_cond_wait(c, m);
	pthread_mutex_unlock(m);
}

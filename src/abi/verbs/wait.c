/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Blocking for an event, with the manners of read(); see util/restart.h. */
#include "abi/verbs/vrb.h"

#include "util/heap.h"
#include "util/restart.h"

#include <fcntl.h>

int vrb_wait(struct eng_dev *dev, int fd)
{
	int flags = fcntl(fd, F_GETFL), rc;

	if (flags < 0)
		return -errno;
	if (flags & O_NONBLOCK) {
		/* Whoever polls the descriptor himself expects the adapter to
		 * run by itself; one look costs little and may save a round. */
		eng_dev_poll(dev, NULL);
		return -EAGAIN;
	}
	rc = dev->ops->wait(dev, fd, -1, UT_NEVER);
	if (rc == -EINTR && ut_restartable())
		return 0;
	return rc;
}

void vrb_await_acks(pthread_mutex_t *m, pthread_cond_t *c, const uint32_t *acked,
		    const unsigned *delivered)
{
	pthread_mutex_lock(m);
	while (*acked != *delivered)
		pthread_cond_wait(c, m);
	pthread_mutex_unlock(m);
}

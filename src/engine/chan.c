/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/chan.h"

#include "engine/cq.h"
#include "engine/semfd.h"
#include "util/alloc.h"
#include "util/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int eng_chan_create(struct eng_ctx *ctx, struct eng_chan **ret)
{
	struct eng_chan *chan = ut_zalloc(sizeof(*chan));

	if (!chan)
		return -ENOMEM;
	chan->fd = eng_semfd_open();
	if (chan->fd < 0) {
		int r = chan->fd;

		free(chan);
		return r;
	}
	chan->ctx = ctx;
	ut_mutex_init(&chan->lock);
	ut_list_init(&chan->ready);
	ut_lock(&chan->lock);
	chan->wake_fd = -1;
	ut_unlock(&chan->lock);
	*ret = chan;
	return 0;
}

int eng_chan_destroy(struct eng_chan *chan)
{
	unsigned users;

	ut_lock(&chan->lock);
	users = chan->cqs;
	ut_unlock(&chan->lock);
	if (users)
		return -EBUSY;
	ut_mutex_fini(&chan->lock);
	ut_close(chan->fd);
	free(chan);
	return 0;
}

/* One event less. */
static void uncount(struct eng_chan *chan) UT_REQUIRES(chan->lock);
static void uncount(struct eng_chan *chan)
{
	if (chan->owed)
		chan->owed = false;
	else
		eng_semfd_down(chan->fd);
}

int eng_chan_get(struct eng_chan *chan, struct eng_cq **ret)
{
	struct eng_cq *cq = NULL;
	struct ut_list *n;

	ut_lock(&chan->lock);
	n = ut_list_pop(&chan->ready);
	if (n) {
		cq = ut_container(n, struct eng_cq, ready);
		if (--cq->events_queued)
			ut_list_add_tail(&chan->ready, n);
		uncount(chan);
	}
	ut_unlock(&chan->lock);
	if (!cq)
		return -EAGAIN;
	*ret = cq;
	return 0;
}

bool eng_chan_has(struct eng_chan *chan)
{
	bool any;

	ut_lock(&chan->lock);
	any = !ut_list_empty(&chan->ready);
	ut_unlock(&chan->lock);
	return any;
}

void eng_chan_raise(struct eng_chan *chan, struct eng_cq *cq)
{
	ut_lock(&chan->lock);
	if (cq->events_queued++ == 0)
		ut_list_add_tail(&chan->ready, &cq->ready);
	if (chan->attended && !chan->owed)
		chan->owed = true;
	else
		eng_semfd_up(chan->fd);
	if (chan->wake_fd >= 0) {
		eng_semfd_up(chan->wake_fd);
		chan->wake_fd = -1;
		chan->rung = true;
	}
	ut_unlock(&chan->lock);
}

void eng_chan_drop(struct eng_chan *chan, struct eng_cq *cq)
{
	ut_lock(&chan->lock);
	ut_list_del(&cq->ready);
	for (; cq->events_queued; cq->events_queued--)
		uncount(chan);
	ut_unlock(&chan->lock);
}

/* The attendant is awake, asleep or gone from here on. Returns whether wake_fd was written before. */
static bool stand(struct eng_chan *chan, bool attended, int wake_fd) UT_REQUIRES(chan->lock);
static bool stand(struct eng_chan *chan, bool attended, int wake_fd)
{
	bool rung = chan->rung;

	chan->attended = attended;
	chan->wake_fd = wake_fd;
	chan->rung = false;
	return rung;
}

bool eng_chan_attend(struct eng_chan *chan, bool yes)
{
	bool rung;

	ut_lock(&chan->lock);
	rung = stand(chan, yes, -1);
	ut_unlock(&chan->lock);
	return rung;
}

bool eng_chan_sleep(struct eng_chan *chan, int wake_fd)
{
	bool none;

	ut_lock(&chan->lock);
	none = ut_list_empty(&chan->ready);
	if (none)
		stand(chan, false, wake_fd);
	ut_unlock(&chan->lock);
	return none;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Waiting for an event as programs expect it of a kernel: cancelled, interrupted, on a channel that is
 * destroyed meanwhile, or with a request that another thread has yet to see.
 */
#include "abi/rdmacm/wait.h"

#include "abi/rdmacm/chan.h"
#include "device/device.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/restart.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

void rcm_chan_hears(struct rdma_event_channel *pub, struct eng_dev *dev)
{
	struct rcm_chan *ch = rcm_of(pub, rcm_chan);
	struct eng_dev *none = NULL;

	if (!dev || (!atomic_compare_exchange_strong(&ch->dev, &none, dev) && none != dev))
		atomic_store(&ch->many, true);
}

/* The devices of rdma_cm stay open for life, so that this one cannot go meanwhile. */
static int sleep_on(struct rcm_chan *ch)
{
	struct pollfd p = { .fd = ch->pub.fd, .events = POLLIN };
	struct eng_dev *dev = atomic_load(&ch->dev);

	if (dev && !atomic_load(&ch->many) && !dev_is_foreign(dev))
		return eng_dev_wait_fd(dev, ch->pub.fd, UT_NEVER);
	return ppoll(&p, 1, NULL, NULL) < 0 ? -errno : 0;
}

/* As read() on a kernel's descriptor would: 0 = look again, or a negative errno. */
static int wait_for(struct rcm_chan *ch)
{
	int flags = fcntl(ch->pub.fd, F_GETFL), rc;

	if (flags < 0)
		return -errno;
	if (flags & O_NONBLOCK)
		return -EAGAIN;
	rc = sleep_on(ch);
	return rc == -EINTR && ut_restartable() ? 0 : rc;
}

/* A wait that may be cancelled, or find its channel destroyed. */
struct waiter {
	struct rcm_chan *ch;
	struct rcm_event *e;
};

static void leave(void *arg)
{
	struct waiter *w = arg;

	rcm_chan_leave(w->ch);
	free(w->e);
}

/* Programs destroy a channel under a thread that waits for its events, and leave: with a
 * kernel it sleeps on. An error would make it complain or exit first. */
static int sleep_for_ever(void)
{
	do
		ppoll(NULL, 0, NULL, NULL);
	while (ut_restartable());
	return -EINTR;
}

/*
 * Programs pass a request to another thread in one variable and ask for the next event (rping's
 * persistent server does). A kernel gives that thread the time of a system call, and the
 * network that between two packets; here both requests may wait already, and the
 * second would overwrite the first. So a request that follows another waits a little for a
 * sign that the first one was seen: any use of its identifier. A program that lets requests
 * lie on purpose is not made to wait again and again.
 */
#define SEEN_STEP_NS 200000
#define SEEN_NS (500 * UT_MS) /* the other thread may wait for a processor */
#define EMPTY_WAITS_MOST 4

static bool to_be_seen(struct rcm_chan *ch)
{
	return atomic_load(&ch->unseen) && atomic_load(&ch->empty_waits) < EMPTY_WAITS_MOST &&
	       !(fcntl(ch->pub.fd, F_GETFL) & O_NONBLOCK);
}

/* Any other event is shown at once. */
static int next_event(struct waiter *w)
{
	const struct timespec step = { 0, SEEN_STEP_NS };
	struct rcm_chan *ch = w->ch;
	uint64_t end = 0;
	int rc;

	while ((rc = rcm_event_next(ch, !to_be_seen(ch), w->e)) == -EBUSY) {
		if (!end)
			end = ut_now() + SEEN_NS;
		if (ut_now() >= end) {
			atomic_fetch_add(&ch->empty_waits, 1);
			return rcm_event_next(ch, true, w->e);
		}
		ppoll(NULL, 0, &step, NULL);
	}
	if (end && !atomic_load(&ch->unseen))
		atomic_store(&ch->empty_waits, 0);
	return rc;
}

static int await_event(struct waiter *w)
{
	int rc;

	while ((rc = next_event(w)) == -EAGAIN) {
		rc = wait_for(w->ch);
		if (!rc && rcm_chan_abandoned(w->ch))
			rc = sleep_for_ever();
		if (rc)
			break;
	}
	return rc;
}

int rcm_event_get(struct rcm_chan *ch, struct rcm_event **ret)
{
	struct waiter w = { ch, ut_malloc(sizeof(*w.e)) };
	int rc;

	if (!w.e)
		return -ENOMEM;
	if (!rcm_chan_enter(ch)) {
		free(w.e);
		return sleep_for_ever();
	}
	pthread_cleanup_push(leave, &w);
	rc = await_event(&w);
	if (!rc) {
		*ret = w.e;
		w.e = NULL;
	}
	pthread_cleanup_pop(1);
	return rc;
}

UT_EXPORT int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct rcm_event *e;
	int rc, keep = errno;

	if (!channel || !event)
		return rcm_result(-EINVAL);
	rc = rcm_event_get(rcm_of(channel, rcm_chan), &e);
	if (rc)
		return rcm_result(rc);
	*event = &e->pub;
	errno = keep;
	return 0;
}

/* --- synchronous calls --- */

/*
 * Synchronous identifiers have a channel of their own, on which each call waits
 * for the event that ends it. The event stays in pub.event until the next
 * call, for programs look there for private data.
 */

void rcm_forget_event(struct rcm_id *id)
{
	if (!id->pub.event)
		return;
	rdma_ack_cm_event(id->pub.event);
	id->pub.event = NULL;
}

/* An event other than the wanted one, as the call's failure. */
static int failure(const struct rdma_cm_event *e)
{
	if (e->event == RDMA_CM_EVENT_REJECTED)
		return -ECONNREFUSED;
	if (e->status < 0)
		return e->status;
	switch (e->event) {
	case RDMA_CM_EVENT_DISCONNECTED:
		return -ECONNRESET;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENODEV;
	case RDMA_CM_EVENT_UNREACHABLE: /* the status of a service lookup */
		return -ECONNREFUSED;
	default:
		return -EIO;
	}
}

/* News that answers no call. */
static bool is_aside(const struct rdma_cm_event *e)
{
	return e->event == RDMA_CM_EVENT_ADDR_CHANGE || e->event == RDMA_CM_EVENT_TIMEWAIT_EXIT;
}

int rcm_complete(struct rcm_id *id, enum rdma_cm_event_type want)
{
	struct rcm_event *e;
	int rc;

	if (!id->own)
		return 0;
	do {
		rcm_forget_event(id);
		rc = rcm_event_get(id->own, &e);
		if (rc)
			return rc;
		id->pub.event = &e->pub;
	} while (is_aside(id->pub.event));
	if (id->pub.event->event == want && !id->pub.event->status)
		return 0;
	return failure(id->pub.event);
}

bool rcm_had(struct rcm_id *id, enum rdma_cm_event_type want)
{
	struct rcm_event *e;

	while (id->own && !rcm_event_try(id->own, &e)) {
		rcm_forget_event(id);
		id->pub.event = &e->pub;
		if (e->pub.event == want)
			return true;
	}
	return false;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A round of a RoCE adapter: what progress asks of its link, its transport and its manager. */
#include "device/roce.h"

#include "cm/ibcm/ibcm.h"
#include "device/roce_cm.h"
#include "host/shm/channel.h"
#include "proto/ib/ibp.h"
#include "util/clock.h"
#include "util/heap.h"

#define RX_STREAM 8  /* datagrams after which more are likely; a ping-pong's one is not */
#define RX_BATCHES 4 /* receive calls in one round */
#define RX_FAST 16 /* messages of a poll that makes no round */
#define RX_TIME UT_MS
#define ERRORS_MAX 16

static int fast(struct dev_adapter *a, bool *ret_whole)
{
	struct shm_channel *c = a->chan;
	int n = c->ops->poll_fast(c, a->messages, RX_FAST), done = 0;

	if (n > 0) {
		done = ibp_fast_receive(&a->dev, a->messages, n);
		if (done < n)
			ibp_receive_messages(&a->dev, a->messages + done, n - done, ut_now());
		c->ops->release(c);
	}
	/* Some of it was unusual, or a call about a QP has left it something to do. */
	*ret_whole = done < n || ibp_busy(&a->dev);
	return n;
}

static int receive_messages(struct dev_adapter *a, uint64_t now)
{
	struct shm_channel *c = a->chan;
	int n = c->ops->poll(c, a->messages, DEV_RX_BATCH);

	if (n > 0) {
		ibp_receive_messages(&a->dev, a->messages, n, now);
		c->ops->release(c);
	}
	return n;
}

static int receive_datagrams(struct dev_adapter *a, uint64_t now)
{
	struct link *l = a->link;
	int n = l->ops->recv(l, a->rx, DEV_RX_BATCH);

	if (n > 0)
		ibp_receive(&a->dev, a->rx, n, now);
	return n;
}

static int receive(struct dev_adapter *a, uint64_t now)
{
	int done = 0;

	for (int batch = 0; batch < RX_BATCHES; batch++) {
		int n = receive_messages(a, now);

		a->link->local_news = n > 0;
		n += receive_datagrams(a, now);
		done += n;
		/* Large messages of this host take their time, and their senders wait for a word. */
		if (n < RX_STREAM || ut_now() - now > RX_TIME)
			break;
	}
	return done;
}

static int take_errors(struct dev_adapter *a, uint64_t now)
{
	struct link_err e;
	int n = 0;

	while (n < ERRORS_MAX && a->link->ops->error(a->link, &e) > 0) {
		ibp_unreachable(&a->dev, &e, now);
		if (a->cm.ops)
			ibcm_unreachable(&a->cm, e.dst, e.error, now);
		n++;
	}
	return n + dev_roce_cm_disconnect_dead(a, now);
}

static int transmit(struct eng_dev *dev, uint64_t now, enum eng_acks acks)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	int done = a->cm.ops ? ibcm_run(&a->cm, now) : 0;

	return done + ibp_transmit(dev, now, acks);
}

static uint64_t deadline(struct eng_dev *dev)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	uint64_t manager = a->cm.ops ? ibcm_deadline(&a->cm) : UT_NEVER;
	uint64_t transport = ibp_deadline(dev);

	return manager < transport ? manager : transport;
}

const struct dev_machine dev_roce_machine = {
	.may_coalesce = ibp_may_coalesce,
	.coalesce_more = ibp_coalesce_more,
	.fast = fast,
	.post_fast = ibp_fast_post,
	.post_direct = ibp_direct_post,
	.may_post_direct = ibp_may_direct_post,
	.receive = receive,
	.errors = take_errors,
	.transmit = transmit,
	.acks_pending = ibp_acks_pending,
	.acknowledge = ibp_acknowledge,
	.busy = ibp_busy,
	.deadline = deadline,
};

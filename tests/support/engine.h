/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Operations of a device that has no device room (engine/dev.h), and the count of a completion queue. */
#ifndef SUPPORT_ENGINE_H
#define SUPPORT_ENGINE_H

#include "engine/chan.h"
#include "engine/cq.h"
#include "engine/dev.h"
#include "engine/port.h"

/* Returns the number of completions that were not polled yet. */
static inline uint32_t eng_cq_held(struct eng_cq *cq)
{
	uint32_t n;

	ut_lock(&cq->lock);
	n = cq->tail - cq->head;
	ut_unlock(&cq->lock);
	return n;
}

/* eng_dev_ops.post_fast of adapters that send in rounds only. */
static inline bool eng_dev_by_round(struct eng_dev *dev, struct eng_qp *qp)
{
	(void)dev;
	(void)qp;
	return false;
}

/* eng_dev_ops.poll of adapters that make each round whole, and never yield. */
static inline int eng_dev_poll_by_round(struct eng_dev *dev, const struct eng_cq *cq, struct eng_poller *p)
{
	int did = 0;

	(void)cq;
	if (eng_dev_poll_begin(dev, p)) {
		did = dev->ops->progress(dev);
		eng_dev_poll_end(dev);
	}
	return did;
}

/* eng_dev_ops.wait_comp: sleeps on the descriptor of the channel. */
static inline int eng_dev_wait_comp(struct eng_dev *dev, struct eng_chan *chan)
{
	return eng_dev_wait_fd(dev, chan->fd, UINT64_MAX);
}

/* eng_dev_ops.query_port of a port that struct eng_port describes completely. */
static inline int eng_port_known(struct eng_dev *dev, struct ibv_port_attr *ret) UT_NO_TSA;
static inline int eng_port_known(struct eng_dev *dev, struct ibv_port_attr *ret)
{
	const struct eng_port *p = &dev->port;

	*ret = (struct ibv_port_attr){
		.state = p->state, .phys_state = p->phys_state, .max_mtu = p->max_mtu,
		.active_mtu = p->active_mtu, .active_width = p->active_width,
		.active_speed = p->active_speed, .max_msg_sz = dev->max_msg_sz, .max_vl_num = 1,
	};
	return 0;
}

#endif

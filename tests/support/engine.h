/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What tests ask the engine, and the product never does. */
#ifndef SUPPORT_ENGINE_H
#define SUPPORT_ENGINE_H

#include "engine/cq.h"
#include "engine/dev.h"

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

#endif

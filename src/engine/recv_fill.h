/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What receive queues and shared receive queues have in common. */
#ifndef ENGINE_RECV_FILL_H
#define ENGINE_RECV_FILL_H

#include "engine/wqe.h"

static inline uint32_t eng_recv_stride(uint32_t max_sge)
{
	return (uint32_t)(sizeof(struct eng_rwqe) + max_sge * sizeof(struct ibv_sge));
}

/* Appends one request: 0, -EINVAL, -ENOMEM. */
int eng_recv_put(struct eng_ring *r, uint32_t max_sge, const struct ibv_recv_wr *wr)
	UT_REQUIRES(r->lock);
/* Copies the oldest entry out and frees its slot. False: empty. Consumer side. */
bool eng_recv_pop(struct eng_ring *r, struct eng_rwqe *buf);

#endif

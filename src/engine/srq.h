/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared receive queues, basic ones and those of XRC domains (IBTA 10.2.9). Programs append under the lock
 * of the ring; queue pairs take under it as well, so that a queue has one consumer at a time.
 */
#ifndef ENGINE_SRQ_H
#define ENGINE_SRQ_H

#include "engine/ring.h"
#include "engine/wqe.h"

struct eng_ctx;
struct eng_cq;
struct eng_dev;
struct eng_pd;
struct eng_xrcd;

struct eng_srq {
	struct eng_ctx *ctx;
	struct eng_dev *dev;
	struct eng_pd *pd;
	struct eng_cq *cq;     /* XRC */
	struct eng_xrcd *xrcd; /* XRC */
	uint32_t number;       /* XRC: SRQ number on the wire */
	uint32_t max_sge;
	void *user;
	struct eng_ring ring;
	uint32_t limit; /* armed when > 0; ring.lock */
	atomic_uint users; /* QPs */
};

struct eng_srq_spec {
	struct eng_pd *pd;
	struct eng_cq *cq;
	struct eng_xrcd *xrcd; /* both NULL for a basic one */
	struct ibv_srq_attr attr;
};

/* spec->attr is updated with the real sizes. Returns 0, -EINVAL, -ENOMEM; for an XRC one, which joins the
 * adapter's port as a queue pair does, also -EADDRINUSE, ... */
int eng_srq_create(struct eng_ctx *ctx, struct eng_srq_spec *spec, struct eng_srq **ret);
/* Returns 0, or -EBUSY while queue pairs use it. */
int eng_srq_destroy(struct eng_srq *srq);
/* mask: IBV_SRQ_MAX_WR, IBV_SRQ_LIMIT. Entries survive a resize. Returns 0, -EINVAL or -ENOMEM. */
int eng_srq_modify(struct eng_srq *srq, const struct ibv_srq_attr *attr, int mask);
int eng_srq_query(struct eng_srq *srq, struct ibv_srq_attr *ret);
/* Returns 0, or -EINVAL (too many pieces) or -ENOMEM (full) with *bad set to the first request not taken. */
int eng_srq_post(struct eng_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
/* Returns the XRC one of this number, or NULL. Called with dev->lock held. */
struct eng_srq *eng_srq_find(struct eng_dev *dev, uint32_t number);
/* Takes the oldest entry to buf, which has room for max_sge pieces. Raises SRQ_LIMIT_REACHED if the number of
 * entries falls below the limit. Returns false if the queue is empty. */
bool eng_srq_take(struct eng_srq *srq, struct eng_rwqe *buf);

#endif

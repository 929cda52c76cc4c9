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

/* attr is updated with the real sizes. -EINVAL, -ENOMEM; an XRC one joins the adapter's port as a QP
 * does: also -EADDRINUSE ... */
int eng_srq_create(struct eng_ctx *ctx, struct eng_srq_spec *spec, struct eng_srq **ret);
int eng_srq_destroy(struct eng_srq *srq); /* 0 or -EBUSY */
/* mask: IBV_SRQ_MAX_WR, IBV_SRQ_LIMIT. Entries survive a resize. */
int eng_srq_modify(struct eng_srq *srq, const struct ibv_srq_attr *attr, int mask);
int eng_srq_query(struct eng_srq *srq, struct ibv_srq_attr *ret);
/* 0 or a negative errno with *bad set: -EINVAL (too many entries), -ENOMEM (full). */
int eng_srq_post(struct eng_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
/* The XRC one of this number, or NULL. dev->lock held. */
struct eng_srq *eng_srq_find(struct eng_dev *dev, uint32_t number);
/* Copies the oldest entry into buf (room for max_sge entries) and removes it;
 * raises SRQ_LIMIT_REACHED when the count falls below the limit. False: empty. */
bool eng_srq_take(struct eng_srq *srq, struct eng_rwqe *buf);

#endif

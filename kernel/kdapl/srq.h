/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive queues. Records are on a free list, since endpoints complete them in any order. */
#ifndef KDAPL_SRQ_H
#define KDAPL_SRQ_H

#include "kdapl/ep.h"

struct kdp_srq {
	struct kdp_obj obj;
	struct kdp_pz *pz;       /* a use */
	struct ib_srq *srq;      /* life; NULL once the device has left */
	spinlock_t lock;
	struct ib_srq *post;     /* = srq; lock */
	struct kdp_dto *dto;
	struct list_head free;   /* lock */
	DAT_SRQ_ATTR attr;
	DAT_COUNT available;     /* posted and not taken; lock */
	DAT_SRQ_STATE state;
};

static inline struct kdp_srq *kdp_srq_of(DAT_HANDLE h)
{
	return kdp_obj_of(h, DAT_HANDLE_TYPE_SRQ);
}

/* The record of a receive whose completion is queued is free again. Any context. */
void kdp_srq_give_back(struct kdp_dto *d);

DAT_RETURN kdp_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *srq);
DAT_RETURN kdp_srq_free(DAT_SRQ_HANDLE srq);
DAT_RETURN kdp_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie);
DAT_RETURN kdp_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param);
DAT_RETURN kdp_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT max_recv_dtos);
DAT_RETURN kdp_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low_watermark);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive queues: creation, size, low watermark, end. DAT has counts that verbs lack. */
#ifndef DAT_PROVIDER_DTO_SRQ_H
#define DAT_PROVIDER_DTO_SRQ_H

#include "dat/provider/dto/dto.h"
#include "dat/provider/ia/obj.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdbool.h>

struct dpr_pz;

/* Records are allocated in chunks that never move: their addresses travel as wr_id. */
struct dpr_srq_chunk {
	struct dpr_srq_chunk *next;
	struct dpr_dto record[];
};

struct dpr_srq {
	struct dpr_obj obj;   /* uses: endpoints */
	struct ut_mutex lock; /* a leaf, below evd->lock: completions come under that */
	struct dpr_pz *pz;    /* constant; a use and a reference */
	struct ibv_srq *srq;
	DAT_COUNT iov_max;
	DAT_COUNT max UT_GUARDED_BY(lock), made UT_GUARDED_BY(lock); /* granted; records allocated */
	DAT_COUNT low UT_GUARDED_BY(lock); /* DAT_SRQ_LW_DEFAULT: not armed */
	struct dpr_srq_chunk *chunks UT_GUARDED_BY(lock);
	struct dpr_dto *free UT_GUARDED_BY(lock);
	DAT_COUNT posted UT_GUARDED_BY(lock);      /* on the queue: available_dto_count */
	DAT_COUNT outstanding UT_GUARDED_BY(lock); /* not yet reaped: outstanding_dto_count */
	bool failed UT_GUARDED_BY(lock);
};

extern const struct dpr_class dpr_srq_class;

static inline struct dpr_srq *dpr_srq_of(DAT_HANDLE h)
{
	return (struct dpr_srq *)dpr_obj_of(h, DPR_SRQ);
}

/* In the loop: SRQ_LIMIT_REACHED or SRQ_ERR of the device. */
void dpr_srq_async(struct dpr_srq *s, enum ibv_event_type type);

DAT_RETURN dpr_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
			  DAT_SRQ_HANDLE *srq);
DAT_RETURN dpr_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param);
DAT_RETURN dpr_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT n);
DAT_RETURN dpr_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low);
DAT_RETURN dpr_srq_free(DAT_SRQ_HANDLE srq);

#endif

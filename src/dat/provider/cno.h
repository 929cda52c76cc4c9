/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Consumer notification objects: several EVDs, one wait. The trigger is sticky; each CNO has at
 * most one of: waiters, a proxy agent (called once from the loop thread, then gone), a descriptor.
 */
#ifndef DAT_PROVIDER_CNO_H
#define DAT_PROVIDER_CNO_H

#include "dat/provider/ia.h"

struct dpr_evd;

struct dpr_cno {
	struct dpr_obj obj;
	struct ut_mutex lock;
	pthread_cond_t triggered_cond; /* CLOCK_MONOTONIC */
	int fd;                        /* eventfd of dat_cno_fd_create, else -1 */
	bool triggered UT_GUARDED_BY(lock);
	struct dpr_evd *last UT_GUARDED_BY(lock); /* the hint given back; may be dead: compare only */
	unsigned int waiters UT_GUARDED_BY(lock);
	DAT_OS_WAIT_PROXY_AGENT agent UT_GUARDED_BY(lock);
};

static inline struct dpr_cno *dpr_cno_of(DAT_HANDLE h)
{
	return (struct dpr_cno *)dpr_obj_of(h, DPR_CNO);
}

/* evd NULL: the end (all EVDs freed, adapter closed). No lock of this layer held but evd->lock. */
void dpr_cno_fire(struct dpr_cno *c, struct dpr_evd *evd);

#endif

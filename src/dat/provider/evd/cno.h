/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Consumer notification objects: one wait for several EVDs. A CNO has waiters, or a proxy agent
 * (the loop calls it once, then it is gone), or a descriptor.
 *
 * A trigger goes to the agent if there is one. Else it stays until it is collected: by one waiter,
 * by dat_cno_trigger, or by a read of the descriptor. The end of a CNO - its last EVD is gone or
 * the adapter is closed - goes to all waiters.
 */
#ifndef DAT_PROVIDER_EVD_CNO_H
#define DAT_PROVIDER_EVD_CNO_H

#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_evd;

struct dpr_cno {
	struct dpr_obj obj; /* uses: EVDs */
	struct ut_mutex lock;
	int fd;                     /* eventfd of dat_cno_fd_create, else -1; constant */
	struct dpr_timer run_agent; /* the loop calls the agent */
	_Atomic uint32_t fires;     /* futex of the waiters */

	bool triggered UT_GUARDED_BY(lock);
	bool dead UT_GUARDED_BY(lock);
	uint32_t ends UT_GUARDED_BY(lock); /* how often the last EVD left */
	DAT_EVD_HANDLE last UT_GUARDED_BY(lock); /* that triggered; may be freed by now */
	unsigned int waiters UT_GUARDED_BY(lock);
	DAT_OS_WAIT_PROXY_AGENT agent UT_GUARDED_BY(lock);
	DAT_OS_WAIT_PROXY_AGENT called UT_GUARDED_BY(lock); /* by run_agent */
};

extern const struct dpr_class dpr_cno_class;

static inline struct dpr_cno *dpr_cno_of(DAT_HANDLE h)
{
	return (struct dpr_cno *)dpr_obj_of(h, DPR_CNO);
}

/* Triggers c for evd; NULL: the end of c. Called with at most evd->lock held. */
void dpr_cno_fire(struct dpr_cno *c, struct dpr_evd *evd);
/* Drops the use and the reference that an EVD has of c; the last EVD ends c. No lock held. */
void dpr_cno_leave(struct dpr_cno *c);

DAT_RETURN dpr_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno);
DAT_RETURN dpr_cno_fd_create(DAT_IA_HANDLE ia, DAT_FD *fd, DAT_CNO_HANDLE *cno);
DAT_RETURN dpr_cno_modify_agent(DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent);
DAT_RETURN dpr_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param);
DAT_RETURN dpr_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd);
DAT_RETURN dpr_cno_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd);
DAT_RETURN dpr_cno_free(DAT_CNO_HANDLE cno);

#endif

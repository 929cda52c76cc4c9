/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Consumer notification objects: several EVDs, one wait. The trigger is sticky; each CNO has at
 * most one of: waiters, a proxy agent (called once from the loop thread, then gone), a descriptor.
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
	int fd;                     /* eventfd of dat_cno_fd_create, else -1; immutable */
	struct dpr_timer run_agent; /* the loop calls the agent */
	_Atomic uint32_t fires;     /* waiters sleep on it (futex) */

	bool triggered UT_GUARDED_BY(lock);
	bool dead UT_GUARDED_BY(lock);
	uint32_t ends UT_GUARDED_BY(lock); /* how often the last EVD went away */
	DAT_EVD_HANDLE last UT_GUARDED_BY(lock); /* the hint given back; may be freed by now */
	unsigned int waiters UT_GUARDED_BY(lock);
	DAT_OS_WAIT_PROXY_AGENT agent UT_GUARDED_BY(lock);
	DAT_OS_WAIT_PROXY_AGENT called UT_GUARDED_BY(lock); /* for run_agent */
};

static inline struct dpr_cno *dpr_cno_of(DAT_HANDLE h)
{
	return (struct dpr_cno *)dpr_obj_of(h, DPR_CNO);
}

/* evd NULL: the end (all EVDs freed, adapter closed). No lock of this layer held but evd->lock. */
void dpr_cno_fire(struct dpr_cno *c, struct dpr_evd *evd);
/* An EVD lets go of its CNO (held and used for it): the last one is the end. No lock held. */
void dpr_cno_leave(struct dpr_cno *c);

/* --- calls --- */
DAT_RETURN dpr_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno);
DAT_RETURN dpr_cno_fd_create(DAT_IA_HANDLE ia, DAT_FD *fd, DAT_CNO_HANDLE *cno);
DAT_RETURN dpr_cno_modify_agent(DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent);
DAT_RETURN dpr_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param);
DAT_RETURN dpr_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd);
DAT_RETURN dpr_cno_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd);
DAT_RETURN dpr_cno_free(DAT_CNO_HANDLE cno);

extern const struct dpr_class dpr_cno_class;

#endif

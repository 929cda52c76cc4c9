/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_ep_post_recv, legal in every state: without a queue pair the segments wait in the record
 * queue, and are given to the queue pair when there is one.
 */
#ifndef DAT_PROVIDER_DTO_RECV_H
#define DAT_PROVIDER_DTO_RECV_H

#include "dat/provider/ep/ep.h"
#include "util/lock.h"

#include <dat2/udat.h>

/* The queue pair exists and is in INIT: post what waits in rq (also if nothing does: notes what
 * the queue pair can do). 0 or positive errno. In recv.c. */
int dpr_ep_flush_posted(struct dpr_ep *ep) UT_REQUIRES(ep->lock);

/* Receives that wait in rq for a queue pair that will not come: flushed to the receive EVD. */
void dpr_ep_fail_posted(struct dpr_ep *ep) UT_REQUIRES(ep->lock);

DAT_RETURN dpr_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);

#endif

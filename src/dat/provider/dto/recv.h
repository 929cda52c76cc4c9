/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_ep_post_recv, legal in every state: without a queue pair the segments wait in the queue of
 * records, and are posted when the queue pair is made.
 */
#ifndef DAT_PROVIDER_DTO_RECV_H
#define DAT_PROVIDER_DTO_RECV_H

#include "dat/provider/ep/ep.h"
#include "util/lock.h"

#include <dat2/udat.h>

DAT_RETURN dpr_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);

/* Posts the waiting receives and records what the queue pair can do. Called with the queue pair in
 * INIT. Returns 0 or a positive errno. */
int dpr_ep_flush_posted(struct dpr_ep *ep) UT_REQUIRES(ep->lock);
/* Flushes the waiting receives to the receive EVD: no queue pair will be made. */
void dpr_ep_fail_posted(struct dpr_ep *ep) UT_REQUIRES(ep->lock);

#endif

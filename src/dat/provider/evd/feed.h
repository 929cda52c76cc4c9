/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queues that feed an EVD: how they notify, and the entries of the completion queue that their
 * swallowed completions take.
 */
#ifndef DAT_PROVIDER_EVD_FEED_H
#define DAT_PROVIDER_EVD_FEED_H

#include <dat2/udat.h>

struct dpr_ep;
struct dpr_evd;

/*
 * Adds a queue pair or SRQ that feeds e with completions of `mode` (recv_ or
 * request_completion_flags), of which up to `hidden` at a time are swallowed: resizes the
 * completion queue if need be. Uses e. Returns 0 or a positive errno. May sleep.
 */
int dpr_evd_feed(struct dpr_evd *e, unsigned int hidden, DAT_COMPLETION_FLAGS mode);
/* Undoes dpr_evd_feed with the same arguments. */
void dpr_evd_unfeed(struct dpr_evd *e, unsigned int hidden, DAT_COMPLETION_FLAGS mode);

/* Drops the queued DTO events of ep and empties the completion queue. Called after ep's queue pair
 * is destroyed and before its records are freed (dat_ep_reset, dat_ep_free). */
void dpr_evd_purge(struct dpr_evd *e, struct dpr_ep *ep);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs that feed an EVD: they come, with completions of one mode or another, and go. */
#ifndef DAT_PROVIDER_EVD_FEED_H
#define DAT_PROVIDER_EVD_FEED_H

#include <dat2/udat.h>

struct dpr_ep;
struct dpr_evd;

/*
 * A QP or SRQ feeds this EVD now, with completions of `mode` (recv_ or request_completion_flags):
 * keeps `hidden` entries of the completion queue for completions that are swallowed, resizing if
 * needed. Counts as a use of e. 0 or positive errno. dpr_evd_unfeed undoes it. May sleep.
 */
int dpr_evd_feed(struct dpr_evd *e, unsigned int hidden, DAT_COMPLETION_FLAGS mode);
void dpr_evd_unfeed(struct dpr_evd *e, unsigned int hidden, DAT_COMPLETION_FLAGS mode);

/* Forget queued DTO events of an endpoint (dat_ep_reset, dat_ep_free may drop them), and make sure that
 * the completion queue has none: after the queue pair is gone, before its records go. */
void dpr_evd_purge(struct dpr_evd *e, struct dpr_ep *ep);

#endif

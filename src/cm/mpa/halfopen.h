/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How many handshakes a listener and a remote address may have open. */
#ifndef CM_MPA_HALFOPEN_H
#define CM_MPA_HALFOPEN_H

#include "cm/mpa/ep.h"

/* e is half open; if there are too many, the oldest without a whole Request is destroyed. 0 or -ENOMEM. */
int mpa_half_open_add(struct mpa_ep *e, struct mpa_ep *listener);
void mpa_half_open_del(struct mpa_ep *e);
/* e waits for its user's answer and counts for the listener's backlog. */
void mpa_pending_add(struct mpa_ep *e, struct mpa_ep *listener);
void mpa_pending_del(struct mpa_ep *e);
/* If there is room in the backlog, the oldest endpoint that waits for it has its turn. */
void mpa_pending_next(struct mpa_ep *listener);

#endif

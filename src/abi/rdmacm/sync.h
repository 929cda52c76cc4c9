/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_RDMACM_SYNC_H
#define ABI_RDMACM_SYNC_H

#include "abi/rdmacm/rcm.h"

/*
 * sync.c: after an operation was started. An asynchronous identifier: 0. A synchronous one
 * waits for the event `want`, which pub.event then holds; another one is the
 * operation's failure. 0 or negative errno. A cancellation point.
 */
int rcm_complete(struct rcm_id *id, enum rdma_cm_event_type want);
/* Is the event that the last call waited for still there, it is acknowledged. */
void rcm_forget_event(struct rcm_id *id);
/* A queued event of this type is taken now, without waiting: was there one? */
bool rcm_had(struct rcm_id *id, enum rdma_cm_event_type want);

#endif

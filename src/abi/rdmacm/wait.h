/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Waiting for events: rdma_get_cm_event(), and the calls of synchronous identifiers. */
#ifndef ABI_RDMACM_WAIT_H
#define ABI_RDMACM_WAIT_H

#include "abi/rdmacm/rcm.h"

/* Events will come from this adapter (NULL: from any). A thread that waits for them drives it meanwhile,
 * which spares a wake-up. */
void rcm_chan_hears(struct rdma_event_channel *ch, struct eng_dev *dev);
/* As rcm_event_try(), blocking as the descriptor says. A cancellation point; no lock may be held. */
int rcm_event_get(struct rcm_chan *ch, struct rcm_event **ret);

/* --- synchronous calls --- */

/*
 * Ends an operation that was started. An asynchronous identifier returns 0 at once. A synchronous one
 * waits for the event `want`, which pub.event holds afterwards; any other event is the
 * operation's failure. Returns 0 or a negative errno. A cancellation point.
 */
int rcm_complete(struct rcm_id *id, enum rdma_cm_event_type want);
/* Acknowledges the event that the last synchronous call waited for, unless the program has. */
void rcm_forget_event(struct rcm_id *id);
/* Takes a queued event of this type without waiting. Returns true if there was one. */
bool rcm_had(struct rcm_id *id, enum rdma_cm_event_type want);

#endif

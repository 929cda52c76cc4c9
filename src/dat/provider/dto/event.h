/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From work completion to event, for completions that dpr_fast_event() (fast.h) leaves: evd/drain.c calls
 * both, and queues the event. In any thread, with evd->lock held and nothing else. Requests
 * complete in order, so a completion retires its record and every suppressed one before it. Those
 * succeeded: verbs complete a failed request whether or not it is signalled. Records are retired
 * without ep->lock: `tail` is atomic and written by the drainer of the one EVD that the queue
 * feeds.
 *
 * A graceful disconnect sets the state first and then drains the request EVD once: by the EVD's
 * lock every later drainer sees the state, so *drained is not missed.
 *
 * A completion must not meet a freed endpoint: destroy the queue pair, then drain and purge its
 * EVDs until nothing of it is left, then call dpr_dtoq_fini.
 */
#ifndef DAT_PROVIDER_DTO_EVENT_H
#define DAT_PROVIDER_DTO_EVENT_H

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdbool.h>

struct dpr_dtoq;
struct dpr_ep;
struct dpr_ia;

/*
 * Turns a completion into *ev. Returns false if it is swallowed. Sets *broken to the endpoint whose
 * connection this ends, and *drained to one that may wait for its last request, with a reference
 * each; the caller passes them to dpr_ep_broken and dpr_ep_drained after it released its locks.
 */
bool dpr_dto_event(const struct ibv_wc *wc, DAT_EVENT *ev, bool *notify, struct dpr_ep **broken,
		   struct dpr_ep **drained);

/* Frees q and drops the references of its records. Called after the queue pair is destroyed, with
 * no completion of it left in an EVD. */
void dpr_dtoq_fini(struct dpr_dtoq *q);

#endif

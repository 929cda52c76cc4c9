/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From work completion to event, under the lock of the EVD and nothing else. Requests complete in
 * order, so one completion retires its record and every suppressed one before it: those
 * succeeded, because verbs completes each failed request whether or not it is signalled.
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
 * Whoever starts a graceful disconnect sets the state first and then drains the request EVD once:
 * its lock makes every later drainer see the state, so *drained is not missed.
 *
 * A completion must not meet a freed endpoint: destroy the queue pair, then drain and purge its
 * EVDs until nothing of it is left, then dpr_dtoq_fini.
 */

/*
 * One completion. *broken is set to the endpoint (held) whose connection this ends, *drained to
 * one (held) that may wait for its last request; the caller acts on both after it let go of its
 * locks (dpr_ep_broken, dpr_ep_drained) and puts the reference.
 */
bool dpr_dto_event(struct dpr_ia *ia, const struct ibv_wc *wc, DAT_EVENT *ev,
			       bool *notify, struct dpr_ep **broken, struct dpr_ep **drained);

/* The queue pair is gone and no completion of it is left in any EVD. Also forgets references. */
void dpr_dtoq_fini(struct dpr_dtoq *q);

#endif

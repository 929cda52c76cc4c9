/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Identifiers: how one begins and ends, and the table of its states. */
#ifndef CM_CMA_ID_H
#define CM_CMA_ID_H

#include "cm/cm.h"
#include "cm/cma/core.h"

int cma_id_new(struct cma *c, enum cm_ps ps, enum ibv_qp_type type, struct cma_id **ret);
void cma_id_put(struct cma_id *id) UT_EXCLUDES(id->c->lock);
/* Moves the state on. Returns 0 with the former state in *old (or NULL), or -EINVAL: the call is illegal in it. */
int cma_move(struct cma_id *id, enum cma_act act, enum cma_state *old)
	UT_EXCLUDES(id->c->lock);
int cma_may(struct cma_id *id, enum cma_act act) UT_EXCLUDES(id->c->lock);
/* Moves the state back to `to`, unless the device went meanwhile. */
void cma_move_back(struct cma_id *id, enum cma_state from, enum cma_state to)
	UT_EXCLUDES(id->c->lock);
struct cm_options cma_opt(struct cma_id *id) UT_EXCLUDES(id->c->lock);
int cma_family(struct cma_id *id) UT_EXCLUDES(id->c->lock);

/* --- states --- */

/* Returns the next state, or -EINVAL: the call is illegal, or the event is not for the user. */
int cma_next(enum cma_state now, enum cma_act act);
const char *cma_state_name(enum cma_state s);

/* Return the act, and the value of enum rdma_cm_event_type, that a manager's event (all but REQUEST) is to the user. */
enum cma_act cma_act_of(const struct cm_event *ev);
int cma_type_of(const struct cm_event *ev, bool ud);

#endif

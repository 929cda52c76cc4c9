/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_CMA_ID_H
#define CM_CMA_ID_H

#include "cm/cma/core.h"

/* --- id.c --- */
int cma_id_new(struct cma *c, enum cm_ps ps, enum ibv_qp_type type, struct cma_id **ret);
void cma_id_put(struct cma_id *id) UT_EXCLUDES(id->c->lock);
/* The call is legal: state moves on, 0; else -EINVAL. *old may be NULL. */
int cma_move(struct cma_id *id, enum cma_act act, enum cma_state *old)
	UT_EXCLUDES(id->c->lock);
int cma_may(struct cma_id *id, enum cma_act act) UT_EXCLUDES(id->c->lock);
/* Back to `to` unless the device went meanwhile. */
void cma_move_back(struct cma_id *id, enum cma_state from, enum cma_state to)
	UT_EXCLUDES(id->c->lock);
struct cm_options cma_opt(struct cma_id *id) UT_EXCLUDES(id->c->lock);
int cma_family(struct cma_id *id) UT_EXCLUDES(id->c->lock);

#endif

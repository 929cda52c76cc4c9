/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory windows (IBTA 10.6.7.2). A bound window counts on its region, so the region outlives the
 * binding; a type 2 window is also on a list of its queue pair.
 */
#ifndef ENGINE_MW_H
#define ENGINE_MW_H

#include "engine/mkey.h"
#include "engine/verdict.h"

struct eng_qp;
struct eng_swqe;

/* Returns 0, -EINVAL (no such type) or -ENOMEM. */
int eng_mw_alloc(struct eng_pd *pd, enum ibv_mw_type type, struct eng_mkey **ret);
/* Returns 0. A bound window is unbound. */
int eng_mw_dealloc(struct eng_mkey *mw);

/*
 * Executes the bind that a posted entry asks for, in queue order. Returns ENG_OK or ENG_V_MW_BIND.
 * w->bind.key is the key that the window has afterwards; length 0 unbinds a type 1 window. Window and
 * region are looked up by key, since they may have gone since they were posted. The requester calls it
 * (proto/ib/requester.c, proto/iwarp/send.c), and completes the entry with the verdict. dev->lock held.
 */
enum eng_verdict eng_mw_bind(struct eng_qp *qp, const struct eng_swqe *w);
/* Unbinds the type 2 window with this key, for IBV_WR_LOCAL_INV and Send with invalidate. Returns ENG_OK,
 * or ENG_V_MW_BIND if none is bound to this queue pair. Responders call it as well (proto/ib/responder.c,
 * proto/iwarp/place.c). dev->lock held. */
enum eng_verdict eng_mkey_invalidate(struct eng_qp *qp, uint32_t key);
/* Unbinds the windows of a queue pair that is destroyed. dev->lock held. */
void eng_mw_detach(struct eng_qp *qp);

#endif

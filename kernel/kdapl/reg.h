/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registration for dat_lmr_kcreate, which names no endpoint: a zone has two endpoints of its own, connected to each other
 * through the adapter, and one of them posts the work request. They are made with the first such region of the zone.
 */
#ifndef KDAPL_REG_H
#define KDAPL_REG_H

#include "kdapl/mem.h"

/* Registers l and waits for it. May sleep. */
DAT_RETURN kdp_reg_run(struct kdp_pz *pz, struct kdp_lmr *l);
/* Ends the helper of pz, if it has one. Called with pz's life held. */
void kdp_reg_end(struct kdp_pz *pz);

#endif

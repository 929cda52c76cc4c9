/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The sentence of a connection that failed. Called by the managers (ibcm, mpa) and the RDMA CM (cma/event.c) where an
 * attempt ends; the sentence goes through the engine (engine/why.c) to the log and to `dapple why`.
 */
#ifndef CM_WHY_H
#define CM_WHY_H

#include "cm/cm.h"

/* Why a connection came to nothing, in a sentence that names both ends: it is logged, and kept for
 * `dapple why`. dev->lock held. */
void cm_why(struct cm_port *p, const struct link_end *local, const struct link_end *remote,
	    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif

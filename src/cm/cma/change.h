/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* All identifiers, visited one by one. */
#ifndef CM_CMA_CHANGE_H
#define CM_CMA_CHANGE_H

#include "cm/cma/core.h"

/* Returns references to all identifiers, which the caller gives back (cma_id_put()) and frees; *n is their number. NULL: no
 * memory, or none. */
struct cma_id **cma_hold_all(struct cma *c, size_t *n) UT_EXCLUDES(c->lock);

#endif

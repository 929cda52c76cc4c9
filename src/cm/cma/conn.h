/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_CMA_CONN_H
#define CM_CMA_CONN_H

#include "cm/cma/core.h"

/* Loads an alternate path into the connection. Returns 0: ROUTE_RESOLVED or ROUTE_ERROR follows; or as cm_ops.load_path.
 * Called with id->call. */
int cma_load_path(struct cma_id *id, const struct cm_path *path);

#endif

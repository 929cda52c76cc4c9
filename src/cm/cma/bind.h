/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_CMA_BIND_H
#define CM_CMA_BIND_H

#include "cm/cma/core.h"

/* --- bind.c --- */
/* Takes a service ID that is none of a port. Returns 0 or -EPROTONOSUPPORT: the identifier's port space has none such. */
int cma_take_service(struct cma_id *id, const struct cma_addr *a);
int cma_bind_addr(struct cma_id *id, const struct cma_addr *a);

#endif

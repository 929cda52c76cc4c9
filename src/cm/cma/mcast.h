/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_CMA_MCAST_H
#define CM_CMA_MCAST_H

#include "cm/cma/core.h"

/* --- mcast.c --- */
void cma_leave_all(struct cma_id *id);

#endif

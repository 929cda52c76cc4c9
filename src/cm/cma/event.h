/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_CMA_EVENT_H
#define CM_CMA_EVENT_H

#include "cm/cma/core.h"

/* What a failure means; dev->lock of its adapter held. */
void cma_say(const struct cm_event *ev);
extern const struct cm_user cma_user;

#endif

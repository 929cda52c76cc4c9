/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_RDMACM_EVENT_H
#define ABI_RDMACM_EVENT_H

#include "abi/rdmacm/rcm.h"

/* event.c. True: fit to be shown; false: it was none of the program's business. */
bool rcm_event_fill(struct rcm_event *e);

#endif

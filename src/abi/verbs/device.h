/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_DEVICE_H
#define ABI_VERBS_DEVICE_H

#include "abi/verbs/vrb.h"

/* The list of devices. A device lives as long as it has references: of the list, of each array that was
 * given out, of each context. */
void vrb_device_get(struct vrb_device *d);
void vrb_device_put(struct vrb_device *d);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kinds of adapters and the list of them. */
#ifndef DEVICE_DEVICES_H
#define DEVICE_DEVICES_H

#include "device/device.h"

struct dev_kind_row;

/* Every adapter of this network namespace, whatever the environment chooses. */
int dev_list_all(struct dev_info **ret);
/* The row of a kind that this build has, or NULL. */
const struct dev_kind_row *dev_kind_find(enum dev_kind kind);

#endif

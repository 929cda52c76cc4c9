/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which adapters exist here. */
#ifndef DEVICE_DEVICES_H
#define DEVICE_DEVICES_H

#include "device/device.h"

/*
 * The adapters of this network namespace in listing order (DAPPLE_ADAPTER chooses kinds and their order,
 * default "roce,iwarp"; DAPPLE_DEVICES is an optional comma list of names). *ret is one allocation to
 * free(). Returns their number or negative errno.
 */
int dev_list(struct dev_info **ret);
/* The same without a look at the environment: all of them. */
int dev_list_all(struct dev_info **ret);
/* Returns true if kinds whose adapters stand on no interface, as that of a fabric's node, are among those asked for. */
bool dev_list_has_node(void);

#endif

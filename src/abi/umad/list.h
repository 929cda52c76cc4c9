/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_UMAD_LIST_H
#define ABI_UMAD_LIST_H

#include "device/device.h"

/* The adapters whose names fit into libibumad's structures; *ret is one allocation to free(). Returns their
 * number or a negative errno. */
int umad_list(struct dev_info **ret);

#endif

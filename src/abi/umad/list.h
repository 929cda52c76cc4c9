/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_UMAD_LIST_H
#define ABI_UMAD_LIST_H

#include "device/device.h"

/* The adapters whose names fit into libibumad's structures; *ret is one allocation to free(). Returns their
 * number or a negative errno. */
int umad_list(struct dev_info **ret);
/* name NULL: the first. Returns 0, -ENODEV or another negative errno. */
int umad_find(const char *name, struct dev_info *ret);
/* The number of a port; 0 asks for the usual one of the adapter. Returns a negative errno if there is none. */
int umad_port_number(const char *ca_name, int number);

#endif

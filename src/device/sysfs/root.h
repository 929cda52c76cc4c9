/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Describes every adapter of this network namespace for the sysfs stand-in (tree.h). */
#ifndef DEVICE_SYSFS_ROOT_H
#define DEVICE_SYSFS_ROOT_H

/* Returns the root of the sysfs stand-in for this namespace, or of the view of a program that is offered some adapters
 * only, made when missing; NULL if the runtime
 * directory cannot be used, which is logged. Static storage. */
const char *dev_tree_root(void);

#endif

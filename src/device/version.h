/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which build of Dapple this process runs; tools and shells must show the same. */
#ifndef DEVICE_VERSION_H
#define DEVICE_VERSION_H

/* The project version, e.g. "0.1.0"; immutable, never NULL. */
const char *dev_version(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The version of Dapple under a program; a libibverbs without this call is not Dapple's. */
#ifndef DAPPLE_VERSION_H
#define DAPPLE_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library in use, e.g. "0.1.0"; never NULL, valid for the process's life. */
const char *dpl_version(void);

#ifdef __cplusplus
}
#endif

#endif

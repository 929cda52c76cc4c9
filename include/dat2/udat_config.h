/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DAT 2.0: what dat_ia_open() asks for. */
#ifndef _UDAT_CONFIG_H_
#define _UDAT_CONFIG_H_

#define DAT_VERSION_MAJOR 2
#define DAT_VERSION_MINOR 0

/* A program that calls from several threads at once sets DAT_TRUE before it includes. */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE DAT_FALSE
#endif

#ifndef DAT_EXTENSIONS
#define DAT_EXTENSIONS 1
#endif

#endif

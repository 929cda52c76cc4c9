/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* kDAPL 2.0: what dat_ia_open() asks for. The headers of old say 1.2 here by mistake. */
#ifndef _KDAT_CONFIG_H_
#define _KDAT_CONFIG_H_

#define DAT_VERSION_MAJOR 2
#define DAT_VERSION_MINOR 0

/* In the kernel each consumer calls from several contexts. */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE DAT_TRUE
#endif

#endif

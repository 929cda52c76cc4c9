/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DAT 1.2, user space: no vendor adds anything here. */
#ifndef _UDAT_VENDOR_SPECIFIC_H_
#define _UDAT_VENDOR_SPECIFIC_H_

#include <dat/dat_vendor_specific.h>

#endif

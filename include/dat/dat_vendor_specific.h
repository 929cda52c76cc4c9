/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DAT 1.2: no vendor adds anything here; the file exists because programs include it. */
#ifndef _DAT_VENDOR_SPECIFIC_H_
#define _DAT_VENDOR_SPECIFIC_H_

#endif

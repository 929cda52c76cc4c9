/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the provider says: nothing, unless DAPL_DBG_TYPE asks (bits as in other DAPL providers), and
 * then to stdout (DAPL_DBG_DEST=1, the default) or the system log (2).
 */
#ifndef DAT_PROVIDER_IA_LOG_H
#define DAT_PROVIDER_IA_LOG_H

#include <dat2/udat.h>

enum dpr_log_bit {
	DPR_LOG_ERR = 0x1,
	DPR_LOG_WARN = 0x2,
	DPR_LOG_EVD = 0x4,
	DPR_LOG_CM = 0x8,
	DPR_LOG_EP = 0x10,
	DPR_LOG_UTIL = 0x20,
};

__attribute__((format(printf, 2, 3))) void dpr_log(enum dpr_log_bit bit, const char *fmt, ...);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Log lines. DAPL_DBG_TYPE selects them by bits, as in other DAPL providers (default: none);
 * DAPL_DBG_DEST sends them to standard output (1, the default) or the system log (2).
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

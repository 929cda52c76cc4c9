/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connection requests: looked at, accepted, rejected, handed on. Each can be answered once; `taken`
 * says that somebody is at it, since an answer that fails for want of a better endpoint leaves the
 * request where it was.
 */
#ifndef DAT_PROVIDER_CM_CR_H
#define DAT_PROVIDER_CM_CR_H

#include "dat/provider/ia/obj.h"

#include <dat2/udat.h>

DAT_RETURN dpr_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param);
DAT_RETURN dpr_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size, const DAT_PVOID data);
DAT_RETURN dpr_cr_reject(DAT_CR_HANDLE cr, DAT_COUNT size, const DAT_PVOID data);
DAT_RETURN dpr_cr_handoff(DAT_CR_HANDLE cr, DAT_CONN_QUAL qual);

extern const struct dpr_class dpr_cr_class;

#endif

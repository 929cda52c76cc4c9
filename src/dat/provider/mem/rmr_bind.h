/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_rmr_bind: what may be bound to what. Nothing of an unbound window of type 2 can be unbound;
 * that completes at once.
 */
#ifndef DAT_PROVIDER_MEM_RMR_BIND_H
#define DAT_PROVIDER_MEM_RMR_BIND_H

#include <dat2/udat.h>

DAT_RETURN dpr_rmr_bind(DAT_RMR_HANDLE, DAT_LMR_HANDLE, const DAT_LMR_TRIPLET *, DAT_MEM_PRIV_FLAGS,
			DAT_VA_TYPE, DAT_EP_HANDLE, DAT_RMR_COOKIE, DAT_COMPLETION_FLAGS,
			DAT_RMR_CONTEXT *);

#endif

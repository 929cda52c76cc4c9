/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_rmr_bind. A window of type 1 is bound anew as it is. One of type 2 is invalidated first, by a
 * request of the provider in front of the consumer's; an unbound one has nothing to unbind, and the
 * request completes at once.
 */
#ifndef DAT_PROVIDER_MEM_RMR_BIND_H
#define DAT_PROVIDER_MEM_RMR_BIND_H

#include <dat2/udat.h>

DAT_RETURN dpr_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *range,
			DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va, DAT_EP_HANDLE ep,
			DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			DAT_RMR_CONTEXT *context);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_ep_post_rdma_read_to_rmr: an RMR context names the sink. Verbs name sinks by the lkey of a
 * region, so the window's binding is looked up and checked here, as the device would check a peer's
 * access, and kept until the Read completes.
 */
#ifndef DAT_PROVIDER_MEM_RMR_READ_H
#define DAT_PROVIDER_MEM_RMR_READ_H

#include <dat2/udat.h>

DAT_RETURN dpr_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
					DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
					DAT_COMPLETION_FLAGS flags);

#endif

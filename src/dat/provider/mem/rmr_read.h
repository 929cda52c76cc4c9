/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_ep_post_rdma_read_to_rmr: the sink is named by an RMR context. Verbs names sinks by the lkey of
 * a region, so the window's binding is looked up and judged here as the device would judge a peer,
 * and is kept until the read is done.
 */
#ifndef DAT_PROVIDER_MEM_RMR_READ_H
#define DAT_PROVIDER_MEM_RMR_READ_H

#include <dat2/udat.h>

DAT_RETURN dpr_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
					DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
					DAT_COMPLETION_FLAGS flags);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat_ep_post_*: the requests that need nothing beside request.h, by the fast path if possible. */
#ifndef DAT_PROVIDER_DTO_POST_H
#define DAT_PROVIDER_DTO_POST_H

#include <dat2/udat.h>

DAT_RETURN dpr_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dpr_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
					    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
					    DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT context);
DAT_RETURN dpr_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				 DAT_COMPLETION_FLAGS flags);
DAT_RETURN dpr_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attributes and status of an endpoint, and the watermarks that its status is compared with. */
#ifndef DAT_PROVIDER_EP_QUERY_H
#define DAT_PROVIDER_EP_QUERY_H

#include <dat2/udat.h>

DAT_RETURN dpr_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param);
DAT_RETURN dpr_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			     DAT_BOOLEAN *request_idle);
DAT_RETURN dpr_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *allocated, DAT_COUNT *span);
DAT_RETURN dpr_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard);

#endif

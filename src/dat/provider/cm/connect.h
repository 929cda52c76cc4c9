/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_ep_connect, dat_ep_dup_connect and dat_ep_common_connect. Arguments, state and resources are
 * refused in the call; everything later, a host that does not exist included, is an event.
 */
#ifndef DAT_PROVIDER_CM_CONNECT_H
#define DAT_PROVIDER_CM_CONNECT_H

#include <dat2/udat.h>

DAT_RETURN dpr_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
			  DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
			  DAT_CONNECT_FLAGS flags);
DAT_RETURN dpr_ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE dup, DAT_TIMEOUT timeout,
			      DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos);
DAT_RETURN dpr_ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_TIMEOUT timeout,
				 DAT_COUNT size, const DAT_PVOID data);

#endif

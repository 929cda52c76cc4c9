/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Public and reserved service points. A request that comes to a public one brings an endpoint of ours
 * if that was asked for, one that comes to a reserved one takes the endpoint that waits there.
 */
#ifndef DAT_PROVIDER_CM_PSP_H
#define DAT_PROVIDER_CM_PSP_H

#include <dat2/udat.h>

DAT_RETURN dpr_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			  DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN dpr_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
			      DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN dpr_psp_query(DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param);
DAT_RETURN dpr_psp_free(DAT_PSP_HANDLE psp);
DAT_RETURN dpr_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
			  DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp);
DAT_RETURN dpr_rsp_query(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param);
DAT_RETURN dpr_rsp_free(DAT_RSP_HANDLE rsp);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common service points: listening in the words of sockets. They meet dat_ep_common_connect, and claim
 * the same ports as the others. */
#ifndef DAT_PROVIDER_CM_CSP_H
#define DAT_PROVIDER_CM_CSP_H

#include <dat2/udat.h>

DAT_RETURN dpr_csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR addr,
			  DAT_EVD_HANDLE evd, DAT_CSP_HANDLE *csp);
DAT_RETURN dpr_csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param);
DAT_RETURN dpr_csp_free(DAT_CSP_HANDLE csp);

#endif

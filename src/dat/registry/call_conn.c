/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/call_conn.h"

#include "dat/registry/call.h"

DREG_EXPORT DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	DREG_OBJECT(cr, HANDLE_CR);

	return DREG_CALL(cr_query_func, cr, mask, param);
}

DREG_EXPORT DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size,
				     const DAT_PVOID private_data)
{
	DREG_OBJECT(cr, HANDLE_CR);

	DREG_ALSO(ep, HANDLE_EP);
	DREG_LAST(cr_accept_func, cr, ep, size, private_data);
}

DREG_EXPORT DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr, DAT_COUNT size,
				     const DAT_PVOID private_data)
{
	DREG_OBJECT(cr, HANDLE_CR);

	DREG_LAST(cr_reject_func, cr, size, private_data);
}

DREG_EXPORT DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr, DAT_CONN_QUAL qual)
{
	DREG_OBJECT(cr, HANDLE_CR);

	DREG_LAST(cr_handoff_func, cr, qual);
}

DREG_EXPORT DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
				      DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	DREG_IA(ia);

	DREG_ALSO(evd, HANDLE_EVD_CR);
	return DREG_CALL(psp_create_func, ia, qual, evd, flags, psp);
}

DREG_EXPORT DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask,
				     DAT_PSP_PARAM *param)
{
	DREG_OBJECT(psp, HANDLE_PSP);

	return DREG_CALL(psp_query_func, psp, mask, param);
}

DREG_EXPORT DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp)
{
	DREG_OBJECT(psp, HANDLE_PSP);

	DREG_LAST(psp_free_func, psp);
}

DREG_EXPORT DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
				      DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp)
{
	DREG_IA(ia);

	DREG_ALSO(ep, HANDLE_EP);
	DREG_ALSO(evd, HANDLE_EVD_CR);
	return DREG_CALL(rsp_create_func, ia, qual, ep, evd, rsp);
}

DREG_EXPORT DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask,
				     DAT_RSP_PARAM *param)
{
	DREG_OBJECT(rsp, HANDLE_RSP);

	return DREG_CALL(rsp_query_func, rsp, mask, param);
}

DREG_EXPORT DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp)
{
	DREG_OBJECT(rsp, HANDLE_RSP);

	DREG_LAST(rsp_free_func, rsp);
}

DREG_EXPORT DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual,
					  DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
					  DAT_PSP_HANDLE *psp)
{
	DREG_IA(ia);

	DREG_ALSO(evd, HANDLE_EVD_CR);
	return DREG_CALL(psp_create_any_func, ia, qual, evd, flags, psp);
}

DREG_EXPORT DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm,
				      DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd,
				      DAT_CSP_HANDLE *csp)
{
	DREG_IA(ia);

	DREG_ALSO(evd, HANDLE_EVD_CR);
	return dreg_classed(DREG_CALL(csp_create_func, ia, comm, address, evd, csp));
}

DREG_EXPORT DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask,
				     DAT_CSP_PARAM *param)
{
	DREG_OBJECT(csp, HANDLE_CSP);

	return dreg_classed(DREG_CALL(csp_query_func, csp, mask, param));
}

DREG_EXPORT DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp)
{
	DREG_OBJECT(csp, HANDLE_CSP);

	DREG_LAST(csp_free_func, csp);
}

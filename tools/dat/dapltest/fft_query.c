/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <string.h>

#include "fft.h"

/* Queries: right answers, NULL for the answer, NULL for the object. */

#define CALL(call, type, subtype) fft_is(call, type, subtype, #call)
#define OK(call) FFT_NEED(CALL(call, DAT_SUCCESS, 0))

static const struct dtl_end_wish small = { .recvs = 4, .requests = 4, .iov = 1, .how = DTL_WAIT };

static enum fft_result of_ia(struct dtl_ia *ia)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;

	OK(dat_ia_query(ia->ia, &async, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &prov));
	FFT_NEED(async == ia->async);
	FFT_NEED(attr.max_eps > 0 && attr.max_evds > 0 && attr.max_lmrs > 0 && attr.max_pzs > 0);
	FFT_NEED(attr.ia_address_ptr != NULL);
	FFT_NEED(prov.max_private_data_size > 0);
	FFT_NEED(CALL(dat_ia_query(ia->ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL),
		      DAT_INVALID_PARAMETER, 0));
	FFT_NEED(CALL(dat_ia_query(DAT_HANDLE_NULL, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL),
		      DAT_INVALID_HANDLE, 0));
	return FFT_PASS;
}

#if DTL_CNOS
static enum fft_result of_cno(struct dtl_ia *ia)
{
	DAT_CNO_HANDLE cno;
	DAT_CNO_PARAM param;

	OK(dat_cno_create(ia->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	OK(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	FFT_NEED(param.ia_handle == ia->ia);
	FFT_NEED(CALL(dat_cno_query(cno, DAT_CNO_FIELD_ALL, NULL), DAT_INVALID_PARAMETER, 0));
	FFT_NEED(CALL(dat_cno_query(DAT_HANDLE_NULL, DAT_CNO_FIELD_ALL, &param),
		      DAT_INVALID_HANDLE, 0));
	OK(dat_cno_free(cno));
	return FFT_PASS;
}

#endif

static enum fft_result of_evd(struct dtl_ia *ia)
{
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;

	OK(dat_evd_create(ia->ia, 10, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	FFT_NEED(param.ia_handle == ia->ia && param.evd_qlen >= 10);
	FFT_NEED(param.evd_flags == DAT_EVD_DTO_FLAG);
	FFT_NEED(CALL(dat_evd_query(evd, DAT_EVD_FIELD_ALL, NULL), DAT_INVALID_PARAMETER, 0));
	FFT_NEED(CALL(dat_evd_query(DAT_HANDLE_NULL, DAT_EVD_FIELD_ALL, &param),
		      DAT_INVALID_HANDLE, 0));
	OK(dat_evd_free(evd));
	return FFT_PASS;
}

static enum fft_result of_psp(struct dtl_ia *ia)
{
	DAT_PSP_PARAM param;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVD_HANDLE evd;

	OK(dat_evd_create(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd));
	OK(dat_psp_create_any(ia->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	FFT_NEED(param.ia_handle == ia->ia && param.conn_qual == qual && param.evd_handle == evd);
	FFT_NEED(CALL(dat_psp_query(psp, DAT_PSP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER, 0));
	FFT_NEED(CALL(dat_psp_query(DAT_HANDLE_NULL, DAT_PSP_FIELD_ALL, &param),
		      DAT_INVALID_HANDLE, 0));
	OK(dat_psp_free(psp));
	OK(dat_evd_free(evd));
	return FFT_PASS;
}

static DAT_RETURN rsp_somewhere(struct dtl_ia *ia, struct dtl_end *end, DAT_EVD_HANDLE evd,
				DAT_CONN_QUAL *ret_qual, DAT_RSP_HANDLE *ret)
{
	DAT_RETURN r;

	*ret_qual = 47000;
	do
		r = dat_rsp_create(ia->ia, ++*ret_qual, end->ep, evd, ret);
	while (DAT_GET_TYPE(r) == DAT_CONN_QUAL_IN_USE && *ret_qual < 48000);
	return r;
}

static enum fft_result of_rsp(struct dtl_ia *ia)
{
	struct dtl_end end;
	DAT_RSP_PARAM param;
	DAT_CONN_QUAL qual;
	DAT_RSP_HANDLE rsp;
	DAT_EVD_HANDLE evd;

	FFT_NEED(dtl_end_make(&end, ia, &small) == 0);
	OK(dat_evd_create(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd));
	OK(rsp_somewhere(ia, &end, evd, &qual, &rsp));
	OK(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	FFT_NEED(param.ia_handle == ia->ia && param.conn_qual == qual && param.ep_handle == end.ep);
	FFT_NEED(CALL(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER, 0));
	FFT_NEED(CALL(dat_rsp_query(DAT_HANDLE_NULL, DAT_RSP_FIELD_ALL, &param),
		      DAT_INVALID_HANDLE, 0));
	OK(dat_rsp_free(rsp));
	FFT_NEED(dtl_end_drop(&end) == 0);
	OK(dat_evd_free(evd));
	return FFT_PASS;
}

static enum fft_result of_cr(struct dtl_ia *ia)
{
	DAT_CR_PARAM param;

	FFT_NEED(CALL(dat_cr_query(DAT_HANDLE_NULL, DAT_CR_FIELD_ALL, &param),
		      DAT_INVALID_HANDLE, 0));
	return FFT_PASS;
}

static enum fft_result of_ep(struct dtl_ia *ia)
{
	DAT_EP_PARAM param;
	struct dtl_end end;

	FFT_NEED(dtl_end_make(&end, ia, &small) == 0);
	OK(dat_ep_query(end.ep, DAT_EP_FIELD_ALL, &param));
	FFT_NEED(CALL(dat_ep_query(end.ep, DAT_EP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER, 0));
	FFT_NEED(CALL(dat_ep_query(DAT_HANDLE_NULL, DAT_EP_FIELD_ALL, &param),
		      DAT_INVALID_HANDLE, 0));
	FFT_NEED(dtl_end_drop(&end) == 0);
	return FFT_PASS;
}

static enum fft_result of_pz(struct dtl_ia *ia)
{
	DAT_PZ_PARAM param;

	OK(dat_pz_query(ia->pz, DAT_PZ_FIELD_ALL, &param));
	FFT_NEED(param.ia_handle == ia->ia);
	FFT_NEED(CALL(dat_pz_query(ia->pz, DAT_PZ_FIELD_ALL, NULL), DAT_INVALID_PARAMETER, 0));
	FFT_NEED(CALL(dat_pz_query(DAT_HANDLE_NULL, DAT_PZ_FIELD_ALL, &param),
		      DAT_INVALID_HANDLE, 0));
	return FFT_PASS;
}

static enum fft_result of_lmr(struct dtl_ia *ia)
{
	DAT_LMR_PARAM param;
	struct dtl_mem mem;

	FFT_NEED(dtl_mem_make(&mem, ia, 5000, DAT_MEM_PRIV_ALL_FLAG) == 0);
	OK(dat_lmr_query(mem.lmr, DAT_LMR_FIELD_ALL, &param));
	FFT_NEED(param.ia_handle == ia->ia && param.pz_handle == ia->pz);
	FFT_NEED(param.mem_type == DAT_MEM_TYPE_VIRTUAL && param.length == 5000);
	FFT_NEED(param.lmr_context == mem.context && param.rmr_context == mem.remote);
	FFT_NEED(CALL(dat_lmr_query(mem.lmr, DAT_LMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER, 0));
	FFT_NEED(CALL(dat_lmr_query(DAT_HANDLE_NULL, DAT_LMR_FIELD_ALL, &param),
		      DAT_INVALID_HANDLE, 0));
	FFT_NEED(dtl_mem_drop(&mem) == 0);
	return FFT_PASS;
}

static enum fft_result of_rmr(struct dtl_ia *ia)
{
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;
	DAT_RETURN r;

	FFT_NEED(CALL(dat_rmr_query(DAT_HANDLE_NULL, DAT_RMR_FIELD_ALL, &param),
		      DAT_INVALID_HANDLE, 0));
	if (ia->attr.max_rmrs == 0)
		return FFT_UNSUPP;
	r = dat_rmr_create(ia->pz, &rmr);
	if (fft_unsupported(r))
		return FFT_UNSUPP;
	FFT_NEED(fft_is(r, DAT_SUCCESS, 0, "dat_rmr_create"));
	OK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	FFT_NEED(param.ia_handle == ia->ia && param.pz_handle == ia->pz);
	FFT_NEED(CALL(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER, 0));
	OK(dat_rmr_free(rmr));
	return FFT_PASS;
}

static enum fft_result of_srq(struct dtl_ia *ia)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_PARAM param;
	DAT_SRQ_HANDLE srq;
	DAT_RETURN r = dat_srq_create(ia->ia, ia->pz, &attr, &srq);

	if (fft_unsupported(r))
		return FFT_UNSUPP;
	FFT_NEED(fft_is(r, DAT_SUCCESS, 0, "dat_srq_create"));
	OK(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	FFT_NEED(param.ia_handle == ia->ia && param.pz_handle == ia->pz);
	FFT_NEED(param.max_recv_dtos >= 8 && param.srq_state == DAT_SRQ_STATE_OPERATIONAL);
	FFT_NEED(CALL(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, NULL), DAT_INVALID_PARAMETER, 0));
	FFT_NEED(CALL(dat_srq_query(DAT_HANDLE_NULL, DAT_SRQ_FIELD_ALL, &param),
		      DAT_INVALID_HANDLE, 0));
	OK(dat_srq_free(srq));
	return FFT_PASS;
}

const struct fft_case fft_queryinfo[] = {
	{ "dat_ia_query", of_ia },
#if DTL_CNOS
	{ "dat_cno_query", of_cno },
#endif
	{ "dat_evd_query", of_evd },
	{ "dat_psp_query", of_psp },
	{ "dat_rsp_query", of_rsp },
	{ "dat_cr_query", of_cr },
	{ "dat_ep_query", of_ep },
	{ "dat_pz_query", of_pz },
	{ "dat_lmr_query", of_lmr },
	{ "dat_rmr_query", of_rmr },
	{ "dat_srq_query", of_srq },
	{ NULL, NULL },
};

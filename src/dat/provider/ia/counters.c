/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ia/counters.h"

#include "dat/provider/ep/ep.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/ia/obj.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const ep_names[DCNT_EP_ALL_COUNTERS] = {
	"connect", "disconnect", "post_send", "post_send_data", "post_send_ud", "post_send_ud_data",
	"post_recv", "post_recv_data", "post_write", "post_write_data", "post_write_imm",
	"post_write_imm_data", "post_read", "post_read_data", "post_cmp_swap", "post_fetch_add",
	"recv", "recv_data", "recv_ud", "recv_ud_data", "recv_imm", "recv_imm_data", "recv_rdma_imm",
	"recv_rdma_imm_data",
};

static const char *const evd_names[DCNT_EVD_ALL_COUNTERS] = {
	"wait", "wait_blocked", "wait_notify", "dequeue", "dequeue_found", "dequeue_not_found",
	"dequeue_poll", "dequeue_poll_found", "conn_callback", "dto_callback",
};

static const char *const ia_names[DCNT_IA_ALL_COUNTERS] = {
	"pz_create", "pz_free", "lmr_create", "lmr_free", "rmr_create", "rmr_free", "psp_create",
	"psp_create_any", "psp_free", "rsp_create", "rsp_free", "evd_create", "evd_free",
	"ep_create", "ep_free", "srq_create", "srq_free", "sp_cr", "sp_cr_accepted",
	"sp_cr_rejected", "mem_alloc", "mem_alloc_data", "mem_free", "async_error",
	"async_qp_error", "async_cq_error", "cm_listen", "cm_req_tx", "cm_req_rx", "cm_rep_tx",
	"cm_rep_rx", "cm_rtu_tx", "cm_rtu_rx", "cm_user_rej_tx", "cm_user_rej_rx", "cm_active_est",
	"cm_passive_est", "cm_ah_req_tx", "cm_ah_req_rx", "cm_ah_resolved", "cm_dreq_tx",
	"cm_dreq_rx", "cm_drep_tx", "cm_drep_rx", "cm_mra_tx", "cm_mra_rx", "cm_req_fullq_poll",
	"cm_err", "cm_err_req_fullq", "cm_err_req_dup", "cm_err_req_retry", "cm_err_rep_dup",
	"cm_err_rep_retry", "cm_err_rtu_dup", "cm_err_rtu_retry", "cm_err_refused", "cm_err_reset",
	"cm_err_timeout", "cm_err_rej_tx", "cm_err_rej_rx", "cm_err_dreq_dup", "cm_err_dreq_retry",
	"cm_err_drep_dup", "cm_err_drep_retry", "cm_err_mra_dup", "cm_err_mra_retry",
	"cm_err_unexpected", "lnk_err_rcv", "lnk_err_rcv_rem_phys", "lnk_err_rcv_constraint",
	"lnk_err_xmt_discards", "lnk_err_xmt_constraint", "lnk_err_integrity",
	"lnk_err_exc_buf_overrun", "lnk_warn_rcv_sw_relay", "lnk_warn_xmt_wait",
	"diag_err_rq_rae", "diag_err_rq_oos", "diag_err_rq_rire", "diag_err_rq_udsdprd",
	"diag_err_sq_rae", "diag_err_sq_oos", "diag_err_sq_rire", "diag_err_sq_rree",
	"diag_err_sq_tree",
};

struct set {
	const char *what;
	const char *const *names;
	const uint64_t *now;
	uint64_t *from; /* where they stood at the last reset */
	int n;
};

static bool set_of(DAT_HANDLE handle, struct set *s)
{
	struct dpr_evd *evd = dpr_evd_of(handle);
	struct dpr_ep *ep = dpr_ep_of(handle);
	struct dpr_ia *ia = dpr_ia_of(handle);

	if (ia)
		*s = (struct set){ "ia", ia_names, ia->counters, ia->counted, DCNT_IA_ALL_COUNTERS };
	else if (ep)
		*s = (struct set){ "ep", ep_names, ep->counters, ep->counted, DCNT_EP_ALL_COUNTERS };
	else if (evd)
		*s = (struct set){ "evd", evd_names, evd->counters, evd->counted,
				   DCNT_EVD_ALL_COUNTERS };
	return ia || ep || evd;
}

static uint64_t read_one(const struct set *s, int i, bool reset)
{
	uint64_t now = __atomic_load_n(&s->now[i], __ATOMIC_RELAXED);
	uint64_t from = reset ? __atomic_exchange_n(&s->from[i], now, __ATOMIC_RELAXED)
			      : __atomic_load_n(&s->from[i], __ATOMIC_RELAXED);

	return now - from;
}

DAT_RETURN dpr_counters(DAT_HANDLE handle, int which, DAT_UINT64 *out, bool print, bool reset)
{
	struct set s;
	int first, end;

	if (!set_of(handle, &s))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (which < 0 || which > s.n)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!out && !print)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	first = which == s.n ? 0 : which;
	end = which == s.n ? s.n : which + 1;
	for (int i = first; i < end; i++) {
		uint64_t v = read_one(&s, i, reset);

		if (out)
			out[i - first] = v;
		else
			printf("\t%s %s: %" PRIu64 "\n", s.what, s.names[i], v);
	}
	return DAT_SUCCESS;
}

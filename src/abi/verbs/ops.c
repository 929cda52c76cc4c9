/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The two tables that inline functions of the public header call through. They take a slot of verbs_context
 * that is NULL for "not supported" (flow steering, RSS, work queues, counters, tag matching, rate limits).
 * Those of ibv_context they do not test, so each of these is filled.
 */
#include "abi/verbs/ops.h"

#include "abi/verbs/cq.h"
#include "abi/verbs/dm.h"
#include "abi/verbs/mr.h"
#include "abi/verbs/mw.h"
#include "abi/verbs/pd.h"
#include "abi/verbs/port.h"
#include "abi/verbs/qp.h"
#include "abi/verbs/srq.h"
#include "abi/verbs/xrcd.h"

void vrb_fill_ops(struct verbs_context *v)
{
	struct ibv_context_ops *o = &v->context.ops;

	o->alloc_mw = vrb_alloc_mw;
	o->bind_mw = vrb_bind_mw;
	o->dealloc_mw = vrb_dealloc_mw;
	o->poll_cq = vrb_poll_cq;
	o->req_notify_cq = vrb_req_notify_cq;
	o->post_srq_recv = vrb_post_srq_recv;
	o->post_send = vrb_post_send;
	o->post_recv = vrb_post_recv;

	v->query_port = vrb_query_port_ex;
	v->advise_mr = vrb_advise_mr;
	v->alloc_null_mr = vrb_alloc_null_mr;
	v->reg_dm_mr = vrb_reg_dm_mr;
	v->alloc_dm = vrb_alloc_dm;
	v->free_dm = vrb_free_dm;
	v->alloc_parent_domain = vrb_alloc_parent_domain;
	v->dealloc_td = vrb_dealloc_td;
	v->alloc_td = vrb_alloc_td;
	v->modify_cq = vrb_modify_cq;
	v->query_rt_values = vrb_query_rt_values;
	v->create_cq_ex = vrb_create_cq_ex;
	v->query_device_ex = vrb_query_device_ex;
	v->open_qp = vrb_open_qp;
	v->create_qp_ex = vrb_create_qp_ex;
	v->get_srq_num = vrb_get_srq_num;
	v->create_srq_ex = vrb_create_srq_ex;
	v->open_xrcd = vrb_open_xrcd;
	v->close_xrcd = vrb_close_xrcd;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queue pairs, shared receive queues, and the completion queues that come with
 * them when the program brings none. Objects made here are shown in the
 * identifier's public fields and destroyed by them, as they are found.
 */
#include "abi/rdmacm/rcm.h"
#include "abi/rdmacm/chan.h"
#include "abi/rdmacm/dev.h"
#include "abi/rdmacm/qp.h"

#include <rdma/rdma_verbs.h>
#include <stddef.h>
#include <string.h>

static int make_cq(struct rcm_id *id, uint32_t size, struct ibv_comp_channel **channel,
		   struct ibv_cq **cq)
{
	*channel = ibv_create_comp_channel(id->pub.verbs);
	if (!*channel)
		return -errno;
	*cq = ibv_create_cq(id->pub.verbs, (int)(size ? size : 1), id, *channel, 0);
	return *cq ? 0 : -errno;
}

static void destroy_cqs(struct rcm_id *id)
{
	struct rdma_cm_id *p = &id->pub;

	/* A target has none; those that are there belong to the shared queue. */
	if (p->qp_type == IBV_QPT_XRC_RECV && p->srq)
		return;
	if (p->recv_cq)
		ibv_destroy_cq(p->recv_cq);
	if (p->send_cq && p->send_cq != p->recv_cq)
		ibv_destroy_cq(p->send_cq);
	if (p->recv_cq_channel)
		ibv_destroy_comp_channel(p->recv_cq_channel);
	if (p->send_cq_channel && p->send_cq_channel != p->recv_cq_channel)
		ibv_destroy_comp_channel(p->send_cq_channel);
	p->recv_cq = p->send_cq = NULL;
	p->recv_cq_channel = p->send_cq_channel = NULL;
}

/* The two sides that the program left to us. A target has no queue of its own,
 * an initiator receives nothing. */
static int make_cqs(struct rcm_id *id, const struct ibv_qp_init_attr_ex *a)
{
	struct rdma_cm_id *p = &id->pub;
	bool sends = a->qp_type != IBV_QPT_XRC_RECV;
	bool receives = sends && a->qp_type != IBV_QPT_XRC_SEND;
	int rc = 0;

	if (receives && !a->recv_cq && !p->recv_cq)
		rc = make_cq(id, a->cap.max_recv_wr, &p->recv_cq_channel, &p->recv_cq);
	if (!rc && sends && !a->send_cq && !p->send_cq)
		rc = make_cq(id, a->cap.max_send_wr, &p->send_cq_channel, &p->send_cq);
	if (rc)
		destroy_cqs(id);
	return rc;
}

static int check(const struct rcm_id *id, const struct ibv_qp_init_attr_ex *a)
{
	const struct rdma_cm_id *p = &id->pub;

	if (p->qp || !p->verbs)
		return -EINVAL;
	if ((a->comp_mask & IBV_QP_INIT_ATTR_PD) && a->pd && a->pd->context != p->verbs)
		return -EINVAL;
	if ((p->recv_cq && a->recv_cq && a->recv_cq != p->recv_cq) ||
	    (p->send_cq && a->send_cq && a->send_cq != p->send_cq))
		return -EINVAL;
	return 0;
}

/* What the program left open. */
static int complete(struct rcm_id *id, struct ibv_qp_init_attr_ex *a)
{
	struct rdma_cm_id *p = &id->pub;
	int rc;

	if (!(a->comp_mask & IBV_QP_INIT_ATTR_PD) || !a->pd) {
		a->comp_mask |= IBV_QP_INIT_ATTR_PD;
		a->pd = p->pd;
	}
	if (a->qp_type == IBV_QPT_XRC_RECV && !(a->comp_mask & IBV_QP_INIT_ATTR_XRCD)) {
		a->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
		a->xrcd = rcm_dev_xrcd(id->dev);
		if (!a->xrcd)
			return -errno;
	}
	rc = make_cqs(id, a);
	if (rc)
		return rc;
	if (!a->send_cq)
		a->send_cq = p->send_cq;
	if (!a->recv_cq)
		a->recv_cq = p->recv_cq;
	if (!a->srq && a->qp_type != IBV_QPT_XRC_RECV && a->qp_type != IBV_QPT_XRC_SEND)
		a->srq = p->srq;
	return 0;
}

static int make_qp(struct rcm_id *id, struct ibv_qp_init_attr_ex *a)
{
	struct ibv_qp *qp = ibv_create_qp_ex(id->pub.verbs, a);
	int rc;

	if (!qp)
		return -errno;
	rc = rcm_qp_init(id, qp);
	if (rc) {
		ibv_destroy_qp(qp);
		return rc;
	}
	if (a->pd)
		id->pub.pd = a->pd;
	id->pub.qp = qp;
	return 0;
}

static int create_qp(struct rcm_id *id, struct ibv_qp_init_attr_ex *a)
{
	int rc = check(id, a);

	rcm_id_used(id);
	if (!rc)
		rc = complete(id, a);
	if (rc)
		return rc;
	rc = make_qp(id, a);
	if (rc)
		destroy_cqs(id);
	return rc;
}

UT_EXPORT int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *qp_init_attr)
{
	if (!id || !qp_init_attr)
		return rcm_result(-EINVAL);
	return rcm_result(create_qp(rcm_of(id, rcm_id), qp_init_attr));
}

/* The plain attributes are the beginning of the extended ones. */
#define COMMON offsetof(struct ibv_qp_init_attr_ex, comp_mask)
_Static_assert(COMMON == offsetof(struct ibv_qp_init_attr, sq_sig_all) + sizeof(int),
	       "ibv_qp_init_attr is a prefix of ibv_qp_init_attr_ex");

UT_EXPORT int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
			     struct ibv_qp_init_attr *qp_init_attr)
{
	struct ibv_qp_init_attr_ex ex = { 0 };
	int rc;

	if (!id || !qp_init_attr)
		return rcm_result(-EINVAL);
	memcpy(&ex, qp_init_attr, COMMON);
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd;
	rc = create_qp(rcm_of(id, rcm_id), &ex);
	if (!rc)
		memcpy(qp_init_attr, &ex, COMMON);
	return rcm_result(rc);
}

UT_EXPORT void rdma_destroy_qp(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		ibv_destroy_qp(id->qp);
	id->qp = NULL;
	destroy_cqs(rcm_of(id, rcm_id));
}

static int complete_xrc_srq(struct rcm_id *id, struct ibv_srq_init_attr_ex *a)
{
	int rc;

	if (!(a->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !a->xrcd) {
		a->xrcd = rcm_dev_xrcd(id->dev);
		if (!a->xrcd)
			return -errno;
		a->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
	}
	if ((a->comp_mask & IBV_SRQ_INIT_ATTR_CQ) && a->cq)
		return 0;
	if (!id->pub.recv_cq) {
		rc = make_cq(id, a->attr.max_wr, &id->pub.recv_cq_channel, &id->pub.recv_cq);
		if (rc) {
			destroy_cqs(id);
			return rc;
		}
	}
	a->cq = id->pub.recv_cq;
	a->comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
	return 0;
}

static int create_srq(struct rcm_id *id, struct ibv_srq_init_attr_ex *a)
{
	bool xrc = (a->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && a->srq_type == IBV_SRQT_XRC;
	struct ibv_srq *srq;
	int rc = 0;

	rcm_id_used(id);
	if (!id->pub.verbs || id->pub.srq)
		return -EINVAL;
	if (!(a->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !a->pd) {
		a->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
		a->pd = id->pub.pd;
	}
	if (a->pd->context != id->pub.verbs)
		return -EINVAL;
	if (xrc)
		rc = complete_xrc_srq(id, a);
	if (rc)
		return rc;
	srq = ibv_create_srq_ex(id->pub.verbs, a);
	if (!srq) {
		rc = -errno;
		if (xrc && !id->pub.qp)
			destroy_cqs(id);
		return rc;
	}
	id->pub.srq = srq;
	id->pub.pd = a->pd;
	return 0;
}

UT_EXPORT int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	if (!id || !attr)
		return rcm_result(-EINVAL);
	return rcm_result(create_srq(rcm_of(id, rcm_id), attr));
}

UT_EXPORT int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd,
			      struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = { 0 };
	int rc;

	if (!id || !attr)
		return rcm_result(-EINVAL);
	ex.srq_context = attr->srq_context;
	ex.attr = attr->attr;
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ex.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
	ex.pd = pd;
	rc = create_srq(rcm_of(id, rcm_id), &ex);
	if (!rc)
		attr->attr = ex.attr;
	return rcm_result(rc);
}

UT_EXPORT void rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (!id || !id->srq)
		return;
	ibv_destroy_srq(id->srq);
	id->srq = NULL;
	if (!id->qp)
		destroy_cqs(rcm_of(id, rcm_id));
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs: creation, attributes, posting, end. */
#include "abi/verbs/qp.h"

#include "abi/verbs/context.h"
#include "abi/verbs/pd.h"
#include "abi/verbs/qp_ex.h"
#include "abi/verbs/wait.h"
#include "engine/post.h"
#include "engine/qp.h"
#include "engine/qp_state.h"
#include "engine/refuse.h"

#include "abi/verbs/export.h"
#include "engine/event.h"
#include "util/alloc.h"

#include <stdlib.h>

#define KNOWN_INIT_ATTRS ((uint32_t)(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS << 1) - 1)
#define OFFERED_INIT_ATTRS                                                              \
	((uint32_t)(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |                       \
		    IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
/* Ethernet address and VLAN of a path: bits that old kernels had and that no header names. Programs query "all
 * bits up to 24" to get everything. */
#define KERNEL_ONLY_ATTRS (0xf << 21)
#define KNOWN_CREATE_FLAGS                                                              \
	((uint32_t)(IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_SCATTER_FCS |     \
		    IBV_QP_CREATE_CVLAN_STRIPPING | IBV_QP_CREATE_SOURCE_QPN |          \
		    IBV_QP_CREATE_PCI_WRITE_END_PADDING))

/* EOPNOTSUPP: the adapter does not offer it, which programs tell from an invalid argument. */
static enum eng_refusal check_init(const struct ibv_qp_init_attr_ex *a)
{
	uint32_t m = a->comp_mask;

	if (m & ~KNOWN_INIT_ATTRS)
		return ENG_R_QP_INIT;
	if (m & ~OFFERED_INIT_ATTRS)
		return ENG_R_QP_INIT_LACKS;
	if (m & IBV_QP_INIT_ATTR_CREATE_FLAGS) {
		if (a->create_flags & ~KNOWN_CREATE_FLAGS)
			return ENG_R_QP_INIT;
		if (a->create_flags & ~(uint32_t)IBV_QP_CREATE_BLOCK_SELF_MCAST_LB)
			return ENG_R_QP_INIT_LACKS;
	}
	if ((m & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    (a->send_ops_flags & ~vrb_legal_ops(a->qp_type)))
		return ENG_R_QP_INIT_LACKS;
	if (a->qp_type == IBV_QPT_XRC_RECV)
		return (m & IBV_QP_INIT_ATTR_XRCD) && a->xrcd ? ENG_ACCEPTED : ENG_R_QP_OBJECTS;
	if (!(m & IBV_QP_INIT_ATTR_PD) || !a->pd)
		return ENG_R_QP_OBJECTS;
	return ENG_ACCEPTED;
}

static void fill_spec(struct eng_qp_spec *s, const struct ibv_qp_init_attr_ex *a)
{
	bool target = a->qp_type == IBV_QPT_XRC_RECV;

	*s = (struct eng_qp_spec){
		.type = a->qp_type,
		.pd = target ? NULL : vrb_of(a->pd, vrb_pd)->pd,
		.send_cq = a->send_cq && !target ? vrb_of(a->send_cq, vrb_cq)->cq : NULL,
		.recv_cq = a->recv_cq && !target ? vrb_of(a->recv_cq, vrb_cq)->cq : NULL,
		.srq = a->srq ? vrb_of(a->srq, vrb_srq)->srq : NULL,
		.xrcd = target ? vrb_of(a->xrcd, vrb_xrcd)->x : NULL,
		.cap = a->cap,
		.sq_sig_all = a->sq_sig_all,
	};
	if (a->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS)
		s->block_mcast_loopback = a->create_flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	if (a->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		s->send_ops = a->send_ops_flags;
	if (a->qp_type == IBV_QPT_XRC_SEND) {
		s->recv_cq = NULL;
		s->srq = NULL;
	}
}

/* The handle is on the list of the context from here on. */
static void publish(struct vrb_qp *qp, struct ibv_context *pub)
{
	struct vrb_context *c = vrb_ctx(pub);
	struct ibv_qp *q = &qp->pub.qp_base;

	q->context = pub;
	q->qp_num = qp->qp->qpn;
	q->handle = qp->qp->qpn & 0xffff;
	q->qp_type = qp->qp->type;
	q->state = eng_qp_state(qp->qp);
	pthread_mutex_init(&q->mutex, NULL);
	pthread_cond_init(&q->cond, NULL);
	vrb_pd_use(qp->pd);
	if (qp->xrcd)
		atomic_fetch_add(&qp->xrcd->users, 1);
	vrb_hold(pub);
	ut_lock(&c->lock);
	ut_list_add_tail(&c->qps, &qp->node);
	ut_unlock(&c->lock);
}

static void fill_public(struct vrb_qp *qp, const struct ibv_qp_init_attr_ex *a)
{
	struct ibv_qp *q = &qp->pub.qp_base;
	bool target = a->qp_type == IBV_QPT_XRC_RECV;

	q->qp_context = a->qp_context;
	if (target) {
		qp->xrcd = vrb_of(a->xrcd, vrb_xrcd);
	} else {
		qp->pd = vrb_of(a->pd, vrb_pd);
		q->pd = a->pd;
		q->send_cq = a->send_cq;
		q->recv_cq = a->recv_cq;
		q->srq = a->srq;
	}
	qp->qp->user = q;
	if (a->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		qp->extended = true;
		vrb_fill_qp_ex(&qp->pub, a->qp_type, a->send_ops_flags);
	}
}

static struct ibv_qp *create(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr, bool gsi)
{
	struct eng_qp_spec spec;
	struct vrb_qp *qp;
	struct eng_dev *dev = vrb_live(c);
	int rc;

	if (!dev)
		return NULL;
	rc = eng_refuse(dev, check_init(attr));
	if (rc)
		return vrb_null(rc);
	qp = ut_zalloc(sizeof(*qp));
	if (!qp)
		return vrb_null(eng_refuse(dev, ENG_R_MEMORY));
	fill_spec(&spec, attr);
	spec.gsi = gsi;
	rc = eng_qp_create(vrb_ctx(c)->eng, &spec, &qp->qp);
	if (rc) {
		free(qp);
		return vrb_null(rc);
	}
	fill_public(qp, attr);
	publish(qp, c);
	attr->cap = spec.cap;
	return &qp->pub.qp_base;
}

struct ibv_qp *vrb_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr)
{
	return create(c, attr, false);
}

static struct ibv_qp *create_plain(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
				   enum ibv_qp_type type, bool gsi)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp;

	if (!pd)
		return vrb_null(-EINVAL);
	qp = create(pd->context, &ex, gsi);
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

VRB_NOW(create_qp) struct ibv_qp *vrb_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return create_plain(pd, attr, attr->qp_type, false);
}

struct ibv_qp *vrb_create_gsi(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return create_plain(pd, attr, IBV_QPT_UD, true);
}

/* One more handle on an XRC target. */
struct ibv_qp *vrb_open_qp(struct ibv_context *c, struct ibv_qp_open_attr *attr)
{
	const uint32_t need = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct vrb_qp *qp;
	struct eng_dev *dev = vrb_live(c);
	int rc;

	if (!dev)
		return NULL;
	if (attr->comp_mask & ~(uint32_t)(IBV_QP_OPEN_ATTR_RESERVED - 1))
		return vrb_null(eng_refuse(dev, ENG_R_QP_OPEN_LACKS));
	if ((attr->comp_mask & need) != need || attr->qp_type != IBV_QPT_XRC_RECV || !attr->xrcd)
		return vrb_null(eng_refuse(dev, ENG_R_QP_OPEN));
	qp = ut_zalloc(sizeof(*qp));
	if (!qp)
		return vrb_null(eng_refuse(dev, ENG_R_MEMORY));
	qp->xrcd = vrb_of(attr->xrcd, vrb_xrcd);
	rc = eng_qp_open(qp->xrcd->x, attr->qp_num, &qp->qp);
	if (rc) {
		free(qp);
		return vrb_null(rc);
	}
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
		qp->pub.qp_base.qp_context = attr->qp_context;
	publish(qp, c);
	qp->hears = (struct eng_qp_hearer){ .ctx = vrb_ctx(c)->eng, .user = &qp->pub.qp_base };
	eng_qp_hear(qp->qp, &qp->hears);
	return &qp->pub.qp_base;
}

UT_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *pub)
{
	struct vrb_qp *qp = vrb_of(pub, vrb_qp);

	return qp->extended ? &qp->pub : NULL;
}

/* After a reset no earlier completion of the queue pair may be polled: programs reset one to recover, and
 * evaluate what they poll next. */
static void forget_completions(struct vrb_qp *qp)
{
	const struct ibv_qp *q = &qp->pub.qp_base;

	if (q->send_cq)
		eng_cq_purge(vrb_of(q->send_cq, vrb_cq)->cq, qp->qp);
	if (q->recv_cq)
		eng_cq_purge(vrb_of(q->recv_cq, vrb_cq)->cq, qp->qp);
}

VRB_NOW(modify_qp) int vrb_modify_qp(struct ibv_qp *pub, struct ibv_qp_attr *attr, int mask)
{
	int rc;

	if (!vrb_live(pub->context))
		return EIO;
	rc = eng_qp_modify(vrb_of(pub, vrb_qp)->qp, attr, mask);
	if (!rc && (mask & IBV_QP_STATE)) {
		pub->state = attr->qp_state;
		if (attr->qp_state == IBV_QPS_RESET)
			forget_completions(vrb_of(pub, vrb_qp));
	}
	return vrb_error(rc);
}

VRB_NOW(query_qp) int vrb_query_qp(struct ibv_qp *pub, struct ibv_qp_attr *attr, int mask,
				   struct ibv_qp_init_attr *init)
{
	struct eng_qp *qp = vrb_of(pub, vrb_qp)->qp;
	int rc;

	if (!vrb_live(pub->context))
		return EIO;
	rc = eng_qp_query(qp, attr, mask & ~KERNEL_ONLY_ATTRS);
	if (rc)
		return vrb_error(rc);
	*init = (struct ibv_qp_init_attr){
		.qp_context = pub->qp_context,
		.send_cq = pub->send_cq,
		.recv_cq = pub->recv_cq,
		.srq = pub->srq,
		.cap = qp->cap,
		.qp_type = pub->qp_type,
		.sq_sig_all = qp->sq_sig_all,
	};
	if (mask & IBV_QP_STATE)
		pub->state = attr->qp_state;
	return 0;
}

/* The kernel chooses the routine that copies payload: no order of bytes within a message is promised. */
UT_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return 0;
}

static int end_engine(struct vrb_qp *qp)
{
	struct vrb_context *c = vrb_ctx(qp->pub.qp_base.context);
	int rc;

	ut_lock(&c->lock);
	ut_lock(&c->events);
	if (qp->xrcd)
		eng_qp_disown(qp->qp, &qp->pub.qp_base);
	rc = eng_qp_destroy(qp->qp);
	if (!rc) {
		eng_async_drop(c->eng, &qp->pub.qp_base);
		ut_list_del(&qp->node);
	}
	ut_unlock(&c->events);
	ut_unlock(&c->lock);
	return rc;
}

VRB_NOW(destroy_qp) int vrb_destroy_qp(struct ibv_qp *pub)
{
	struct vrb_qp *qp = vrb_of(pub, vrb_qp);
	struct ibv_context *c = pub->context;
	int rc;

	if (!vrb_live(c))
		return EIO;
	rc = end_engine(qp);
	if (rc)
		return vrb_error(rc);
	vrb_await_acks(&pub->mutex, &pub->cond, &pub->events_completed, &qp->async_delivered);
	pthread_mutex_destroy(&pub->mutex);
	pthread_cond_destroy(&pub->cond);
	vrb_pd_unuse(qp->pd);
	if (qp->xrcd)
		atomic_fetch_sub(&qp->xrcd->users, 1);
	free(qp);
	vrb_release(c);
	return 0;
}

static __attribute__((noinline)) int post_send(struct eng_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int rc, keep = errno;

	rc = eng_post_send(qp, wr, bad);
	errno = keep;
	return -rc;
}

int vrb_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct eng_qp *e = vrb_of(qp, vrb_qp)->qp;

	if (!vrb_live(qp->context)) {
		*bad = wr;
		return EIO;
	}
	if (eng_may_post_now(e, wr)) {
		wr = eng_post_now(e, wr);
		if (!wr)
			return 0;
	}
	return post_send(e, wr, bad);
}

int vrb_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	if (!vrb_live(qp->context)) {
		*bad = wr;
		return EIO;
	}
	return -eng_post_recv(vrb_of(qp, vrb_qp)->qp, wr, bad);
}

/*
 * Enhanced connection establishment: private options that a vendor gives a queue pair. Dapple has none.
 * Programs continue only after EOPNOTSUPP: options of no vendor are an error of rdma_set_local_ece().
 */
UT_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)ece;
	return vrb_live(qp->context) ? vrb_error(-EOPNOTSUPP) : EIO;
}

UT_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)ece;
	return vrb_live(qp->context) ? vrb_error(-EOPNOTSUPP) : EIO;
}

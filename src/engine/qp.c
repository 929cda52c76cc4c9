/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/qp.h"

#include "engine/event.h"
#include "engine/mkey.h"
#include "engine/mw.h"
#include "engine/pending.h"
#include "engine/plain.h"
#include "engine/qp_attr.h"
#include "engine/qp_state.h"
#include "engine/recv_queue.h"
#include "engine/refuse.h"
#include "util/alloc.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int check_type(struct eng_dev *dev, enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return dev->proto->qp_types & 1u << type ? 0 : eng_refuse(dev, ENG_R_QP_TYPE_LACKS);
	case IBV_QPT_RAW_PACKET:
	case IBV_QPT_DRIVER:
		return eng_refuse(dev, ENG_R_QP_TYPE_LACKS);
	default:
		return eng_refuse(dev, ENG_R_QP_TYPE);
	}
}

static bool objects_ok(struct eng_dev *dev, const struct eng_qp_spec *s)
{
	bool ini = s->type == IBV_QPT_XRC_SEND;

	if (s->type == IBV_QPT_XRC_RECV)
		return s->xrcd && s->xrcd->dev == dev;
	if (!s->pd || s->pd->dev != dev || !s->send_cq || s->send_cq->dev != dev)
		return false;
	if (!ini && (!s->recv_cq || s->recv_cq->dev != dev))
		return false;
	return !s->srq || (!ini && s->srq->dev == dev && !s->srq->xrcd);
}

/* A queue that the type does not have, has size 0. */
static void drop_caps(struct eng_qp_spec *s)
{
	bool xt = s->type == IBV_QPT_XRC_RECV;

	if (xt || s->type == IBV_QPT_XRC_SEND || s->srq)
		s->cap.max_recv_wr = s->cap.max_recv_sge = 0;
	if (xt)
		s->cap.max_send_wr = s->cap.max_send_sge = s->cap.max_inline_data = 0;
}

static bool caps_ok(struct eng_dev *dev, const struct ibv_qp_cap *c)
{
	const struct ibv_device_attr *a = &dev->attr.orig_attr;

	return c->max_send_wr <= (uint32_t)a->max_qp_wr && c->max_recv_wr <= (uint32_t)a->max_qp_wr &&
	       c->max_send_sge <= (uint32_t)a->max_sge && c->max_send_sge <= UINT8_MAX &&
	       c->max_recv_sge <= (uint32_t)a->max_sge && c->max_inline_data <= dev->max_inline;
}

/* Inline data and the gather list share the bytes of a slot: the smaller one gets as much as the larger.
 * Returns their number. */
static uint32_t send_room(struct eng_dev *dev, struct ibv_qp_cap *c)
{
	uint32_t room = c->max_send_sge * (uint32_t)sizeof(struct ibv_sge);

	if (c->max_inline_data > room)
		room = c->max_inline_data;
	else
		c->max_inline_data = room < dev->max_inline ? room : dev->max_inline;
	return room;
}

struct eng_qp *eng_qp_alloc(const struct eng_dev *dev)
{
	size_t size = (sizeof(struct eng_qp) + dev->proto->qp_size + 63) & ~(size_t)63;
	struct eng_qp *qp;

	if (ut_fault())
		return NULL;
	qp = aligned_alloc(64, size); /* the protocol's part starts a cache line */
	if (qp) {
		memset(qp, 0, size);
		ut_list_init(&qp->hearers);
	}
	return qp;
}

static struct eng_qp *qp_new(struct eng_ctx *ctx, const struct eng_qp_spec *s, uint32_t room)
{
	struct eng_qp *qp = eng_qp_alloc(ctx->dev);

	if (!qp)
		return NULL;
	qp->dev = ctx->dev;
	qp->ctx = ctx;
	qp->pd = s->type == IBV_QPT_XRC_RECV ? NULL : s->pd;
	qp->send_cq = s->type == IBV_QPT_XRC_RECV ? NULL : s->send_cq;
	qp->recv_cq = s->type == IBV_QPT_XRC_RECV || s->type == IBV_QPT_XRC_SEND ? NULL : s->recv_cq;
	qp->srq = s->type == IBV_QPT_XRC_RECV ? NULL : s->srq;
	qp->xrcd = s->type == IBV_QPT_XRC_RECV ? s->xrcd : NULL;
	qp->type = s->type;
	qp->plain_ops = eng_plain_ops(ctx->dev, s->type, &s->cap);
	qp->cap = s->cap;
	qp->sq_sig_all = s->sq_sig_all;
	qp->block_mcast_loopback = s->block_mcast_loopback;
	qp->gsi = s->gsi;
	qp->send_ops = s->send_ops;
	qp->openers = 1;
	ut_list_init(&qp->mw);
	ut_list_init(&qp->pending);
	if (eng_ring_init(&qp->sq, s->cap.max_send_wr, (uint32_t)sizeof(struct eng_swqe) + room) < 0) {
		free(qp);
		return NULL;
	}
	if (eng_ring_init(&qp->rq, s->cap.max_recv_wr, eng_recv_stride(s->cap.max_recv_sge)) < 0) {
		eng_ring_fini(&qp->sq);
		free(qp);
		return NULL;
	}
	eng_qp_clear(qp); /* state RESET is 0 */
	return qp;
}

static void qp_free(struct eng_qp *qp)
{
	eng_ring_fini(&qp->sq);
	eng_ring_fini(&qp->rq);
	free(qp);
}

static int choose_number(struct eng_dev *dev, struct eng_qp *qp) UT_REQUIRES(dev->lock);
static int choose_number(struct eng_dev *dev, struct eng_qp *qp)
{
	if (qp->gsi) {
		qp->qpn = ENG_GSI_QPN;
		return eng_qp_find(dev, qp->qpn) ? eng_refuse(dev, ENG_R_QP_GSI_TAKEN) : 0;
	}
	qp->qpn = eng_dev_number(dev, &dev->qps);
	return qp->qpn ? 0 : eng_refuse(dev, ENG_R_MEMORY);
}

static int enter(struct eng_dev *dev, struct eng_qp *qp) UT_REQUIRES(dev->lock);
static int enter(struct eng_dev *dev, struct eng_qp *qp)
{
	int r = dev->qpn_mask ? 0 : dev->ops->attach(dev);

	if (r == 0)
		r = choose_number(dev, qp);
	if (r < 0)
		return r;
	r = ut_idtab_add(&dev->qps, qp->qpn, qp);
	if (r < 0)
		return r;
	r = dev->proto->qp_init(qp);
	if (r < 0)
		ut_idtab_del(&dev->qps, qp->qpn);
	return r;
}

static void count_users(struct eng_qp *qp, int by)
{
	unsigned n = (unsigned)by;

	if (qp->pd)
		atomic_fetch_add(&qp->pd->users, n);
	if (qp->send_cq)
		atomic_fetch_add(&qp->send_cq->users, n);
	if (qp->recv_cq)
		atomic_fetch_add(&qp->recv_cq->users, n);
	if (qp->srq)
		atomic_fetch_add(&qp->srq->users, n);
	if (qp->xrcd)
		atomic_fetch_add(&qp->xrcd->users, n);
}

static int create(struct eng_ctx *ctx, struct eng_qp_spec *spec, struct eng_qp **ret)
{
	struct eng_qp_spec s = *spec;
	struct eng_dev *dev = ctx->dev;
	struct eng_qp *qp;
	uint32_t room;
	int r;

	drop_caps(&s);
	if (!caps_ok(dev, &s.cap))
		return eng_refuse(dev, ENG_R_QP_CAPS);
	room = send_room(dev, &s.cap);
	qp = qp_new(ctx, &s, room);
	if (!qp)
		return eng_refuse(dev, ENG_R_MEMORY);
	ut_lock(&dev->lock);
	r = enter(dev, qp);
	eng_dev_unlock(dev);
	if (r < 0) {
		qp_free(qp);
		return r;
	}
	count_users(qp, 1);
	spec->cap = s.cap;
	*ret = qp;
	return 0;
}

int eng_qp_create(struct eng_ctx *ctx, struct eng_qp_spec *spec, struct eng_qp **ret)
{
	struct eng_dev *dev = ctx->dev;
	int r = dev->refuses(dev, "create_qp");

	if (r == 0)
		r = check_type(dev, spec->type);
	if (r < 0)
		return r;
	if (!objects_ok(dev, spec))
		return eng_refuse(dev, ENG_R_QP_OBJECTS);
	if (eng_count(&dev->n_qp, (uint32_t)dev->attr.orig_attr.max_qp) < 0)
		return eng_refuse(dev, ENG_R_QP_LIMIT);
	r = create(ctx, spec, ret);
	if (r < 0)
		eng_uncount(&dev->n_qp);
	return r;
}

/* No completion of a destroyed queue pair is polled. Those of an XRC target lie in the queues of the
 * domain's SRQs. */
static void purge(struct eng_dev *dev, struct eng_qp *qp) UT_REQUIRES(dev->lock);
static void purge(struct eng_dev *dev, struct eng_qp *qp)
{
	struct eng_srq *srq;
	uint32_t pos = 0;

	if (qp->send_cq)
		eng_cq_purge(qp->send_cq, qp);
	if (qp->recv_cq && qp->recv_cq != qp->send_cq)
		eng_cq_purge(qp->recv_cq, qp);
	while (qp->xrcd && (srq = ut_idtab_next(&dev->srqs, &pos)))
		if (srq->xrcd == qp->xrcd)
			eng_cq_purge(srq->cq, qp);
}

static void leave(struct eng_dev *dev, struct eng_qp *qp) UT_REQUIRES(dev->lock);
static void leave(struct eng_dev *dev, struct eng_qp *qp)
{
	dev->proto->qp_fini(qp); /* before the state changes: an acknowledgement may be due */
	eng_qp_set_state(qp, IBV_QPS_RESET);
	ut_idtab_del(&dev->qps, qp->qpn);
	eng_mw_detach(qp);
	eng_dev_unmark(dev, qp);
	purge(dev, qp);
}

int eng_qp_destroy(struct eng_qp *qp)
{
	struct eng_dev *dev = qp->dev;
	bool last;

	ut_lock(&dev->lock);
	if (qp->mcast_groups) {
		eng_dev_unlock(dev);
		return eng_refuse_qp(qp, ENG_R_QP_GROUPS);
	}
	last = --qp->openers == 0;
	if (last)
		leave(dev, qp);
	eng_dev_unlock(dev);
	if (last) {
		count_users(qp, -1);
		eng_uncount(&dev->n_qp);
		qp_free(qp);
	}
	return 0;
}

void eng_qp_disown(struct eng_qp *qp, const void *user)
{
	struct eng_qp_hearer *h, *next;
	struct eng_dev *dev = qp->dev;

	ut_lock(&dev->lock);
	if (qp->user == user) {
		qp->user = NULL;
		qp->ctx = NULL;
	}
	ut_list_each_safe(h, next, &qp->hearers, node)
		if (h->user == user)
			ut_list_del(&h->node);
	eng_dev_unlock(dev);
}

void eng_qp_hear(struct eng_qp *qp, struct eng_qp_hearer *h)
{
	struct eng_dev *dev = qp->dev;

	ut_lock(&dev->lock);
	ut_list_add_tail(&qp->hearers, &h->node);
	eng_dev_unlock(dev);
}

/* True if the number has the slot bits of this process. */
static bool is_local(struct eng_dev *dev, uint32_t qpn) UT_REQUIRES(dev->lock);
static bool is_local(struct eng_dev *dev, uint32_t qpn)
{
	return dev->qpn_mask && !((qpn ^ dev->qpn_fixed) & ~dev->qpn_mask & 0xffffff);
}

int eng_qp_open(struct eng_xrcd *x, uint32_t qpn, struct eng_qp **ret)
{
	struct eng_dev *dev = x->dev;
	struct eng_qp *qp;
	bool away;

	ut_lock(&dev->lock);
	qp = eng_qp_find(dev, qpn);
	if (qp && qp->xrcd != x)
		qp = NULL;
	if (qp)
		qp->openers++;
	away = !qp && x->shared && qpn <= 0xffffff && !is_local(dev, qpn);
	eng_dev_unlock(dev);
	if (away)
		ut_error("%s: QP 0x%06x belongs to another process: it cannot be opened here (EOPNOTSUPP); "
			 "open it in the process that created it", dev->name,
			 qpn);
	*ret = qp;
	return qp ? 0 : eng_refuse(dev, away ? ENG_R_QP_OPEN_AWAY : ENG_R_QP_OPEN_NONE);
}

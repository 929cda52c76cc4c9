// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/srq.h"

#include "kdapl/conn.h"
#include "kdapl/mem.h"
#include "kdapl/post.h"

static void arrived(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdp_dto *d = container_of(wc->wr_cqe, struct kdp_dto, cqe);
	struct kdp_conn *c = wc->qp->qp_context;
	struct kdp_srq *s = d->srq;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	s->available--;
	spin_unlock_irqrestore(&s->lock, flags);
	kdp_srq_arrived(c->ep, d, wc);
}

void kdp_srq_give_back(struct kdp_dto *d)
{
	struct kdp_srq *s = d->srq;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	list_add_tail(&d->link, &s->free);
	spin_unlock_irqrestore(&s->lock, flags);
}

static void on_event(struct ib_event *ev, void *context)
{
	struct kdp_srq *s = context;

	if (ev->event == IB_EVENT_SRQ_LIMIT_REACHED)
		kdp_ia_async(s->obj.ia, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)s, DAT_SRQ_LOW_WATERMARK_EVENT);
	if (ev->event == IB_EVENT_SRQ_ERR) {
		WRITE_ONCE(s->state, DAT_SRQ_STATE_ERROR);
		kdp_ia_async(s->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, (DAT_HANDLE)s, DAT_SRQ_OTHER_ERROR);
	}
}

static void srq_detach(struct kdp_obj *o)
{
	struct kdp_srq *s = (struct kdp_srq *)o;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	s->post = NULL;
	spin_unlock_irqrestore(&s->lock, flags);
	s->state = DAT_SRQ_STATE_SHUTDOWN;
	if (s->srq)
		ib_destroy_srq(s->srq);
	s->srq = NULL;
}

static void srq_finish(struct kdp_obj *o)
{
	kdp_unuse(&((struct kdp_srq *)o)->pz->obj);
}

static void srq_release(struct kdp_obj *o)
{
	dpr_core_free(((struct kdp_srq *)o)->dto);
}

const struct kdp_class kdp_srq_class = {
	.type = DAT_HANDLE_TYPE_SRQ,
	.cache = "kdapl_srq",
	.size = sizeof(struct kdp_srq),
	.detach = srq_detach,
	.finish = srq_finish,
	.release = srq_release,
};

/* Called with the gate held. */
static int make(struct kdp_srq *s)
{
	struct ib_srq_init_attr a = {
		.event_handler = on_event,
		.srq_context = s,
		.attr = { .max_wr = s->attr.max_recv_dtos, .max_sge = s->attr.max_recv_iov },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq *srq;
	DAT_COUNT i;

	s->dto = dpr_core_alloc(s->attr.max_recv_dtos, sizeof(*s->dto));
	if (!s->dto)
		return -ENOMEM;
	for (i = 0; i < s->attr.max_recv_dtos; i++)
		list_add_tail(&s->dto[i].link, &s->free);
	srq = ib_create_srq(s->pz->pd, &a);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	s->srq = s->post = srq;
	return 0;
}

DAT_RETURN kdp_srq_create(DAT_IA_HANDLE handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *ret)
{
	struct kdp_ia *ia = kdp_ia_of(handle);
	struct kdp_pz *pz = kdp_pz_of(pz_handle);
	struct kdp_srq *s;
	int err;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!pz || pz->obj.ia != ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!ia->attrs.max_srq)
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!attr || attr->max_recv_dtos < 1 || attr->max_recv_dtos > ia->attrs.max_srq_wr || attr->max_recv_iov < 1 ||
	    attr->max_recv_iov > min(ia->attrs.max_srq_sge, KDP_IOV_MAX) || attr->low_watermark != DAT_SRQ_LW_DEFAULT)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!ret)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!kdp_ia_enter(ia))
		return kdp_removed();
	s = kdp_obj_new(ia, &kdp_srq_class, false);
	err = -ENOMEM;
	if (s) {
		spin_lock_init(&s->lock);
		INIT_LIST_HEAD(&s->free);
		s->attr = *attr;
		s->state = DAT_SRQ_STATE_OPERATIONAL;
		s->pz = pz;
		kdp_use(&pz->obj);
		err = make(s);
	}
	kdp_ia_leave(ia);
	if (!err) {
		*ret = (DAT_SRQ_HANDLE)s;
		return DAT_SUCCESS;
	}
	if (s)
		kdp_obj_end(&s->obj, false);
	return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
}

DAT_RETURN kdp_srq_free(DAT_SRQ_HANDLE handle)
{
	struct kdp_srq *s = kdp_srq_of(handle);

	if (!s)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	return kdp_obj_end(&s->obj, true) ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
}

DAT_RETURN kdp_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	struct kdp_srq *s = kdp_srq_of(handle);
	struct ib_sge sge[KDP_IOV_MAX];
	struct ib_recv_wr wr = { .sg_list = sge };
	struct kdp_dto *d;
	unsigned long flags;
	DAT_RETURN ret;
	int err;
	u64 bytes;

	if (!s)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (n < 0 || n > s->attr.max_recv_iov)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (n && !iov)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	spin_lock_irqsave(&s->lock, flags);
	ret = kdp_segments(s->obj.ia, s->pz, n, iov, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, sge, &wr.num_sge, &bytes);
	d = list_first_entry_or_null(&s->free, struct kdp_dto, link);
	if (!ret && (!d || s->available >= s->attr.max_recv_dtos))
		ret = DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (ret) {
		spin_unlock_irqrestore(&s->lock, flags);
		return ret;
	}
	d->cqe.done = arrived;
	d->cookie = cookie;
	d->srq = s;
	wr.wr_cqe = &d->cqe;
	err = s->post ? ib_post_srq_recv(s->post, &wr, NULL) : -ENODEV;
	if (!err) {
		list_del(&d->link);
		s->available++;
	}
	spin_unlock_irqrestore(&s->lock, flags);
	return err ? kdp_removed() : DAT_SUCCESS;
}

DAT_RETURN kdp_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	struct kdp_srq *s = kdp_srq_of(handle);
	DAT_RETURN ret = dpr_query_args(s, DAT_INVALID_HANDLE_SRQ, mask & ~DAT_SRQ_FIELD_ALL, param);
	unsigned long flags;

	if (ret)
		return ret;
	spin_lock_irqsave(&s->lock, flags);
	*param = (DAT_SRQ_PARAM){
		.ia_handle = (DAT_IA_HANDLE)s->obj.ia,
		.srq_state = s->state,
		.pz_handle = (DAT_PZ_HANDLE)s->pz,
		.max_recv_dtos = s->attr.max_recv_dtos,
		.max_recv_iov = s->attr.max_recv_iov,
		.low_watermark = s->attr.low_watermark,
		.available_dto_count = s->available,
		.outstanding_dto_count = s->available,
	};
	spin_unlock_irqrestore(&s->lock, flags);
	return DAT_SUCCESS;
}

/* Returns 0 or a negative errno. */
static int modify(struct kdp_srq *s, struct ib_srq_attr *a, enum ib_srq_attr_mask mask)
{
	int err;

	mutex_lock(&s->obj.life);
	err = s->srq ? ib_modify_srq(s->srq, a, mask) : -ENODEV;
	mutex_unlock(&s->obj.life);
	return err;
}

static DAT_RETURN modify_error(int err)
{
	switch (err) {
	case 0: return DAT_SUCCESS;
	case -ENODEV: return kdp_removed();
	case -EOPNOTSUPP: return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	case -EINVAL: return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	default: return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	}
}

/* The records stay as many as at the start: the kernel's drivers that resize at all do so downwards and back. */
DAT_RETURN kdp_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT n)
{
	struct kdp_srq *s = kdp_srq_of(handle);
	struct ib_srq_attr a = { .max_wr = n };
	unsigned long flags;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!s)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (n < 1 || n > s->obj.ia->attrs.max_srq_wr)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	spin_lock_irqsave(&s->lock, flags);
	if (n < s->available || n < s->attr.low_watermark)
		ret = DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
	spin_unlock_irqrestore(&s->lock, flags);
	if (ret)
		return ret;
	if (n > s->attr.max_recv_dtos)
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	ret = modify_error(modify(s, &a, IB_SRQ_MAX_WR));
	return ret;
}

DAT_RETURN kdp_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low)
{
	struct kdp_srq *s = kdp_srq_of(handle);
	struct ib_srq_attr a = { .srq_limit = low };
	DAT_RETURN ret;

	if (!s)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (low < 0 || low > s->attr.max_recv_dtos)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = modify_error(modify(s, &a, IB_SRQ_LIMIT));
	if (!ret)
		s->attr.low_watermark = low;
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/mw.h"

#include "engine/qp.h"
#include "engine/refuse.h"
#include "engine/wqe.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

#define WINDOW_ACCESS                                                             \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED)
#define ACCESS_OPTIONAL 0x3ff00000u

int eng_mw_alloc(struct eng_pd *pd, enum ibv_mw_type type, struct eng_mkey **ret)
{
	struct eng_dev *dev = pd->dev;
	struct eng_mkey *mw;
	int r = -1;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return eng_refuse(dev, ENG_R_MW_TYPE);
	if (eng_count(&dev->n_mw, (uint32_t)dev->attr.orig_attr.max_mw) < 0)
		return eng_refuse(dev, ENG_R_MW_LIMIT);
	mw = ut_zalloc(sizeof(*mw));
	if (mw) {
		mw->dev = dev;
		mw->pd = pd;
		mw->kind = type == IBV_MW_TYPE_1 ? ENG_MW_TYPE_1 : ENG_MW_TYPE_2;
		ut_list_init(&mw->node);
		ut_lock(&dev->lock);
		r = eng_mkey_enter(dev, mw);
		eng_dev_unlock(dev);
	}
	if (r < 0) {
		free(mw);
		eng_uncount(&dev->n_mw);
		return eng_refuse(dev, ENG_R_MEMORY);
	}
	atomic_fetch_add(&pd->users, 1);
	*ret = mw;
	return 0;
}

static void unbind(struct eng_mkey *mw)
{
	if (!mw->valid)
		return;
	eng_dev_held(mw->dev);
	mw->valid = false;
	eng_dev_revoke(mw->dev, mw->key >> 8);
	mw->mr->windows--;
	mw->mr = NULL;
	if (mw->qp) {
		mw->qp->bound_windows--;
		mw->qp = NULL;
		ut_list_del(&mw->node);
	}
}

int eng_mw_dealloc(struct eng_mkey *mw)
{
	struct eng_dev *dev = mw->dev;

	ut_lock(&dev->lock);
	unbind(mw);
	eng_mkey_leave(dev, mw);
	eng_dev_unlock(dev);
	atomic_fetch_sub(&mw->pd->users, 1);
	eng_uncount(&dev->n_mw);
	free(mw);
	return 0;
}

static bool region_fits(const struct eng_qp *qp, const struct eng_mkey *mw,
			const struct eng_mkey *mr, const struct ibv_mw_bind_info *info)
{
	unsigned access = info->mw_access_flags & ~ACCESS_OPTIONAL;
	uint64_t off;

	if (!mr || mr->kind != ENG_MR || !mr->valid || mr->pd != qp->pd)
		return false;
	if (!(mr->access & IBV_ACCESS_MW_BIND) || (mr->access & IBV_ACCESS_ZERO_BASED))
		return false;
	if (access & ~(unsigned)WINDOW_ACCESS)
		return false;
	if ((access & IBV_ACCESS_ZERO_BASED) && mw->kind == ENG_MW_TYPE_1)
		return false;
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(mr->access & IBV_ACCESS_LOCAL_WRITE))
		return false;
	return eng_range_has(mr->iova, mr->length, info->addr, info->length, &off);
}

static void bind(struct eng_qp *qp, struct eng_mkey *mw, struct eng_mkey *mr,
		 const struct ibv_mw_bind_info *info)
{
	unbind(mw);
	mw->mr = mr;
	mr->windows++;
	mw->addr = info->addr;
	mw->iova = info->mw_access_flags & IBV_ACCESS_ZERO_BASED ? 0 : info->addr;
	mw->length = info->length;
	mw->access = info->mw_access_flags;
	mw->valid = true;
	if (mw->kind == ENG_MW_TYPE_2) {
		mw->qp = qp;
		qp->bound_windows++;
		ut_list_add_tail(&qp->mw, &mw->node);
	}
}

enum eng_verdict eng_mw_bind(struct eng_qp *qp, const struct eng_swqe *w)
{
	const struct ibv_mw_bind_info *info = &w->bind.info;
	struct eng_dev *dev = qp->dev;
	struct eng_mkey *mw, *mr;

	eng_dev_held(dev);
	mw = eng_mkey_by_index(dev, w->bind.mw_key);
	if (!mw || mw->kind == ENG_MR || mw->pd != qp->pd || w->bind.key >> 8 != mw->key >> 8)
		return ENG_V_MW_BIND;
	if (mw->kind == ENG_MW_TYPE_2 && (mw->valid || !info->length))
		return ENG_V_MW_BIND;
	if (!info->length) {
		unbind(mw);
		mw->key = w->bind.key;
		return ENG_OK;
	}
	mr = eng_mkey_get(dev, w->bind.mr_key);
	if (!region_fits(qp, mw, mr, info))
		return ENG_V_MW_BIND;
	bind(qp, mw, mr, info);
	mw->key = w->bind.key;
	return ENG_OK;
}

enum eng_verdict eng_mkey_invalidate(struct eng_qp *qp, uint32_t key)
{
	struct eng_dev *dev = qp->dev;
	struct eng_mkey *mw;

	eng_dev_held(dev);
	mw = eng_mkey_get(dev, key);
	if (!mw || mw->kind != ENG_MW_TYPE_2 || !mw->valid || mw->qp != qp)
		return ENG_V_MW_BIND;
	unbind(mw);
	return ENG_OK;
}

void eng_mw_detach(struct eng_qp *qp)
{
	struct eng_mkey *mw, *tmp;

	ut_list_each_safe(mw, tmp, &qp->mw, node)
		unbind(mw);
}

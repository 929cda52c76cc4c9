/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/mcast.h"

#include "engine/qp.h"
#include "engine/refuse.h"
#include "util/alloc.h"
#include "util/ip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct eng_mcast *eng_mcast_find(struct eng_dev *dev, const union ibv_gid *mgid)
{
	struct eng_mcast *m;

	eng_dev_held(dev);
	ut_list_each(m, &dev->mcast, node)
		if (memcmp(&m->mgid, mgid, sizeof(*mgid)) == 0)
			return m;
	return NULL;
}

static uint32_t groups(struct eng_dev *dev) UT_REQUIRES(dev->lock);
static uint32_t groups(struct eng_dev *dev)
{
	struct eng_mcast *m;
	uint32_t n = 0;

	ut_list_each(m, &dev->mcast, node)
		n++;
	return n;
}

static int group_new(struct eng_dev *dev, const union ibv_gid *mgid, struct eng_mcast **ret)
	UT_REQUIRES(dev->lock);
static int group_new(struct eng_dev *dev, const union ibv_gid *mgid, struct eng_mcast **ret)
{
	struct eng_mcast *m;
	int r;

	if (groups(dev) >= (uint32_t)dev->attr.orig_attr.max_mcast_grp)
		return eng_refuse(dev, ENG_R_MCAST_LIMIT);
	m = ut_zalloc(sizeof(*m));
	if (!m)
		return eng_refuse(dev, ENG_R_MEMORY);
	m->mgid = *mgid;
	r = dev->ops->mcast_join(dev, mgid);
	if (r < 0) {
		free(m);
		return r;
	}
	ut_list_add_tail(&dev->mcast, &m->node);
	*ret = m;
	return 0;
}

static void group_drop(struct eng_dev *dev, struct eng_mcast *m) UT_REQUIRES(dev->lock);
static void group_drop(struct eng_dev *dev, struct eng_mcast *m)
{
	if (m->n || m->holds)
		return;
	ut_list_del(&m->node);
	dev->ops->mcast_leave(dev, &m->mgid);
	free(m->qps);
	free(m);
}

static int place_of(const struct eng_mcast *m, const struct eng_qp *qp)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->qps[i] == qp)
			return (int)i;
	return -1;
}

static int group_add(struct eng_dev *dev, struct eng_mcast *m, struct eng_qp *qp)
	UT_REQUIRES(dev->lock);
static int group_add(struct eng_dev *dev, struct eng_mcast *m, struct eng_qp *qp)
{
	const struct ibv_device_attr *a = &dev->attr.orig_attr;

	if (place_of(m, qp) >= 0)
		return 0;
	if (m->n >= (uint32_t)a->max_mcast_qp_attach ||
	    dev->n_mcast_attach >= (uint32_t)a->max_total_mcast_qp_attach)
		return eng_refuse(dev, ENG_R_MCAST_LIMIT);
	if (m->n == m->cap) {
		uint32_t cap = m->cap ? m->cap * 2 : 4;
		struct eng_qp **qps = ut_realloc(m->qps, cap * sizeof(*qps));

		if (!qps)
			return eng_refuse(dev, ENG_R_MEMORY);
		m->qps = qps;
		m->cap = cap;
	}
	m->qps[m->n++] = qp;
	qp->mcast_groups++;
	dev->n_mcast_attach++;
	return 0;
}

static int attach(struct eng_dev *dev, struct eng_qp *qp, const union ibv_gid *mgid)
	UT_REQUIRES(dev->lock);
static int attach(struct eng_dev *dev, struct eng_qp *qp, const union ibv_gid *mgid)
{
	struct eng_mcast *m = eng_mcast_find(dev, mgid);
	int r = 0;

	if (eng_qp_state(qp) == IBV_QPS_RESET)
		return eng_refuse_qp(qp, ENG_R_MCAST_STATE);
	if (!m)
		r = group_new(dev, mgid, &m);
	if (r < 0)
		return r;
	r = group_add(dev, m, qp);
	group_drop(dev, m);
	return r;
}

int eng_mcast_attach(struct eng_qp *qp, const union ibv_gid *mgid)
{
	struct eng_dev *dev = qp->dev;
	int r;

	if (qp->type != IBV_QPT_UD || qp->gsi || !ut_ip_is_group(mgid->raw))
		return eng_refuse_qp(qp, ENG_R_MCAST_KIND);
	ut_lock(&dev->lock);
	r = attach(dev, qp, mgid);
	eng_dev_unlock(dev);
	return r;
}

int eng_mcast_detach(struct eng_qp *qp, const union ibv_gid *mgid)
{
	struct eng_dev *dev = qp->dev;
	struct eng_mcast *m;
	int at;

	ut_lock(&dev->lock);
	m = eng_mcast_find(dev, mgid);
	at = m ? place_of(m, qp) : -1;
	if (at >= 0) {
		m->qps[at] = m->qps[--m->n];
		qp->mcast_groups--;
		dev->n_mcast_attach--;
		group_drop(dev, m);
	}
	eng_dev_unlock(dev);
	return at >= 0 ? 0 : eng_refuse_qp(qp, ENG_R_MCAST_DETACH);
}

int eng_mcast_hold(struct eng_dev *dev, const union ibv_gid *mgid)
{
	struct eng_mcast *m = eng_mcast_find(dev, mgid);
	int r = 0;

	if (!ut_ip_is_group(mgid->raw))
		return -EINVAL;
	if (!m)
		r = group_new(dev, mgid, &m);
	if (r == 0)
		m->holds++;
	return r;
}

void eng_mcast_release(struct eng_dev *dev, const union ibv_gid *mgid)
{
	struct eng_mcast *m = eng_mcast_find(dev, mgid);

	if (!m || !m->holds)
		return;
	m->holds--;
	group_drop(dev, m);
}

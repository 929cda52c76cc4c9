/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Multicast groups: which UD QPs of this adapter hear which group. */
#ifndef ENGINE_MCAST_H
#define ENGINE_MCAST_H

#include "engine/dev.h"

struct eng_mcast {
	struct ut_list node; /* dev->mcast */
	union ibv_gid mgid;
	uint32_t n, cap;
	struct eng_qp **qps;
	uint32_t holds; /* of those who want the link in the group without a QP */
};

/* -EINVAL: not UD, QP in RESET, not a group address. Twice is once. -ENOMEM at
 * the limits. */
int eng_mcast_attach(struct eng_qp *qp, const union ibv_gid *mgid);
int eng_mcast_detach(struct eng_qp *qp, const union ibv_gid *mgid); /* -EINVAL: not attached */
/*
 * The link is in the group while a QP is attached or somebody holds it; neither undoes the
 * other. A hold is undone by as many releases. 0, -EINVAL (not a group address), -ENOMEM, or the
 * device room's errno.
 */
int eng_mcast_hold(struct eng_dev *dev, const union ibv_gid *mgid) UT_REQUIRES(dev->lock);
void eng_mcast_release(struct eng_dev *dev, const union ibv_gid *mgid) UT_REQUIRES(dev->lock);
/* dev->lock held; NULL when nobody listens. */
struct eng_mcast *eng_mcast_find(struct eng_dev *dev, const union ibv_gid *mgid);

#endif

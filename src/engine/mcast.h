/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Multicast groups (IBTA 10.5): the UD queue pairs of this adapter that receive packets to each. */
#ifndef ENGINE_MCAST_H
#define ENGINE_MCAST_H

#include "engine/dev.h"

struct eng_mcast {
	struct ut_list node; /* dev->mcast */
	union ibv_gid mgid;
	uint32_t n, cap;
	struct eng_qp **qps;
	uint32_t holds; /* of eng_mcast_hold() */
};

/* Returns 0, also if it is attached already; -EINVAL: not UD, state RESET, or not a group address; -ENOMEM:
 * at the limits. */
int eng_mcast_attach(struct eng_qp *qp, const union ibv_gid *mgid);
/* Returns 0, or -EINVAL if it is not attached. */
int eng_mcast_detach(struct eng_qp *qp, const union ibv_gid *mgid);
/*
 * The link is in the group while a queue pair is attached or a hold exists; neither undoes the other. Each
 * hold is undone by one release. Returns 0, -EINVAL (not a group address), -ENOMEM, or the device room's
 * errno.
 */
int eng_mcast_hold(struct eng_dev *dev, const union ibv_gid *mgid) UT_REQUIRES(dev->lock);
void eng_mcast_release(struct eng_dev *dev, const union ibv_gid *mgid) UT_REQUIRES(dev->lock);
/* Returns the group, or NULL if it has neither queue pair nor hold. Called with dev->lock held. */
struct eng_mcast *eng_mcast_find(struct eng_dev *dev, const union ibv_gid *mgid);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_RDMACM_MCAST_H
#define ABI_RDMACM_MCAST_H

#include "abi/rdmacm/rcm.h"

/* The group of a join's event and one more event out for it, or NULL when it was left. */
struct rcm_group *rcm_group_hold(struct rcm_id *id, const void *context);
/* The join has succeeded: the queue pair attaches. 0 or negative errno. */
int rcm_group_joined(struct rcm_id *id, struct rcm_group *g, const struct ibv_ah_attr *ah);
void rcm_groups_forget(struct rcm_id *id);

#endif

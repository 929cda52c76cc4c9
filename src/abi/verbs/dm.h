/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_DM_H
#define ABI_VERBS_DM_H

#include "abi/verbs/vrb.h"

struct ibv_dm *vrb_alloc_dm(struct ibv_context *c, struct ibv_alloc_dm_attr *attr);
int vrb_free_dm(struct ibv_dm *dm);
struct ibv_mr *vrb_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t off, size_t length,
			     unsigned int access);

#endif

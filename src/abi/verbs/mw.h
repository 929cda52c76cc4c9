/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_MW_H
#define ABI_VERBS_MW_H

#include "abi/verbs/vrb.h"

struct ibv_mw *vrb_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vrb_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int vrb_dealloc_mw(struct ibv_mw *mw);

#endif

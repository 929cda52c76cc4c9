/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_CQ_EX_H
#define ABI_VERBS_CQ_EX_H

#include "abi/verbs/vrb.h"

void vrb_fill_cq_ex(struct ibv_cq_ex *cq);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_QP_EX_H
#define ABI_VERBS_QP_EX_H

#include "abi/verbs/vrb.h"

void vrb_fill_qp_ex(struct ibv_qp_ex *qp, enum ibv_qp_type type, uint64_t send_ops);
/* Legal extended operations of a QP type, enum ibv_qp_create_send_ops_flags. */
uint64_t vrb_legal_ops(enum ibv_qp_type type);

#endif

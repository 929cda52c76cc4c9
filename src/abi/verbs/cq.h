/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_CQ_H
#define ABI_VERBS_CQ_H

#include "abi/verbs/vrb.h"

int vrb_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int vrb_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int vrb_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_cq_ex *vrb_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *attr);
struct ibv_cq *vrb_make_cq(struct ibv_context *c, const struct ibv_cq_init_attr_ex *attr);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_SRQ_H
#define ABI_VERBS_SRQ_H

#include "abi/verbs/vrb.h"

struct ibv_srq *vrb_create_srq_ex(struct ibv_context *c, struct ibv_srq_init_attr_ex *attr);
int vrb_get_srq_num(struct ibv_srq *srq, uint32_t *number);
int vrb_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif

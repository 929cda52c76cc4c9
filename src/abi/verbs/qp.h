/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queue pairs as verbs show them: creation, attributes, posting, end. Called by programs, directly or through the
 * table of a context (abi/verbs/ops.c); work goes on in engine/qp.c, and that of posts in engine/post.c.
 */
#ifndef ABI_VERBS_QP_H
#define ABI_VERBS_QP_H

#include "abi/verbs/vrb.h"

struct ibv_qp *vrb_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *vrb_create_gsi(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *vrb_open_qp(struct ibv_context *c, struct ibv_qp_open_attr *attr);
int vrb_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int vrb_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif

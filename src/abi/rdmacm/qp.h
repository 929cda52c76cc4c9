/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_RDMACM_QP_H
#define ABI_RDMACM_QP_H

#include "abi/rdmacm/rcm.h"

/* qp.c: the queue pair that pub.qp names, as found. 0 or negative errno. */
int rcm_qp_init(struct rcm_id *id, struct ibv_qp *qp);
int rcm_qp_connect(struct rcm_id *id, uint8_t responder, uint8_t initiator);
int rcm_qp_fail(struct rcm_id *id);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_IBCM_SIDR_H
#define CM_IBCM_SIDR_H

#include "cm/ibcm/ep.h"

int ibcm_sidr_connect(struct ibcm_ep *e, const struct cm_param *param);
int ibcm_sidr_answer(struct ibcm_ep *e, unsigned status, const struct cm_param *param);
void ibcm_got_sidr_req(struct ibcm *cm, const struct gsi_rx *rx);
ibcm_handler ibcm_got_sidr_rep;

#endif

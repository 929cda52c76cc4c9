/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_IBCM_QP_ATTR_H
#define CM_IBCM_QP_ATTR_H

#include "cm/ibcm/ep.h"

int ibcm_qp_attr(struct cm_ep *ep, struct ibv_qp_attr *attr, int *mask);

#endif

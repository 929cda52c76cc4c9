/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_IBCM_END_H
#define CM_IBCM_END_H

#include "cm/ibcm/ep.h"

int ibcm_disconnect(struct cm_ep *ep);
void ibcm_destroy(struct cm_ep *ep);
void ibcm_hang_up(struct ibcm_ep *e); /* DREQ; the event follows */
ibcm_handler ibcm_got_dreq, ibcm_dreq_before_rtu, ibcm_dup_dreq, ibcm_got_drep;
ibcm_handler ibcm_rejected, ibcm_rej_connected, ibcm_got_mra;
ibcm_handler ibcm_again;

#endif

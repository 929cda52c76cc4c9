/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_IBCM_ACTIVE_H
#define CM_IBCM_ACTIVE_H

#include "cm/ibcm/ep.h"

/* Sends the request that is built, and repeats it. */
void ibcm_request(struct ibcm_ep *e, enum ibcm_state state);
/* Returns true if the refused request is repeated after a pause, false after the last try or if the peer
 * is another host that this one has no connection to. */
bool ibcm_retry(struct ibcm_ep *e);
int ibcm_connect(struct cm_ep *ep, const struct link_end *remote, const struct cm_param *param);
int ibcm_establish(struct cm_ep *ep);
ibcm_handler ibcm_got_rep, ibcm_dup_rep_early, ibcm_dup_rep, ibcm_dead_rep;

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_IBCM_PASSIVE_H
#define CM_IBCM_PASSIVE_H

#include "cm/ibcm/ep.h"

int ibcm_accept(struct cm_ep *ep, const struct cm_param *param);
int ibcm_reject(struct cm_ep *ep, enum cm_reject reason, const void *data, uint16_t len);
int ibcm_notify(struct cm_ep *ep, enum ibv_event_type event);
void ibcm_got_req(struct ibcm *cm, const struct gsi_rx *rx);
/* For requests of both kinds: a counted child of the listener, or NULL; and its way up. */
struct ibcm_ep *ibcm_child(struct ibcm_ep *listener, const struct gsi_rx *rx, uint16_t port);
void ibcm_offer(struct ibcm_ep *e, struct cm_event *ev);
ibcm_handler ibcm_got_rtu, ibcm_dup_req_slow, ibcm_dup_req_stale;
/* Returns true if a rule of faults wants the request refused, with a reason that is not 0, or left without an answer. */
bool ibcm_is_ruled_out(struct ibcm *cm, const struct gsi_rx *rx, unsigned *ret_reason);

#endif

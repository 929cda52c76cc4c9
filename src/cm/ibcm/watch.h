/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_IBCM_WATCH_H
#define CM_IBCM_WATCH_H

#include "cm/ibcm/ep.h"

void ibcm_estab(struct ibcm_ep *e); /* ESTAB, and watched */
void ibcm_estab_again(struct ibcm_ep *e); /* ... after LAP_SENT */
void ibcm_watch(struct ibcm_ep *e);
void ibcm_watch_refused(struct ibcm *cm, const uint8_t dst[16]);
/* The kernel or a router reports that this host cannot be reached. */
void ibcm_watch_unreached(struct ibcm *cm, const uint8_t dst[16]);
ibcm_handler ibcm_got_stranger;

/* --- connections of dead processes --- */

/* After each change of state: tied while the peer may count on the connection. */
void ibcm_record_check(struct ibcm_ep *e);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What each received message does. */
#ifndef ULP_SDP_ARRIVE_H
#define ULP_SDP_ARRIVE_H

#include "ulp/sdp/state.h"

/* Takes the message of len octets in receive i. */
int sdp_arrive(struct sdp_conn *c, uint32_t i, size_t len);
/* Posts receive i, whose octets have been taken. */
int sdp_post_receive(struct sdp_conn *c, uint32_t i);

#endif

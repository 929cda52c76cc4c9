/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Our advertisement: SrcAvail, and how it ends. */
#ifndef ULP_SDP_SOURCE_H
#define ULP_SDP_SOURCE_H

#include "ulp/sdp/state.h"

/* True while an advertisement, or the copying after SendSm, is under way: no octets may pass it. */
bool sdp_source_is_busy(const struct sdp_conn *c);
/* Advertises the first len octets of the stage, the first of them in the message itself. */
int sdp_source_advertise(struct sdp_conn *c, uint32_t len);
/* RdmaRdCompl or SendSm has come. */
int sdp_source_answered(struct sdp_conn *c, const struct sdp_msg *m);
/* Cancels an advertisement that waits too long, and sends what SendSm asked for. */
int sdp_source_progress(struct sdp_conn *c);
/* When an advertisement is to be cancelled; 0: there is none. */
int64_t sdp_source_due(const struct sdp_conn *c);

#endif

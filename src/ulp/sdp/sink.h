/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The peer's advertisement: fetched piece by piece by RDMA Reads into the stage, from where the program takes it. */
#ifndef ULP_SDP_SINK_H
#define ULP_SDP_SINK_H

#include "ulp/sdp/state.h"

/* A SrcAvail has come; its payload, if any, has been given to the program. */
int sdp_sink_open(struct sdp_conn *c, const struct sdp_msg *m);
/* A SrcAvailCancel has come. */
void sdp_sink_cancel(struct sdp_conn *c);
/* A Read has ended. */
int sdp_sink_read_done(struct sdp_conn *c);
/* The program has taken the whole stage. */
void sdp_sink_taken(struct sdp_conn *c);
/* Posts the next Read, or answers a cancelled advertisement. */
int sdp_sink_progress(struct sdp_conn *c);

#endif

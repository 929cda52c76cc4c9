/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Octets that come by RDMA. The peer's SrcAvail is fetched piece by piece, into memory in which the program waits or else into
 * the stage. Memory in which the program waits is advertised by SinkAvail, if there is no SrcAvail.
 */
#ifndef ULP_SDP_SINK_H
#define ULP_SDP_SINK_H

#include "ulp/sdp/state.h"

/* A SrcAvail has come; its payload, if any, has been given to the program. */
int sdp_sink_open(struct sdp_conn *c, const struct sdp_msg *m);
/* A SrcAvailCancel has come. */
void sdp_sink_cancel(struct sdp_conn *c);
/* None of the peer's is advertised any more: this end suspends the connection. */
void sdp_sink_void(struct sdp_conn *c);
/* A Read has ended. */
int sdp_sink_read_done(struct sdp_conn *c);
/* The program has taken the whole stage. */
void sdp_sink_taken(struct sdp_conn *c);

/* A message with octets has come: the program has its memory back, and a SinkAvail is discarded. */
void sdp_sink_data(struct sdp_conn *c);
/* RdmaWrCompl, or SinkCancelAck, has come. */
int sdp_sink_written(struct sdp_conn *c, const struct sdp_msg *m);
int sdp_sink_cancel_acked(struct sdp_conn *c);
/* The peer sends no more. */
void sdp_sink_end(struct sdp_conn *c);

/* Posts the next Read, answers a cancelled advertisement, advertises the program's memory or takes it back. */
int sdp_sink_progress(struct sdp_conn *c);

/*
 * True if all that is owed is RdmaRdCompl for Reads of a peer of this host, and more can be read. The next Read is a copy only as long as none of them
 * has left: so they leave together, when half of what the peer may advertise has been read or nothing is left to read.
 */
bool sdp_sink_may_answer_later(const struct sdp_conn *c);

#endif

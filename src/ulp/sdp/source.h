/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Octets of the program that the peer fetches (SrcAvail), or that are written into memory of the peer (SinkAvail). */
#ifndef ULP_SDP_SOURCE_H
#define ULP_SDP_SOURCE_H

#include "ulp/sdp/state.h"

/* True while octets are under way, which Data may not pass. */
bool sdp_source_is_busy(const struct sdp_conn *c);
/* Room in the stage, at most SDP_STAGE octets, if what is written there may go now; else NULL. */
uint8_t *sdp_source_room(struct sdp_conn *c, size_t *ret_len);
bool sdp_source_is_room(const struct sdp_conn *c, const uint8_t *room);
/* Sends what has been written there. */
int sdp_source_send(struct sdp_conn *c, uint32_t len);
/* True if the peer is of this host, as far as the last octets tell, and reads the stage by loads: two copies that go on at the same time
 * are faster than one by the kernel then. */
bool sdp_source_is_local(const struct sdp_conn *c);
/* True if memory of the program may be sent now. */
bool sdp_source_may_begin(const struct sdp_conn *c);
/* Sends len octets of it, which stay as they are until the source is no longer busy; mr permits the peer to read them. */
int sdp_source_begin(struct sdp_conn *c, const uint8_t *at, uint32_t len, const struct ibv_mr *mr);
/* None of the octets is advertised any more: the peer suspends the connection. */
void sdp_source_void(struct sdp_conn *c);
/* RdmaRdCompl or SendSm has come. */
int sdp_source_answered(struct sdp_conn *c, const struct sdp_msg *m);
/* SinkAvail has come. */
int sdp_source_sink_avail(struct sdp_conn *c, const struct sdp_msg *m);
/* An RDMA Write has ended. */
void sdp_source_write_done(struct sdp_conn *c);
/* Sends what may be sent, changes the mode if the peer asks, cancels an advertisement that waits too long. */
int sdp_source_progress(struct sdp_conn *c);
/* When an advertisement is to be cancelled; 0: there is none. */
int64_t sdp_source_due(const struct sdp_conn *c);

#endif

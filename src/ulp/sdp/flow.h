/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The numbers of one connection (IBTA volume 1, annex A4): message numbers, acknowledgements and credits of both
 * directions. Every message uses one receive of the peer, one number and one credit; RDMA does not.
 *
 *    credits = the peer's BUFS - (the last number sent - the peer's MSEQ_ACK)
 *
 * Two credits are kept back from data, so that control messages and updates of credits always get through: an
 * end without any could never learn of new ones.
 */
#ifndef ULP_SDP_FLOW_H
#define ULP_SDP_FLOW_H

#include "ulp/sdp/msg.h"

struct sdp_flow {
	uint32_t tx_seq;        /* of the last message sent; that of Hello is 0 */
	uint32_t tx_acked;      /* the last one that the peer has received */
	uint32_t bufs;          /* the peer's receives, as told with tx_acked */
	uint32_t rx_seq;        /* of the last message received */
	uint32_t posted;        /* our receives */
	uint32_t told;          /* of them, those that the peer may still use by what it was told */
	bool is_short;          /* by a message that is no update, so few that the peer may not answer */
};

/* For what a credit is taken: how many have to be left afterwards. */
enum sdp_use { SDP_FOR_UPDATE = 0, SDP_FOR_CONTROL = 1, SDP_FOR_DATA = 2 };

/* After Hello and HelloAck: the receives of both ends. */
void sdp_flow_begin(struct sdp_flow *f, uint32_t posted, uint32_t peer_bufs);
/* True if a message may leave now. */
bool sdp_flow_may_send(const struct sdp_flow *f, enum sdp_use use);
/* Gives the message its numbers; it has to be sent. */
void sdp_flow_stamp(struct sdp_flow *f, struct sdp_msg *m);
/* A message has arrived in a receive, which is no longer posted. */
enum sdp_verdict sdp_flow_arrived(struct sdp_flow *f, const struct sdp_msg *m);
/* Receives have been posted. */
void sdp_flow_posted(struct sdp_flow *f, uint32_t nr);
/* True if the peer is to be told of receives, by a Data message without payload if nothing else leaves. */
bool sdp_flow_owes_update(const struct sdp_flow *f);

#endif

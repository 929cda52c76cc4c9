/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Longer receives (IBTA volume 1, annex A4: ChRcvBuf): the source of a direction asks for them, the sink posts them.
 *
 *   source                                        sink
 *     ChRcvBuf, the size wanted ---------------->   each receive that is posted again is a long one
 *     messages of the size in force ------------>
 *     <-------------------- ChRcvBufAck, the size in force, once no short one is left
 *     messages of that size -------------------->
 *
 * Once for each direction of a connection: a sink that has no longer ones, or has them already, answers at once. A source asks when Data
 * fill the peer's receives, many in a row, unless advertisements carry so many octets.
 */
#ifndef ULP_SDP_LONGER_H
#define ULP_SDP_LONGER_H

#include "ulp/sdp/msg.h"
#include "ulp/sdp/stage.h"

#define SDP_DEPTH_MAX 1024

struct sdp_conn;

struct sdp_longer {
	struct sdp_stage receives, sends;
	uint32_t size;                  /* of a long receive; 0: there are none */
	uint32_t left;                  /* short ones that have not been posted again */
	bool owes;                      /* the answer follows the last one */
	uint8_t is_long[SDP_DEPTH_MAX / 8];
	uint32_t send_size;             /* of the messages in `sends` */
	uint32_t filled;                /* messages with Data in a row that filled the peer's receive */
	uint32_t asked;                 /* the size asked for; 0: not yet */
	bool answered;
};

/* Where a receive lies that is about to be posted, or has been: *ret_len octets with this key. */
uint8_t *sdp_receive_at(const struct sdp_conn *c, uint32_t i, uint32_t *ret_len, uint32_t *ret_lkey);
/* As sdp_receive_at(), for a message to be sent. */
uint8_t *sdp_send_at(const struct sdp_conn *c, uint32_t i, uint32_t *ret_lkey);
/* Octets of the longest message that the peer may send, once none is shorter; and that this end can. */
uint32_t sdp_receive_size(const struct sdp_conn *c);
uint32_t sdp_send_size(const struct sdp_conn *c);
/* The stream goes on by another connection, whose Hello has the size in force: no question is open. */
void sdp_longer_begin(struct sdp_longer *l);

/* ChRcvBuf, ChRcvBufAck have come. */
int sdp_longer_asked(struct sdp_conn *c, uint32_t size);
int sdp_longer_answered(struct sdp_conn *c, uint32_t size);
/* A receive is about to be posted, for the first time or again. */
int sdp_longer_post(struct sdp_conn *c, uint32_t i);
/* A message with so many octets of Data leaves. */
void sdp_longer_sent(struct sdp_conn *c, uint32_t payload);
/* Asks, if that is due. */
int sdp_longer_progress(struct sdp_conn *c);
void sdp_longer_close(struct sdp_longer *l);

#endif

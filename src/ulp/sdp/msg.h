/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages of SDP (IBTA volume 1, annex A4): read with bounds, checked, and written. Neither memory of
 * the peer nor verbs are touched here.
 */
#ifndef ULP_SDP_MSG_H
#define ULP_SDP_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "wire/sdp_fields.h"

/* The longest header of a message that this library sends or takes: BSDH and SinkAvail. */
#define SDP_HEADER_MAX (WIRE_SDP_BSDH_LEN + WIRE_SDP_SINK_AVAIL_LEN)
#define SDP_VERSION 2           /* major version that is sent: OFED's */
#define SDP_RECEIVE_MIN 256     /* shortest receive buffer of a peer, the base header included */

struct sdp_msg {
	uint8_t mid;                    /* enum wire_sdp_mid */
	bool oob_pres;                  /* the last octet of the payload is urgent */
	bool oob_pend;
	bool req_pipe;                  /* the sink of the other direction asks for Pipelined mode */
	uint16_t bufs;
	uint32_t seq, ack;
	uint32_t number;                /* of the messages with one number; the mode's four bits */
	uint32_t length, rkey;          /* SrcAvail, SinkAvail */
	uint32_t kept;                  /* SinkAvail: see advert.h */
	uint64_t vaddr;
	uint64_t service;               /* SuspComm */
	const uint8_t *payload;
	uint32_t payload_len;
};

/* What both ends say when a connection is made. */
struct sdp_hello {
	uint16_t bufs;                  /* receives posted */
	uint32_t receive_size;          /* octets of each of them, the base header included */
	uint32_t wanted_size;           /* Hello only: size wanted for the peer's receives */
	uint8_t max_adverts;
	struct sockaddr_storage from, to; /* Hello only; the port of `to` is the service's */
};

/* What is wrong with a message or a Hello. Each has a row with a sentence. */
enum sdp_verdict {
	SDP_GOOD,
	SDP_SHORT,
	SDP_BAD_LEN,
	SDP_BAD_MID,
	SDP_BAD_VERSION,
	SDP_NO_ADVERTS,
	SDP_SMALL_RECEIVE,
	SDP_NO_BUFS,
	SDP_BAD_FAMILY,
	SDP_BAD_SEQ,
	SDP_BAD_ACK,
	SDP_NO_CREDIT,
	SDP_TWO_ADVERTS,
	SDP_DATA_IN_ADVERT,
	SDP_LONG_PAYLOAD,
	SDP_NO_ADVERT,
	SDP_LONG_COMPL,
	SDP_AFTER_DISCONN,
	SDP_SUSPENDED,
	SDP_NOT_SUSPENDED,
	SDP_BAD_SERVICE,
	SDP_BAD_MODE,
	SDP_ADVERT_MODE,
	SDP_MANY_ADVERTS,
	SDP_SHORT_SINK,
	SDP_TWO_RESIZES,
	SDP_NO_RESIZE,
	SDP_NR_VERDICTS
};

/* What the peer broke, as the middle of a sentence. */
extern const char *const sdp_rules[SDP_NR_VERDICTS];

/* Octets of the header of a message of this kind: the base header and the extended one. 0: no such message. */
size_t sdp_header_len(uint8_t mid);
/* Reads a received message of len octets; the payload stays where it lies. */
enum sdp_verdict sdp_msg_get(struct sdp_msg *m, const uint8_t *data, size_t len);
/* Writes the header of a message whose payload lies behind it. Returns the octets of the whole message. */
size_t sdp_msg_put(uint8_t *out, const struct sdp_msg *m);

/* Writes and reads the private data of a request, and of its acceptance. */
void sdp_hello_put(uint8_t out[WIRE_SDP_HELLO_LEN], const struct sdp_hello *h);
enum sdp_verdict sdp_hello_get(struct sdp_hello *h, const uint8_t *data, size_t len);
void sdp_hello_ack_put(uint8_t out[WIRE_SDP_HELLO_ACK_LEN], const struct sdp_hello *h);
enum sdp_verdict sdp_hello_ack_get(struct sdp_hello *h, const uint8_t *data, size_t len);

#endif

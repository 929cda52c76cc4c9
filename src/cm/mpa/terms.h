/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What two ends agree on: from the wishes of one and the frame of the other to
 * the terms of the stream. Pure arithmetic of RFC 5044 7.1.1 and RFC 6581 9.
 */
#ifndef CM_MPA_TERMS_H
#define CM_MPA_TERMS_H

#include "cm/mpa/frame.h"
#include "proto/stream.h"

/* What this end brings. */
struct mpa_wish {
	uint8_t rev;         /* initiator: of its Request */
	bool crc, markers;
	uint8_t rtr;         /* initiator: offered kinds, 1u << enum proto_rtr; 0 = no peer-to-peer */
	uint16_t ird, ord;   /* at most rd_max */
	uint16_t rd_max;
};

/* Error codes of MPA that end a set-up by Terminate (RFC 6581 8). */
enum mpa_code { MPA_CODE_LOCAL = 5, MPA_CODE_IRD = 6, MPA_CODE_RTR = 7 };

/* The Request of these wishes; private data is the caller's to add. */
void mpa_terms_request(const struct mpa_wish *w, struct mpa_frame *req);
/* The accepting Reply of a responder, and its side of the stream. */
void mpa_terms_accept(const struct mpa_wish *w, const struct mpa_frame *req, struct mpa_frame *rep,
		      struct proto_stream_params *ret);
/* The rejecting one: what an accepting one would have said, R set. */
void mpa_terms_reject(const struct mpa_wish *w, const struct mpa_frame *req, struct mpa_frame *rep);
/*
 * The initiator's side after an accepting Reply. *ret is filled in any case. 0, an
 * enum mpa_code to terminate with, or -EPROTO: no Reply to this Request.
 */
int mpa_terms_agree(const struct mpa_wish *w, const struct mpa_frame *rep,
		    struct proto_stream_params *ret);

#endif

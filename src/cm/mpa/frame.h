/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * MPA Request and Reply as plain values (RFC 5044 7.1.1, RFC 6581 6 and 9). The
 * parser may be shown a frame that is still growing; it says as soon as it can
 * that this will never become one, so an unknown peer is not read for longer
 * than needed, and it believes PD_Length only behind a right key.
 */
#ifndef CM_MPA_FRAME_H
#define CM_MPA_FRAME_H

#include "proto/stream.h"
#include "wire/mpa_fields.h"

#include <stdbool.h>
#include <stddef.h>

enum mpa_kind { MPA_REQUEST, MPA_REPLY };

struct mpa_frame {
	enum mpa_kind kind;
	uint8_t rev;
	bool markers, crc;
	bool reject;         /* a Reply's; 0 in a Request, not looked at there */
	bool enhanced;       /* S, believed from revision 2 on */
	/* Enhanced data; zero without. */
	bool peer_to_peer;
	uint8_t rtr;         /* 1u << enum proto_rtr */
	uint16_t ird, ord;
	/* What the consumer gave; the parser's points into the input. */
	const uint8_t *data;
	uint16_t len;
};

/* Most private data of a consumer in a frame of this form. */
static inline unsigned mpa_frame_room(bool enhanced)
{
	return WIRE_MPA_PD_MAX - (enhanced ? WIRE_MPAEnhanced_LEN : 0u);
}

/*
 * Returns the length of the frame at the start of data[0..len), 0 while it is not
 * whole, or -EPROTO: no frame of this kind, whatever follows. A rejecting Reply may
 * lack the enhanced data that its S bit announces (then ird = ord = 0).
 */
int mpa_frame_parse(enum mpa_kind kind, const uint8_t *data, size_t len, struct mpa_frame *ret);
/* Returns the length. f->len is within mpa_frame_room(). */
size_t mpa_frame_build(const struct mpa_frame *f, uint8_t out[WIRE_MPA_FRAME_MAX]);

/*
 * What two ends agree on: from the wishes of one and the frame of the other to the terms of the stream.
 * Pure arithmetic of RFC 5044 7.1.1 and RFC 6581 9.
 */

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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * MPA Request and Reply frames, field by field, and the enhanced data of RFC 6581, in front of the
 * private data if the S bit is set. The rules of the rows are those of ib_fields.h.
 */
#ifndef WIRE_MPA_FIELDS_H
#define WIRE_MPA_FIELDS_H

#include "wire/field.h"

/*	header, length, source */
#define WIRE_MPA_HEADERS(H)                                                                    \
	H(MPA,          20, "RFC 5044, 7.1.1; RFC 6581, 6")                                    \
	H(MPAEnhanced,   4, "RFC 6581, 9")

/*	header field              byte bit width */
#define WIRE_MPA_MPA_FIELDS(F, B)                                                              \
	B(MPA, key,                  0, 16)                                                    \
	F(MPA, markers,             16, 0,  1)                                                 \
	F(MPA, crc,                 16, 1,  1)                                                 \
	F(MPA, reject,              16, 2,  1)                                                 \
	F(MPA, enhanced,            16, 3,  1)                                                 \
	F(MPA, rsv4,                16, 4,  4)                                                 \
	F(MPA, rev,                 17, 0,  8)                                                 \
	F(MPA, pd_length,           18, 0, 16)

#define WIRE_MPA_MPAEnhanced_FIELDS(F, B)                                                      \
	F(MPAEnhanced, peer_to_peer, 0, 0,  1)                                                 \
	F(MPAEnhanced, rtr_send,     0, 1,  1)                                                 \
	F(MPAEnhanced, ird,          0, 2, 14)                                                 \
	F(MPAEnhanced, rtr_write,    2, 0,  1)                                                 \
	F(MPAEnhanced, rtr_read,     2, 1,  1)                                                 \
	F(MPAEnhanced, ord,          2, 2, 14)

#define WIRE_MPA_FIELDS(F, B)                                                                  \
	WIRE_MPA_MPA_FIELDS(F, B)                                                              \
	WIRE_MPA_MPAEnhanced_FIELDS(F, B)

enum wire_mpa_hdr {
#define H(name, length, source) WIRE_HDR_##name,
	WIRE_MPA_HEADERS(H)
#undef H
	WIRE_NR_MPA_HDRS
};

enum {
#define H(name, length, source) WIRE_##name##_LEN = length,
	WIRE_MPA_HEADERS(H)
#undef H
	WIRE_MPA_KEY_LEN = 16,
	WIRE_MPA_PD_MAX = 512,	/* RFC 5044 7.1.1; enhanced data included */
	WIRE_MPA_FRAME_MAX = WIRE_MPA_LEN + WIRE_MPA_PD_MAX,
	WIRE_MPA_DEPTH_ANY = 0x3fff,	/* IRD, ORD: "do not negotiate" (RFC 6581 9.1) */
};

WIRE_MPA_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

/* The keys that open a Request and a Reply. */
extern const uint8_t wire_mpa_request_key[WIRE_MPA_KEY_LEN];
extern const uint8_t wire_mpa_reply_key[WIRE_MPA_KEY_LEN];

extern const struct wire_header wire_mpa_headers[WIRE_NR_MPA_HDRS];
extern const struct wire_field wire_mpa_fields[];
extern const unsigned wire_nr_mpa_fields;

#endif

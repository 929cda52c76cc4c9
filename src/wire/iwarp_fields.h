/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An iWARP stream in full operation, field by field: DDP segments inside MPA FPDUs, the RDMAP headers
 * behind them, markers. The rules of the rows are those of ib_fields.h.
 *
 * The rows of both DDP headers begin with MPA's ULPDU_Length, as on the wire: so every number is
 * aligned in its header. A Terminate message repeats a DDP segment length and header in the same 16
 * or 20 bytes, which the same rows read.
 */
#ifndef WIRE_IWARP_FIELDS_H
#define WIRE_IWARP_FIELDS_H

#include "wire/field.h"

/*	header, length, source */
#define WIRE_IWARP_HEADERS(H)                                                                  \
	H(DDPTagged,    16, "RFC 5044, 4.1; RFC 5041, 4.2; RFC 5040, 4.1")                     \
	H(DDPUntagged,  20, "RFC 5044, 4.1; RFC 5041, 4.3; RFC 5040, 4.1")                     \
	H(ReadRequest,  28, "RFC 5040, 4.4")                                                   \
	H(Terminate,     4, "RFC 5040, 4.8")                                                   \
	H(AtomicRequest, 52, "RFC 7306, 5.2.1")                                                \
	H(AtomicResponse, 12, "RFC 7306, 5.2.2")                                               \
	H(Immediate,     8, "RFC 7306, 6.1")                                                   \
	H(Marker,        4, "RFC 5044, 4.3")

/*	header field              byte bit width */
#define WIRE_IW_DDPTagged_FIELDS(F, B)                                                         \
	F(DDPTagged, ulpdu_len,      0, 0, 16)                                                 \
	F(DDPTagged, tagged,         2, 0,  1)                                                 \
	F(DDPTagged, last,           2, 1,  1)                                                 \
	F(DDPTagged, rsv4,           2, 2,  4)                                                 \
	F(DDPTagged, dv,             2, 6,  2)                                                 \
	F(DDPTagged, rv,             3, 0,  2)                                                 \
	F(DDPTagged, rsv2,           3, 2,  2)                                                 \
	F(DDPTagged, opcode,         3, 4,  4)                                                 \
	F(DDPTagged, stag,           4, 0, 32)                                                 \
	F(DDPTagged, to,             8, 0, 64)

#define WIRE_IW_DDPUntagged_FIELDS(F, B)                                                       \
	F(DDPUntagged, ulpdu_len,    0, 0, 16)                                                 \
	F(DDPUntagged, tagged,       2, 0,  1)                                                 \
	F(DDPUntagged, last,         2, 1,  1)                                                 \
	F(DDPUntagged, rsv4,         2, 2,  4)                                                 \
	F(DDPUntagged, dv,           2, 6,  2)                                                 \
	F(DDPUntagged, rv,           3, 0,  2)                                                 \
	F(DDPUntagged, rsv2,         3, 2,  2)                                                 \
	F(DDPUntagged, opcode,       3, 4,  4)                                                 \
	F(DDPUntagged, inv_stag,     4, 0, 32)                                                 \
	F(DDPUntagged, qn,           8, 0, 32)                                                 \
	F(DDPUntagged, msn,         12, 0, 32)                                                 \
	F(DDPUntagged, mo,          16, 0, 32)

#define WIRE_IW_ReadRequest_FIELDS(F, B)                                                       \
	F(ReadRequest, sink_stag,    0, 0, 32)                                                 \
	F(ReadRequest, sink_to,      4, 0, 64)                                                 \
	F(ReadRequest, size,        12, 0, 32)                                                 \
	F(ReadRequest, src_stag,    16, 0, 32)                                                 \
	F(ReadRequest, src_to,      20, 0, 64)

#define WIRE_IW_Terminate_FIELDS(F, B)                                                         \
	F(Terminate, layer,          0, 0,  4)                                                 \
	F(Terminate, etype,          0, 4,  4)                                                 \
	F(Terminate, code,           1, 0,  8)                                                 \
	F(Terminate, m,              2, 0,  1)                                                 \
	F(Terminate, d,              2, 1,  1)                                                 \
	F(Terminate, r,              2, 2,  1)                                                 \
	F(Terminate, rsv13,          2, 3, 13)

#define WIRE_IW_AtomicRequest_FIELDS(F, B)                                                     \
	F(AtomicRequest, rsv28,      0, 0, 28)                                                 \
	F(AtomicRequest, aop,        3, 4,  4)                                                 \
	F(AtomicRequest, id,         4, 0, 32)                                                 \
	F(AtomicRequest, stag,       8, 0, 32)                                                 \
	F(AtomicRequest, to,        12, 0, 64)                                                 \
	F(AtomicRequest, data,      20, 0, 64)                                                 \
	F(AtomicRequest, mask,      28, 0, 64)                                                 \
	F(AtomicRequest, compare,   36, 0, 64)                                                 \
	F(AtomicRequest, cmask,     44, 0, 64)

#define WIRE_IW_AtomicResponse_FIELDS(F, B)                                                    \
	F(AtomicResponse, id,        0, 0, 32)                                                 \
	F(AtomicResponse, orig,      4, 0, 64)

#define WIRE_IW_Immediate_FIELDS(F, B)                                                         \
	B(Immediate, data,           0, 8)

#define WIRE_IW_Marker_FIELDS(F, B)                                                            \
	F(Marker, rsv16,             0, 0, 16)                                                 \
	F(Marker, fpduptr,           2, 0, 16)

#define WIRE_IWARP_FIELDS(F, B)                                                                \
	WIRE_IW_DDPTagged_FIELDS(F, B)                                                         \
	WIRE_IW_DDPUntagged_FIELDS(F, B)                                                       \
	WIRE_IW_ReadRequest_FIELDS(F, B)                                                       \
	WIRE_IW_Terminate_FIELDS(F, B)                                                         \
	WIRE_IW_AtomicRequest_FIELDS(F, B)                                                     \
	WIRE_IW_AtomicResponse_FIELDS(F, B)                                                    \
	WIRE_IW_Immediate_FIELDS(F, B)                                                         \
	WIRE_IW_Marker_FIELDS(F, B)

enum wire_iwarp_hdr {
#define H(name, length, source) WIRE_HDR_##name,
	WIRE_IWARP_HEADERS(H)
#undef H
	WIRE_NR_IWARP_HDRS
};

enum {
#define H(name, length, source) WIRE_##name##_LEN = length,
	WIRE_IWARP_HEADERS(H)
#undef H
	WIRE_MPA_CRC_LEN = 4,
	WIRE_MARKER_INTERVAL = 512,	/* RFC 5044 4.3 */
	WIRE_MULPDU_MAX = 64768,	/* RFC 5044 3: MULPDU is 128..64768 */
	WIRE_MULPDU_MIN = 128,
	/* The longest headers of an FPDU without payload: an Atomic Request, a Terminate. */
	WIRE_IWARP_HDRS_MAX = 20 + 52,
};

WIRE_IWARP_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

extern const struct wire_header wire_iwarp_headers[WIRE_NR_IWARP_HDRS];
extern const struct wire_field wire_iwarp_fields[];
extern const unsigned wire_nr_iwarp_fields;

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rows of cm_fields.h as tables. */
#include "wire/cm_fields.h"

#include <stddef.h>

enum {
#define H(name, length, source) NR_##name = 0 WIRE_##name##_FIELDS(WIRE_COUNT_F, WIRE_COUNT_B),
	WIRE_CM_HEADERS(H)
#undef H
	NR_ROWS = 0 WIRE_CM_FIELDS(WIRE_COUNT_F, WIRE_COUNT_B),
};

/* Both lists have the same order of headers: the rows of a header begin where those of the one before
 * end. */
enum {
	FIRST_MAD = 0,
	FIRST_CM_REQ = FIRST_MAD + NR_MAD,
	FIRST_CM_MRA = FIRST_CM_REQ + NR_CM_REQ,
	FIRST_CM_REJ = FIRST_CM_MRA + NR_CM_MRA,
	FIRST_CM_REP = FIRST_CM_REJ + NR_CM_REJ,
	FIRST_CM_RTU = FIRST_CM_REP + NR_CM_REP,
	FIRST_CM_DREQ = FIRST_CM_RTU + NR_CM_RTU,
	FIRST_CM_DREP = FIRST_CM_DREQ + NR_CM_DREQ,
	FIRST_CM_LAP = FIRST_CM_DREP + NR_CM_DREP,
	FIRST_CM_APR = FIRST_CM_LAP + NR_CM_LAP,
	FIRST_CM_SIDR_REQ = FIRST_CM_APR + NR_CM_APR,
	FIRST_CM_SIDR_REP = FIRST_CM_SIDR_REQ + NR_CM_SIDR_REQ,
	FIRST_IP_CM = FIRST_CM_SIDR_REP + NR_CM_SIDR_REP,
};
_Static_assert(FIRST_IP_CM + NR_IP_CM == NR_ROWS && NR_ROWS < 256, "every header once, in order");

const struct wire_cm_header wire_cm_headers[WIRE_NR_CM_HDRS] = {
#define H(name, length, source) \
	[WIRE_CM_HDR_##name] = { #name, source, length, FIRST_##name, NR_##name },
	WIRE_CM_HEADERS(H)
#undef H
};

const struct wire_field wire_cm_fields[] = {
#define F(header, field, byte, bit, width) { #field, (byte) * 8 + (bit), width, WIRE_CM_HDR_##header },
#define B(header, field, byte, bytes) { #field, (byte) * 8, (bytes) * 8, WIRE_CM_HDR_##header },
	WIRE_CM_FIELDS(F, B)
#undef F
#undef B
};

const unsigned wire_nr_cm_fields = NR_ROWS;

const struct wire_cm_header *wire_cm_message(unsigned attr)
{
	static const uint8_t of[] = {
		[WIRE_CM_ATTR_REQ - 0x10] = WIRE_CM_HDR_CM_REQ,
		[WIRE_CM_ATTR_MRA - 0x10] = WIRE_CM_HDR_CM_MRA,
		[WIRE_CM_ATTR_REJ - 0x10] = WIRE_CM_HDR_CM_REJ,
		[WIRE_CM_ATTR_REP - 0x10] = WIRE_CM_HDR_CM_REP,
		[WIRE_CM_ATTR_RTU - 0x10] = WIRE_CM_HDR_CM_RTU,
		[WIRE_CM_ATTR_DREQ - 0x10] = WIRE_CM_HDR_CM_DREQ,
		[WIRE_CM_ATTR_DREP - 0x10] = WIRE_CM_HDR_CM_DREP,
		[WIRE_CM_ATTR_SIDR_REQ - 0x10] = WIRE_CM_HDR_CM_SIDR_REQ,
		[WIRE_CM_ATTR_SIDR_REP - 0x10] = WIRE_CM_HDR_CM_SIDR_REP,
		[WIRE_CM_ATTR_LAP - 0x10] = WIRE_CM_HDR_CM_LAP,
		[WIRE_CM_ATTR_APR - 0x10] = WIRE_CM_HDR_CM_APR,
	};

	if (attr < WIRE_CM_ATTR_REQ || attr > WIRE_CM_ATTR_APR)
		return NULL;
	return &wire_cm_headers[of[attr - WIRE_CM_ATTR_REQ]];
}

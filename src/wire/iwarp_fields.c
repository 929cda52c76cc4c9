/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rows of iwarp_fields.h as tables. */
#include "wire/iwarp_fields.h"

enum {
#define H(name, length, source) NR_##name = 0 WIRE_IW_##name##_FIELDS(WIRE_COUNT_F, WIRE_COUNT_B),
	WIRE_IWARP_HEADERS(H)
#undef H
	NR_ROWS = 0 WIRE_IWARP_FIELDS(WIRE_COUNT_F, WIRE_COUNT_B),
	FIRST_DDPTagged = 0,
	FIRST_DDPUntagged = FIRST_DDPTagged + NR_DDPTagged,
	FIRST_ReadRequest = FIRST_DDPUntagged + NR_DDPUntagged,
	FIRST_Terminate = FIRST_ReadRequest + NR_ReadRequest,
	FIRST_AtomicRequest = FIRST_Terminate + NR_Terminate,
	FIRST_AtomicResponse = FIRST_AtomicRequest + NR_AtomicRequest,
	FIRST_Immediate = FIRST_AtomicResponse + NR_AtomicResponse,
	FIRST_Marker = FIRST_Immediate + NR_Immediate,
};
_Static_assert(FIRST_Marker + NR_Marker == NR_ROWS, "every header once, in order");

const struct wire_header wire_iwarp_headers[WIRE_NR_IWARP_HDRS] = {
#define H(name, length, source) [WIRE_HDR_##name] = { #name, source, length, FIRST_##name, NR_##name },
	WIRE_IWARP_HEADERS(H)
#undef H
};

const struct wire_field wire_iwarp_fields[] = {
	WIRE_IWARP_FIELDS(WIRE_ROW_F, WIRE_ROW_B)
};

const unsigned wire_nr_iwarp_fields = NR_ROWS;

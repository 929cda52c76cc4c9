/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rows of smp_fields.h as tables. */
#include "wire/smp_fields.h"

enum {
#define H(name, length, source) NR_##name = 0 WIRE_##name##_FIELDS(WIRE_COUNT_F, WIRE_COUNT_B),
	WIRE_SUBN_HEADERS(H)
#undef H
	NR_ROWS = 0 WIRE_SUBN_FIELDS(WIRE_COUNT_F, WIRE_COUNT_B),
};

/* Both lists have the same order of headers: the rows of a header begin where those of the one before end. */
enum {
	FIRST_SMP = 0,
	FIRST_NODE_INFO = FIRST_SMP + NR_SMP,
	FIRST_NODE_DESC = FIRST_NODE_INFO + NR_NODE_INFO,
	FIRST_SWITCH_INFO = FIRST_NODE_DESC + NR_NODE_DESC,
	FIRST_PORT_INFO = FIRST_SWITCH_INFO + NR_SWITCH_INFO,
	FIRST_SM_INFO = FIRST_PORT_INFO + NR_PORT_INFO,
	FIRST_NOTICE = FIRST_SM_INFO + NR_SM_INFO,
};
_Static_assert(FIRST_NOTICE + NR_NOTICE == NR_ROWS && NR_ROWS < 256, "every header once, in order");

const struct wire_header wire_subn_headers[WIRE_NR_SUBN_HDRS] = {
#define H(name, length, source) [WIRE_SUBN_HDR_##name] = { #name, source, length, FIRST_##name, NR_##name },
	WIRE_SUBN_HEADERS(H)
#undef H
};

const struct wire_field wire_subn_fields[] = {
#define F(header, field, byte, bit, width) { #field, (byte) * 8 + (bit), width, WIRE_SUBN_HDR_##header },
#define B(header, field, byte, bytes) { #field, (byte) * 8, (bytes) * 8, WIRE_SUBN_HDR_##header },
	WIRE_SUBN_FIELDS(F, B)
#undef F
#undef B
};

const unsigned wire_nr_subn_fields = NR_ROWS;

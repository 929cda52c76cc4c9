/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rows of pma_fields.h as tables. */
#include "wire/pma_fields.h"

enum {
#define H(name, length, source) NR_##name = 0 WIRE_##name##_FIELDS(WIRE_COUNT_F, WIRE_COUNT_B),
	WIRE_PMA_HEADERS(H)
#undef H
	NR_ROWS = 0 WIRE_PMA_FIELDS(WIRE_COUNT_F, WIRE_COUNT_B),
};

/* Both lists have the same order of headers: the rows of a header begin where those of the one before end. */
enum {
	FIRST_CLASS_PORT_INFO = 0,
	FIRST_PORT_SAMPLES_CONTROL = FIRST_CLASS_PORT_INFO + NR_CLASS_PORT_INFO,
	FIRST_PORT_SAMPLES_RESULT = FIRST_PORT_SAMPLES_CONTROL + NR_PORT_SAMPLES_CONTROL,
	FIRST_PORT_COUNTERS = FIRST_PORT_SAMPLES_RESULT + NR_PORT_SAMPLES_RESULT,
	FIRST_PORT_RCV_ERRORS = FIRST_PORT_COUNTERS + NR_PORT_COUNTERS,
	FIRST_PORT_XMIT_DISCARDS = FIRST_PORT_RCV_ERRORS + NR_PORT_RCV_ERRORS,
	FIRST_PORT_COUNTERS_EXT = FIRST_PORT_XMIT_DISCARDS + NR_PORT_XMIT_DISCARDS,
	FIRST_PMA_SELECT = FIRST_PORT_COUNTERS_EXT + NR_PORT_COUNTERS_EXT,
};
_Static_assert(FIRST_PMA_SELECT + NR_PMA_SELECT == NR_ROWS && NR_ROWS < 256, "every header once, in order");

const struct wire_header wire_pma_headers[WIRE_NR_PMA_HDRS] = {
#define H(name, length, source) [WIRE_PMA_HDR_##name] = { #name, source, length, FIRST_##name, NR_##name },
	WIRE_PMA_HEADERS(H)
#undef H
};

const struct wire_field wire_pma_fields[] = {
#define F(header, field, byte, bit, width) { #field, (byte) * 8 + (bit), width, WIRE_PMA_HDR_##header },
#define B(header, field, byte, bytes) { #field, (byte) * 8, (bytes) * 8, WIRE_PMA_HDR_##header },
	WIRE_PMA_FIELDS(F, B)
#undef F
#undef B
};

const unsigned wire_nr_pma_fields = NR_ROWS;

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rows of mpa_fields.h as tables. */
#include "wire/mpa_fields.h"

const uint8_t wire_mpa_request_key[WIRE_MPA_KEY_LEN] = {
	'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'q', ' ', 'F', 'r', 'a', 'm', 'e',
};

const uint8_t wire_mpa_reply_key[WIRE_MPA_KEY_LEN] = {
	'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'p', ' ', 'F', 'r', 'a', 'm', 'e',
};

enum {
#define H(name, length, source) NR_##name = 0 WIRE_MPA_##name##_FIELDS(WIRE_COUNT_F, WIRE_COUNT_B),
	WIRE_MPA_HEADERS(H)
#undef H
	NR_ROWS = 0 WIRE_MPA_FIELDS(WIRE_COUNT_F, WIRE_COUNT_B),
	FIRST_MPA = 0,
	FIRST_MPAEnhanced = FIRST_MPA + NR_MPA,
};
_Static_assert(FIRST_MPAEnhanced + NR_MPAEnhanced == NR_ROWS, "every header once, in order");

const struct wire_header wire_mpa_headers[WIRE_NR_MPA_HDRS] = {
#define H(name, length, source) [WIRE_HDR_##name] = { #name, source, length, FIRST_##name, NR_##name },
	WIRE_MPA_HEADERS(H)
#undef H
};

const struct wire_field wire_mpa_fields[] = {
	WIRE_MPA_FIELDS(WIRE_ROW_F, WIRE_ROW_B)
};

const unsigned wire_nr_mpa_fields = NR_ROWS;

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rows of ib_fields.h as tables. */
#include "wire/ib_fields.h"

enum {
#define H(name, length, source) NR_##name = 0 WIRE_##name##_FIELDS(WIRE_COUNT_F, WIRE_COUNT_B),
	WIRE_IB_HEADERS(H)
#undef H
	NR_ROWS = 0 WIRE_IB_FIELDS(WIRE_COUNT_F, WIRE_COUNT_B),
};

/* Both lists have the same order of headers: the rows of a header begin where those of the one before
 * end. */
enum {
	FIRST_BTH = 0,
	FIRST_RDETH = FIRST_BTH + NR_BTH,
	FIRST_DETH = FIRST_RDETH + NR_RDETH,
	FIRST_XRCETH = FIRST_DETH + NR_DETH,
	FIRST_RETH = FIRST_XRCETH + NR_XRCETH,
	FIRST_AtomicETH = FIRST_RETH + NR_RETH,
	FIRST_AETH = FIRST_AtomicETH + NR_AtomicETH,
	FIRST_AtomicAckETH = FIRST_AETH + NR_AETH,
	FIRST_ImmDt = FIRST_AtomicAckETH + NR_AtomicAckETH,
	FIRST_IETH = FIRST_ImmDt + NR_ImmDt,
	FIRST_CNP = FIRST_IETH + NR_IETH,
	FIRST_LRH = FIRST_CNP + NR_CNP,
	FIRST_GRH = FIRST_LRH + NR_LRH,
	FIRST_IPv4 = FIRST_GRH + NR_GRH,
	FIRST_IPv6 = FIRST_IPv4 + NR_IPv4,
	FIRST_UDP = FIRST_IPv6 + NR_IPv6,
};
_Static_assert(FIRST_UDP + NR_UDP == NR_ROWS, "every header once, in order");

const struct wire_header wire_headers[WIRE_NR_HDRS] = {
#define H(name, length, source) [WIRE_HDR_##name] = { #name, source, length, FIRST_##name, NR_##name },
	WIRE_IB_HEADERS(H)
#undef H
};

const struct wire_field wire_fields[] = {
	WIRE_IB_FIELDS(WIRE_ROW_F, WIRE_ROW_B)
};

const unsigned wire_nr_fields = NR_ROWS;

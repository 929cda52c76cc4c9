/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The RMPP header behind the MAD header, and the OUI behind it, field by field; rows count from the MAD's first byte. */
#ifndef WIRE_RMPP_FIELDS_H
#define WIRE_RMPP_FIELDS_H

#include "wire/field.h"

/* IBTA vol 1, 13.6.2.1, table 118; 16.5, table 238 (vendor MADs of range 2).
 *	header field                   byte bit width */
#define WIRE_RMPP_FIELDS(F, B)                                                                 \
	F(RMPP, version,               24, 0,  8)                                              \
	F(RMPP, type,                  25, 0,  8)                                              \
	F(RMPP, resp_time,             26, 0,  5)                                              \
	F(RMPP, last,                  26, 5,  1)                                              \
	F(RMPP, first,                 26, 6,  1)                                              \
	F(RMPP, active,                26, 7,  1)                                              \
	F(RMPP, status,                27, 0,  8)                                              \
	F(RMPP, segment,               28, 0, 32)                                              \
	F(RMPP, length_or_window,      32, 0, 32)                                              \
	F(RMPP, vendor_rsv8,           36, 0,  8)                                              \
	F(RMPP, vendor_oui,            36, 8, 24)

WIRE_RMPP_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

/* Bytes of a MAD up to the end of the RMPP header. */
enum { WIRE_RMPP_END = 36 };

/* Types and status (IBTA vol 1, 13.6.2.1, tables 119 and 120). */
enum wire_rmpp_type { WIRE_RMPP_DATA = 1, WIRE_RMPP_ACK, WIRE_RMPP_STOP, WIRE_RMPP_ABORT };

enum wire_rmpp_status {
	WIRE_RMPP_NORMAL = 0,
	WIRE_RMPP_RESOURCES = 1,
	WIRE_RMPP_ABORT_FIRST = 118,
	WIRE_RMPP_TIME_TOO_LONG = 118,
	WIRE_RMPP_BAD_LENGTH,
	WIRE_RMPP_BAD_SEGMENT,
	WIRE_RMPP_BAD_TYPE,
	WIRE_RMPP_WINDOW_TOO_SMALL,
	WIRE_RMPP_SEGMENT_TOO_BIG,
	WIRE_RMPP_BAD_STATUS,
	WIRE_RMPP_BAD_VERSION,
	WIRE_RMPP_TOO_MANY_RETRIES,
	WIRE_RMPP_UNSPECIFIED,
	WIRE_RMPP_ABORT_LAST = 127
};

#endif

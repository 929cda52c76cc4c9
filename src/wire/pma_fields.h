/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Attributes of performance management, field by field. They begin at byte 64 of the MAD. Attributes that have one value
 * for each lane or level begin as PMA_SELECT; the 16 values follow.
 */
#ifndef WIRE_PMA_FIELDS_H
#define WIRE_PMA_FIELDS_H

#include "wire/field.h"

/*	header, length, source */
#define WIRE_PMA_HEADERS(H) \
	H(CLASS_PORT_INFO,        72, "IBTA vol 1, 13.4.8.1")						\
	H(PORT_SAMPLES_CONTROL,   60, "IBTA vol 1, 16.1.3.2")						\
	H(PORT_SAMPLES_RESULT,    64, "IBTA vol 1, 16.1.3.4")						\
	H(PORT_COUNTERS,          44, "IBTA vol 1, 16.1.3.5")						\
	H(PORT_RCV_ERRORS,        16, "IBTA vol 1, 16.1.4.1")						\
	H(PORT_XMIT_DISCARDS,     12, "IBTA vol 1, 16.1.4.2")						\
	H(PORT_COUNTERS_EXT,      72, "IBTA vol 1, 16.1.4.11")						\
	H(PMA_SELECT,              4, "IBTA vol 1, 16.1.4")

/*	header field                   byte bit width */
#define WIRE_CLASS_PORT_INFO_FIELDS(F, B) \
	F(CLASS_PORT_INFO, base_version,              0, 0,  8)					\
	F(CLASS_PORT_INFO, class_version,             1, 0,  8)					\
	F(CLASS_PORT_INFO, capability_mask,           2, 0, 16)					\
	F(CLASS_PORT_INFO, capability_mask2,          4, 0, 27)					\
	F(CLASS_PORT_INFO, resp_time,                 7, 3,  5)					\
	B(CLASS_PORT_INFO, redirect_gid,              8, 16)						\
	F(CLASS_PORT_INFO, redirect_class,           24, 0,  8)					\
	F(CLASS_PORT_INFO, redirect_sl,              25, 0,  4)					\
	F(CLASS_PORT_INFO, redirect_flow,            25, 4, 20)					\
	F(CLASS_PORT_INFO, redirect_lid,             28, 0, 16)					\
	F(CLASS_PORT_INFO, redirect_pkey,            30, 0, 16)					\
	F(CLASS_PORT_INFO, redirect_qpn,             32, 0, 32)					\
	F(CLASS_PORT_INFO, redirect_qkey,            36, 0, 32)					\
	B(CLASS_PORT_INFO, trap_gid,                 40, 16)						\
	F(CLASS_PORT_INFO, trap_class,               56, 0,  8)					\
	F(CLASS_PORT_INFO, trap_sl,                  57, 0,  4)					\
	F(CLASS_PORT_INFO, trap_flow,                57, 4, 20)					\
	F(CLASS_PORT_INFO, trap_lid,                 60, 0, 16)					\
	F(CLASS_PORT_INFO, trap_pkey,                62, 0, 16)					\
	F(CLASS_PORT_INFO, trap_hop,                 64, 0,  8)					\
	F(CLASS_PORT_INFO, trap_qpn,                 65, 0, 24)					\
	F(CLASS_PORT_INFO, trap_qkey,                68, 0, 32)

#define WIRE_PORT_SAMPLES_CONTROL_FIELDS(F, B) \
	F(PORT_SAMPLES_CONTROL, op_code,                   0, 0,  8)					\
	F(PORT_SAMPLES_CONTROL, port_select,               1, 0,  8)					\
	F(PORT_SAMPLES_CONTROL, tick,                      2, 0,  8)					\
	F(PORT_SAMPLES_CONTROL, rsv5,                      3, 0,  5)					\
	F(PORT_SAMPLES_CONTROL, counter_width,             3, 5,  3)					\
	F(PORT_SAMPLES_CONTROL, rsv2,                      4, 0,  2)					\
	F(PORT_SAMPLES_CONTROL, mask0,                     4, 2,  3)					\
	F(PORT_SAMPLES_CONTROL, mask1_9,                   4, 5, 27)					\
	F(PORT_SAMPLES_CONTROL, rsv1,                      8, 0,  1)					\
	F(PORT_SAMPLES_CONTROL, mask10_14,                 8, 1, 15)					\
	F(PORT_SAMPLES_CONTROL, mechanisms,               10, 0,  8)					\
	F(PORT_SAMPLES_CONTROL, rsv6,                     11, 0,  6)					\
	F(PORT_SAMPLES_CONTROL, status,                   11, 6,  2)					\
	F(PORT_SAMPLES_CONTROL, option_mask,              12, 0, 64)					\
	F(PORT_SAMPLES_CONTROL, vendor_mask,              20, 0, 64)					\
	F(PORT_SAMPLES_CONTROL, start,                    28, 0, 32)					\
	F(PORT_SAMPLES_CONTROL, interval,                 32, 0, 32)					\
	F(PORT_SAMPLES_CONTROL, tag,                      36, 0, 16)					\
	F(PORT_SAMPLES_CONTROL, select0,                  38, 0, 16)					\
	B(PORT_SAMPLES_CONTROL, selects,                  40, 20)

#define WIRE_PORT_SAMPLES_RESULT_FIELDS(F, B) \
	F(PORT_SAMPLES_RESULT, tag,                       0, 0, 16)					\
	F(PORT_SAMPLES_RESULT, rsv14,                     2, 0, 14)					\
	F(PORT_SAMPLES_RESULT, status,                    3, 6,  2)					\
	B(PORT_SAMPLES_RESULT, counters,                  4, 60)

#define WIRE_PORT_COUNTERS_FIELDS(F, B) \
	F(PORT_COUNTERS, rsv8,                      0, 0,  8)						\
	F(PORT_COUNTERS, port_select,               1, 0,  8)						\
	F(PORT_COUNTERS, counter_select,            2, 0, 16)						\
	F(PORT_COUNTERS, symbol_error,              4, 0, 16)						\
	F(PORT_COUNTERS, link_recovery,             6, 0,  8)						\
	F(PORT_COUNTERS, link_downed,               7, 0,  8)						\
	F(PORT_COUNTERS, rcv_errors,                8, 0, 16)						\
	F(PORT_COUNTERS, rcv_remote_phys,          10, 0, 16)						\
	F(PORT_COUNTERS, rcv_switch_relay,         12, 0, 16)						\
	F(PORT_COUNTERS, xmit_discards,            14, 0, 16)						\
	F(PORT_COUNTERS, xmit_constraint,          16, 0,  8)						\
	F(PORT_COUNTERS, rcv_constraint,           17, 0,  8)						\
	F(PORT_COUNTERS, counter_select2,          18, 0,  8)						\
	F(PORT_COUNTERS, local_integrity,          19, 0,  4)						\
	F(PORT_COUNTERS, overrun,                  19, 4,  4)						\
	F(PORT_COUNTERS, rsv16,                    20, 0, 16)						\
	F(PORT_COUNTERS, vl15_dropped,             22, 0, 16)						\
	F(PORT_COUNTERS, xmit_data,                24, 0, 32)						\
	F(PORT_COUNTERS, rcv_data,                 28, 0, 32)						\
	F(PORT_COUNTERS, xmit_pkts,                32, 0, 32)						\
	F(PORT_COUNTERS, rcv_pkts,                 36, 0, 32)						\
	F(PORT_COUNTERS, xmit_wait,                40, 0, 32)

#define WIRE_PORT_RCV_ERRORS_FIELDS(F, B) \
	F(PORT_RCV_ERRORS, rsv8,                      0, 0,  8)					\
	F(PORT_RCV_ERRORS, port_select,               1, 0,  8)					\
	F(PORT_RCV_ERRORS, counter_select,            2, 0, 16)					\
	F(PORT_RCV_ERRORS, local_physical,            4, 0, 16)					\
	F(PORT_RCV_ERRORS, malformed,                 6, 0, 16)					\
	F(PORT_RCV_ERRORS, buffer_overrun,            8, 0, 16)					\
	F(PORT_RCV_ERRORS, dlid_mapping,             10, 0, 16)					\
	F(PORT_RCV_ERRORS, vl_mapping,               12, 0, 16)					\
	F(PORT_RCV_ERRORS, looping,                  14, 0, 16)

#define WIRE_PORT_XMIT_DISCARDS_FIELDS(F, B) \
	F(PORT_XMIT_DISCARDS, rsv8,                      0, 0,  8)					\
	F(PORT_XMIT_DISCARDS, port_select,               1, 0,  8)					\
	F(PORT_XMIT_DISCARDS, counter_select,            2, 0, 16)					\
	F(PORT_XMIT_DISCARDS, inactive,                  4, 0, 16)					\
	F(PORT_XMIT_DISCARDS, neighbor_mtu,              6, 0, 16)					\
	F(PORT_XMIT_DISCARDS, sw_lifetime,               8, 0, 16)					\
	F(PORT_XMIT_DISCARDS, sw_hoq,                   10, 0, 16)

#define WIRE_PORT_COUNTERS_EXT_FIELDS(F, B) \
	F(PORT_COUNTERS_EXT, rsv8,                      0, 0,  8)					\
	F(PORT_COUNTERS_EXT, port_select,               1, 0,  8)					\
	F(PORT_COUNTERS_EXT, counter_select,            2, 0, 16)					\
	F(PORT_COUNTERS_EXT, counter_select2,           4, 0, 32)					\
	F(PORT_COUNTERS_EXT, xmit_data,                 8, 0, 64)					\
	F(PORT_COUNTERS_EXT, rcv_data,                 16, 0, 64)					\
	F(PORT_COUNTERS_EXT, xmit_pkts,                24, 0, 64)					\
	F(PORT_COUNTERS_EXT, rcv_pkts,                 32, 0, 64)					\
	F(PORT_COUNTERS_EXT, ucast_xmit,               40, 0, 64)					\
	F(PORT_COUNTERS_EXT, ucast_rcv,                48, 0, 64)					\
	F(PORT_COUNTERS_EXT, mcast_xmit,               56, 0, 64)					\
	F(PORT_COUNTERS_EXT, mcast_rcv,                64, 0, 64)

#define WIRE_PMA_SELECT_FIELDS(F, B) \
	F(PMA_SELECT, rsv8,                      0, 0,  8)						\
	F(PMA_SELECT, port_select,               1, 0,  8)						\
	F(PMA_SELECT, counter_select,            2, 0, 16)

#define WIRE_PMA_FIELDS(F, B) \
	WIRE_CLASS_PORT_INFO_FIELDS(F, B)								\
	WIRE_PORT_SAMPLES_CONTROL_FIELDS(F, B)								\
	WIRE_PORT_SAMPLES_RESULT_FIELDS(F, B)								\
	WIRE_PORT_COUNTERS_FIELDS(F, B)								\
	WIRE_PORT_RCV_ERRORS_FIELDS(F, B)								\
	WIRE_PORT_XMIT_DISCARDS_FIELDS(F, B)								\
	WIRE_PORT_COUNTERS_EXT_FIELDS(F, B)								\
	WIRE_PMA_SELECT_FIELDS(F, B)

enum wire_pma_hdr {
#define H(name, length, source) WIRE_PMA_HDR_##name,
	WIRE_PMA_HEADERS(H)
#undef H
	WIRE_NR_PMA_HDRS
};

/* Lengths in bytes: WIRE_<header>_LEN. */
enum {
#define H(name, length, source) WIRE_##name##_LEN = (length),
	WIRE_PMA_HEADERS(H)
#undef H
};

WIRE_PMA_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

/* The rows as data, those of a header together and in order. */
extern const struct wire_header wire_pma_headers[WIRE_NR_PMA_HDRS];
extern const struct wire_field wire_pma_fields[];
extern const unsigned wire_nr_pma_fields;

/* Attributes (16.1.3, table 215; 16.1.4, table 225). */
enum {
	WIRE_PMA_ATTR_CLASS_PORT_INFO = 0x0001,
	WIRE_PMA_ATTR_SAMPLES_CONTROL = 0x0010,
	WIRE_PMA_ATTR_SAMPLES_RESULT = 0x0011,
	WIRE_PMA_ATTR_COUNTERS = 0x0012,
	WIRE_PMA_ATTR_RCV_ERRORS = 0x0015,
	WIRE_PMA_ATTR_XMIT_DISCARDS = 0x0016,
	WIRE_PMA_ATTR_OP_RCV = 0x0017,
	WIRE_PMA_ATTR_FLOW_CTL = 0x0018,
	WIRE_PMA_ATTR_VL_OP_PACKETS = 0x0019,
	WIRE_PMA_ATTR_VL_OP_DATA = 0x001a,
	WIRE_PMA_ATTR_VL_FLOW_CTL_ERRORS = 0x001b,
	WIRE_PMA_ATTR_VL_XMIT_WAIT = 0x001c,
	WIRE_PMA_ATTR_COUNTERS_EXT = 0x001d,
	WIRE_PMA_ATTR_SW_VL_CONGESTION = 0x0030,
	WIRE_PMA_ATTR_RCV_CONGESTION = 0x0031,
	WIRE_PMA_ATTR_SL_RCV_FECN = 0x0032,
	WIRE_PMA_ATTR_SL_RCV_BECN = 0x0033,
	WIRE_PMA_ATTR_XMIT_CONGESTION = 0x0034,
	WIRE_PMA_ATTR_VL_CONGESTION = 0x0035,
	WIRE_PMA_ATTR_XMIT_DATA_SL = 0x0036,
	WIRE_PMA_ATTR_RCV_DATA_SL = 0x0037,
	WIRE_PMA_ATTR_EXT_SPEEDS = 0x001f,
	WIRE_PMA_ATTR_SAMPLES_RESULT_EXT = 0x001e,
};

#endif

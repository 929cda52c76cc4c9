/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Subnet management packets and their attributes, field by field. SMP_ is the header of both kinds, directed route and
 * LID routed; the latter has no status bit D, hop pointer, hop count and DR LIDs. Attributes are in the 64 bytes
 * behind it, but for the paths, which follow: see WIRE_SMP_INITIAL_PATH.
 */
#ifndef WIRE_SMP_FIELDS_H
#define WIRE_SMP_FIELDS_H

#include "wire/field.h"

/*	header, length, source */
#define WIRE_SUBN_HEADERS(H) \
	H(SMP,                    64, "IBTA vol 1, 14.2.1.1 and 14.2.1.2")				\
	H(NODE_INFO,              40, "IBTA vol 1, 14.2.5.3")						\
	H(NODE_DESC,              64, "IBTA vol 1, 14.2.5.2")						\
	H(SWITCH_INFO,            20, "IBTA vol 1, 14.2.5.4")						\
	H(PORT_INFO,              64, "IBTA vol 1, 14.2.5.6")						\
	H(SM_INFO,                24, "IBTA vol 1, 14.2.5.13")						\
	H(NOTICE,                 64, "IBTA vol 1, 13.4.8.2")

/*	header field                   byte bit width */
#define WIRE_SMP_FIELDS(F, B) \
	F(SMP, base_version,              0, 0,  8)							\
	F(SMP, mgmt_class,                1, 0,  8)							\
	F(SMP, class_version,             2, 0,  8)							\
	F(SMP, r,                         3, 0,  1)							\
	F(SMP, method,                    3, 1,  7)							\
	F(SMP, d,                         4, 0,  1)							\
	F(SMP, status,                    4, 1, 15)							\
	F(SMP, hop_pointer,               6, 0,  8)							\
	F(SMP, hop_count,                 7, 0,  8)							\
	F(SMP, tid,                       8, 0, 64)							\
	F(SMP, attr_id,                  16, 0, 16)							\
	F(SMP, rsv16,                    18, 0, 16)							\
	F(SMP, attr_mod,                 20, 0, 32)							\
	F(SMP, m_key,                    24, 0, 64)							\
	F(SMP, dr_slid,                  32, 0, 16)							\
	F(SMP, dr_dlid,                  34, 0, 16)							\
	B(SMP, rsv28,                    36, 28)

#define WIRE_NODE_INFO_FIELDS(F, B) \
	F(NODE_INFO, base_version,              0, 0,  8)						\
	F(NODE_INFO, class_version,             1, 0,  8)						\
	F(NODE_INFO, node_type,                 2, 0,  8)						\
	F(NODE_INFO, num_ports,                 3, 0,  8)						\
	F(NODE_INFO, system_guid,               4, 0, 64)						\
	F(NODE_INFO, node_guid,                12, 0, 64)						\
	F(NODE_INFO, port_guid,                20, 0, 64)						\
	F(NODE_INFO, partition_cap,            28, 0, 16)						\
	F(NODE_INFO, device_id,                30, 0, 16)						\
	F(NODE_INFO, revision,                 32, 0, 32)						\
	F(NODE_INFO, local_port,               36, 0,  8)						\
	F(NODE_INFO, vendor_id,                37, 0, 24)

#define WIRE_NODE_DESC_FIELDS(F, B) \
	B(NODE_DESC, text,                      0, 64)

#define WIRE_SWITCH_INFO_FIELDS(F, B) \
	F(SWITCH_INFO, linear_cap,                0, 0, 16)						\
	F(SWITCH_INFO, random_cap,                2, 0, 16)						\
	F(SWITCH_INFO, mcast_cap,                 4, 0, 16)						\
	F(SWITCH_INFO, linear_top,                6, 0, 16)						\
	F(SWITCH_INFO, default_port,              8, 0,  8)						\
	F(SWITCH_INFO, default_mcast_primary,     9, 0,  8)						\
	F(SWITCH_INFO, default_mcast_not_primary,  10, 0,  8)						\
	F(SWITCH_INFO, life_time,                11, 0,  5)						\
	F(SWITCH_INFO, port_state_change,        11, 5,  1)						\
	F(SWITCH_INFO, optimized_sl_to_vl,       11, 6,  2)						\
	F(SWITCH_INFO, lids_per_port,            12, 0, 16)						\
	F(SWITCH_INFO, partition_cap,            14, 0, 16)						\
	F(SWITCH_INFO, inbound_enforcement,      16, 0,  1)						\
	F(SWITCH_INFO, outbound_enforcement,     16, 1,  1)						\
	F(SWITCH_INFO, filter_raw_inbound,       16, 2,  1)						\
	F(SWITCH_INFO, filter_raw_outbound,      16, 3,  1)						\
	F(SWITCH_INFO, enhanced_port0,           16, 4,  1)						\
	F(SWITCH_INFO, rsv3,                     16, 5,  3)						\
	F(SWITCH_INFO, rsv8,                     17, 0,  8)						\
	F(SWITCH_INFO, mcast_top,                18, 0, 16)

#define WIRE_PORT_INFO_FIELDS(F, B) \
	F(PORT_INFO, m_key,                     0, 0, 64)						\
	F(PORT_INFO, gid_prefix,                8, 0, 64)						\
	F(PORT_INFO, lid,                      16, 0, 16)						\
	F(PORT_INFO, sm_lid,                   18, 0, 16)						\
	F(PORT_INFO, capability_mask,          20, 0, 32)						\
	F(PORT_INFO, diag_code,                24, 0, 16)						\
	F(PORT_INFO, m_key_lease,              26, 0, 16)						\
	F(PORT_INFO, local_port,               28, 0,  8)						\
	F(PORT_INFO, width_enabled,            29, 0,  8)						\
	F(PORT_INFO, width_supported,          30, 0,  8)						\
	F(PORT_INFO, width_active,             31, 0,  8)						\
	F(PORT_INFO, speed_supported,          32, 0,  4)						\
	F(PORT_INFO, port_state,               32, 4,  4)						\
	F(PORT_INFO, phys_state,               33, 0,  4)						\
	F(PORT_INFO, down_default,             33, 4,  4)						\
	F(PORT_INFO, m_key_protect,            34, 0,  2)						\
	F(PORT_INFO, rsv3a,                    34, 2,  3)						\
	F(PORT_INFO, lmc,                      34, 5,  3)						\
	F(PORT_INFO, speed_active,             35, 0,  4)						\
	F(PORT_INFO, speed_enabled,            35, 4,  4)						\
	F(PORT_INFO, neighbor_mtu,             36, 0,  4)						\
	F(PORT_INFO, sm_sl,                    36, 4,  4)						\
	F(PORT_INFO, vl_cap,                   37, 0,  4)						\
	F(PORT_INFO, init_type,                37, 4,  4)						\
	F(PORT_INFO, vl_high_limit,            38, 0,  8)						\
	F(PORT_INFO, vl_arb_high_cap,          39, 0,  8)						\
	F(PORT_INFO, vl_arb_low_cap,           40, 0,  8)						\
	F(PORT_INFO, init_reply,               41, 0,  4)						\
	F(PORT_INFO, mtu_cap,                  41, 4,  4)						\
	F(PORT_INFO, vl_stall,                 42, 0,  3)						\
	F(PORT_INFO, hoq_life,                 42, 3,  5)						\
	F(PORT_INFO, oper_vls,                 43, 0,  4)						\
	F(PORT_INFO, enforce_inbound,          43, 4,  1)						\
	F(PORT_INFO, enforce_outbound,         43, 5,  1)						\
	F(PORT_INFO, filter_raw_inbound,       43, 6,  1)						\
	F(PORT_INFO, filter_raw_outbound,      43, 7,  1)						\
	F(PORT_INFO, m_key_violations,         44, 0, 16)						\
	F(PORT_INFO, p_key_violations,         46, 0, 16)						\
	F(PORT_INFO, q_key_violations,         48, 0, 16)						\
	F(PORT_INFO, guid_cap,                 50, 0,  8)						\
	F(PORT_INFO, client_reregister,        51, 0,  1)						\
	F(PORT_INFO, mcast_pkey_trap,          51, 1,  2)						\
	F(PORT_INFO, subnet_timeout,           51, 3,  5)						\
	F(PORT_INFO, rsv3b,                    52, 0,  3)						\
	F(PORT_INFO, resp_time,                52, 3,  5)						\
	F(PORT_INFO, local_phy_errors,         53, 0,  4)						\
	F(PORT_INFO, overrun_errors,           53, 4,  4)						\
	F(PORT_INFO, max_credit_hint,          54, 0, 16)						\
	F(PORT_INFO, rsv8,                     56, 0,  8)						\
	F(PORT_INFO, round_trip_latency,       57, 0, 24)						\
	F(PORT_INFO, capability_mask2,         60, 0, 16)						\
	F(PORT_INFO, ext_speed_active,         62, 0,  4)						\
	F(PORT_INFO, ext_speed_supported,      62, 4,  4)						\
	F(PORT_INFO, rsv3c,                    63, 0,  3)						\
	F(PORT_INFO, ext_speed_enabled,        63, 3,  5)

#define WIRE_SM_INFO_FIELDS(F, B) \
	F(SM_INFO, guid,                      0, 0, 64)						\
	F(SM_INFO, sm_key,                    8, 0, 64)						\
	F(SM_INFO, act_count,                16, 0, 32)						\
	F(SM_INFO, priority,                 20, 0,  4)						\
	F(SM_INFO, state,                    20, 4,  4)						\
	F(SM_INFO, rsv24,                    21, 0, 24)

#define WIRE_NOTICE_FIELDS(F, B) \
	F(NOTICE, is_generic,                0, 0,  1)							\
	F(NOTICE, type,                      0, 1,  7)							\
	F(NOTICE, producer,                  1, 0, 24)							\
	F(NOTICE, trap,                      4, 0, 16)							\
	F(NOTICE, issuer_lid,                6, 0, 16)							\
	F(NOTICE, toggle,                    8, 0,  1)							\
	F(NOTICE, count,                     8, 1, 15)							\
	B(NOTICE, details,                  10, 54)

#define WIRE_SUBN_FIELDS(F, B) \
	WIRE_SMP_FIELDS(F, B)										\
	WIRE_NODE_INFO_FIELDS(F, B)									\
	WIRE_NODE_DESC_FIELDS(F, B)									\
	WIRE_SWITCH_INFO_FIELDS(F, B)									\
	WIRE_PORT_INFO_FIELDS(F, B)									\
	WIRE_SM_INFO_FIELDS(F, B)									\
	WIRE_NOTICE_FIELDS(F, B)

enum wire_subn_hdr {
#define H(name, length, source) WIRE_SUBN_HDR_##name,
	WIRE_SUBN_HEADERS(H)
#undef H
	WIRE_NR_SUBN_HDRS
};

/* Lengths in bytes: WIRE_<header>_LEN. */
enum {
#define H(name, length, source) WIRE_##name##_LEN = (length),
	WIRE_SUBN_HEADERS(H)
#undef H
};

WIRE_SUBN_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

/* The rows as data, those of a header together and in order. */
extern const struct wire_header wire_subn_headers[WIRE_NR_SUBN_HDRS];
extern const struct wire_field wire_subn_fields[];
extern const unsigned wire_nr_subn_fields;

/* Paths of a directed route: 64 bytes each, entry 0 unused (14.2.1.2). */
enum { WIRE_SMP_DATA = 64, WIRE_SMP_INITIAL_PATH = 128, WIRE_SMP_RETURN_PATH = 192, WIRE_SMP_PATH_LEN = 64 };

/* Attributes (14.2.5, table 133). */
enum {
	WIRE_SMP_ATTR_NOTICE = 0x0002,
	WIRE_SMP_ATTR_NODE_DESC = 0x0010,
	WIRE_SMP_ATTR_NODE_INFO = 0x0011,
	WIRE_SMP_ATTR_SWITCH_INFO = 0x0012,
	WIRE_SMP_ATTR_GUID_INFO = 0x0014,
	WIRE_SMP_ATTR_PORT_INFO = 0x0015,
	WIRE_SMP_ATTR_PKEY_TABLE = 0x0016,
	WIRE_SMP_ATTR_SL_TO_VL = 0x0017,
	WIRE_SMP_ATTR_VL_ARB = 0x0018,
	WIRE_SMP_ATTR_LINEAR_FDB = 0x0019,
	WIRE_SMP_ATTR_RANDOM_FDB = 0x001a,
	WIRE_SMP_ATTR_MCAST_FDB = 0x001b,
	WIRE_SMP_ATTR_SM_INFO = 0x0020,
	WIRE_SMP_ATTR_VENDOR_DIAG = 0x0030,
	WIRE_SMP_ATTR_LED_INFO = 0x0031,
};

#endif

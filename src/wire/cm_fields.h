/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Management datagrams, the messages of communication management in them, and the private header
 * of the RDMA IP CM service, field by field.
 *
 * A CM message begins behind the MAD header; its rows count from there, as its table does. Fields
 * named rsvN are reserved: sent as zero, ignored on receipt. The vendor ID of enhanced connection
 * establishment lies in formerly reserved bytes; its options are the attribute modifier.
 */
#ifndef WIRE_CM_FIELDS_H
#define WIRE_CM_FIELDS_H

#include "wire/field.h"

/*	header, length, source */
#define WIRE_CM_HEADERS(H)                                                                     \
	H(MAD,          24, "IBTA vol 1, 13.4.3")                                              \
	H(CM_REQ,      232, "IBTA vol 1, 12.6.5, table 106")                                   \
	H(CM_MRA,      232, "IBTA vol 1, 12.6.6, table 107")                                   \
	H(CM_REJ,      232, "IBTA vol 1, 12.6.7, table 108")                                   \
	H(CM_REP,      232, "IBTA vol 1, 12.6.8, table 110")                                   \
	H(CM_RTU,      232, "IBTA vol 1, 12.6.9, table 111")                                   \
	H(CM_DREQ,     232, "IBTA vol 1, 12.6.10, table 112")                                  \
	H(CM_DREP,     232, "IBTA vol 1, 12.6.11, table 113")                                  \
	H(CM_LAP,      232, "IBTA vol 1, 12.8.1, table 115")                                   \
	H(CM_APR,      232, "IBTA vol 1, 12.8.2, table 116")                                   \
	H(CM_SIDR_REQ, 232, "IBTA vol 1, 12.11.1, table 119")                                  \
	H(CM_SIDR_REP, 232, "IBTA vol 1, 12.11.2, table 120")                                  \
	H(IP_CM,        36, "IBTA annex A11")

/*	header field                   byte bit width */
#define WIRE_MAD_FIELDS(F, B)                                                                  \
	F(MAD, base_version,            0, 0,  8)                                              \
	F(MAD, mgmt_class,              1, 0,  8)                                              \
	F(MAD, class_version,           2, 0,  8)                                              \
	F(MAD, r,                       3, 0,  1)                                              \
	F(MAD, method,                  3, 1,  7)                                              \
	F(MAD, status,                  4, 0, 16)                                              \
	F(MAD, class_specific,          6, 0, 16)                                              \
	F(MAD, tid,                     8, 0, 64)                                              \
	F(MAD, attr_id,                16, 0, 16)                                              \
	F(MAD, rsv16,                  18, 0, 16)                                              \
	F(MAD, attr_mod,               20, 0, 32)

#define WIRE_CM_REQ_FIELDS(F, B)                                                               \
	F(CM_REQ, local_comm_id,        0, 0, 32)                                              \
	F(CM_REQ, rsv8a,                4, 0,  8)                                              \
	F(CM_REQ, vendor_id,            5, 0, 24)                                              \
	F(CM_REQ, service_id,           8, 0, 64)                                              \
	F(CM_REQ, local_ca_guid,       16, 0, 64)                                              \
	F(CM_REQ, rsv32,               24, 0, 32)                                              \
	F(CM_REQ, local_qkey,          28, 0, 32)                                              \
	F(CM_REQ, local_qpn,           32, 0, 24)                                              \
	F(CM_REQ, resp_res,            35, 0,  8)                                              \
	F(CM_REQ, local_eecn,          36, 0, 24)                                              \
	F(CM_REQ, init_depth,          39, 0,  8)                                              \
	F(CM_REQ, remote_eecn,         40, 0, 24)                                              \
	F(CM_REQ, remote_cm_timeout,   43, 0,  5)                                              \
	F(CM_REQ, transport,           43, 5,  2)                                              \
	F(CM_REQ, e2e_flow,            43, 7,  1)                                              \
	F(CM_REQ, start_psn,           44, 0, 24)                                              \
	F(CM_REQ, local_cm_timeout,    47, 0,  5)                                              \
	F(CM_REQ, retry_count,         47, 5,  3)                                              \
	F(CM_REQ, pkey,                48, 0, 16)                                              \
	F(CM_REQ, path_mtu,            50, 0,  4)                                              \
	F(CM_REQ, rdc_exists,          50, 4,  1)                                              \
	F(CM_REQ, rnr_retry,           50, 5,  3)                                              \
	F(CM_REQ, max_cm_retries,      51, 0,  4)                                              \
	F(CM_REQ, srq,                 51, 4,  1)                                              \
	F(CM_REQ, ext_transport,       51, 5,  3)                                              \
	F(CM_REQ, local_lid,           52, 0, 16)                                              \
	F(CM_REQ, remote_lid,          54, 0, 16)                                              \
	B(CM_REQ, local_gid,           56, 16)                                                 \
	B(CM_REQ, remote_gid,          72, 16)                                                 \
	F(CM_REQ, flow_label,          88, 0, 20)                                              \
	F(CM_REQ, rsv6,                90, 4,  6)                                              \
	F(CM_REQ, rate,                91, 2,  6)                                              \
	F(CM_REQ, tclass,              92, 0,  8)                                              \
	F(CM_REQ, hop_limit,           93, 0,  8)                                              \
	F(CM_REQ, sl,                  94, 0,  4)                                              \
	F(CM_REQ, subnet_local,        94, 4,  1)                                              \
	F(CM_REQ, rsv3a,               94, 5,  3)                                              \
	F(CM_REQ, ack_timeout,         95, 0,  5)                                              \
	F(CM_REQ, rsv3b,               95, 5,  3)                                              \
	F(CM_REQ, alt_local_lid,       96, 0, 16)                                              \
	F(CM_REQ, alt_remote_lid,      98, 0, 16)                                              \
	B(CM_REQ, alt_local_gid,      100, 16)                                                 \
	B(CM_REQ, alt_remote_gid,     116, 16)                                                 \
	F(CM_REQ, alt_flow_label,     132, 0, 20)                                              \
	F(CM_REQ, alt_rsv6,           134, 4,  6)                                              \
	F(CM_REQ, alt_rate,           135, 2,  6)                                              \
	F(CM_REQ, alt_tclass,         136, 0,  8)                                              \
	F(CM_REQ, alt_hop_limit,      137, 0,  8)                                              \
	F(CM_REQ, alt_sl,             138, 0,  4)                                              \
	F(CM_REQ, alt_subnet_local,   138, 4,  1)                                              \
	F(CM_REQ, alt_rsv3a,          138, 5,  3)                                              \
	F(CM_REQ, alt_ack_timeout,    139, 0,  5)                                              \
	F(CM_REQ, sap,                139, 5,  1)                                              \
	F(CM_REQ, alt_rsv2,           139, 6,  2)                                              \
	B(CM_REQ, private_data,       140, 92)

#define WIRE_CM_MRA_FIELDS(F, B)                                                               \
	F(CM_MRA, local_comm_id,        0, 0, 32)                                              \
	F(CM_MRA, remote_comm_id,       4, 0, 32)                                              \
	F(CM_MRA, message,              8, 0,  2)                                              \
	F(CM_MRA, rsv6,                 8, 2,  6)                                              \
	F(CM_MRA, service_timeout,      9, 0,  5)                                              \
	F(CM_MRA, rsv3,                 9, 5,  3)                                              \
	B(CM_MRA, private_data,        10, 222)

#define WIRE_CM_REJ_FIELDS(F, B)                                                               \
	F(CM_REJ, local_comm_id,        0, 0, 32)                                              \
	F(CM_REJ, remote_comm_id,       4, 0, 32)                                              \
	F(CM_REJ, message,              8, 0,  2)                                              \
	F(CM_REJ, rsv6,                 8, 2,  6)                                              \
	F(CM_REJ, info_len,             9, 0,  7)                                              \
	F(CM_REJ, rsv1,                 9, 7,  1)                                              \
	F(CM_REJ, reason,              10, 0, 16)                                              \
	B(CM_REJ, info,                12, 72)                                                 \
	B(CM_REJ, private_data,        84, 148)

#define WIRE_CM_REP_FIELDS(F, B)                                                               \
	F(CM_REP, local_comm_id,        0, 0, 32)                                              \
	F(CM_REP, remote_comm_id,       4, 0, 32)                                              \
	F(CM_REP, local_qkey,           8, 0, 32)                                              \
	F(CM_REP, local_qpn,           12, 0, 24)                                              \
	F(CM_REP, vendor_id_h,         15, 0,  8)                                              \
	F(CM_REP, local_eecn,          16, 0, 24)                                              \
	F(CM_REP, vendor_id_m,         19, 0,  8)                                              \
	F(CM_REP, start_psn,           20, 0, 24)                                              \
	F(CM_REP, vendor_id_l,         23, 0,  8)                                              \
	F(CM_REP, resp_res,            24, 0,  8)                                              \
	F(CM_REP, init_depth,          25, 0,  8)                                              \
	F(CM_REP, target_ack_delay,    26, 0,  5)                                              \
	F(CM_REP, failover,            26, 5,  2)                                              \
	F(CM_REP, e2e_flow,            26, 7,  1)                                              \
	F(CM_REP, rnr_retry,           27, 0,  3)                                              \
	F(CM_REP, srq,                 27, 3,  1)                                              \
	F(CM_REP, rsv4,                27, 4,  4)                                              \
	F(CM_REP, local_ca_guid,       28, 0, 64)                                              \
	B(CM_REP, private_data,        36, 196)

#define WIRE_CM_RTU_FIELDS(F, B)                                                               \
	F(CM_RTU, local_comm_id,        0, 0, 32)                                              \
	F(CM_RTU, remote_comm_id,       4, 0, 32)                                              \
	B(CM_RTU, private_data,         8, 224)

#define WIRE_CM_DREQ_FIELDS(F, B)                                                              \
	F(CM_DREQ, local_comm_id,       0, 0, 32)                                              \
	F(CM_DREQ, remote_comm_id,      4, 0, 32)                                              \
	F(CM_DREQ, remote_qpn,          8, 0, 24)                                              \
	F(CM_DREQ, rsv8,               11, 0,  8)                                              \
	B(CM_DREQ, private_data,       12, 220)

#define WIRE_CM_DREP_FIELDS(F, B)                                                              \
	F(CM_DREP, local_comm_id,       0, 0, 32)                                              \
	F(CM_DREP, remote_comm_id,      4, 0, 32)                                              \
	B(CM_DREP, private_data,        8, 224)

#define WIRE_CM_LAP_FIELDS(F, B)                                                               \
	F(CM_LAP, local_comm_id,        0, 0, 32)                                              \
	F(CM_LAP, remote_comm_id,       4, 0, 32)                                              \
	F(CM_LAP, rsv32a,               8, 0, 32)                                              \
	F(CM_LAP, remote_qpn,          12, 0, 24)                                              \
	F(CM_LAP, remote_cm_timeout,   15, 0,  5)                                              \
	F(CM_LAP, rsv3a,               15, 5,  3)                                              \
	F(CM_LAP, rsv32b,              16, 0, 32)                                              \
	F(CM_LAP, alt_local_lid,       20, 0, 16)                                              \
	F(CM_LAP, alt_remote_lid,      22, 0, 16)                                              \
	B(CM_LAP, alt_local_gid,       24, 16)                                                 \
	B(CM_LAP, alt_remote_gid,      40, 16)                                                 \
	F(CM_LAP, alt_flow_label,      56, 0, 20)                                              \
	F(CM_LAP, rsv4,                58, 4,  4)                                              \
	F(CM_LAP, alt_tclass,          59, 0,  8)                                              \
	F(CM_LAP, alt_hop_limit,       60, 0,  8)                                              \
	F(CM_LAP, rsv2,                61, 0,  2)                                              \
	F(CM_LAP, alt_rate,            61, 2,  6)                                              \
	F(CM_LAP, alt_sl,              62, 0,  4)                                              \
	F(CM_LAP, alt_subnet_local,    62, 4,  1)                                              \
	F(CM_LAP, rsv3b,               62, 5,  3)                                              \
	F(CM_LAP, alt_ack_timeout,     63, 0,  5)                                              \
	F(CM_LAP, rsv3c,               63, 5,  3)                                              \
	B(CM_LAP, private_data,        64, 168)

#define WIRE_CM_APR_FIELDS(F, B)                                                               \
	F(CM_APR, local_comm_id,        0, 0, 32)                                              \
	F(CM_APR, remote_comm_id,       4, 0, 32)                                              \
	F(CM_APR, info_len,             8, 0,  8)                                              \
	F(CM_APR, status,               9, 0,  8)                                              \
	F(CM_APR, rsv16,               10, 0, 16)                                              \
	B(CM_APR, info,                12, 72)                                                 \
	B(CM_APR, private_data,        84, 148)

#define WIRE_CM_SIDR_REQ_FIELDS(F, B)                                                          \
	F(CM_SIDR_REQ, request_id,      0, 0, 32)                                              \
	F(CM_SIDR_REQ, pkey,            4, 0, 16)                                              \
	F(CM_SIDR_REQ, rsv16,           6, 0, 16)                                              \
	F(CM_SIDR_REQ, service_id,      8, 0, 64)                                              \
	B(CM_SIDR_REQ, private_data,   16, 216)

#define WIRE_CM_SIDR_REP_FIELDS(F, B)                                                          \
	F(CM_SIDR_REP, request_id,      0, 0, 32)                                              \
	F(CM_SIDR_REP, status,          4, 0,  8)                                              \
	F(CM_SIDR_REP, info_len,        5, 0,  8)                                              \
	F(CM_SIDR_REP, vendor_id_h,     6, 0, 16)                                              \
	F(CM_SIDR_REP, qpn,             8, 0, 24)                                              \
	F(CM_SIDR_REP, vendor_id_l,    11, 0,  8)                                              \
	F(CM_SIDR_REP, service_id,     12, 0, 64)                                              \
	F(CM_SIDR_REP, qkey,           20, 0, 32)                                              \
	B(CM_SIDR_REP, info,           24, 72)                                                 \
	B(CM_SIDR_REP, private_data,   96, 136)

#define WIRE_IP_CM_FIELDS(F, B)                                                                \
	F(IP_CM, version_major,         0, 0,  4)                                              \
	F(IP_CM, version_minor,         0, 4,  4)                                              \
	F(IP_CM, ip_version,            1, 0,  4)                                              \
	F(IP_CM, rsv4,                  1, 4,  4)                                              \
	F(IP_CM, src_port,              2, 0, 16)                                              \
	B(IP_CM, src_addr,              4, 16)                                                 \
	B(IP_CM, dst_addr,             20, 16)

#define WIRE_CM_FIELDS(F, B)                                                                   \
	WIRE_MAD_FIELDS(F, B)                                                                  \
	WIRE_CM_REQ_FIELDS(F, B)                                                               \
	WIRE_CM_MRA_FIELDS(F, B)                                                               \
	WIRE_CM_REJ_FIELDS(F, B)                                                               \
	WIRE_CM_REP_FIELDS(F, B)                                                               \
	WIRE_CM_RTU_FIELDS(F, B)                                                               \
	WIRE_CM_DREQ_FIELDS(F, B)                                                              \
	WIRE_CM_DREP_FIELDS(F, B)                                                              \
	WIRE_CM_LAP_FIELDS(F, B)                                                               \
	WIRE_CM_APR_FIELDS(F, B)                                                               \
	WIRE_CM_SIDR_REQ_FIELDS(F, B)                                                          \
	WIRE_CM_SIDR_REP_FIELDS(F, B)                                                          \
	WIRE_IP_CM_FIELDS(F, B)

enum wire_cm_hdr {
#define H(name, length, source) WIRE_CM_HDR_##name,
	WIRE_CM_HEADERS(H)
#undef H
	WIRE_NR_CM_HDRS
};

/* Lengths in bytes. */
enum {
#define H(name, length, source) WIRE_##name##_LEN = length,
	WIRE_CM_HEADERS(H)
#undef H
	WIRE_MAD_BYTES = 256,
};

/* Bytes of private data: the width of the last row of each message. */
enum {
	WIRE_CM_REQ_PRIVATE = 92, WIRE_CM_MRA_PRIVATE = 222, WIRE_CM_REJ_PRIVATE = 148,
	WIRE_CM_REP_PRIVATE = 196, WIRE_CM_RTU_PRIVATE = 224, WIRE_CM_DREQ_PRIVATE = 220,
	WIRE_CM_DREP_PRIVATE = 224, WIRE_CM_LAP_PRIVATE = 168, WIRE_CM_APR_PRIVATE = 148,
	WIRE_CM_SIDR_REQ_PRIVATE = 216, WIRE_CM_SIDR_REP_PRIVATE = 136,
};

/* Attribute IDs of class 7, IBTA table 105. */
enum wire_cm_attr {
	WIRE_CM_ATTR_REQ = 0x10, WIRE_CM_ATTR_MRA, WIRE_CM_ATTR_REJ, WIRE_CM_ATTR_REP,
	WIRE_CM_ATTR_RTU, WIRE_CM_ATTR_DREQ, WIRE_CM_ATTR_DREP, WIRE_CM_ATTR_SIDR_REQ,
	WIRE_CM_ATTR_SIDR_REP, WIRE_CM_ATTR_LAP, WIRE_CM_ATTR_APR
};

/* The queue pair of the general services (IBTA vol 1, 13.5.1) and its Q_Key (10.2.5). */
#define WIRE_QPN_GSI 1u
#define WIRE_QKEY_GSI 0x80010000u

enum {
	WIRE_MAD_BASE_VERSION = 1, WIRE_MAD_CLASS_CM = 7, WIRE_CM_CLASS_VERSION = 2,
	WIRE_MAD_METHOD_SEND = 3,
};

WIRE_CM_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

struct wire_cm_header {
	const char *name;
	const char *source;
	uint8_t length;
	uint8_t first;		/* rows of this header in wire_cm_fields[] */
	uint8_t nr;
};

extern const struct wire_cm_header wire_cm_headers[WIRE_NR_CM_HDRS];
extern const struct wire_field wire_cm_fields[];
extern const unsigned wire_nr_cm_fields;

/* Returns the message of an attribute ID, NULL if there is none. */
const struct wire_cm_header *wire_cm_message(unsigned attr);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Subnet administration, field by field: the header behind that of RMPP, whose rows count from the MAD's first byte, and
 * the records that begin at byte 56 of it.
 */
#ifndef WIRE_SA_FIELDS_H
#define WIRE_SA_FIELDS_H

#include "wire/field.h"

/* IBTA vol 1, 15.2.1.1, table 187.
 *	header field                   byte bit width */
#define WIRE_SA_FIELDS(F, B)                                                                   \
	F(SA, sm_key,                  36, 0, 64)                                              \
	F(SA, attr_offset,             44, 0, 16)                                              \
	F(SA, mask,                    48, 0, 64)

/* PathRecord (15.2.5.16, table 205). */
#define WIRE_PATH_RECORD_FIELDS(F, B)                                                          \
	F(PATH_RECORD, service_id,      0, 0, 64)                                              \
	B(PATH_RECORD, dgid,            8, 16)                                                 \
	B(PATH_RECORD, sgid,           24, 16)                                                 \
	F(PATH_RECORD, dlid,           40, 0, 16)                                              \
	F(PATH_RECORD, slid,           42, 0, 16)                                              \
	F(PATH_RECORD, raw_traffic,    44, 0,  1)                                              \
	F(PATH_RECORD, flow_label,     44, 4, 20)                                              \
	F(PATH_RECORD, hop_limit,      47, 0,  8)                                              \
	F(PATH_RECORD, tclass,         48, 0,  8)                                              \
	F(PATH_RECORD, reversible,     49, 0,  1)                                              \
	F(PATH_RECORD, numb_path,      49, 1,  7)                                              \
	F(PATH_RECORD, pkey,           50, 0, 16)                                              \
	F(PATH_RECORD, qos_class,      52, 0, 12)                                              \
	F(PATH_RECORD, sl,             53, 4,  4)                                              \
	F(PATH_RECORD, mtu_selector,   54, 0,  2)                                              \
	F(PATH_RECORD, mtu,            54, 2,  6)                                              \
	F(PATH_RECORD, rate_selector,  55, 0,  2)                                              \
	F(PATH_RECORD, rate,           55, 2,  6)                                              \
	F(PATH_RECORD, life_selector,  56, 0,  2)                                              \
	F(PATH_RECORD, life,           56, 2,  6)                                              \
	F(PATH_RECORD, preference,     57, 0,  8)

/* MCMemberRecord (15.2.5.17, table 206). */
#define WIRE_MEMBER_RECORD_FIELDS(F, B)                                                        \
	B(MEMBER_RECORD, mgid,          0, 16)                                                 \
	B(MEMBER_RECORD, port_gid,     16, 16)                                                 \
	F(MEMBER_RECORD, qkey,         32, 0, 32)                                              \
	F(MEMBER_RECORD, mlid,         36, 0, 16)                                              \
	F(MEMBER_RECORD, mtu_selector, 38, 0,  2)                                              \
	F(MEMBER_RECORD, mtu,          38, 2,  6)                                              \
	F(MEMBER_RECORD, tclass,       39, 0,  8)                                              \
	F(MEMBER_RECORD, pkey,         40, 0, 16)                                              \
	F(MEMBER_RECORD, rate_selector, 42, 0, 2)                                              \
	F(MEMBER_RECORD, rate,         42, 2,  6)                                              \
	F(MEMBER_RECORD, life_selector, 43, 0, 2)                                              \
	F(MEMBER_RECORD, life,         43, 2,  6)                                              \
	F(MEMBER_RECORD, sl,           44, 0,  4)                                              \
	F(MEMBER_RECORD, flow_label,   44, 4, 20)                                              \
	F(MEMBER_RECORD, hop_limit,    47, 0,  8)                                              \
	F(MEMBER_RECORD, scope,        48, 0,  4)                                              \
	F(MEMBER_RECORD, join_state,   48, 4,  4)                                              \
	F(MEMBER_RECORD, proxy_join,   49, 0,  1)

/* ServiceRecord (15.2.5.14, table 203). */
#define WIRE_SERVICE_RECORD_FIELDS(F, B)                                                       \
	F(SERVICE_RECORD, id,           0, 0, 64)                                              \
	B(SERVICE_RECORD, gid,          8, 16)                                                 \
	F(SERVICE_RECORD, pkey,        24, 0, 16)                                              \
	F(SERVICE_RECORD, lease,       28, 0, 32)                                              \
	B(SERVICE_RECORD, key,         32, 16)                                                 \
	B(SERVICE_RECORD, name,        48, 64)                                                 \
	B(SERVICE_RECORD, data8,      112, 16)                                                 \
	B(SERVICE_RECORD, data16,     128, 16)                                                 \
	B(SERVICE_RECORD, data32,     144, 16)                                                 \
	B(SERVICE_RECORD, data64,     160, 16)

WIRE_SA_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_PATH_RECORD_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_MEMBER_RECORD_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SERVICE_RECORD_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

enum { WIRE_SA_DATA = 56 }; /* bytes before the record */

/* Attributes (15.2.5, table 190), and the method that removes a record (15.2.2, table 188). */
enum { WIRE_SA_SERVICE_RECORD = 0x0031, WIRE_SA_PATH_RECORD = 0x0035, WIRE_SA_MEMBER_RECORD = 0x0038 };
enum { WIRE_SA_DELETE = 0x15, WIRE_SA_DELETE_RESP = 0x95 };

/* Component masks: bit n is row n of the record's table, selectors and reserved ones counted. */
enum {
	WIRE_PATH_DGID = 1 << 2, WIRE_PATH_SGID = 1 << 3, WIRE_PATH_REVERSIBLE = 1 << 11, WIRE_PATH_NUMB = 1 << 12,
	WIRE_PATH_PKEY = 1 << 13, WIRE_PATH_TCLASS = 1 << 10,
	WIRE_MEMBER_MGID = 1 << 0, WIRE_MEMBER_PORT_GID = 1 << 1, WIRE_MEMBER_QKEY = 1 << 2, WIRE_MEMBER_TCLASS = 1 << 6,
	WIRE_MEMBER_PKEY = 1 << 7, WIRE_MEMBER_SL = 1 << 12, WIRE_MEMBER_FLOW_LABEL = 1 << 13,
	WIRE_MEMBER_JOIN_STATE = 1 << 16, WIRE_MEMBER_MTU_SELECTOR = 1 << 4, WIRE_MEMBER_MTU = 1 << 5,
	WIRE_MEMBER_RATE_SELECTOR = 1 << 8, WIRE_MEMBER_RATE = 1 << 9, WIRE_MEMBER_HOP_LIMIT = 1 << 14,
	WIRE_MEMBER_CREATION = WIRE_MEMBER_QKEY | WIRE_MEMBER_PKEY | WIRE_MEMBER_SL | WIRE_MEMBER_FLOW_LABEL | WIRE_MEMBER_TCLASS,
	WIRE_SERVICE_ID = 1 << 0, WIRE_SERVICE_GID = 1 << 1, WIRE_SERVICE_PKEY = 1 << 2, WIRE_SERVICE_LEASE = 1 << 4,
	WIRE_SERVICE_NAME = 1 << 6, WIRE_SERVICE_DATA8 = 0xffff << 7 /* all 16 */
};

/* Status of the class, in the upper octet of a MAD's status (15.2.3). */
enum { WIRE_SA_TOO_MANY_RECORDS = 0x0400 };

/*
 * DAPL's Address Translation Service, version 1: a service record of each port with its IP address in data8, the last four
 * octets of which are an IPv4 address. Registrants, as their sources have it: P_Key 0xffff, an endless lease; a port's further
 * addresses have service IDs of their own, so an address is looked for by name and data8, and a port's first address by ID,
 * GID and name.
 */
#define WIRE_ATS_ID 0x10000ce100415453ull
#define WIRE_ATS_NAME "DAPL Address Translation Service"
#define WIRE_LEASE_ENDLESS 0xffffffffu

#endif

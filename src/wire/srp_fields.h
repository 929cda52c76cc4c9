/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The information units of SRP (ANSI T10 SRP revision 16a, clause 6), row by row, and its buffer descriptors (5.6).
 * Immediate data is of SRP-2; the login request of the RDMA connection manager is Linux's, as the one of SRP is longer
 * than the private data that it leaves.
 */
#ifndef WIRE_SRP_FIELDS_H
#define WIRE_SRP_FIELDS_H

#include "wire/field.h"

/* The login request as the private data of an RDMA CM request: struct srp_login_req_rdma of Linux. */
#define WIRE_SRP_LOGIN_REQ_FIELDS(F, B)                                                        \
	F(SRP_LOGIN_REQ, tag,                0, 0, 64)                                         \
	F(SRP_LOGIN_REQ, formats,            8, 0, 16)                                         \
	F(SRP_LOGIN_REQ, immediate,         10, 0,  1)                                         \
	F(SRP_LOGIN_REQ, rsv10,             10, 1,  5)                                         \
	F(SRP_LOGIN_REQ, multichannel,      10, 6,  2)                                         \
	F(SRP_LOGIN_REQ, type,              11, 0,  8)                                         \
	F(SRP_LOGIN_REQ, it_length,         12, 0, 32)                                         \
	B(SRP_LOGIN_REQ, initiator,         16, 16)                                            \
	B(SRP_LOGIN_REQ, target,            32, 16)                                            \
	F(SRP_LOGIN_REQ, immediate_offset,  48, 0, 16)                                         \
	F(SRP_LOGIN_REQ, rsv50,             50, 0, 16)                                         \
	F(SRP_LOGIN_REQ, rsv52,             52, 0, 32)

/* SRP_LOGIN_RSP: table 10. */
#define WIRE_SRP_LOGIN_RSP_FIELDS(F, B)                                                        \
	F(SRP_LOGIN_RSP, type,               0, 0,  8)                                         \
	F(SRP_LOGIN_RSP, rsv1,               1, 0,  8)                                         \
	F(SRP_LOGIN_RSP, rsv2,               2, 0, 16)                                         \
	F(SRP_LOGIN_RSP, limit_delta,        4, 0, 32)                                         \
	F(SRP_LOGIN_RSP, tag,                8, 0, 64)                                         \
	F(SRP_LOGIN_RSP, it_length,         16, 0, 32)                                         \
	F(SRP_LOGIN_RSP, ti_length,         20, 0, 32)                                         \
	F(SRP_LOGIN_RSP, formats,           24, 0, 16)                                         \
	F(SRP_LOGIN_RSP, immediate,         26, 0,  1)                                         \
	F(SRP_LOGIN_RSP, rsv26,             26, 1,  5)                                         \
	F(SRP_LOGIN_RSP, multichannel,      26, 6,  2)                                         \
	F(SRP_LOGIN_RSP, rsv27,             27, 0,  8)                                         \
	B(SRP_LOGIN_RSP, rsv28,             28, 24)

/* SRP_LOGIN_REJ: table 12. */
#define WIRE_SRP_LOGIN_REJ_FIELDS(F, B)                                                        \
	F(SRP_LOGIN_REJ, type,               0, 0,  8)                                         \
	F(SRP_LOGIN_REJ, rsv1,               1, 0,  8)                                         \
	F(SRP_LOGIN_REJ, rsv2,               2, 0, 16)                                         \
	F(SRP_LOGIN_REJ, reason,             4, 0, 32)                                         \
	F(SRP_LOGIN_REJ, tag,                8, 0, 64)                                         \
	B(SRP_LOGIN_REJ, rsv16,             16,  8)                                            \
	F(SRP_LOGIN_REJ, formats,           24, 0, 16)                                         \
	F(SRP_LOGIN_REJ, rsv26,             26, 0, 16)                                         \
	F(SRP_LOGIN_REJ, rsv28,             28, 0, 32)

/*
 * What the short ones have: SRP_I_LOGOUT, SRP_CRED_RSP and SRP_AER_RSP have a tag alone, SRP_T_LOGOUT a reason and
 * SRP_CRED_REQ a request limit delta in `number`.
 */
#define WIRE_SRP_SHORT_FIELDS(F, B)                                                            \
	F(SRP_SHORT, type,                   0, 0,  8)                                         \
	F(SRP_SHORT, rsv1,                   1, 0,  7)                                         \
	F(SRP_SHORT, solicited,              1, 7,  1)                                         \
	F(SRP_SHORT, rsv2,                   2, 0, 16)                                         \
	F(SRP_SHORT, number,                 4, 0, 32)                                         \
	F(SRP_SHORT, tag,                    8, 0, 64)

/* SRP_TSK_MGMT: table 16. */
#define WIRE_SRP_TSK_MGMT_FIELDS(F, B)                                                         \
	F(SRP_TSK_MGMT, type,                0, 0,  8)                                         \
	F(SRP_TSK_MGMT, solicit,             1, 0,  8)                                         \
	F(SRP_TSK_MGMT, rsv2,                2, 0, 16)                                         \
	F(SRP_TSK_MGMT, rsv4,                4, 0, 32)                                         \
	F(SRP_TSK_MGMT, tag,                 8, 0, 64)                                         \
	F(SRP_TSK_MGMT, rsv16,              16, 0, 32)                                         \
	F(SRP_TSK_MGMT, lun,                20, 0, 64)                                         \
	F(SRP_TSK_MGMT, rsv28,              28, 0, 16)                                         \
	F(SRP_TSK_MGMT, function,           30, 0,  8)                                         \
	F(SRP_TSK_MGMT, rsv31,              31, 0,  8)                                         \
	F(SRP_TSK_MGMT, task_tag,           32, 0, 64)                                         \
	B(SRP_TSK_MGMT, rsv40,              40,  8)

/* SRP_CMD: table 18. The additional CDB follows, then the descriptors of data-out, then those of data-in. */
#define WIRE_SRP_CMD_FIELDS(F, B)                                                              \
	F(SRP_CMD, type,                     0, 0,  8)                                         \
	F(SRP_CMD, solicit,                  1, 0,  8)                                         \
	F(SRP_CMD, rsv2,                     2, 0, 16)                                         \
	F(SRP_CMD, rsv4,                     4, 0,  8)                                         \
	F(SRP_CMD, out_format,               5, 0,  4)                                         \
	F(SRP_CMD, in_format,                5, 4,  4)                                         \
	F(SRP_CMD, out_count,                6, 0,  8)                                         \
	F(SRP_CMD, in_count,                 7, 0,  8)                                         \
	F(SRP_CMD, tag,                      8, 0, 64)                                         \
	F(SRP_CMD, rsv16,                   16, 0, 32)                                         \
	F(SRP_CMD, lun,                     20, 0, 64)                                         \
	F(SRP_CMD, rsv28,                   28, 0,  8)                                         \
	F(SRP_CMD, rsv29,                   29, 0,  5)                                         \
	F(SRP_CMD, attribute,               29, 5,  3)                                         \
	F(SRP_CMD, rsv30,                   30, 0,  8)                                         \
	F(SRP_CMD, additional_words,        31, 0,  6)                                         \
	F(SRP_CMD, rsv31,                   31, 6,  2)                                         \
	B(SRP_CMD, cdb,                     32, 16)

/* A memory descriptor: table 3. A direct data buffer descriptor is one. */
#define WIRE_SRP_MEMORY_FIELDS(F, B)                                                           \
	F(SRP_MEMORY, address,               0, 0, 64)                                         \
	F(SRP_MEMORY, key,                   8, 0, 32)                                         \
	F(SRP_MEMORY, length,               12, 0, 32)

/* An indirect data buffer descriptor: table 4. Memory descriptors follow, the first ones of the table. */
#define WIRE_SRP_INDIRECT_FIELDS(F, B)                                                         \
	B(SRP_INDIRECT, table,               0, 16)                                            \
	F(SRP_INDIRECT, length,             16, 0, 32)

/* SRP-2: the descriptor of immediate data, which lies at the offset that the login has agreed. */
#define WIRE_SRP_IMMEDIATE_FIELDS(F, B)                                                        \
	F(SRP_IMMEDIATE, length,             0, 0, 32)

/* SRP_RSP: table 20. Response data follows, then sense data. */
#define WIRE_SRP_RSP_FIELDS(F, B)                                                              \
	F(SRP_RSP, type,                     0, 0,  8)                                         \
	F(SRP_RSP, rsv1,                     1, 0,  7)                                         \
	F(SRP_RSP, solicited,                1, 7,  1)                                         \
	F(SRP_RSP, rsv2,                     2, 0, 16)                                         \
	F(SRP_RSP, limit_delta,              4, 0, 32)                                         \
	F(SRP_RSP, tag,                      8, 0, 64)                                         \
	F(SRP_RSP, rsv16,                   16, 0, 16)                                         \
	F(SRP_RSP, rsv18,                   18, 0,  2)                                         \
	F(SRP_RSP, in_under,                18, 2,  1)                                         \
	F(SRP_RSP, in_over,                 18, 3,  1)                                         \
	F(SRP_RSP, out_under,               18, 4,  1)                                         \
	F(SRP_RSP, out_over,                18, 5,  1)                                         \
	F(SRP_RSP, sense_valid,             18, 6,  1)                                         \
	F(SRP_RSP, response_valid,          18, 7,  1)                                         \
	F(SRP_RSP, status,                  19, 0,  8)                                         \
	F(SRP_RSP, out_residual,            20, 0, 32)                                         \
	F(SRP_RSP, in_residual,             24, 0, 32)                                         \
	F(SRP_RSP, sense_length,            28, 0, 32)                                         \
	F(SRP_RSP, response_length,         32, 0, 32)

/* SRP_AER_REQ: table 25. Sense data follows. */
#define WIRE_SRP_AER_REQ_FIELDS(F, B)                                                          \
	F(SRP_AER_REQ, type,                 0, 0,  8)                                         \
	F(SRP_AER_REQ, rsv1,                 1, 0,  7)                                         \
	F(SRP_AER_REQ, solicited,            1, 7,  1)                                         \
	F(SRP_AER_REQ, rsv2,                 2, 0, 16)                                         \
	F(SRP_AER_REQ, limit_delta,          4, 0, 32)                                         \
	F(SRP_AER_REQ, tag,                  8, 0, 64)                                         \
	F(SRP_AER_REQ, rsv16,               16, 0, 32)                                         \
	F(SRP_AER_REQ, lun,                 20, 0, 64)                                         \
	F(SRP_AER_REQ, sense_length,        28, 0, 32)                                         \
	F(SRP_AER_REQ, rsv32,               32, 0, 32)

WIRE_SRP_LOGIN_REQ_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SRP_LOGIN_RSP_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SRP_LOGIN_REJ_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SRP_SHORT_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SRP_TSK_MGMT_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SRP_CMD_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SRP_MEMORY_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SRP_INDIRECT_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SRP_IMMEDIATE_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SRP_RSP_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SRP_AER_REQ_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

enum {
	WIRE_SRP_LOGIN_REQ_LEN = 56,
	WIRE_SRP_LOGIN_RSP_LEN = 52,
	WIRE_SRP_LOGIN_REJ_LEN = 32,
	WIRE_SRP_SHORT_LEN = 16,
	WIRE_SRP_TSK_MGMT_LEN = 48,
	WIRE_SRP_CMD_LEN = 48,
	WIRE_SRP_MEMORY_LEN = 16,
	WIRE_SRP_INDIRECT_LEN = 20,
	WIRE_SRP_IMMEDIATE_LEN = 4,
	WIRE_SRP_RSP_LEN = 36,
	WIRE_SRP_AER_REQ_LEN = 36,
	WIRE_SRP_RESPONSE_DATA_LEN = 4,  /* table 22: three reserved octets and the response code */
	WIRE_SRP_IT_MIN = 64,            /* 6.2: the least maximum length from initiator to target */
};

/* Types of information units: table 7. */
enum wire_srp_type {
	WIRE_SRP_LOGIN_REQ = 0x00,
	WIRE_SRP_TSK_MGMT = 0x01,
	WIRE_SRP_CMD = 0x02,
	WIRE_SRP_I_LOGOUT = 0x03,
	WIRE_SRP_CRED_RSP = 0x41,
	WIRE_SRP_AER_RSP = 0x42,
	WIRE_SRP_T_LOGOUT = 0x80,
	WIRE_SRP_CRED_REQ = 0x81,
	WIRE_SRP_AER_REQ = 0x82,
	WIRE_SRP_LOGIN_RSP = 0xc0,
	WIRE_SRP_RSP = 0xc1,
	WIRE_SRP_LOGIN_REJ = 0xc2,
};

/* Formats of data buffer descriptors: table 2, and SRP-2. In a login they are the bits 1 << format. */
enum wire_srp_format {
	WIRE_SRP_FORMAT_NONE = 0,
	WIRE_SRP_FORMAT_DIRECT = 1,
	WIRE_SRP_FORMAT_INDIRECT = 2,
	WIRE_SRP_FORMAT_IMMEDIATE = 3,
};

/* Multi-channel action of a login request: table 9. */
enum wire_srp_multichannel { WIRE_SRP_SINGLE = 0, WIRE_SRP_MULTI = 1 };

/* Multi-channel result of a login response: table 11. */
enum wire_srp_channels { WIRE_SRP_CHANNELS_NONE = 0, WIRE_SRP_CHANNELS_ENDED = 1, WIRE_SRP_CHANNELS_KEPT = 2 };

/* Reasons of SRP_LOGIN_REJ: table 13. */
enum wire_srp_reject {
	WIRE_SRP_REJ_NO_CHANNEL = 0x00010000,
	WIRE_SRP_REJ_RESOURCES = 0x00010001,
	WIRE_SRP_REJ_IT_LENGTH = 0x00010002,
	WIRE_SRP_REJ_NO_ASSOCIATION = 0x00010003,
	WIRE_SRP_REJ_FORMAT = 0x00010004,
	WIRE_SRP_REJ_MULTICHANNEL = 0x00010005,
	WIRE_SRP_REJ_CHANNEL_LIMIT = 0x00010006,
};

/* Task management functions: table 17. Response codes: table 23. */
enum wire_srp_function {
	WIRE_SRP_ABORT_TASK = 0x01,
	WIRE_SRP_ABORT_TASK_SET = 0x02,
	WIRE_SRP_CLEAR_TASK_SET = 0x04,
	WIRE_SRP_LUN_RESET = 0x08,
	WIRE_SRP_CLEAR_ACA = 0x40,
};

enum wire_srp_response {
	WIRE_SRP_FUNCTION_COMPLETE = 0x00,
	WIRE_SRP_FIELDS_INVALID = 0x02,
	WIRE_SRP_FUNCTION_UNSUPPORTED = 0x04,
	WIRE_SRP_FUNCTION_FAILED = 0x05,
};

#endif

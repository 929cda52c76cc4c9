/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The headers of RDS 3.1, row by row. RDS has no standard: the rows are those of Linux's struct rds_header,
 * rds_ext_header_* and rds_ib_conn_priv_cmn (net/rds of Linux 6.1), compared with what a 6.1 kernel sent. Rows of an
 * extension count from the octet behind its type.
 */
#ifndef WIRE_RDS_FIELDS_H
#define WIRE_RDS_FIELDS_H

#include "wire/field.h"

/* In front of every message over TCP, and of every fragment of one over RDMA. */
#define WIRE_RDS_HEADER_FIELDS(F, B)                                                           \
	F(RDS_HEADER, sequence,         0, 0, 64)                                              \
	F(RDS_HEADER, ack,              8, 0, 64)                                              \
	F(RDS_HEADER, length,          16, 0, 32)                                              \
	F(RDS_HEADER, source_port,     20, 0, 16)                                              \
	F(RDS_HEADER, dest_port,       22, 0, 16)                                              \
	F(RDS_HEADER, rsv24,           24, 0,  5)                                              \
	F(RDS_HEADER, retransmitted,   24, 5,  1)                                              \
	F(RDS_HEADER, ack_required,    24, 6,  1)                                              \
	F(RDS_HEADER, congestion_map,  24, 7,  1)                                              \
	F(RDS_HEADER, credits,         25, 0,  8)                                              \
	F(RDS_HEADER, rsv26,           26, 0, 16)                                              \
	F(RDS_HEADER, rsv28,           28, 0, 16)                                              \
	F(RDS_HEADER, checksum,        30, 0, 16)                                              \
	B(RDS_HEADER, extensions,      32, 16)

#define WIRE_RDS_EXT_VERSION_FIELDS(F, B)                                                      \
	F(RDS_EXT_VERSION, version,     0, 0, 32)

#define WIRE_RDS_EXT_RDMA_FIELDS(F, B)                                                         \
	F(RDS_EXT_RDMA, rkey,           0, 0, 32)

#define WIRE_RDS_EXT_RDMA_DEST_FIELDS(F, B)                                                    \
	F(RDS_EXT_RDMA_DEST, rkey,      0, 0, 32)                                              \
	F(RDS_EXT_RDMA_DEST, offset,    4, 0, 32)

#define WIRE_RDS_EXT_PATHS_FIELDS(F, B)                                                        \
	F(RDS_EXT_PATHS, paths,         0, 0, 16)

#define WIRE_RDS_EXT_GENERATION_FIELDS(F, B)                                                   \
	F(RDS_EXT_GENERATION, number,   0, 0, 32)

/* Private data of a connection request over RDMA, and of its reply, between IPv4 addresses. */
#define WIRE_RDS_PRIVATE_FIELDS(F, B)                                                          \
	B(RDS_PRIVATE, source_addr,     0,  4)                                                 \
	B(RDS_PRIVATE, dest_addr,       4,  4)                                                 \
	F(RDS_PRIVATE, major,           8, 0,  8)                                              \
	F(RDS_PRIVATE, minor,           9, 0,  8)                                              \
	F(RDS_PRIVATE, minor_mask,     10, 0, 16)                                              \
	F(RDS_PRIVATE, tos,            12, 0,  8)                                              \
	F(RDS_PRIVATE, rsv13,          13, 0,  8)                                              \
	F(RDS_PRIVATE, rsv14,          14, 0, 16)                                              \
	F(RDS_PRIVATE, ack_sequence,   16, 0, 64)                                              \
	F(RDS_PRIVATE, credits,        24, 0, 32)

/* The same between IPv6 addresses: rds6_ib_connect_private. */
#define WIRE_RDS_PRIVATE6_FIELDS(F, B)                                                         \
	B(RDS_PRIVATE6, source_addr,    0, 16)                                                 \
	B(RDS_PRIVATE6, dest_addr,     16, 16)                                                 \
	F(RDS_PRIVATE6, major,         32, 0,  8)                                              \
	F(RDS_PRIVATE6, minor,         33, 0,  8)                                              \
	F(RDS_PRIVATE6, minor_mask,    34, 0, 16)                                              \
	F(RDS_PRIVATE6, tos,           36, 0,  8)                                              \
	F(RDS_PRIVATE6, rsv37,         37, 0,  8)                                              \
	F(RDS_PRIVATE6, rsv38,         38, 0, 16)                                              \
	F(RDS_PRIVATE6, ack_sequence,  40, 0, 64)                                              \
	F(RDS_PRIVATE6, credits,       48, 0, 32)

WIRE_RDS_HEADER_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_RDS_EXT_VERSION_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_RDS_EXT_RDMA_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_RDS_EXT_RDMA_DEST_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_RDS_EXT_PATHS_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_RDS_EXT_GENERATION_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_RDS_PRIVATE_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_RDS_PRIVATE6_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

enum {
	WIRE_RDS_HEADER_LEN = 48,
	WIRE_RDS_EXT_ROOM = 16,         /* octets of a header for extensions, types included */
	WIRE_RDS_PRIVATE_LEN = 28,
	WIRE_RDS_PRIVATE6_LEN = 52,
	WIRE_RDS_FRAGMENT = 4096,       /* payload of a packet over RDMA; only the last one of a message has less */
	WIRE_RDS_REJ_INCOMPAT = 1,      /* private data of a rejection, an int of the host: the versions differ */
	WIRE_RDS_MAP_LEN = 8192,        /* a congestion map: port n is bit n % 8, from the least one, of octet n / 8 */
	WIRE_RDS_TCP_PORT = 16385,      /* over TCP, and over RDMA between IPv6 addresses */
	WIRE_RDS_RDMA_PORT = 18634,     /* over RDMA between IPv4 addresses */
	WIRE_RDS_PING_PORT = 0,         /* a message to it is answered by an empty one from it */
	WIRE_RDS_PROBE_PORT = 1,        /* source of the ping by which Linux agrees on the number of paths */
};

/* Types of extensions. Each has a body of fixed length. */
enum wire_rds_ext {
	WIRE_RDS_EXT_NONE = 0,
	WIRE_RDS_EXT_VERSION = 1,
	WIRE_RDS_EXT_RDMA = 2,
	WIRE_RDS_EXT_RDMA_DEST = 3,
	WIRE_RDS_EXT_PATHS = 5,
	WIRE_RDS_EXT_GENERATION = 6,
};

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fixed parts of RPC over RDMA version 1, row by row (wire/field.h has the rules of rows). Between
 * them lie XDR lists, which header.h reads: a word that is 1 stands before each element, 0 behind the
 * last one.
 */
#ifndef ULP_RPCRDMA_FIELDS_H
#define ULP_RPCRDMA_FIELDS_H

#include "wire/field.h"

/*	header, length, source */
#define RPR_HEADERS(H)                                                                         \
	H(RpcRdma,         16, "RFC 8166, 4.2")                                                \
	H(RpcRdmaSegment,  16, "RFC 8166, 3.4.3")                                              \
	H(RpcRdmaRead,     20, "RFC 8166, 3.4.5")                                              \
	H(RpcRdmaVersions, 12, "RFC 8166, 4.5")                                                \
	H(RpcRdmaPrivate,   8, "RFC 8797, 4")

/*	header field                  byte bit width */
#define RPR_RpcRdma_FIELDS(F, B)                                                               \
	F(RpcRdma, xid,                  0, 0, 32)                                             \
	F(RpcRdma, vers,                 4, 0, 32)                                             \
	F(RpcRdma, credit,               8, 0, 32)                                             \
	F(RpcRdma, proc,                12, 0, 32)

#define RPR_RpcRdmaSegment_FIELDS(F, B)                                                        \
	F(RpcRdmaSegment, handle,        0, 0, 32)                                             \
	F(RpcRdmaSegment, length,        4, 0, 32)                                             \
	F(RpcRdmaSegment, offset,        8, 0, 64)

#define RPR_RpcRdmaRead_FIELDS(F, B)                                                           \
	F(RpcRdmaRead, position,         0, 0, 32)                                             \
	F(RpcRdmaRead, handle,           4, 0, 32)                                             \
	F(RpcRdmaRead, length,           8, 0, 32)                                             \
	F(RpcRdmaRead, offset,          12, 0, 64)

#define RPR_RpcRdmaVersions_FIELDS(F, B)                                                       \
	F(RpcRdmaVersions, error,        0, 0, 32)                                             \
	F(RpcRdmaVersions, low,          4, 0, 32)                                             \
	F(RpcRdmaVersions, high,         8, 0, 32)

#define RPR_RpcRdmaPrivate_FIELDS(F, B)                                                        \
	F(RpcRdmaPrivate, format,        0, 0, 32)                                             \
	F(RpcRdmaPrivate, version,       4, 0,  8)                                             \
	F(RpcRdmaPrivate, rsv5,          5, 0,  7)                                             \
	F(RpcRdmaPrivate, remote_inv,    5, 7,  1)                                             \
	F(RpcRdmaPrivate, send_size,     6, 0,  8)                                             \
	F(RpcRdmaPrivate, receive_size,  7, 0,  8)

#define RPR_FIELDS(F, B)                                                                       \
	RPR_RpcRdma_FIELDS(F, B)                                                               \
	RPR_RpcRdmaSegment_FIELDS(F, B)                                                        \
	RPR_RpcRdmaRead_FIELDS(F, B)                                                           \
	RPR_RpcRdmaVersions_FIELDS(F, B)                                                       \
	RPR_RpcRdmaPrivate_FIELDS(F, B)

enum {
#define H(name, length, source) RPR_##name##_LEN = length,
	RPR_HEADERS(H)
#undef H
};

RPR_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

#define RPR_VERSION 1			/* RFC 8166, 4.2.2 */
#define RPR_PRIVATE_FORMAT 0xf6ab0e18	/* RFC 8797, 4: the format identifier */
#define RPR_PRIVATE_VERSION 1

/* RFC 8166, 4.2.4: rdma_proc. 2 (RDMA_MSGP) and 3 (RDMA_DONE) are not to be sent. */
enum rpr_proc {
	RPR_MSG = 0,
	RPR_NOMSG = 1,
	RPR_ERROR = 4,
};

/* RFC 8166, 4.5: rdma_err. */
enum rpr_err {
	RPR_ERR_VERS = 1,
	RPR_ERR_CHUNK = 2,
};

#endif

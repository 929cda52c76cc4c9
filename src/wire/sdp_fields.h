/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The headers of SDP (IBTA volume 1, annex A4), row by row. Rows of Hello and HelloAck count from the
 * first octet of the private data, of which the base header is the beginning; rows of an extended header
 * count from the end of the base header.
 */
#ifndef WIRE_SDP_FIELDS_H
#define WIRE_SDP_FIELDS_H

#include "wire/field.h"

/* The base sockets direct header: in front of every message. */
#define WIRE_SDP_BSDH_FIELDS(F, B)                                                             \
	F(SDP_BSDH, mid,                0, 0,  8)                                              \
	F(SDP_BSDH, rsv1,               1, 0,  5)                                              \
	F(SDP_BSDH, req_pipe,           1, 5,  1)                                              \
	F(SDP_BSDH, oob_pend,           1, 6,  1)                                              \
	F(SDP_BSDH, oob_pres,           1, 7,  1)                                              \
	F(SDP_BSDH, bufs,               2, 0, 16)                                              \
	F(SDP_BSDH, len,                4, 0, 32)                                              \
	F(SDP_BSDH, mseq,               8, 0, 32)                                              \
	F(SDP_BSDH, mseq_ack,          12, 0, 32)

/* Hello: the private data of a connection request. It names both ends, so that no IP CM header precedes it. */
#define WIRE_SDP_HELLO_FIELDS(F, B)                                                            \
	F(SDP_HELLO, version_major,    16, 0,  4)                                              \
	F(SDP_HELLO, version_minor,    16, 4,  4)                                              \
	F(SDP_HELLO, ip_version,       17, 0,  4)                                              \
	F(SDP_HELLO, rsv17,            17, 4,  2)                                              \
	F(SDP_HELLO, ext_max_adverts,  17, 6,  1)                                              \
	F(SDP_HELLO, send_invalidate,  17, 7,  1)                                              \
	F(SDP_HELLO, rsv18,            18, 0,  8)                                              \
	F(SDP_HELLO, max_adverts,      19, 0,  8)                                              \
	F(SDP_HELLO, wanted_size,      20, 0, 32)                                              \
	F(SDP_HELLO, receive_size,     24, 0, 32)                                              \
	F(SDP_HELLO, port,             28, 0, 16)                                              \
	F(SDP_HELLO, rsv30,            30, 0, 16)                                              \
	B(SDP_HELLO, src_addr,         32, 16)                                                 \
	B(SDP_HELLO, dst_addr,         48, 16)

#define WIRE_SDP_HELLO_ACK_FIELDS(F, B)                                                        \
	F(SDP_HELLO_ACK, version_major,    16, 0,  4)                                          \
	F(SDP_HELLO_ACK, version_minor,    16, 4,  4)                                          \
	F(SDP_HELLO_ACK, rsv17,            17, 0,  8)                                          \
	F(SDP_HELLO_ACK, rsv18,            18, 0,  8)                                          \
	F(SDP_HELLO_ACK, max_adverts,      19, 0,  8)                                          \
	F(SDP_HELLO_ACK, receive_size,     20, 0, 32)

/* RdmaWrCompl, RdmaRdCompl, ChRcvBuf, ChRcvBufAck: one number. ModeChange: four bits of it. */
#define WIRE_SDP_NUMBER_FIELDS(F, B)                                                           \
	F(SDP_NUMBER, value,            0, 0, 32)

#define WIRE_SDP_SUSPEND_FIELDS(F, B)                                                          \
	F(SDP_SUSPEND, service,         0, 0, 64)

#define WIRE_SDP_MODE_FIELDS(F, B)                                                             \
	F(SDP_MODE, send,               0, 0,  1)                                              \
	F(SDP_MODE, mode,               0, 1,  3)                                              \
	F(SDP_MODE, rsv4,               0, 4, 28)

/* SrcAvail, and the beginning of SinkAvail, which has a count of four octets more. */
#define WIRE_SDP_AVAIL_FIELDS(F, B)                                                            \
	F(SDP_AVAIL, length,            0, 0, 32)                                              \
	F(SDP_AVAIL, rkey,              4, 0, 32)                                              \
	F(SDP_AVAIL, vaddr,             8, 0, 64)

/* Behind it in SinkAvail: messages with octets that the sink has received and that discarded no SinkAvail. */
#define WIRE_SDP_SINK_FIELDS(F, B)                                                             \
	F(SDP_SINK, kept,              16, 0, 32)

WIRE_SDP_BSDH_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SDP_HELLO_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SDP_HELLO_ACK_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SDP_NUMBER_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SDP_MODE_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SDP_SUSPEND_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SDP_AVAIL_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SDP_SINK_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

enum {
	WIRE_SDP_BSDH_LEN = 16,
	WIRE_SDP_HELLO_LEN = 92,	/* the whole private data of an IB CM request */
	WIRE_SDP_HELLO_ACK_LEN = 196,	/* ... and of a reply */
	WIRE_SDP_HELLO_MIN = 64,	/* up to the end of the addresses */
	WIRE_SDP_HELLO_ACK_MIN = 24,
	WIRE_SDP_NUMBER_LEN = 4,
	WIRE_SDP_SRC_AVAIL_LEN = 16,
	WIRE_SDP_SINK_AVAIL_LEN = 20,
	WIRE_SDP_SUSPEND_LEN = 8,	/* a service ID */
};

/* Message identifiers. Those without a high nibble are control messages. */
enum wire_sdp_mid {
	WIRE_SDP_HELLO = 0x00,
	WIRE_SDP_HELLO_ACK = 0x01,
	WIRE_SDP_DISCONN = 0x02,
	WIRE_SDP_ABORT_CONN = 0x03,
	WIRE_SDP_SEND_SM = 0x04,
	WIRE_SDP_RDMA_WR_COMPL = 0x05,
	WIRE_SDP_RDMA_RD_COMPL = 0x06,
	WIRE_SDP_MODE_CHANGE = 0x07,
	WIRE_SDP_SRC_AVAIL_CANCEL = 0x08,
	WIRE_SDP_SINK_AVAIL_CANCEL = 0x09,
	WIRE_SDP_SINK_CANCEL_ACK = 0x0a,
	WIRE_SDP_CH_RCV_BUF = 0x0b,
	WIRE_SDP_CH_RCV_BUF_ACK = 0x0c,
	WIRE_SDP_SUSP_COMM = 0x0d,
	WIRE_SDP_SUSP_COMM_ACK = 0x0e,
	WIRE_SDP_SINK_AVAIL = 0xfd,
	WIRE_SDP_SRC_AVAIL = 0xfe,
	WIRE_SDP_DATA = 0xff,
};

#endif

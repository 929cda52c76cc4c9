/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Verdicts: what a peer or the application did wrong. A check returns one
 * (0 = fine); the one place of a protocol that sends and completes looks the
 * consequences up in the row. vendor_err of a completion is the verdict's
 * number, so it is never 0 on an error and can be looked up again.
 *
 * Columns:
 *   send     status of the send completion at the end that notices or is told
 *   recv     status of the receive completion at a responder that had taken one
 *   nak      AETH syndrome a responder answers with (IBTA 9.7.5.2.8), 0 = none
 *   next     QP state afterwards at the end that notices (SQE only for UC/UD)
 *   event    asynchronous event when no receive completion can carry the news;
 *            -1 = none
 *   sentence what happened, in the words of the person who must mend it
 */
#ifndef ENGINE_VERDICT_H
#define ENGINE_VERDICT_H

#include <infiniband/verbs.h>
#include <stdint.h>

#define ENG_NO_EVENT (-1)

/* name, send, recv, nak, next, event, sentence */
#define ENG_VERDICTS(V) \
V(LOC_LEN,       LOC_LEN_ERR,       LOC_LEN_ERR,   0,    ERR, ENG_NO_EVENT, "the message is longer than this QP may send") \
V(LOC_KEY,       LOC_PROT_ERR,      LOC_PROT_ERR,  0x63, ERR, ENG_NO_EVENT, "a local key names no memory region") \
V(LOC_PD,        LOC_PROT_ERR,      LOC_PROT_ERR,  0x63, ERR, ENG_NO_EVENT, "a local key belongs to another protection domain") \
V(LOC_RIGHTS,    LOC_PROT_ERR,      LOC_PROT_ERR,  0x63, ERR, ENG_NO_EVENT, "the local region lacks IBV_ACCESS_LOCAL_WRITE") \
V(LOC_BOUNDS,    LOC_PROT_ERR,      LOC_PROT_ERR,  0x63, ERR, ENG_NO_EVENT, "a local buffer reaches outside its memory region") \
V(LOC_FAULT,     LOC_PROT_ERR,      LOC_PROT_ERR,  0x63, ERR, ENG_NO_EVENT, "the pages of a local buffer are gone or read-only") \
V(LOC_OPCODE,    LOC_QP_OP_ERR,     LOC_QP_OP_ERR, 0,    ERR, ENG_NO_EVENT, "the work request does not fit this QP type") \
V(LOC_AH_PD,     LOC_QP_OP_ERR,     LOC_QP_OP_ERR, 0,    ERR, ENG_NO_EVENT, "the address handle belongs to another protection domain") \
V(LOC_ROUTE,     LOC_QP_OP_ERR,     LOC_QP_OP_ERR, 0,    ERR, ENG_NO_EVENT, "the source GID is no longer an address of this host") \
V(MW_BIND,       MW_BIND_ERR,       MW_BIND_ERR,   0,    ERR, ENG_NO_EVENT, "the memory window cannot be bound or invalidated like this") \
V(REM_INV_REQ,   REM_INV_REQ_ERR,   LOC_QP_OP_ERR, 0,    ERR, ENG_NO_EVENT, "the peer answered: invalid request") \
V(REM_ACCESS,    REM_ACCESS_ERR,    LOC_QP_OP_ERR, 0,    ERR, ENG_NO_EVENT, "the peer answered: remote access error") \
V(REM_OP,        REM_OP_ERR,        LOC_QP_OP_ERR, 0,    ERR, ENG_NO_EVENT, "the peer answered: remote operational error") \
V(RETRY_EXC,     RETRY_EXC_ERR,     GENERAL_ERR,   0,    ERR, ENG_NO_EVENT, "the peer did not answer within the timeout and all retries") \
V(RNR_EXC,       RNR_RETRY_EXC_ERR, GENERAL_ERR,   0,    ERR, ENG_NO_EVENT, "the peer had no receive posted within all RNR retries") \
V(BAD_RESP,      BAD_RESP_ERR,      GENERAL_ERR,   0,    ERR, ENG_NO_EVENT, "the peer answered with a packet that fits no request") \
V(UNREACHABLE,   RETRY_EXC_ERR,     GENERAL_ERR,   0,    ERR, ENG_NO_EVENT, "no RDMA process uses the peer's address any more") \
V(RX_SEQUENCE,   GENERAL_ERR,       LOC_QP_OP_ERR, 0x61, ERR, IBV_EVENT_QP_REQ_ERR, "the peer's packets are out of order within a message") \
V(RX_LENGTH,     GENERAL_ERR,       LOC_LEN_ERR,   0x61, ERR, IBV_EVENT_QP_REQ_ERR, "a packet's payload does not fit its opcode and the path MTU") \
V(RX_TOO_LONG,   GENERAL_ERR,       LOC_LEN_ERR,   0x61, ERR, IBV_EVENT_QP_REQ_ERR, "the peer's message is longer than the posted receive") \
V(RX_DISABLED,   GENERAL_ERR,       LOC_ACCESS_ERR,0x61, ERR, IBV_EVENT_QP_REQ_ERR, "this QP's access flags do not allow the peer's operation") \
V(RX_RD_DEPTH,   GENERAL_ERR,       LOC_QP_OP_ERR, 0x61, ERR, IBV_EVENT_QP_REQ_ERR, "the peer has more reads and atomics in flight than max_dest_rd_atomic") \
V(RX_ALIGN,      GENERAL_ERR,       LOC_QP_OP_ERR, 0x61, ERR, IBV_EVENT_QP_REQ_ERR, "the target address of an atomic is not a multiple of 8") \
V(RX_SRQN,       GENERAL_ERR,       LOC_QP_OP_ERR, 0x61, ERR, IBV_EVENT_QP_REQ_ERR, "the peer named no shared receive queue of this XRC domain") \
V(RX_KEY,        GENERAL_ERR,       LOC_ACCESS_ERR,0x62, ERR, IBV_EVENT_QP_ACCESS_ERR, "the peer's rkey names no memory here") \
V(RX_PD,         GENERAL_ERR,       LOC_ACCESS_ERR,0x62, ERR, IBV_EVENT_QP_ACCESS_ERR, "the peer's rkey belongs to another protection domain or QP") \
V(RX_RIGHTS,     GENERAL_ERR,       LOC_ACCESS_ERR,0x62, ERR, IBV_EVENT_QP_ACCESS_ERR, "the memory behind the peer's rkey lacks the right asked for") \
V(RX_BOUNDS,     GENERAL_ERR,       LOC_ACCESS_ERR,0x62, ERR, IBV_EVENT_QP_ACCESS_ERR, "the peer's access reaches outside the memory behind its rkey") \
V(RX_FAULT,      GENERAL_ERR,       LOC_ACCESS_ERR,0x62, ERR, IBV_EVENT_QP_ACCESS_ERR, "the pages behind the peer's rkey are gone or read-only") \
V(RX_INVALIDATE, GENERAL_ERR,       LOC_ACCESS_ERR,0x62, ERR, IBV_EVENT_QP_ACCESS_ERR, "the peer may not invalidate this key") \
V(RX_CQ_FULL,    GENERAL_ERR,       GENERAL_ERR,   0x63, ERR, IBV_EVENT_QP_FATAL, "the completion queue overran") \
V(TX_CQ_FULL,    GENERAL_ERR,       GENERAL_ERR,   0,    ERR, IBV_EVENT_QP_FATAL, "the completion queue of sends overran") \
V(NO_MEMORY,     GENERAL_ERR,       GENERAL_ERR,   0x63, ERR, IBV_EVENT_QP_FATAL, "the adapter ran out of memory") \
V(LINK_DOWN,     RETRY_EXC_ERR,     GENERAL_ERR,   0,    ERR, ENG_NO_EVENT, "the packet could not be sent on this interface") \
V(FLUSH,         WR_FLUSH_ERR,      WR_FLUSH_ERR,  0,    ERR, ENG_NO_EVENT, "the request was still queued when its QP stopped working")

enum eng_verdict {
	ENG_OK = 0,
#define V(name, ...) ENG_V_##name,
	ENG_VERDICTS(V)
#undef V
	ENG_V_COUNT
};

struct eng_verdict_row {
	const char *name;
	enum ibv_wc_status send, recv;
	uint8_t nak;
	enum ibv_qp_state next;
	int event;
	const char *sentence;
};

extern const struct eng_verdict_row eng_verdicts[ENG_V_COUNT];

#endif

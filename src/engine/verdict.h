/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Verdicts: what a peer or the application did wrong. A check returns one (0: nothing); the place of a
 * protocol that sends and completes reads the consequences from its row. vendor_err of a completion is the
 * number of the verdict, so it is never 0 on an error and names the row.
 *
 * Columns:
 *   send     status of the send completion at the end that notices or is told
 *   recv     status of the receive completion at a responder that had taken one
 *   nak      AETH syndrome a responder answers with (IBTA 9.7.5.2.8), 0 = none
 *   term     RDMAP Terminate, layer << 12 | type << 8 | code, with which a sink of
 *            Sends and Writes answers (RFC 5040 4.8, RFC 5041 8, RFC 5044 8)
 *   term_rd  the same when a Read or Atomic Request is at fault; -1 = none is sent
 *   next     QP state afterwards at the end that notices (SQE only for UC/UD)
 *   event    asynchronous event when no receive completion can carry the news;
 *            -1 = none
 *   stream   asynchronous event on a stream transport, where the connection is
 *            gone with every verdict
 *   sentence object and cause, for dapple why; the columns before it are the consequence
 *   remedy   what a user or programmer can do about it
 */
#ifndef ENGINE_VERDICT_H
#define ENGINE_VERDICT_H

#include <infiniband/verbs.h>
#include <stdint.h>

#define ENG_NO_EVENT (-1)
#define ENG_NO_TERM (-1)
#define ENG_TERM(layer, type, code) ((layer) << 12 | (type) << 8 | (code))

/* Words of the columns. */
#define ENG_FATAL IBV_EVENT_QP_FATAL
#define ENG_ACCESS IBV_EVENT_QP_ACCESS_ERR
#define ENG_REQ IBV_EVENT_QP_REQ_ERR

/* name, send, recv, nak, term, term_rd, next, event, stream, sentence, remedy */
#define ENG_VERDICTS(V) \
V(LOC_LEN,          LOC_LEN_ERR,       LOC_LEN_ERR,    0,    0x0000,      0x0000,      ERR, ENG_NO_EVENT, ENG_FATAL, "the message is longer than this QP may send", "send at most max_msg_sz bytes of the port, on UD its active_mtu") \
V(LOC_KEY,          LOC_PROT_ERR,      LOC_PROT_ERR,   0x63, 0x0000,      0x0000,      ERR, ENG_NO_EVENT, ENG_FATAL, "a local key names no memory region", "use the lkey of a registered region of this device") \
V(LOC_PD,           LOC_PROT_ERR,      LOC_PROT_ERR,   0x63, 0x0000,      0x0000,      ERR, ENG_NO_EVENT, ENG_FATAL, "a local key belongs to another protection domain", "register the buffer in the PD of the QP") \
V(LOC_RIGHTS,       LOC_PROT_ERR,      LOC_PROT_ERR,   0x63, 0x0000,      0x0000,      ERR, ENG_NO_EVENT, ENG_FATAL, "the local region lacks IBV_ACCESS_LOCAL_WRITE", "register it with that flag") \
V(LOC_BOUNDS,       LOC_PROT_ERR,      LOC_PROT_ERR,   0x63, 0x0000,      0x0000,      ERR, ENG_NO_EVENT, ENG_FATAL, "a local buffer reaches outside its memory region", "register all of it, or correct address and length") \
V(LOC_FAULT,        LOC_PROT_ERR,      LOC_PROT_ERR,   0x63, 0x0000,      0x0000,      ERR, ENG_NO_EVENT, ENG_FATAL, "the pages of a local buffer are gone or read-only", "deregister before munmap() or mprotect()") \
V(LOC_OPCODE,       LOC_QP_OP_ERR,     LOC_QP_OP_ERR,  0,    0x0000,      0x0000,      ERR, ENG_NO_EVENT, ENG_FATAL, "the work request does not fit this QP type", "see ibv_post_send(3) for the operations of each type") \
V(LOC_AH_PD,        LOC_QP_OP_ERR,     LOC_QP_OP_ERR,  0,    0x0000,      0x0000,      ERR, ENG_NO_EVENT, ENG_FATAL, "the address handle belongs to another protection domain", "create it in the PD of the QP") \
V(LOC_ROUTE,        LOC_QP_OP_ERR,     LOC_QP_OP_ERR,  0,    0x0000,      0x0000,      ERR, ENG_NO_EVENT, ENG_FATAL, "the source GID is no longer an address of this host", "choose a sgid_index from the GID table as it is now") \
V(MW_BIND,          MW_BIND_ERR,       MW_BIND_ERR,    0,    0x0000,      0x0000,      ERR, ENG_NO_EVENT, ENG_NO_EVENT, "the memory window cannot be bound or invalidated with these arguments", "check type, PD, rights and range of the window") \
V(REM_INV_REQ,      REM_INV_REQ_ERR,   LOC_QP_OP_ERR,  0,    ENG_NO_TERM, ENG_NO_TERM, ERR, ENG_NO_EVENT, ENG_NO_EVENT, "the peer answered: invalid request", "run dapple why at the peer, which knows the rule") \
V(REM_ACCESS,       REM_ACCESS_ERR,    LOC_QP_OP_ERR,  0,    ENG_NO_TERM, ENG_NO_TERM, ERR, ENG_NO_EVENT, ENG_NO_EVENT, "the peer answered: remote access error", "check rkey, address, length and rights of its region") \
V(REM_OP,           REM_OP_ERR,        LOC_QP_OP_ERR,  0,    ENG_NO_TERM, ENG_NO_TERM, ERR, ENG_NO_EVENT, ENG_NO_EVENT, "the peer answered: remote operational error", "run dapple why at the peer, which knows the cause") \
V(RETRY_EXC,        RETRY_EXC_ERR,     GENERAL_ERR,    0,    ENG_NO_TERM, ENG_NO_TERM, ERR, ENG_NO_EVENT, ENG_FATAL, "the peer did not answer within the timeout and all retries", "check that its process runs and that packets reach it") \
V(RNR_EXC,          RNR_RETRY_EXC_ERR, GENERAL_ERR,    0,    ENG_NO_TERM, ENG_NO_TERM, ERR, ENG_NO_EVENT, ENG_FATAL, "the peer had no receive posted within all RNR retries", "post receives earlier, or set rnr_retry to 7") \
V(BAD_RESP,         BAD_RESP_ERR,      GENERAL_ERR,    0,    0x02ff,      0x02ff,      ERR, ENG_NO_EVENT, ENG_FATAL, "the peer answered with a packet that fits no request", "capture the traffic, and check the peer") \
V(UNREACHABLE,      RETRY_EXC_ERR,     GENERAL_ERR,    0,    ENG_NO_TERM, ENG_NO_TERM, ERR, ENG_NO_EVENT, ENG_FATAL, "the peer's address is not used by an RDMA process any more", "start the peer process again") \
V(RX_SEQUENCE,      GENERAL_ERR,       LOC_QP_OP_ERR,  0x61, 0x02ff,      0x02ff,      ERR, ENG_REQ,      ENG_FATAL, "the peer's packets are out of order within a message", "capture the traffic, and check the peer") \
V(RX_LENGTH,        GENERAL_ERR,       LOC_LEN_ERR,    0x61, 0x02ff,      0x02ff,      ERR, ENG_REQ,      ENG_FATAL, "a packet's payload does not fit its opcode and the path MTU", "set one path MTU at both ends") \
V(RX_TOO_LONG,      GENERAL_ERR,       LOC_LEN_ERR,    0x61, 0x1205,      0x1205,      ERR, ENG_REQ,      ENG_FATAL, "the peer's message is longer than the posted receive", "post longer receives, or send less") \
V(RX_DISABLED,      GENERAL_ERR,       LOC_ACCESS_ERR, 0x61, 0x1100,      0x0102,      ERR, ENG_REQ,      ENG_ACCESS, "this QP's access flags do not allow the peer's operation", "set qp_access_flags for it") \
V(RX_RD_DEPTH,      GENERAL_ERR,       LOC_QP_OP_ERR,  0x61, 0x0207,      0x0207,      ERR, ENG_REQ,      ENG_FATAL, "the peer has more Reads and atomics in flight than max_dest_rd_atomic", "lower its max_rd_atomic") \
V(RX_ALIGN,         GENERAL_ERR,       LOC_QP_OP_ERR,  0x61, 0x0207,      0x0207,      ERR, ENG_REQ,      ENG_REQ, "the target address of an atomic is not a multiple of 8", "align it at the peer") \
V(RX_SRQN,          GENERAL_ERR,       LOC_QP_OP_ERR,  0x61, ENG_NO_TERM, ENG_NO_TERM, ERR, ENG_REQ,      ENG_FATAL, "the peer named no shared receive queue of this XRC domain", "use the number of ibv_get_srq_num()") \
V(RX_KEY,           GENERAL_ERR,       LOC_ACCESS_ERR, 0x62, 0x1100,      0x0100,      ERR, ENG_ACCESS,   ENG_ACCESS, "the peer's rkey names no memory here", "send the rkey of a region that is still registered") \
V(RX_PD,            GENERAL_ERR,       LOC_ACCESS_ERR, 0x62, 0x1102,      0x0103,      ERR, ENG_ACCESS,   ENG_ACCESS, "the peer's rkey belongs to another protection domain or QP", "register the region in the PD of this QP") \
V(RX_RIGHTS,        GENERAL_ERR,       LOC_ACCESS_ERR, 0x62, 0x1100,      0x0102,      ERR, ENG_ACCESS,   ENG_ACCESS, "the memory of the peer's rkey lacks the right for the operation", "register it with the IBV_ACCESS_REMOTE_ flag") \
V(RX_BOUNDS,        GENERAL_ERR,       LOC_ACCESS_ERR, 0x62, 0x1101,      0x0101,      ERR, ENG_ACCESS,   ENG_ACCESS, "the peer's access reaches outside the memory of its rkey", "correct its address and length, or register more") \
V(RX_FAULT,         GENERAL_ERR,       LOC_ACCESS_ERR, 0x62, 0x1100,      0x0100,      ERR, ENG_ACCESS,   ENG_ACCESS, "the pages of the peer's rkey are gone or read-only", "deregister before munmap() or mprotect()") \
V(RX_INVALIDATE,    GENERAL_ERR,       LOC_ACCESS_ERR, 0x62, 0x0109,      0x0109,      ERR, ENG_ACCESS,   ENG_ACCESS, "the peer may not invalidate this key", "let it invalidate only windows of type 2 of this QP") \
V(RX_CQ_FULL,       GENERAL_ERR,       GENERAL_ERR,    0x63, 0x0208,      0x0208,      ERR, ENG_FATAL,    ENG_FATAL, "the completion queue overran", "create it with more entries, or poll it more often") \
V(TX_CQ_FULL,       GENERAL_ERR,       GENERAL_ERR,    0,    0x0000,      0x0000,      ERR, ENG_FATAL,    ENG_FATAL, "the completion queue of sends overran", "create it with more entries, or poll it more often") \
V(NO_MEMORY,        GENERAL_ERR,       GENERAL_ERR,    0x63, 0x0208,      0x0208,      ERR, ENG_FATAL,    ENG_FATAL, "the adapter ran out of memory", "raise the limits on memory of this process") \
V(LINK_DOWN,        RETRY_EXC_ERR,     GENERAL_ERR,    0,    ENG_NO_TERM, ENG_NO_TERM, ERR, ENG_NO_EVENT, ENG_FATAL, "the packet could not be sent on this interface", "check the interface and its routes with ip route") \
V(RX_WRAP,          GENERAL_ERR,       LOC_ACCESS_ERR, 0,     0x1103,       0x0104,       ERR, ENG_NO_EVENT, ENG_ACCESS,    "address and length of the peer's access wrap around", "correct them at the peer") \
V(RX_NO_BUFFER,     GENERAL_ERR,       WR_FLUSH_ERR,   0,     0x1202,       0x1202,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer sent a message for which no receive was posted", "post receives before the peer sends") \
V(RX_QN,            GENERAL_ERR,       WR_FLUSH_ERR,   0,     0x1201,       0x1201,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer named a DDP queue that does not exist, or is not for this message", "update the iWARP driver or library of the peer") \
V(RX_MSN,           GENERAL_ERR,       WR_FLUSH_ERR,   0,     0x1203,       0x1203,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer's message number is not the next one", "update the iWARP driver or library of the peer") \
V(RX_MO,            GENERAL_ERR,       WR_FLUSH_ERR,   0,     0x1204,       0x1204,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer's message offset is not the next one of its message", "update the iWARP driver or library of the peer") \
V(RX_MSG_LONG,      GENERAL_ERR,       WR_FLUSH_ERR,   0,     0x1205,       0x1205,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer's message is longer than its kind allows", "update the iWARP driver or library of the peer") \
V(RX_MSG_SHORT,     GENERAL_ERR,       WR_FLUSH_ERR,   0,     0x02ff,       0x02ff,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer's message is shorter than its kind requires", "update the iWARP driver or library of the peer") \
V(RX_TAGGED_DV,     GENERAL_ERR,       WR_FLUSH_ERR,   0,     0x1104,       0x1104,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer uses another DDP version", "use version 1 at the peer") \
V(RX_UNTAGGED_DV,   GENERAL_ERR,       WR_FLUSH_ERR,   0,     0x1206,       0x1206,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer uses another DDP version in untagged messages", "use version 1 at the peer") \
V(RX_RDMAP_VERSION, GENERAL_ERR,       WR_FLUSH_ERR,   0,     0x0205,       0x0205,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer uses another RDMAP version", "use version 1 at the peer") \
V(RX_OPCODE,        GENERAL_ERR,       WR_FLUSH_ERR,   0,     0x0206,       0x0206,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer sent a message of unknown kind", "update the iWARP driver or library of the peer") \
V(RX_CRC,           GENERAL_ERR,       WR_FLUSH_ERR,   0,     0x2002,       0x2002,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the stream is damaged: wrong CRC32C", "turn off offloads at both ends (ethtool -K), then try another card or path") \
V(RX_MARKER,        GENERAL_ERR,       WR_FLUSH_ERR,   0,     0x2003,       0x2003,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the stream is damaged: a marker does not point to its FPDU", "set DAPPLE_MPA=nomarkers at both ends") \
V(RX_FPDU,          GENERAL_ERR,       WR_FLUSH_ERR,   0,     0x2003,       0x2003,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer's FPDU has an impossible length", "update the iWARP driver or library of the peer") \
V(RX_INV_STAG,      GENERAL_ERR,       REM_INV_REQ_ERR,0,     0x0109,       0x0109,       ERR, ENG_NO_EVENT, ENG_ACCESS,    "the peer may not invalidate this key on this connection", "let it invalidate only windows of type 2 of this QP") \
V(RESP_STAG,        BAD_RESP_ERR,      WR_FLUSH_ERR,   0,     0x1100,       0x1100,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer answered a Read that was not requested", "update the iWARP driver or library of the peer") \
V(RESP_BOUNDS,      BAD_RESP_ERR,      WR_FLUSH_ERR,   0,     0x1101,       0x1101,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer's answer to a Read has another address or length", "update the iWARP driver or library of the peer") \
V(RESP_ATOMIC,      BAD_RESP_ERR,      WR_FLUSH_ERR,   0,     0x02ff,       0x02ff,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer answered an atomic that was not requested", "update the iWARP driver or library of the peer") \
V(TERMINATED,       WR_FLUSH_ERR,      WR_FLUSH_ERR,   0,     ENG_NO_TERM,  ENG_NO_TERM,  ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer ended the stream with a Terminate message", "run dapple why at the peer, which knows the cause") \
V(STREAM_END,       WR_FLUSH_ERR,      WR_FLUSH_ERR,   0,     ENG_NO_TERM,  ENG_NO_TERM,  ERR, ENG_NO_EVENT, ENG_NO_EVENT,  "the peer closed the stream", "look at the peer, if the program did not expect it") \
V(STREAM_LOST,      WR_FLUSH_ERR,      WR_FLUSH_ERR,   0,     ENG_NO_TERM,  ENG_NO_TERM,  ERR, ENG_NO_EVENT, ENG_NO_EVENT,  "the stream was reset or lost", "check whether the peer process still runs") \
V(STREAM_CLOSED,    WR_FLUSH_ERR,      WR_FLUSH_ERR,   0,     ENG_NO_TERM,  ENG_NO_TERM,  ERR, ENG_NO_EVENT, ENG_NO_EVENT,  "the stream was closed by this end", "none is needed if the program disconnected") \
V(MPA_LOCAL,        WR_FLUSH_ERR,      WR_FLUSH_ERR,   0,     0x2005,       0x2005,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the connection could not be set up by this end", "look for the sentence before this one") \
V(MPA_IRD,          WR_FLUSH_ERR,      WR_FLUSH_ERR,   0,     0x2006,       0x2006,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer serves too few Reads at a time", "lower initiator_depth, or raise its responder_resources") \
V(MPA_RTR,          WR_FLUSH_ERR,      WR_FLUSH_ERR,   0,     0x2007,       0x2007,       ERR, ENG_NO_EVENT, ENG_FATAL,     "the peer has no ready-to-receive message in common with this end", "set DAPPLE_MPA=nortr") \
V(FLUSH,            WR_FLUSH_ERR,      WR_FLUSH_ERR,   0,    ENG_NO_TERM, ENG_NO_TERM, ERR, ENG_NO_EVENT, ENG_NO_EVENT, "the request was still queued when its QP stopped", "see the first error of that QP") \
V(RX_HOME,         GENERAL_ERR,       LOC_QP_OP_ERR,  0x63, ENG_NO_TERM, ENG_NO_TERM, ERR, ENG_FATAL,    ENG_FATAL, "the process of the shared receive queue is gone", "start it again, and connect again") \
V(RULE_REQUEST,    GENERAL_ERR,       LOC_QP_OP_ERR,  0x61, 0x02ff,      0x02ff,      ERR, ENG_REQ,      ENG_FATAL, "a rule of dapple fault refuses the peer's request as invalid", "take the rule away, or let the program bear it") \
V(RULE_ACCESS,     GENERAL_ERR,       LOC_ACCESS_ERR, 0x62, 0x1100,      0x0100,      ERR, ENG_ACCESS,   ENG_ACCESS, "a rule of dapple fault refuses the peer's access", "take the rule away, or let the program bear it") \
V(RULE_OPERATION,  GENERAL_ERR,       GENERAL_ERR,    0x63, 0x0208,      0x0208,      ERR, ENG_FATAL,    ENG_FATAL, "a rule of dapple fault refuses the peer's operation", "take the rule away, or let the program bear it")

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
	int term, term_rd;
	enum ibv_qp_state next;
	int event, stream;
	const char *sentence, *remedy;
};

extern const struct eng_verdict_row eng_verdicts[ENG_V_COUNT];

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls that the engine or a transport refuses, each with its errno and its sentence (util/refuse.h). Checks return
 * the row; the function that a program called returns eng_refuse() of it. packaging/checks/refusals finds an errno
 * that leaves these rooms without a row.
 */
#ifndef ENGINE_REFUSE_H
#define ENGINE_REFUSE_H

#include <errno.h>
#include <stdint.h>

struct eng_dev;
struct eng_qp;

/* name, errno, object, cause, remedy */
#define ENG_REFUSALS(R) \
R(QP_MASK,       EOPNOTSUPP, "modify_qp", "the mask has an attribute that this adapter lacks", "leave out the attributes beyond IBV_QP_DEST_QPN") \
R(QP_STATE,      EINVAL,     "modify_qp", "no transition leads from the present state to that one", "go by RESET, INIT, RTR and RTS in this order; over iWARP rdma_cm moves the QP") \
R(QP_CURRENT,    EINVAL,     "modify_qp", "cur_qp_state is not the present state", "pass the state that ibv_query_qp() reports") \
R(QP_MISSING,    EINVAL,     "modify_qp", "the mask lacks an attribute that this transition requires", "see the table of ibv_modify_qp(3) for the QP type") \
R(QP_FOREIGN,    EINVAL,     "modify_qp", "the mask has an attribute that this transition does not take", "see the table of ibv_modify_qp(3) for the QP type") \
R(QP_DRAINING,   EINVAL,     "modify_qp", "the send queue is still draining", "wait for IBV_EVENT_SQ_DRAINED") \
R(QP_PORT,       EINVAL,     "modify_qp", "the port number is not that of this adapter", "use port 1") \
R(QP_PKEY,       EINVAL,     "modify_qp", "pkey_index is beyond the P_Key table", "use index 0") \
R(QP_ALT,        EINVAL,     "modify_qp", "an alternate path exists on InfiniBand links only", "leave out IBV_QP_ALT_PATH") \
R(QP_MTU,        EINVAL,     "modify_qp", "path_mtu is no MTU, or more than the port carries", "use the port's active_mtu or less") \
R(QP_DEST,       EINVAL,     "modify_qp", "dest_qp_num has more than 24 bits", "pass the qp_num of the peer in host byte order") \
R(QP_TIMERS,     EINVAL,     "modify_qp", "a timer or a retry count is out of range", "use min_rnr_timer and timeout up to 31, retry_cnt and rnr_retry up to 7") \
R(QP_RD_ATOMIC,  EINVAL,     "modify_qp", "max_rd_atomic or max_dest_rd_atomic is more than this adapter has", "use at most max_qp_init_rd_atom and max_qp_rd_atom of ibv_query_device()") \
R(QP_MIGRATION,  EINVAL,     "modify_qp", "path_mig_state does not fit this transition", "leave out IBV_QP_PATH_MIG_STATE") \
R(QP_GSI_KEY,    EINVAL,     "modify_qp", "the Q_Key of QP1 is fixed", "use 0x80010000") \
R(QP_QKEY,       EPERM,      "modify_qp", "a Q_Key with the highest bit belongs to privileged programs", "use a Q_Key below 0x80000000") \
R(NO_GRH,        EINVAL,     "RTR", "no GRH", "pass a GID index (-g 0) and set is_global, or use DAPPLE_NO_GRH=self on the adapter of lo") \
R(QP_SGID,       EINVAL,     "RTR", "sgid_index names no GID of this adapter", "choose an index that dapple devices prints") \
R(QP_FAMILY,     EINVAL,     "RTR", "source and destination GID are not of one address family", "choose the GID index of the peer's family (dapple devices)") \
R(QP_LID,        EINVAL,     "RTR", "the path has no LID that this link takes", "use the lid of the peer's ibv_port_attr") \
R(QP_TYPE,       EINVAL,     "create_qp", "qp_type is no type of verbs", "use one of enum ibv_qp_type") \
R(QP_TYPE_LACKS, EOPNOTSUPP, "create_qp", "this transport lacks the QP type", "use RC, or an adapter of RoCE for UC, UD and XRC") \
R(QP_OBJECTS,    EINVAL,     "create_qp", "PD, CQ, SRQ or XRC domain is missing or belongs to another device", "create them with the context of the QP") \
R(QP_CAPS,       EINVAL,     "create_qp", "a queue, a gather list or the inline data is larger than this adapter has", "stay within max_qp_wr and max_sge of ibv_query_device() and dapple's limits (docs/limits.md)") \
R(QP_LIMIT,      ENOMEM,     "create_qp", "the adapter has max_qp queue pairs already", "destroy queue pairs that are not used") \
R(QP_GSI_TAKEN,  EBUSY,      "create_qp", "QP1 is in use", "close the program that has it") \
R(QP_GROUPS,     EBUSY,      "destroy_qp", "the QP is a member of multicast groups", "call ibv_detach_mcast() first") \
R(CQ_SIZE,       EINVAL,     "create_cq", "the number of entries is 0 or more than max_cqe", "use 1 to max_cqe of ibv_query_device()") \
R(CQ_LIMIT,      ENOMEM,     "create_cq", "the adapter has max_cq completion queues already", "destroy completion queues that are not used") \
R(CQ_USED,       EBUSY,      "destroy_cq", "a QP or SRQ uses the CQ", "destroy these first") \
R(CQ_RESIZE,     EINVAL,     "resize_cq", "the number of entries is 0 or more than max_cqe", "use 1 to max_cqe of ibv_query_device()") \
R(CQ_FULL,       EINVAL,     "resize_cq", "more completions are unread than the new size holds", "poll them first") \
R(SRQ_OBJECTS,   EINVAL,     "create_srq", "PD, CQ or XRC domain is missing or belongs to another device", "create them with the context of the SRQ") \
R(SRQ_SIZE,      EINVAL,     "create_srq", "max_wr or max_sge is out of range", "use 1 to max_srq_wr, and at most max_srq_sge of ibv_query_device()") \
R(SRQ_LIMIT,     ENOMEM,     "create_srq", "the adapter has max_srq shared receive queues already", "destroy those that are not used") \
R(SRQ_USED,      EBUSY,      "destroy_srq", "a QP uses the SRQ", "destroy the QP first") \
R(SRQ_MASK,      EINVAL,     "modify_srq", "the mask has an unknown attribute", "use IBV_SRQ_MAX_WR and IBV_SRQ_LIMIT") \
R(SRQ_VALUES,    EINVAL,     "modify_srq", "max_wr or srq_limit is out of range", "keep srq_limit within max_wr, max_wr within max_srq_wr and above the receives that wait") \
R(MR_ACCESS,     EINVAL,     "reg_mr", "the access flags contradict each other or are unknown", "add IBV_ACCESS_LOCAL_WRITE to remote writes and atomics") \
R(MR_RANGE,      EINVAL,     "reg_mr", "the range wraps around or is longer than max_mr_size", "correct address and length") \
R(MR_PAGES,      EINVAL,     "reg_mr", "the list of pages does not cover the range", "correct page size, offset and length") \
R(MR_LIMIT,      ENOMEM,     "reg_mr", "the adapter has max_mr memory regions already", "deregister regions that are not used") \
R(MR_WINDOWS,    EBUSY,      "dereg_mr", "memory windows are bound to the region", "unbind or free the windows first") \
R(MR_REREG,      EINVAL,     "rereg_mr", "flags, PD, access or range do not fit", "see ibv_rereg_mr(3) for the arguments of each flag") \
R(MR_REREG_HOW,  EOPNOTSUPP, "rereg_mr", "the flag is unknown, or the region's memory is not the program's", "deregister it and register anew") \
R(MR_REREG_USED, EBUSY,      "rereg_mr", "memory windows are bound to the region", "unbind or free the windows first") \
R(PD_LIMIT,      ENOMEM,     "alloc_pd", "the adapter has max_pd protection domains already", "deallocate those that are not used") \
R(PD_USED,       EBUSY,      "dealloc_pd", "objects of this PD exist", "destroy its QPs, regions and address handles first") \
R(MW_TYPE,       EINVAL,     "alloc_mw", "the type is no type of windows", "use IBV_MW_TYPE_1 or IBV_MW_TYPE_2") \
R(MW_LIMIT,      ENOMEM,     "alloc_mw", "the adapter has max_mw memory windows already", "deallocate those that are not used") \
R(AH_PORT,       EINVAL,     "create_ah", "the port number is not that of this adapter", "use port 1") \
R(AH_NO_GRH,     EINVAL,     "create_ah", "no GRH", "pass a GID index (-g 0) and set is_global, or use DAPPLE_NO_GRH=self on the adapter of lo") \
R(AH_LACKS,      EOPNOTSUPP, "create_ah", "iWARP has no datagrams", "use an adapter of RoCE") \
R(AH_SGID,       EINVAL,     "create_ah", "sgid_index and the GIDs do not name a path", "choose an index that dapple devices prints, of the peer's address family") \
R(AH_EMPTY,      ENODATA,    "create_ah", "sgid_index is an empty entry of the GID table", "choose an index that dapple devices prints") \
R(AH_LIMIT,      ENOMEM,     "create_ah", "the adapter has max_ah address handles already", "destroy those that are not used") \
R(XRC_LACKS,     EOPNOTSUPP, "open_xrcd", "iWARP has no XRC", "use an adapter of RoCE") \
R(XRC_FLAGS,     EINVAL,     "open_xrcd", "oflags are unknown, or O_EXCL names a domain that exists", "use O_CREAT alone, or another file") \
R(XRC_ABSENT,    EAGAIN,     "open_xrcd", "no domain of this file exists", "add O_CREAT to oflags") \
R(XRC_USED,      EBUSY,      "close_xrcd", "a QP or SRQ uses the domain", "destroy these first") \
R(SEND_STATE,    EINVAL,     "post_send", "the QP is not in RTS", "move it to RTS first, or wait for RDMA_CM_EVENT_ESTABLISHED") \
R(SEND_TARGET,   EINVAL,     "post_send", "a target of XRC has no send queue", "post at the QP of type IBV_QPT_XRC_SEND") \
R(SEND_FULL,     ENOMEM,     "post_send", "the send queue is full", "poll completions (signal one of each max_send_wr), or create the QP with a larger max_send_wr") \
R(SEND_TYPE,     EINVAL,     "post_send", "the QP type lacks the opcode, or the flags are unknown", "see ibv_post_send(3) for the operations of each type") \
R(SEND_LACKS,    EINVAL,     "post_send", "the transport lacks the opcode", "over iWARP use IBV_WR_SEND or a Write without immediate data") \
R(SEND_SGES,     EINVAL,     "post_send", "the gather list is longer than max_send_sge", "create the QP with more max_send_sge") \
R(SEND_INLINE,   EINVAL,     "post_send", "the inline data is longer than max_inline_data, or the opcode takes none", "post without IBV_SEND_INLINE, or create the QP with more") \
R(SEND_ATOMIC,   EINVAL,     "post_send", "an atomic needs eight bytes of local memory", "pass one piece of 8 bytes") \
R(SEND_READS,    EINVAL,     "post_send", "max_rd_atomic of the QP is 0", "set max_rd_atomic in the step to RTS (initiator_depth of rdma_cm)") \
R(SEND_BIND,     EINVAL,     "post_send", "the window or the region of a bind is missing", "set bind_mw.mw and bind_info.mr") \
R(SEND_GSI,      EINVAL,     "post_send", "QP1 takes Sends only", "use IBV_WR_SEND") \
R(SEND_AH,       EINVAL,     "post_send", "the address handle is missing, or remote_qpn has more than 24 bits", "set wr.ud.ah and wr.ud.remote_qpn") \
R(SEND_SRQN,     EINVAL,     "post_send", "remote_srqn has more than 24 bits", "use the number of ibv_get_srq_num()") \
R(RECV_STATE,    EINVAL,     "post_recv", "the QP is in RESET", "move it to INIT first") \
R(RECV_NONE,     EINVAL,     "post_recv", "the QP has no receive queue of its own", "post to its SRQ") \
R(RECV_SGES,     EINVAL,     "post_recv", "the scatter list is longer than max_recv_sge", "create the QP with more max_recv_sge") \
R(RECV_FULL,     ENOMEM,     "post_recv", "the receive queue is full", "post after receives have completed, or create the QP with a larger max_recv_wr") \
R(SRQ_SGES,      EINVAL,     "post_srq_recv", "the scatter list is longer than max_sge", "create the SRQ with more max_sge") \
R(SRQ_FULL,      ENOMEM,     "post_srq_recv", "the SRQ is full", "post after receives have completed, or create the SRQ with a larger max_wr") \
R(MEMORY,        ENOMEM,     "creation", "the process has no memory left", "raise the limits on memory of this process (ulimit -v, cgroup)")

enum eng_refusal {
	ENG_ACCEPTED,
#define R(name, ...) ENG_R_##name,
	ENG_REFUSALS(R)
#undef R
	ENG_REFUSALS_N
};

/* Says the sentence of this row, once in a while if it repeats. Returns the row's errno, negative; 0 for
 * ENG_ACCEPTED. Called from any thread, with any lock held. */
int eng_refuse(struct eng_dev *dev, enum eng_refusal why);

/* The same for a call about a queue pair, which the sentence names. */
int eng_refuse_qp(const struct eng_qp *qp, enum eng_refusal why);

/* The same with the asked value and the limit that it exceeds. */
int eng_refuse_over(struct eng_dev *dev, enum eng_refusal why, uint64_t asked, uint64_t limit);

#endif

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

/* name, errno without its E, object, cause, remedy */
#define ENG_REFUSALS(R) \
R(QP_MASK,       OPNOTSUPP, "modify_qp", "the mask has an attribute that this adapter lacks", "leave out the attributes beyond IBV_QP_DEST_QPN") \
R(QP_STATE,      INVAL,     "modify_qp", "no transition leads from the present state to that one", "go by RESET, INIT, RTR and RTS in this order; over iWARP rdma_cm moves the QP") \
R(QP_CURRENT,    INVAL,     "modify_qp", "cur_qp_state is not the present state", "pass the state that ibv_query_qp() reports") \
R(QP_MISSING,    INVAL,     "modify_qp", "the mask lacks an attribute that this transition requires", "see the table of ibv_modify_qp(3) for the QP type") \
R(QP_FOREIGN,    INVAL,     "modify_qp", "the mask has an attribute that this transition does not take", "see the table of ibv_modify_qp(3) for the QP type") \
R(QP_DRAINING,   INVAL,     "modify_qp", "the send queue is still draining", "wait for IBV_EVENT_SQ_DRAINED") \
R(QP_PORT,       INVAL,     "modify_qp", "the port number is not that of this adapter", "use port 1") \
R(QP_PKEY,       INVAL,     "modify_qp", "pkey_index is beyond the P_Key table", "use index 0") \
R(QP_ALT,        INVAL,     "modify_qp", "an alternate path exists on InfiniBand links only", "leave out IBV_QP_ALT_PATH") \
R(QP_MTU,        INVAL,     "modify_qp", "path_mtu is no MTU, or more than the port carries", "use the port's active_mtu or less") \
R(QP_DEST,       INVAL,     "modify_qp", "dest_qp_num has more than 24 bits", "pass the qp_num of the peer in host byte order") \
R(QP_TIMERS,     INVAL,     "modify_qp", "a timer or a retry count is out of range", "use min_rnr_timer and timeout up to 31, retry_cnt and rnr_retry up to 7") \
R(QP_RD_ATOMIC,  INVAL,     "modify_qp", "max_rd_atomic or max_dest_rd_atomic is more than this adapter has", "use at most max_qp_init_rd_atom and max_qp_rd_atom of ibv_query_device()") \
R(QP_MIGRATION,  INVAL,     "modify_qp", "path_mig_state does not fit this transition", "leave out IBV_QP_PATH_MIG_STATE") \
R(QP_GSI_KEY,    INVAL,     "modify_qp", "the Q_Key of QP1 is fixed", "use 0x80010000") \
R(QP_QKEY,       PERM,      "modify_qp", "a Q_Key with the highest bit belongs to privileged programs", "use a Q_Key below 0x80000000") \
R(NO_GRH,        INVAL,     "modify_qp to RTR", "no GRH, which RoCE needs", "choose a GID index (-g 0 of many programs; is_global, sgid_index and dgid in source), or set DAPPLE_NO_GRH=self if both ends run on this host and its adapter of lo") \
R(QP_SGID,       INVAL,     "RTR", "sgid_index names no GID of this adapter", "choose an index that dapple devices prints") \
R(QP_FAMILY,     INVAL,     "RTR", "source and destination GID are not of one address family", "choose the GID index of the peer's family (dapple devices)") \
R(QP_LID,        INVAL,     "RTR", "the path has no LID that this link takes", "use the lid of the peer's ibv_port_attr") \
R(QP_TYPE,       INVAL,     "create_qp", "qp_type is no type of verbs", "use one of enum ibv_qp_type") \
R(QP_TYPE_LACKS, OPNOTSUPP, "create_qp", "this transport lacks the QP type", "use RC, or an adapter of RoCE for UC, UD and XRC") \
R(QP_OBJECTS,    INVAL,     "create_qp", "PD, CQ, SRQ or XRC domain is missing or belongs to another device", "create them with the context of the QP") \
R(QP_CAPS,       INVAL,     "create_qp", "a queue, a gather list or the inline data is larger than this adapter has", "stay within max_qp_wr and max_sge of ibv_query_device() and dapple's limits (docs/limits.md)") \
R(QP_INIT,       INVAL,     "create_qp", "comp_mask or create_flags has an unknown bit", "pass the fields that ibv_create_qp_ex(3) names") \
R(QP_INIT_LACKS, OPNOTSUPP, "create_qp", "the adapter lacks a field of comp_mask, a create flag or an operation of send_ops_flags", "leave it out; see ibv_create_qp_ex(3) for the operations of each type") \
R(QP_OPEN,       INVAL,     "open_qp", "number, XRC domain or type is missing", "set IBV_QP_OPEN_ATTR_NUM, XRCD and TYPE with IBV_QPT_XRC_RECV") \
R(QP_OPEN_LACKS, NOSYS,     "open_qp", "comp_mask has an unknown bit", "pass the fields that ibv_open_qp(3) names") \
R(QP_LIMIT,      NOMEM,     "create_qp", "the adapter has max_qp queue pairs already", "destroy queue pairs that are not used") \
R(QP_GSI_TAKEN,  BUSY,      "create_qp", "QP1 is in use", "close the program that has it") \
R(QP_GROUPS,     BUSY,      "destroy_qp", "the QP is a member of multicast groups", "call ibv_detach_mcast() first") \
R(CQ_SIZE,       INVAL,     "create_cq", "the number of entries is 0 or more than max_cqe", "use 1 to max_cqe of ibv_query_device()") \
R(CQ_VECTOR,     INVAL,     "create_cq", "comp_vector is not below num_comp_vectors", "use vector 0") \
R(CQ_LACKS,      OPNOTSUPP, "create_cq_ex", "the adapter lacks a field of comp_mask, wc_flags or flags", "leave it out; see ibv_create_cq_ex(3)") \
R(CQ_PARENT,     INVAL,     "create_cq_ex", "parent_domain is no parent domain", "create it by ibv_alloc_parent_domain()") \
R(CQ_MODIFY,     INVAL,     "modify_cq", "attr_mask is empty", "use IBV_CQ_ATTR_MODERATE") \
R(CQ_MODIFY_LACKS, OPNOTSUPP, "modify_cq", "attr_mask has an unknown bit", "use IBV_CQ_ATTR_MODERATE") \
R(CQ_LIMIT,      NOMEM,     "create_cq", "the adapter has max_cq completion queues already", "destroy completion queues that are not used") \
R(CQ_USED,       BUSY,      "destroy_cq", "a QP or SRQ uses the CQ", "destroy these first") \
R(CQ_RESIZE,     INVAL,     "resize_cq", "the number of entries is 0 or more than max_cqe", "use 1 to max_cqe of ibv_query_device()") \
R(CQ_FULL,       INVAL,     "resize_cq", "more completions are unread than the new size holds", "poll them first") \
R(SRQ_OBJECTS,   INVAL,     "create_srq", "PD, CQ or XRC domain is missing or belongs to another device", "create them with the context of the SRQ") \
R(SRQ_SIZE,      INVAL,     "create_srq", "max_wr or max_sge is out of range", "use 1 to max_srq_wr, and at most max_srq_sge of ibv_query_device()") \
R(SRQ_TYPE,      INVAL,     "create_srq", "the type is unknown, or a field of comp_mask that it needs is missing", "set IBV_SRQ_INIT_ATTR_PD, for XRC also XRCD and CQ") \
R(SRQ_LACKS,     OPNOTSUPP, "create_srq", "the adapter has no tag matching", "use IBV_SRQT_BASIC") \
R(SRQ_FIELDS,    NOSYS,     "create_srq", "comp_mask has an unknown bit", "pass the fields that ibv_create_srq_ex(3) names") \
R(SRQ_LIMIT,     NOMEM,     "create_srq", "the adapter has max_srq shared receive queues already", "destroy those that are not used") \
R(SRQ_USED,      BUSY,      "destroy_srq", "a QP uses the SRQ", "destroy the QP first") \
R(SRQ_MASK,      INVAL,     "modify_srq", "the mask has an unknown attribute", "use IBV_SRQ_MAX_WR and IBV_SRQ_LIMIT") \
R(SRQ_VALUES,    INVAL,     "modify_srq", "max_wr or srq_limit is out of range", "keep srq_limit within max_wr, max_wr within max_srq_wr and above the receives that wait") \
R(MR_ACCESS,     INVAL,     "reg_mr", "the access flags contradict each other or are unknown", "add IBV_ACCESS_LOCAL_WRITE to remote writes and atomics") \
R(MR_RANGE,      INVAL,     "reg_mr", "the range wraps around or is longer than max_mr_size", "correct address and length") \
R(MR_IMPLICIT,   INVAL,     "reg_mr", "the whole address space is registered on demand only", "add IBV_ACCESS_ON_DEMAND, or name a range") \
R(MR_PAGES,      INVAL,     "reg_mr", "the list of pages does not cover the range", "correct page size, offset and length") \
R(MR_LIMIT,      NOMEM,     "reg_mr", "the adapter has max_mr memory regions already", "deregister regions that are not used") \
R(MR_IMPORTED,   INVAL,     "dereg_mr", "the region was imported", "call ibv_unimport_mr()") \
R(MR_USED,       BUSY,      "dereg_mr", "another handle of the region is in use", "give back the imported handles first") \
R(MR_WINDOWS,    BUSY,      "dereg_mr", "memory windows are bound to the region", "unbind or free the windows first") \
R(MR_REREG,      INVAL,     "rereg_mr", "flags, PD, access or range do not fit", "see ibv_rereg_mr(3) for the arguments of each flag") \
R(MR_REREG_HOW,  OPNOTSUPP, "rereg_mr", "the flag is unknown, or the region's memory is not the program's", "deregister it and register anew") \
R(MR_REREG_USED, BUSY,      "rereg_mr", "memory windows are bound to the region", "unbind or free the windows first") \
R(PD_LIMIT,      NOMEM,     "alloc_pd", "the adapter has max_pd protection domains already", "deallocate those that are not used") \
R(PD_USED,       BUSY,      "dealloc_pd", "objects of this PD exist", "destroy its QPs, regions and address handles first") \
R(PD_IMPORTED,   INVAL,     "dealloc_pd", "the PD was imported", "call ibv_unimport_pd()") \
R(TD_FIELDS,     INVAL,     "alloc_td", "comp_mask is not 0", "clear the structure first") \
R(TD_USED,       BUSY,      "dealloc_td", "a parent domain uses the thread domain", "deallocate it first") \
R(PARENT,        INVAL,     "alloc_parent_domain", "the PD is missing or a parent domain itself, or comp_mask has an unknown bit", "pass a PD of ibv_alloc_pd() and a cleared structure") \
R(MW_TYPE,       INVAL,     "alloc_mw", "the type is no type of windows", "use IBV_MW_TYPE_1 or IBV_MW_TYPE_2") \
R(MW_LIMIT,      NOMEM,     "alloc_mw", "the adapter has max_mw memory windows already", "deallocate those that are not used") \
R(AH_PORT,       INVAL,     "create_ah", "the port number is not that of this adapter", "use port 1") \
R(AH_NO_GRH,     INVAL,     "create_ah", "no GRH, which RoCE needs", "choose a GID index (-g 0 of many programs; is_global, sgid_index and dgid in source), or set DAPPLE_NO_GRH=self if both ends run on this host and its adapter of lo") \
R(AH_LACKS,      OPNOTSUPP, "create_ah", "iWARP has no datagrams", "use an adapter of RoCE") \
R(AH_SGID,       INVAL,     "create_ah", "sgid_index and the GIDs do not name a path", "choose an index that dapple devices prints, of the peer's address family") \
R(AH_LID,        INVAL,     "create_ah", "the path has no LID that this link takes", "use the lid of the peer's ibv_port_attr") \
R(AH_EMPTY,      NODATA,    "create_ah", "sgid_index is an empty entry of the GID table", "choose an index that dapple devices prints") \
R(AH_LIMIT,      NOMEM,     "create_ah", "the adapter has max_ah address handles already", "destroy those that are not used") \
R(MCAST_STATE,   INVAL,     "attach_mcast", "the QP is in RESET", "move it to INIT first") \
R(MCAST_KIND,    INVAL,     "attach_mcast", "the QP is not UD, or the GID is no multicast address", "attach a UD QP to an address such as ff0e::ffff:e000:1") \
R(MCAST_LIMIT,   NOMEM,     "attach_mcast", "the adapter or the group has as many groups or members as it holds", "detach QPs that are not used") \
R(MCAST_DETACH,  INVAL,     "detach_mcast", "the QP is no member of the group", "pass the GID that it was attached with") \
R(CHAN_USED,     BUSY,      "destroy_comp_channel", "a CQ uses the channel", "destroy the CQ first") \
R(XRC_FIELDS,    NOSYS,     "open_xrcd", "comp_mask has an unknown bit", "pass the fields that ibv_open_xrcd(3) names") \
R(XRC_MISSING,   INVAL,     "open_xrcd", "fd or oflags is missing", "set IBV_XRCD_INIT_ATTR_FD and OFLAGS") \
R(QP_OPEN_NONE,  INVAL,     "open_qp", "the XRC domain has no target of that number", "pass the qp_num of a target of the same domain") \
R(QP_OPEN_AWAY,  OPNOTSUPP, "open_qp", "the target belongs to another process", "open it in the process that created it") \
R(BIND_PD,       PERM,      "bind_mw", "QP and window are not of one protection domain", "create both with one PD") \
R(BIND_ZERO,     INVAL,     "bind_mw", "a window of type 1 cannot be zero based", "leave out IBV_ACCESS_ZERO_BASED") \
R(SRQ_NUMBER,    OPNOTSUPP, "get_srq_num", "only an SRQ of XRC has a number", "create it with IBV_SRQT_XRC") \
R(WR_UNASKED,    OPNOTSUPP, "wr_complete", "the QP was not created for the operation", "name it in send_ops_flags of ibv_create_qp_ex()") \
R(XRC_LACKS,     OPNOTSUPP, "open_xrcd", "iWARP has no XRC", "use an adapter of RoCE") \
R(XRC_FLAGS,     INVAL,     "open_xrcd", "oflags are unknown, or O_EXCL names a domain that exists", "use O_CREAT alone, or another file") \
R(XRC_ABSENT,    AGAIN,     "open_xrcd", "no domain of this file exists", "add O_CREAT to oflags") \
R(XRC_USED,      BUSY,      "close_xrcd", "a QP or SRQ uses the domain", "destroy these first") \
R(SEND_STATE,    INVAL,     "post_send", "the QP is not in RTS", "move it to RTS first, or wait for RDMA_CM_EVENT_ESTABLISHED") \
R(SEND_TARGET,   INVAL,     "post_send", "a target of XRC has no send queue", "post at the QP of type IBV_QPT_XRC_SEND") \
R(SEND_FULL,     NOMEM,     "post_send", "the send queue is full", "poll completions (signal one of each max_send_wr), or create the QP with a larger max_send_wr") \
R(SEND_TYPE,     INVAL,     "post_send", "the QP type lacks the opcode, or the flags are unknown", "see ibv_post_send(3) for the operations of each type") \
R(SEND_LACKS,    INVAL,     "post_send", "the transport lacks the opcode", "over iWARP use IBV_WR_SEND or a Write without immediate data") \
R(SEND_SGES,     INVAL,     "post_send", "the gather list is longer than max_send_sge", "create the QP with more max_send_sge") \
R(SEND_INLINE,   INVAL,     "post_send", "the inline data is longer than max_inline_data, or the opcode takes none", "post without IBV_SEND_INLINE, or create the QP with more") \
R(SEND_ATOMIC,   INVAL,     "post_send", "an atomic needs eight bytes of local memory", "pass one piece of 8 bytes") \
R(SEND_READS,    INVAL,     "post_send", "max_rd_atomic of the QP is 0", "set max_rd_atomic in the step to RTS (initiator_depth of rdma_cm)") \
R(SEND_BIND,     INVAL,     "post_send", "the window or the region of a bind is missing", "set bind_mw.mw and bind_info.mr") \
R(SEND_GSI,      INVAL,     "post_send", "QP1 takes Sends only", "use IBV_WR_SEND") \
R(SEND_AH,       INVAL,     "post_send", "the address handle is missing, or remote_qpn has more than 24 bits", "set wr.ud.ah and wr.ud.remote_qpn") \
R(SEND_SRQN,     INVAL,     "post_send", "remote_srqn has more than 24 bits", "use the number of ibv_get_srq_num()") \
R(RECV_STATE,    INVAL,     "post_recv", "the QP is in RESET", "move it to INIT first") \
R(RECV_NONE,     INVAL,     "post_recv", "the QP has no receive queue of its own", "post to its SRQ") \
R(RECV_SGES,     INVAL,     "post_recv", "the scatter list is longer than max_recv_sge", "create the QP with more max_recv_sge") \
R(RECV_FULL,     NOMEM,     "post_recv", "the receive queue is full", "post after receives have completed, or create the QP with a larger max_recv_wr") \
R(SRQ_SGES,      INVAL,     "post_srq_recv", "the scatter list is longer than max_sge", "create the SRQ with more max_sge") \
R(SRQ_FULL,      NOMEM,     "post_srq_recv", "the SRQ is full", "post after receives have completed, or create the SRQ with a larger max_wr") \
R(CQ_POLL,       INVAL,     "start_poll", "comp_mask is not 0", "clear the structure first") \
R(MR_DMABUF,     OPNOTSUPP, "reg_dmabuf_mr", "a DMA buffer of another device is not memory that the processor reaches", "register memory of the process") \
R(MR_EX_LACKS,   OPNOTSUPP, "reg_mr_ex", "comp_mask names a DMA buffer, a DMA handle or an unknown field", "pass address, iova and buf only") \
R(MR_EX,         INVAL,     "reg_mr_ex", "the address is missing, or lies outside the buffer", "set VRB address in comp_mask, and a range of the buffer of this PD") \
R(MR_BUF,        INVAL,     "reg_buf_mr", "the range lies outside the buffer, or the buffer is of another PD", "pass addresses within what ibv_alloc_buf() returned") \
R(MR_REREG_ARGS, INVAL,     "rereg_mr", "no flag is given, an argument of a flag is missing, or the region is imported or of device memory", "pass what the flags name, or deregister it and register anew") \
R(BUF_SIZE,      INVAL,     "alloc_buf", "the size is 0 or too large", "ask for less") \
R(BUF_DMABUF,    NODATA,    "export_buf_dmabuf_fd", "no DMA buffer can be made of anonymous memory", "share memory by memfd_create() instead") \
R(DMAH,          OPNOTSUPP, "alloc_dmah", "this adapter has no place in the machine that a DMA handle could name", "leave the handle out") \
R(ADVISE,        INVAL,     "advise_mr", "flags are unknown, the list is empty, or an entry is outside its region", "pass ranges of registered regions") \
R(ADVISE_LACKS,  OPNOTSUPP, "advise_mr", "the advice is unknown", "use one of enum ibv_advise_mr_advice") \
R(DM_ARGS,       INVAL,     "alloc_dm", "length or alignment is out of range, or comp_mask is not 0", "ask for at most 64 MiB, aligned to a page at most") \
R(DM_COPY,       INVAL,     "memcpy_dm", "offset or length is outside the device memory or no multiple of 4", "copy whole words within it") \
R(DM_IMPORTED,   INVAL,     "free_dm", "the device memory was imported", "call ibv_unimport_dm()") \
R(DM_USED,       BUSY,      "free_dm", "a region or an imported handle uses the device memory", "deregister it first") \
R(DM_MR,         INVAL,     "reg_dm_mr", "IBV_ACCESS_ZERO_BASED is missing, or the range is outside the device memory", "add the flag, and stay within the length") \
R(DM_DMABUF,     OPNOTSUPP, "dm_export_dmabuf_fd", "device memory of this adapter is memory of the process", "register it by ibv_reg_dm_mr()") \
R(IMPORT,        INVAL,     "import", "no object has the handle, or it is of another adapter", "pass the handle of an object of the same device and process") \
R(COMP_CNTR,     OPNOTSUPP, "create_comp_cntr", "the adapter has no completion counters", "use a completion queue") \
R(QUERY_FIELDS,  INVAL,     "query_device_ex", "comp_mask of the input is not 0", "clear the structure first") \
R(QUERY_CLOCK,   INVAL,     "query_rt_values_ex", "comp_mask lacks IBV_VALUES_MASK_RAW_CLOCK", "set it") \
R(QUERY_PORT,    INVAL,     "query_port", "the port number is not that of this adapter", "use port 1") \
R(QUERY_GIDS,    OPNOTSUPP, "query_gid_ex or table", "flags are not 0", "pass 0") \
R(QUERY_ROOM,    INVAL,     "query_gid_table", "the table has more GIDs than the array", "pass gid_tbl_len entries") \
R(FORKED,        IO,        "a call of verbs", "a process before fork() opened the device", "open the device in the child") \
R(MEMORY,        NOMEM,     "creation", "the process has no memory left", "raise the limits on memory of this process (ulimit -v, cgroup)")

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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queue pairs: attributes, state machine, queues, and the common end of work
 * requests. The protocol's part lies behind struct eng_qp in the same piece of
 * memory (eng_qp_proto).
 *
 * Ends of life: close (state ERR or RESET: no new work), stop (destroy takes
 * the progress lock, after which no packet or timer reaches the QP), fini
 * (purge completions, free).
 */
#ifndef ENGINE_QP_H
#define ENGINE_QP_H

#include "engine/cq.h"
#include "engine/dev.h"
#include "engine/srq.h"
#include "engine/verdict.h"
#include "engine/wqe.h"

/* Queue pair 1 (IBTA 10.2.4.5): a datagram queue pair with this number, key and message size. */
#define ENG_GSI_QPN 1u
#define ENG_GSI_QKEY 0x80010000u
#define ENG_GSI_BYTES 256u

struct eng_qp {
	struct eng_dev *dev;
	struct eng_ctx *ctx;
	struct eng_pd *pd;       /* NULL for XRC_TGT */
	struct eng_cq *send_cq;  /* NULL for XRC_TGT */
	struct eng_cq *recv_cq;  /* NULL for XRC_* */
	struct eng_srq *srq;     /* or NULL */
	struct eng_xrcd *xrcd;   /* XRC_TGT */
	uint32_t qpn;
	enum ibv_qp_type type;
	struct ibv_qp_cap cap;
	bool sq_sig_all;
	bool block_mcast_loopback;
	bool gsi;                /* it is QP1; type is UD */
	void *user;
	uint64_t send_ops; /* enum ibv_qp_create_send_ops_flags, extended API */

	/* Written under dev->lock; posters read it without. */
	_Atomic uint8_t state; /* enum ibv_qp_state */

	/* dev->lock guards what follows. */
	struct ibv_qp_attr attr;
	bool sq_draining;     /* SQD entered, started messages not yet complete */
	bool sqd_notify;
	bool comm_est_raised, last_wqe_raised;
	unsigned mcast_groups; /* attachments */
	unsigned openers;      /* XRC_TGT handles */
	struct ut_list hearers; /* struct eng_qp_hearer */
	uint32_t bound_windows;
	struct ut_list mw;     /* struct eng_mkey: windows bound on this QP */
	uint8_t why_said;      /* verdict whose sentence is kept already */

	struct eng_ring sq;
	struct eng_ring rq; /* unused with an SRQ */

	/* The extended posting API's batch; sq.lock. */
	uint32_t wr_tail;
	int wr_error;

	struct ut_list pending; /* dev->pending; pending_lock */

	_Alignas(64) uint8_t proto[];
};

/* A further handle of an XRC target, which is told of its events as the first one is. The memory is
 * the shell's. */
struct eng_qp_hearer {
	struct ut_list node;
	struct eng_ctx *ctx;
	void *user;
};

#define eng_qp_proto(qp) ((void *)(qp)->proto)

struct eng_qp_spec {
	enum ibv_qp_type type;
	struct eng_pd *pd;
	struct eng_cq *send_cq, *recv_cq;
	struct eng_srq *srq;
	struct eng_xrcd *xrcd;
	struct ibv_qp_cap cap; /* updated with the real values */
	bool sq_sig_all, block_mcast_loopback;
	bool gsi; /* QP1 is wanted; type UD */
	uint64_t send_ops;
};

/* -EINVAL (limits, missing or foreign objects), -EOPNOTSUPP (type),
 * -EADDRINUSE (the adapter's port is somebody else's), -EBUSY (QP1 is), -ENOMEM. */
int eng_qp_create(struct eng_ctx *ctx, struct eng_qp_spec *spec, struct eng_qp **ret);
/* 0 or -EBUSY while attached to a multicast group. */
int eng_qp_destroy(struct eng_qp *qp);
/* A handle that events of this QP name is about to go, maybe before the QP: it is told of none from
 * here on. */
void eng_qp_disown(struct eng_qp *qp, const void *user);
/* One more handle on an XRC target, found by number in its domain. -EINVAL; -EOPNOTSUPP: the number
 * is one of another process, with which the domain is shared. */
int eng_qp_open(struct eng_xrcd *x, uint32_t qpn, struct eng_qp **ret);
/* That handle is ready to be named by events; until eng_qp_disown() of its `user`. */
void eng_qp_hear(struct eng_qp *qp, struct eng_qp_hearer *h);
/* A mask of 0 succeeds. CUR_STATE must tell the truth. RTS->SQD starts draining:
 * the protocol calls eng_qp_drained(), from qp_moved already when nothing runs.
 * All or nothing. -EINVAL, -EOPNOTSUPP, -EPERM; qp_moved of the protocol follows. */
int eng_qp_modify(struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask);
/* To ERR, by number: who asks may be late, and then there is nothing to do. */
int eng_qp_end(struct eng_dev *dev, uint32_t qpn);
int eng_qp_query(struct eng_qp *qp, struct ibv_qp_attr *attr, int mask);

static inline enum ibv_qp_state eng_qp_state(const struct eng_qp *qp)
{
	return (enum ibv_qp_state)atomic_load_explicit(&qp->state, memory_order_acquire);
}

/* --- for protocols; dev->lock held --- */

static inline struct eng_qp *eng_qp_find(struct eng_dev *dev, uint32_t qpn)
{
	eng_dev_held(dev);
	return ut_idtab_get(&dev->qps, qpn);
}

/*
 * Completes the oldest send entry: a CQE when it is signaled or the verdict is
 * not ENG_OK (status from the verdict row's `send`), then frees its slot.
 * byte_len and opcode come from the entry.
 */
void eng_send_done(struct eng_qp *qp, enum eng_verdict v);
/* The same with a plain status, for flushes. */
void eng_send_flush(struct eng_qp *qp);

/*
 * These four push completions. A CQ that overruns fails the QP (state ERR,
 * flushed in the next round of progress): look at the state after the call.
 *
 * A receive completion. e has what the message brought (opcode, byte_len, imm,
 * wc_flags, src_qp, solicited ...); wr_id, status and qpn are filled in here.
 * cq: recv_cq, or the XRC SRQ's.
 */
void eng_recv_done(struct eng_qp *qp, struct eng_cq *cq, uint64_t wr_id, struct eng_cqe *e);
/* Error completion of a taken receive, status from the verdict row's `recv`. */
void eng_recv_failed(struct eng_qp *qp, struct eng_cq *cq, uint64_t wr_id, enum eng_verdict v);
/* Takes the next receive entry of the QP or its SRQ into buf. False: none. */
bool eng_recv_take(struct eng_qp *qp, struct eng_rwqe *buf);

/*
 * The QP fails: state to the verdict row's `next` (SQE instead of ERR is the
 * caller's word for UC/UD), event if `raise`, sentence kept. Entries that are
 * still queued are NOT flushed here: the protocol completes the one in error
 * first and then calls eng_qp_flush.
 */
void eng_qp_fail(struct eng_qp *qp, enum eng_verdict v, enum ibv_qp_state next, bool raise);
/* The same on a stream transport: state ERR, the row's `stream` event. */
void eng_qp_fail_stream(struct eng_qp *qp, enum eng_verdict v);
/* The protocol itself moves the QP (INIT or RTR to RTS on a stream, RTS to SQD or ERR):
 * no checks, no call back. Work that waits is looked at in the next round. */
void eng_qp_move(struct eng_qp *qp, enum ibv_qp_state to);
/* Flushes both queues in posting order (state ERR), or the send queue (SQE);
 * raises LAST_WQE_REACHED once for QPs with an SRQ in ERR. */
void eng_qp_flush(struct eng_qp *qp);
/* Flushes a QP in ERR or SQE that got new work. False: the QP is alive. */
bool eng_qp_flush_if_dead(struct eng_qp *qp);
/* Raises COMM_EST once. */
void eng_qp_comm_est(struct eng_qp *qp);
/* The protocol says that all started messages of an SQD queue are complete. */
void eng_qp_drained(struct eng_qp *qp);

/* Facts of a failure for the sentence; zero fields are left out. */
struct eng_why {
	uint32_t key;
	uint64_t addr, length;
	union ibv_gid peer;
	uint32_t peer_qpn;
	const char *doing; /* "RDMA WRITE", ... */
};
/* Before eng_qp_fail(); without it that keeps a sentence of its own. w may be NULL. */
void eng_why(struct eng_qp *qp, enum eng_verdict v, const struct eng_why *w);

/*
 * A QP in place of an XRC target of another process, whose number the protocol gives it: completions
 * name that, no packet and no program reaches it, its state is RTS. NULL: no memory. It is
 * remembered by the completions it made, so it is freed with the port and not before.
 */
struct eng_qp *eng_qp_stand_in(struct eng_dev *dev);
/* Zeroed, with room for the protocol's part; NULL: no memory. Freed by free(). */
struct eng_qp *eng_qp_alloc(const struct eng_dev *dev);
void eng_qp_stand_in_free(struct eng_qp *qp);
/* True: a completion queue of it overran; it is in RTS again. */
bool eng_qp_revive(struct eng_qp *qp);

/* --- for the shells; takes the lock --- */

/* Last sentence of this QP (0: of the adapter), for the call in
 * include/dapple/. Copies at most n bytes with the terminating 0; 0 or -ENOENT. */
int eng_why_last(struct eng_dev *dev, uint32_t qpn, char *buf, size_t n)
	UT_EXCLUDES(dev->lock);

#endif

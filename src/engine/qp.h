/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queue pairs: the object, its creation and its end. post.h has how requests enter, complete.h how they
 * end, qp_state.h the state machine. The protocol's part follows struct eng_qp in the same piece of memory
 * (eng_qp_proto).
 *
 * A queue pair ends in three steps: close (state ERR or RESET: no new work), stop (eng_qp_destroy() takes
 * the progress lock, after which no packet and no timer reaches it), fini (its completions are purged, its
 * memory is freed).
 */
#ifndef ENGINE_QP_H
#define ENGINE_QP_H

#include "engine/cq.h"
#include "engine/dev.h"
#include "engine/pd.h"
#include "engine/ring.h"
#include "engine/srq.h"
#include "engine/verdict.h"
#include "engine/wqe.h"
#include "engine/xrcd.h"

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
	uint32_t plain_ops; /* 1u << enum ibv_wr_opcode: requests of one piece that need no further checks (plain.h) */
	_Atomic uint32_t ready_ops; /* of these: the protocol sends or executes them straight from the caller's work request. Written by the
				     * protocol under dev->lock, and read without: a hint */
	bool block_mcast_loopback;
	bool gsi;                /* QP1; type is UD */
	void *user;
	uint64_t send_ops; /* enum ibv_qp_create_send_ops_flags, extended API */

	/* Written under dev->lock; posting threads read it without. */
	_Atomic uint8_t state; /* enum ibv_qp_state */

	/* dev->lock guards what follows. */
	struct ibv_qp_attr attr;
	bool sq_draining;     /* in SQD, and messages that had started are not complete */
	bool sqd_notify;
	bool comm_est_raised, last_wqe_raised;
	unsigned mcast_groups; /* attachments */
	unsigned openers;      /* XRC_TGT handles */
	struct ut_list hearers; /* struct eng_qp_hearer: further handles */
	uint32_t bound_windows;
	struct ut_list mw;     /* struct eng_mkey: windows bound on this QP */
	uint8_t why_said;      /* verdict whose sentence is kept already */

	struct eng_ring sq;
	struct eng_ring rq; /* unused with an SRQ */

	/* The batch of the extended API, which is not published yet; sq.lock. */
	uint32_t wr_tail;
	int wr_error;

	struct ut_list pending; /* dev->pending; pending_lock */

	_Alignas(64) uint8_t proto[];
};

/* A further handle of an XRC target. Events of the queue pair are raised for it as for the first handle.
 * The shell owns the memory. */
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
	bool gsi; /* asks for QP1; type UD */
	uint64_t send_ops;
};

/* Returns 0; -EINVAL (limits; objects that are missing or of another adapter), -EOPNOTSUPP (type),
 * -EADDRINUSE (another user has the UDP port), -EBUSY (QP1 exists already), -ENOMEM. */
int eng_qp_create(struct eng_ctx *ctx, struct eng_qp_spec *spec, struct eng_qp **ret);
/* Returns 0, or -EBUSY while it is attached to a multicast group. Ends one handle; the last one ends the
 * queue pair. */
int eng_qp_destroy(struct eng_qp *qp);
/* No event of this queue pair names the handle `user` from here on. */
void eng_qp_disown(struct eng_qp *qp, const void *user);
/* Opens one more handle of an XRC target, by its number in the domain. Returns 0; -EINVAL: no such target;
 * -EOPNOTSUPP: the target is of another process that shares the domain. */
int eng_qp_open(struct eng_xrcd *x, uint32_t qpn, struct eng_qp **ret);
/* Events name that handle from here on, until eng_qp_disown() of its `user`. */
void eng_qp_hear(struct eng_qp *qp, struct eng_qp_hearer *h);

static inline enum ibv_qp_state eng_qp_state(const struct eng_qp *qp)
{
	return (enum ibv_qp_state)atomic_load_explicit(&qp->state, memory_order_acquire);
}

/* --- dev->lock held --- */

/* Returns the queue pair of this number, or NULL. */
static inline struct eng_qp *eng_qp_find(struct eng_dev *dev, uint32_t qpn)
{
	eng_dev_held(dev);
	return ut_idtab_get_again(&dev->qps, qpn);
}

/* Returns zeroed memory with room for the protocol's part, for free(); NULL: there is no memory. */
struct eng_qp *eng_qp_alloc(const struct eng_dev *dev);

#endif

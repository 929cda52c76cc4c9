/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Direct access: Reads, Writes and atomics between processes of one host that the requester executes
 * (host/shm/export.h): small Reads and Writes by the kernel, all of them by plain loads and stores where
 * the memory was exported as an area. They have no PSN and no packet, so one begins only while no request of its queue
 * is unacknowledged: all requests before it have been executed, and those behind it start later. Those of UC, which are complete when they leave,
 * have been executed when the peer has consumed the ring up to them. A request that the
 * tables do not grant changes nothing and goes as a packet, so that every refusal, event and sentence is the
 * responder's.
 *
 * A responder exports a key and its queue pair when a packet has used them with success, so that the tables have room for
 * those in use, and revokes them before they change.
 */
#ifndef PROTO_IB_DIRECT_H
#define PROTO_IB_DIRECT_H

#include "engine/ring.h"
#include "proto/ib/port.h"
#include "proto/post.h"

/* As the responder. */

/* A packet of this host has used the key with success: exports it, so that requesters may execute further requests. */
void ibp_export(struct ibp_qp *q, const struct eng_mkey *mk, uint32_t key);
/* eng_dev.revoke: ends direct access by this key or to this queue pair. */
void ibp_revoke(struct eng_dev *dev, uint32_t index);

/* As the requester. */

/* Returns true if requests of this opcode have direct access. */
static inline bool ibp_may_be_direct(uint8_t opcode)
{
	const uint32_t ops = 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_READ |
			     1u << IBV_WR_ATOMIC_CMP_AND_SWP | 1u << IBV_WR_ATOMIC_FETCH_AND_ADD;

	return ops >> opcode & 1;
}

static inline bool ibp_is_atomic(uint8_t opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Returns false if the queue pair has no direct access now, whatever the request. */
static inline bool ibp_direct_is_open(const struct ibp_qp *q)
{
	const struct ibp_req *r = &q->conn.req;

	return (!r->slow || (r->slow == IBP_REQ_SERVICE && q->cls == WIRE_CLASS_UC)) && r->framing == &ibp_frame_shm &&
	       q->port->chan->export;
}

/* Returns the request at the cursor if its opcode has direct access, else NULL. */
static inline struct eng_swqe *ibp_direct_first(struct eng_qp *qp)
{
	uint32_t cur = ibp_qp(qp)->send.cur;
	struct eng_swqe *w = eng_ring_at(&qp->sq, cur);

	return cur != atomic_load_explicit(&qp->sq.tail, memory_order_acquire) &&
			       ibp_may_be_direct(w->opcode) ? w : NULL;
}

/* Returns true if nothing is left behind the cursor, and the queue pair has not failed. */
static inline bool ibp_direct_done(struct eng_qp *qp)
{
	return ibp_qp(qp)->send.cur == atomic_load_explicit(&qp->sq.tail, memory_order_acquire) &&
	       eng_qp_state(qp) == IBV_QPS_RTS;
}

/* Executes what was posted to the queue pair, as dev_machine.post asks, from w on, the request that
 * ibp_direct_first() returned. Never returns PROTO_SENT. */
enum proto_posted ibp_direct_post(struct eng_qp *qp, struct eng_swqe *w, unsigned how, uint64_t now);

/* Executes a plain Write (engine/plain.h) that is posted now, by the last grant: it is complete, and was never in the queue, which is empty. how:
 * as of dev_machine.post_now. Returns false if nothing has happened. */
bool ibp_direct_now(struct ibp_qp *q, const struct ibv_send_wr *wr, unsigned how);
/* Executes the oldest request. Returns true if it is complete. now: the time, if a thread of the
 * application calls and the request has no inline data; else 0. */
bool ibp_direct(struct ibp_qp *q, struct eng_swqe *w, uint64_t now);
/* Returns true if w can be executed by direct access once the requests before it are acknowledged, and that is worth the
 * wait. */
bool ibp_direct_next(struct ibp_qp *q, const struct eng_swqe *w);

#endif

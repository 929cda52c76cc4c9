/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of a port of the transport machine, and of its queue pairs.
 *
 * A QP is on port->active while it has something that may be sent now, and on
 * port->acks while a positive acknowledgement is owed that may wait for a
 * ride. Everything is guarded by the adapter's progress lock.
 */
#ifndef PROTO_IB_PORT_H
#define PROTO_IB_PORT_H

#include "engine/mkey.h"
#include "engine/qp.h"
#include "link/link.h"
#include "proto/ib/conn.h"
#include "proto/ib/frame_shm.h"
#include "proto/ib/frame_wire.h"
#include "proto/ib/gsi.h"
#include "proto/ib/ibp.h"
#include "proto/ib/place.h"
#include "proto/ib/xrc/forward.h"
#include "util/heap.h"
#include "util/rng.h"
#include "wire/ib_packet.h"

#include <string.h>

#define IBP_MESSAGES 64 /* messages taken of the channel in one poll */
#define IBP_FAST_MESSAGES 16 /* in a poll that makes no round */

struct ibp_port {
	struct eng_dev *dev;
	struct link *link;
	struct shm_channel *chan;
	struct link_tap *tap; /* NULL: no observer */
	struct link_rules *rules; /* of faults, for requests that arrive; NULL: none */
	bool wire_only; /* those are for packets, so that new connections do not take the local path */
	struct ibp_config cfg;
	struct ut_rng rng;
	struct ut_heap timers;
	struct ut_list active, acks;
	/* `active` up to here: queue pairs that may coalesce (NULL: none is judged); the number of
	 * their posts. */
	struct ut_list *judged;
	uint32_t coalescing;
	struct ut_list unarmed; /* connections whose timer waits for a round, which knows the time (usual.h) */
	const struct ibp_framing *arrived; /* of the packet being processed */
	struct ibp_train train;
	struct ibp_placing placing;
	struct ibp_shm shm;
	struct ibp_forwards forwards;
	struct ibp_gsi gsi;
	struct ibp_idents idents; /* of the peers of datagrams */
	/* The messages of one poll of the channel, or the one that the fast path has left. */
	struct shm_message messages[IBP_MESSAGES];
	int n_left; /* 1: the fast path has counted a message and left it, since its rules need the time */
	struct shm_inlets inlets;
	/* A connection whose signaled Send, the only request on its way, has left by a lane, or NULL: polls look whether the peer has
	 * executed it. */
	struct ibp_qp *awaited;
	struct ibp_qp *received; /* whose Send the present look at the rings has executed last */
	uint64_t now;       /* of the current call */
	uint32_t sent;      /* packets of the current ibp_transmit() */
	uint32_t routes;    /* the link's, as last followed (route.h) */
	bool blocked;       /* the socket or a ring is full: nothing leaves until the next call */
	enum eng_acks manner; /* when the current call acknowledges */
};

enum ibp_message { IBP_NONE, IBP_SEND, IBP_WRITE };

/* The cursor of the send queue. */
struct ibp_send {
	uint32_t cur, pkt; /* next packet to send: ring index, number inside */
	bool begun;        /* the oldest request waits only for frame_shm.h to choose a framing */
};

/* The message being received. */
struct ibp_recv {
	enum ibp_message message;
	bool have_rwqe;
	bool skipping;  /* UC: message given up, waiting for the next first packet */
	uint64_t offset;      /* bytes of the message that are placed */
	uint64_t va;          /* of a WRITE */
	uint32_t rkey, length;
	struct eng_pd *pd;    /* the QP's or the SRQ's */
	struct eng_cq *cq;
	struct eng_srq *srq;  /* XRC; may be gone, see ibp_recv_cq() */
	uint32_t srqn;
	struct eng_rwqe *rwqe; /* room for max_sge entries */
};

/* The fields that a small message within a host needs are adjacent: with a thousand queue pairs few
 * of their lines are in the nearest cache. */
struct ibp_qp {
	struct eng_qp *qp;
	struct ibp_port *port;
	struct ut_list active;
	struct ibp_send send;
	uint8_t cls;         /* enum wire_class of its packets */
	/* xrc/forward.h: of an XRC target, and of its proxy here; else NULL. */
	struct ibp_forward *forward;
	struct ibp_proxy *proxy;
	struct ibp_recv recv;
	struct eng_av ud_av; /* of conn.path, for UD */
	uint32_t ud_qpn;     /* of the last message, whose process conn.lane leads to */
	struct ibp_conn conn; /* last, since its end is rarely used */
};

static inline struct ibp_qp *ibp_qp(struct eng_qp *qp)
{
	return eng_qp_proto(qp);
}

/* To be called when the cursor of the send queue has moved. */
static inline void ibp_req_moved(struct ibp_qp *q)
{
	struct ibp_req *r = &q->conn.req;

	ibp_req_put(r, IBP_REQ_IN_MESSAGE, q->send.pkt);
	ibp_req_put(r, IBP_REQ_BEHIND, r->psn_send != r->psn_next);
}

static inline void ibp_recv_message(struct ibp_qp *q, enum ibp_message m)
{
	q->recv.message = m;
	ibp_resp_put(&q->conn.resp, IBP_RESP_IN_MESSAGE, m != IBP_NONE);
}

/* A responder in RTR takes its first message by the full rules, which raise an event for it. */
static inline bool ibp_resp_hears(const struct eng_qp *qp)
{
	enum ibv_qp_state s = eng_qp_state(qp);

	return s == IBV_QPS_RTS || (s == IBV_QPS_RTR && qp->comm_est_raised);
}

/* The MigReq bit of packets (IBTA 9.2.3). */
static inline bool ibp_migreq(const struct ibp_qp *q)
{
	return q->conn.migration == IBV_MIG_MIGRATED;
}

/* Conditions that outlive the PSNs. */
static inline uint32_t ibp_req_lasting(const struct ibp_qp *q)
{
	return (q->qp->type == IBV_QPT_RC ? 0 : IBP_REQ_SERVICE) | (q->conn.route ? IBP_REQ_ROUTE : 0) |
	       (q->conn.migration ? IBP_REQ_MIGRATION : 0);
}

static inline uint32_t ibp_resp_lasting(const struct ibp_qp *q)
{
	return (q->qp->type == IBV_QPT_RC ? 0 : IBP_RESP_SERVICE) | (q->conn.route ? IBP_RESP_ROUTE : 0) |
	       (q->conn.migration ? IBP_RESP_MIGRATION : 0) | (q->port->rules ? IBP_RESP_RULES : 0);
}

static inline void ibp_slow_state(struct ibp_qp *q, const struct eng_qp *qp)
{
	ibp_req_put(&q->conn.req, IBP_REQ_STATE, eng_qp_state(qp) != IBV_QPS_RTS);
	ibp_resp_put(&q->conn.resp, IBP_RESP_STATE, !ibp_resp_hears(qp));
}

static inline void ibp_count(struct ibp_port *port, enum eng_counter c)
{
	struct eng_dev *dev = port->dev;

	eng_dev_held(dev);
	dev->counters[c]++;
}

/* A message of the channel by the full rules, without its count as a packet. */
void ibp_receive_message(struct ibp_port *port, const struct shm_message *m);

/* eng_proto_ops.qp_kick: a queue pair with posted work gets its turn in the next round. */
void ibp_kick(struct eng_qp *qp);

/* Returns true if work is left that needs no event from outside. */
static inline bool ibp_port_is_busy(const struct ibp_port *port)
{
	return !ut_list_empty(&port->active) || port->train.waiting || ibp_gsi_waits(&port->gsi) ||
	       ibp_forward_waits(&port->forwards);
}

/* The queue pair gets its turn to send in this round or the next. */
static inline void ibp_activate(struct ibp_qp *q)
{
	if (ut_list_empty(&q->active))
		ut_list_add_tail(&q->port->active, &q->active);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/fast.h"

#include "engine/complete.h"
#include "engine/ring.h"
#include "host/shm/inlet.h"
#include "host/shm/lane.h"
#include "proto/ib/direct.h"
#include "proto/ib/ecn.h"
#include "proto/ib/put.h"
#include "proto/ib/requester.h"
#include "proto/ib/responder.h"
#include "proto/ib/responses.h"
#include "proto/ib/retry.h"
#include "proto/ib/show.h"
#include "proto/ib/sent.h"
#include "proto/ib/usual.h"
#include "wire/ib_fields.h"

#include <errno.h>

/* --- receiving: acknowledgements --- */

/* Returns true if the oldest requests are Sends and Writes up to this PSN, and the PSN ends one of
 * them. */
static inline bool complete(struct ibp_qp *q, uint32_t psn)
{
	struct eng_ring *sq = &q->qp->sq;
	const struct eng_swqe *w;
	int32_t left;

	do {
		w = eng_ring_head(sq);
		if (!w || !w->started || ibp_packet_opcode(w, IBP_FRAMED_SHM) < 0)
			return false;
		left = psn_diff(psn, w->last_psn);
		if (left < 0)
			return false;
		q->conn.req.psn_una = psn_add(w->last_psn, 1);
		eng_send_end_usual(q->qp, w);
	} while (left && !q->conn.req.slow);
	return true;
}

static inline void progressed(struct ibp_qp *q, uint32_t before)
{
	struct ibp_req *r = &q->conn.req;
	const struct eng_swqe *next;

	r->retry_left = q->qp->attr.retry_cnt;
	r->rnr_left = q->qp->attr.rnr_retry;
	r->deadline = UT_NEVER;
	if (r->window < IBP_SHM_WINDOW)
		ibp_req_grow(q, (uint32_t)psn_diff(r->psn_una, before));
	if (r->psn_una != r->psn_next)
		ibp_arm_later(q);
	/* Completes requests that were executed by direct access when posted, behind those that are
	 * complete now. */
	next = eng_ring_head(&q->qp->sq);
	if (next && next->done)
		ibp_req_complete(q);
	if (q->send.cur != atomic_load_explicit(&q->qp->sq.tail, memory_order_relaxed))
		ibp_activate(q);
}

/*
 * Returns false if the full rules are to take the acknowledgement: requests that were completed
 * stay complete, and the rest of it is the same acknowledgement. A READ or atomic at the head of the queue
 * stops it.
 */
static bool acknowledged(struct ibp_qp *q, uint32_t psn)
{
	struct ibp_req *r = &q->conn.req;
	uint32_t before = r->psn_una;

	if (!ibp_may_send(r, IBP_FRAMED_SHM) || psn_diff(psn, r->psn_next) >= 0)
		return false;
	if (psn_diff(psn, before) < 0)
		return true; /* acknowledged before */
	if (!complete(q, psn))
		return false;
	progressed(q, before);
	return true;
}

/* The value that the word had goes to the requester's memory. */
static inline bool store_answer(struct ibp_qp *q, const struct eng_swqe *w, uint64_t value)
{
	struct ibp_shm *shm = &q->port->shm;
	int n;

	shm->stage.pages_checked_at = q->port->link->rx_stage->pages_checked_at;
	n = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, 0, sizeof(value), true, shm->iov, IBP_SHM_PIECES);
	return n > 0 && ut_stage_store_user(&shm->stage, (const uint8_t *)&value, sizeof(value), shm->iov, n) ==
				sizeof(value);
}

/* The answer to the oldest request, an atomic; it acknowledges the requests before it. */
static bool take_answer(struct ibp_qp *q, const struct ibp_header *n, const struct shm_message *m)
{
	struct ibp_req *r = &q->conn.req;
	uint32_t psn = n->psn & IBP_PSN_MASK;
	const struct eng_swqe *w;
	uint64_t value;

	if (n->syndrome != WIRE_SYN_ACK || m->len != SHM_CHANNEL_HEADER_BYTES + sizeof(value) ||
	    !ibp_may_send(r, IBP_FRAMED_SHM) || psn_diff(psn, r->psn_next) >= 0 || psn_diff(psn, r->psn_una) < 0)
		return false;
	if (psn != r->psn_una && (!acknowledged(q, psn_add(psn, IBP_PSN_MASK)) || r->slow))
		return false;
	w = eng_ring_head(&q->qp->sq);
	if (!w || !w->started || w->done || !ibp_is_atomic(w->opcode) || psn != r->psn_una || w->first_psn != psn)
		return false;
	memcpy(&value, m->data + SHM_CHANNEL_HEADER_BYTES, sizeof(value));
	if (!store_answer(q, w, value))
		return false;
	r->psn_una = psn_add(psn, 1);
	ibp_req_depth_settle(r);
	eng_send_end_usual(q->qp, w);
	progressed(q, psn);
	return true;
}

/* --- receiving: requests --- */

/* Stores a message of the ring where receive w wants it, if that takes no more than a few plain stores. */
static inline bool store_small(struct ibp_qp *q, struct eng_pd *pd, const struct eng_rwqe *w, const uint8_t *from, uint32_t len)
{
	struct ut_stage *st = &q->port->shm.stage;
	uint8_t *to;

	/* Without the last bytes that become visible last. */
	if (len - 1 >= UT_STAGE_TAIL || !w->num_sge)
		return false;
	st->pages_checked_at = q->port->link->rx_stage->pages_checked_at;
	to = eng_sge_present(pd, w->sge, len, st, UT_WRITABLE);
	if (!to)
		return false;
	ibp_copy_small(to, from, len);
	return true;
}

/* Takes a receive, unless an earlier attempt has, and places the message there: from the ring, or (NULL) from the payload at
 * `off` of a datagram in the receive stage. */
static inline bool take_send(struct ibp_qp *q, const uint8_t *data, size_t off, uint32_t len)
{
	struct eng_pd *pd = q->qp->srq ? q->qp->srq->pd : q->qp->pd;

	/* Without the SRQ that XRC names in each message. */
	if (!q->recv.have_rwqe)
		q->recv.have_rwqe = eng_recv_take(q->qp, q->recv.rwqe);
	if (!q->recv.have_rwqe || len > q->recv.rwqe->length)
		return false;
	if (!(data && store_small(q, pd, q->recv.rwqe, data, len)) &&
	    ibp_recv_place(q, data ? &ibp_frame_shm : &ibp_frame_wire, off, len, 0, true) != ENG_OK)
		return false;
	q->recv.offset = len;
	return true;
}

/* The receive is taken before memory changes: without a receive nothing has happened. */
static bool take_write(struct ibp_qp *q, const struct ibp_header *n, uint32_t len)
{
	bool imm = n->opcode == WIRE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE;
	struct iovec iov[4];
	struct eng_mkey *mk;
	uint64_t off;
	int k;

	eng_dev_held(q->port->dev);
	if (!(q->qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) || n->length != len)
		return false;
	/* A guessed key is counted once, by the responder's full rules, which refuse it. */
	if (len && (!eng_mkey_get(q->port->dev, n->rkey) ||
		    eng_mkey_remote(q->port->dev, q->recv.pd, q->qp, n->rkey, n->va, len,
				    IBV_ACCESS_REMOTE_WRITE, &mk, &off) != ENG_OK))
		return false;
	if (imm && ibp_resp_take(q) != ENG_OK)
		return false;
	if (len) {
		ibp_export(q, mk, n->rkey);
		k = eng_mkey_iov(mk, off, len, iov, 3);
		if (k < 0 || ibp_shm_place(q->port, iov, k, len, true) != 0)
			return false;
	}
	q->recv.offset = len;
	if (imm)
		ibp_recv_done(q, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM, n->imm,
			      n->flags & IBP_HEADER_SE);
	return true;
}

/* Returns false if the answer has not left. */
static bool post_answer(struct ibp_qp *q, const struct ibp_rdres *e)
{
	const uint64_t value = e->orig;
	struct ibp_leaving m = {
		.header = {
			.opcode = WIRE_RC_ATOMIC_ACKNOWLEDGE, .unit = (uint8_t)__builtin_ctz(q->conn.resp.mtu),
			.syndrome = WIRE_SYN_ACK, .psn = e->first_psn, .dest_qpn = q->qp->attr.dest_qp_num,
			.src_qpn = q->qp->qpn, .length = e->msn,
		},
		.data = &value, .bytes = sizeof(value),
	};

	if (!ibp_put(q, &m))
		return false;
	ibp_sent_local(q, WIRE_RC_ATOMIC_ACKNOWLEDGE, 0);
	return true;
}

static inline bool is_next(const struct ibp_resp *r, const struct ibp_header *n, uint32_t len)
{
	return ibp_may_receive(r, IBP_FRAMED_SHM) && (n->psn & IBP_PSN_MASK) == r->epsn &&
	       (uint32_t)__builtin_ctz(r->mtu) == n->unit && len <= IBP_SHM_PACKET;
}

/* Answers before it have left, so that its own may leave at once. */
static bool execute_atomic(struct ibp_qp *q, const struct ibp_header *n, uint32_t len)
{
	struct ibp_shm *shm = &q->port->shm;
	struct wire_ib_packet p = { .opcode = n->opcode, .va = n->va, .rkey = n->rkey };
	bool owed = q->conn.resp.ack_due;
	uint64_t operands[2] = { 0 };
	struct ibp_rdres *e;

	eng_dev_held(q->port->dev);
	/* A guessed key is counted once, by the responder's full rules, which refuse it. */
	if (len != ibp_shm_atomic_bytes(n->opcode) || !eng_mkey_get(q->port->dev, n->rkey) || ibp_resp_has_work(q))
		return false;
	memcpy(operands, shm->data, len);
	p.swap_add = operands[0];
	p.compare = operands[1];
	shm->stage.pages_checked_at = q->port->link->rx_stage->pages_checked_at;
	if (ibp_resp_atomic(q, &p, &shm->stage, 0, &e) != ENG_OK)
		return false;
	if (owed)
		ibp_resp_acked(q);
	if (post_answer(q, e))
		e->pending = false;
	else
		ibp_activate(q);
	return true;
}

static bool take_atomic(struct ibp_qp *q, const struct ibp_header *n, const struct shm_message *m)
{
	uint32_t len = m->len - SHM_CHANNEL_HEADER_BYTES;
	struct ibp_shm *shm = &q->port->shm;
	bool done;

	if (!is_next(&q->conn.resp, n, len))
		return false;
	shm->rx = m;
	shm->data = m->data + SHM_CHANNEL_HEADER_BYTES;
	done = execute_atomic(q, n, len);
	shm->rx = NULL;
	return done;
}

/* The requester's next request, of one packet. The acknowledgement that it carries counts first. */
static inline bool comes_next(struct ibp_qp *q, const struct ibp_header *n, uint32_t len)
{
	return is_next(&q->conn.resp, n, len) &&
	       (!(n->flags & IBP_HEADER_ACKS) ||
		(acknowledged(q, (uint32_t)n->va & IBP_PSN_MASK) && !q->conn.resp.slow));
}

static inline void executed(struct ibp_qp *q, const struct ibp_header *n)
{
	/* The completion may have overrun its queue, which stops the queue pair. */
	if (!q->conn.resp.slow)
		ibp_resp_executed(q, n->flags & IBP_HEADER_ASK);
}

/* A Send or Write of any size up to IBP_SHM_PACKET. */
static bool take_request(struct ibp_qp *q, const struct ibp_header *n, const struct shm_message *m)
{
	bool done, imm = n->opcode == WIRE_RC_SEND_ONLY_WITH_IMMEDIATE;
	uint32_t len = m->len - SHM_CHANNEL_HEADER_BYTES;
	struct ibp_shm *shm = &q->port->shm;

	if (!comes_next(q, n, len))
		return false;
	shm->rx = m;
	shm->data = m->data + SHM_CHANNEL_HEADER_BYTES;
	if (n->opcode <= WIRE_RC_SEND_ONLY_WITH_IMMEDIATE) {
		done = take_send(q, shm->data, 0, len);
		if (done)
			ibp_recv_done(q, IBV_WC_RECV, imm ? IBV_WC_WITH_IMM : 0, imm ? n->imm : 0, n->flags & IBP_HEADER_SE);
	} else {
		done = take_write(q, n, len);
	}
	shm->rx = NULL;
	if (done)
		executed(q, n);
	return done;
}

/* The usual Send: a small one to the oldest receive of the queue pair itself, which stays in its slot meanwhile. */
static inline bool take_small_send(struct ibp_qp *q, const struct ibp_header *n, const uint8_t *data, uint32_t len)
{
	const bool imm = n->opcode == WIRE_RC_SEND_ONLY_WITH_IMMEDIATE;
	const struct eng_rwqe *w;
	uint64_t wr_id;

	if (q->recv.have_rwqe || q->qp->srq || !comes_next(q, n, len))
		return false;
	w = eng_ring_head(&q->qp->rq);
	if (!w || !store_small(q, q->qp->pd, w, data, len))
		return false;
	wr_id = w->wr_id;
	eng_ring_drop(&q->qp->rq);
	eng_recv_end(q->qp, q->recv.cq, wr_id, len, IBV_WC_RECV, imm ? IBV_WC_WITH_IMM : 0, imm ? n->imm : 0,
		     n->flags & IBP_HEADER_SE);
	executed(q, n);
	q->port->received = q;
	return true;
}

/* Returns the queue pair that a message of its peer is for, or NULL. */
static inline struct ibp_qp *receiver(struct ibp_port *port, const struct shm_inlet *in, const struct ibp_header *n)
{
	struct eng_qp *qp;
	struct ibp_qp *q;

	eng_dev_held(port->dev);
	qp = eng_qp_find(port->dev, n->dest_qpn & IBP_PSN_MASK);
	if (!qp)
		return NULL;
	q = ibp_qp(qp);
	return (n->src_qpn & IBP_PSN_MASK) == qp->attr.dest_qp_num &&
			       ibp_path_admits_inlet(&q->conn.path, in, port->chan->epoch) ? q : NULL;
}

/* Returns the inlet by which the queue pair's messages come, or NULL: none has yet. */
static inline const struct shm_inlet *inlet_of(const struct ibp_port *port, const struct ibp_qp *q)
{
	if (q->conn.path.from_epoch != port->chan->epoch)
		return NULL;
	for (unsigned i = 0; i < port->inlets.n; i++)
		if (port->inlets.v[i].from == q->conn.path.from)
			return &port->inlets.v[i];
	return NULL;
}

static inline void taken(struct ibp_port *port, struct ibp_qp *q, uint32_t bytes, uint8_t opcode)
{
	eng_dev_held(port->dev);
	ibp_show_received(q, opcode, bytes);
	q->conn.heard = port->now;
	port->dev->counters[ENG_C_rx_bytes] += SHM_CHANNEL_HEADER_BYTES + bytes;
}

/* The two kinds of messages of which there are most: a small Send, and an acknowledgement. Inline: of what such a message costs
 * its receiver, a call is 3 %. */
__attribute__((always_inline)) static inline bool take_message(struct ibp_port *port, const struct shm_inlet *in, const uint8_t *at,
							       uint32_t bytes)
{
	const struct ibp_header n = ibp_header_get(at);
	struct ibp_qp *q;
	bool sends = n.opcode == WIRE_RC_SEND_ONLY || n.opcode == WIRE_RC_SEND_ONLY_WITH_IMMEDIATE;

	if (sends ? bytes - 1 >= UT_STAGE_TAIL : n.opcode != WIRE_RC_ACKNOWLEDGE || n.syndrome != WIRE_SYN_ACK || bytes)
		return false;
	q = receiver(port, in, &n);
	if (!q || !(sends ? take_small_send(q, &n, at + SHM_CHANNEL_HEADER_BYTES, bytes) : acknowledged(q, n.psn & IBP_PSN_MASK)))
		return false;
	taken(port, q, bytes, n.opcode);
	return true;
}

/* The full rules of these services need no time: nothing is repeated. */
static inline bool is_unreliable(uint8_t opcode)
{
	const uint8_t cls = wire_ib_shape(opcode)->cls;

	return cls == WIRE_CLASS_UD || cls == WIRE_CLASS_UC;
}

/* The others that the fast path takes. A function of its own, which reads the header by itself, so that the usual messages find
 * theirs in registers: what it reads may have changed meanwhile, and all is checked again. */
static __attribute__((noinline)) bool take_other(struct ibp_port *port, const struct shm_inlet *in, const struct shm_message *m)
{
	struct ibp_header n = ibp_header_get(m->data);
	struct ibp_qp *q;
	bool done = false;

	if (is_unreliable(n.opcode)) {
		ibp_receive_message(port, m);
		return true;
	}
	q = receiver(port, in, &n);
	if (!q)
		return false;
	switch (n.opcode) {
	case WIRE_RC_SEND_ONLY:
	case WIRE_RC_SEND_ONLY_WITH_IMMEDIATE:
	case WIRE_RC_RDMA_WRITE_ONLY:
	case WIRE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE:
		done = take_request(q, &n, m);
		break;
	case WIRE_RC_ATOMIC_ACKNOWLEDGE:
		done = take_answer(q, &n, m);
		break;
	case WIRE_RC_COMPARE_SWAP:
	case WIRE_RC_FETCH_ADD:
		done = take_atomic(q, &n, m);
		break;
	default:
		break;
	}
	if (done)
		taken(port, q, m->len - SHM_CHANNEL_HEADER_BYTES, n.opcode);
	return done;
}

int ibp_fast_receive(struct eng_dev *dev, const struct shm_message *m, int n)
{
	struct ibp_port *port = dev->proto_port;
	int done = 0;

	eng_dev_held(dev);
	for (; done < n && m[done].len >= SHM_CHANNEL_HEADER_BYTES; done++) {
		const struct shm_inlet in = { .from = m[done].from, .src = m[done].src, .dst = m[done].dst };

		if (!take_message(port, &in, m[done].data, m[done].len - SHM_CHANNEL_HEADER_BYTES) && !take_other(port, &in, &m[done]))
			break;
	}
	dev->counters[ENG_C_rx_pkts] += (uint64_t)done;
	return done;
}

/* The message is for the full rules, which know the time: a round takes it. */
static __attribute__((noinline)) bool take_from(struct ibp_port *port, const struct shm_inlet *in, const uint8_t *at, uint32_t bytes)
{
	port->messages[0] = shm_inlet_message(in, at, bytes);
	if (take_other(port, in, &port->messages[0]))
		return true;
	port->n_left = 1;
	shm_inlets_hold(port->chan);
	return false;
}

/* Executes the messages of a ring where they lie, and counts them in *n, which has those of this look at the rings. Returns false if the look
 * ends here. */
static inline bool take_all(struct ibp_port *port, const struct shm_inlet *in, int *n)
{
	const bool watched = shm_inlets_are_watched(&port->inlets);
	uint32_t bytes;

	do {
		const uint8_t *at = shm_inlet_take(in, &bytes);

		if (__builtin_expect(!at, 0))
			break;
		if (__builtin_expect(watched, 0))
			port->chan->ops->hear(port->chan, in, at, bytes);
		++*n;
		if (!take_message(port, in, at, bytes) && !take_from(port, in, at, bytes))
			return false;
	} while (*n < IBP_FAST_MESSAGES && shm_waiting(in->ring));
	shm_inlet_release(in);
	return *n < IBP_FAST_MESSAGES;
}

/* A requester may wait for the completion of a Send that comes by itself before it looks for the answer. */
static inline void say_executed(const struct ibp_port *port, const struct shm_inlet *in)
{
	const struct ibp_qp *q = port->received;

	if (shm_lane_leads(port->chan, &q->conn.lane))
		shm_say_executed(q->conn.lane.ring, in->ring);
}

/* The rings from this one on. */
static __attribute__((noinline)) int take_rings(struct ibp_port *port, unsigned i, bool *ret_whole)
{
	const struct shm_inlet *first = &port->inlets.v[i];
	int n = 0;

	eng_dev_held(port->dev);
	port->received = NULL;
	do
		if (!take_all(port, &port->inlets.v[i], &n))
			break;
	while ((i = shm_inlets_next(&port->inlets, i + 1)) < port->inlets.n);
	if (n == 1 && port->received)
		say_executed(port, first);
	port->dev->counters[ENG_C_rx_pkts] += (uint64_t)(n - port->n_left);
	shm_inlets_end(port->chan, n);
	*ret_whole = port->n_left || ibp_port_is_busy(port);
	return n ? n : -EAGAIN;
}

/* The peer has executed the awaited request. Returns how many requests that completes. */
static __attribute__((noinline)) int end_awaited(struct ibp_port *port)
{
	struct ibp_qp *q = port->awaited;
	const struct ibp_req *r = &q->conn.req;

	port->awaited = NULL;
	return r->psn_una != r->psn_next && acknowledged(q, psn_add(r->psn_next, IBP_PSN_MASK));
}

static inline bool is_awaited_executed(const struct ibp_port *port)
{
	const struct ibp_qp *q = port->awaited;
	const struct shm_inlet *in = q ? inlet_of(port, q) : NULL;

	return in && shm_lane_leads(port->chan, &q->conn.lane) && shm_is_executed(in->ring, in->said, q->conn.req.ring_end);
}

int ibp_fast_poll(struct eng_dev *dev, bool *ret_whole)
{
	struct ibp_port *port = dev->proto_port;
	struct shm_channel *chan = port->chan;
	unsigned i;

	eng_dev_held(dev);
	if (__builtin_expect(chan->unflushed, 0))
		chan->ops->flush(chan);
	if (!shm_inlets_are_open(chan) ||
	    (__builtin_expect(!shm_inlets_lead(chan, &port->inlets), 0) && !chan->ops->inlets(chan, &port->inlets)))
		return -EAGAIN;
	i = shm_inlets_next(&port->inlets, 0);
	if (i < port->inlets.n)
		return take_rings(port, i, ret_whole);
	shm_inlets_end(chan, 0);
	/* A control call may have left work for a queue pair. */
	*ret_whole = ibp_port_is_busy(port);
	return __builtin_expect(is_awaited_executed(port), 0) ? end_awaited(port) : 0;
}

void ibp_fast_finish(struct eng_dev *dev, uint64_t now)
{
	struct ibp_port *port = dev->proto_port;
	int n = port->n_left;

	if (!n)
		return;
	port->n_left = 0;
	ibp_receive_messages(dev, port->messages, n, now);
	port->chan->ops->release(port->chan);
}

/* Returns the queue pair of a datagram if its responder expects this PSN. */
static struct ibp_qp *expected(struct ibp_port *port, const uint8_t h[WIRE_BTH_LEN],
			       const struct link_rx *rx)
{
	struct eng_qp *qp;
	struct ibp_qp *q;

	eng_dev_held(port->dev);
	qp = eng_qp_find(port->dev, (uint32_t)wire_get_BTH_dest_qpn(h));
	if (!qp)
		return NULL;
	q = ibp_qp(qp);
	if (!ibp_may_receive(&q->conn.resp, IBP_FRAMED_WIRE) || wire_get_BTH_psn(h) != q->conn.resp.epsn ||
	    wire_get_BTH_pkey(h) != q->conn.pkey || rx->sport != q->conn.sport.known ||
	    !ibp_path_admits(&q->conn.path, rx))
		return NULL;
	return q;
}

bool ibp_fast_take_datagram(struct ibp_port *port, const struct link_rx *rx)
{
	uint8_t h[WIRE_BTH_LEN];
	struct ibp_qp *q;
	uint32_t len;

	if (rx->len < WIRE_BTH_LEN + WIRE_ICRC_LEN || rx->data[0] != WIRE_RC_SEND_ONLY ||
	    ibp_ecn_is_marked(rx))
		return false;
	memcpy(h, rx->data, sizeof(h));
	len = rx->len - WIRE_BTH_LEN - WIRE_ICRC_LEN;
	if (wire_get_BTH_tver(h) || wire_get_BTH_pad(h) > len)
		return false;
	len -= (uint32_t)wire_get_BTH_pad(h);
	q = wire_get_BTH_pad(h) == (-len & 3) ? expected(port, h, rx) : NULL;
	if (!q || len > q->conn.resp.mtu)
		return false;
	if (!ibp_icrc_matches(port, q, rx))
		return true; /* counted and dropped */
	if (!take_send(q, NULL, rx->off + WIRE_BTH_LEN, len))
		return false;
	ibp_show_received(q, WIRE_RC_SEND_ONLY, len);
	q->conn.heard = port->now;
	ibp_recv_done(q, IBV_WC_RECV, 0, 0, wire_get_BTH_se(h));
	ibp_resp_executed(q, wire_get_BTH_ack_req(h));
	return true;
}

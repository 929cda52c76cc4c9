/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The usual message between processes of one host: a Send or Write of one packet, small enough to be
 * copied, on a connection where nothing is wrong. It goes from the work request into the ring and
 * from the ring into memory and completion without a packet in between and without a round of
 * the port. These are the rules of req_send.c, req_recv.c, resp_recv.c and resp_exec.c for that one
 * case; whatever is not it changes nothing here and is left to them.
 *
 * No clock is read on this way. A timer that would be armed waits for the next round (port->unarmed).
 */
#include "proto/ib/port.h"

#define GROUP 8 /* messages that are shown to the peer together, where more follow */

static void arm_later(struct ibp_qp *q)
{
	if (ut_list_empty(&q->conn.unarmed))
		ut_list_add_tail(&q->port->unarmed, &q->conn.unarmed);
}

/* --- posting --- */

static bool may_post(const struct ibp_qp *q)
{
	const struct ibp_req *r = &q->conn.req;

	return r->local && q->cls == WIRE_CLASS_RC && eng_qp_state(q->qp) == IBV_QPS_RTS &&
	       !r->rnr_wait && !q->send.halted && !r->recovering && !r->plain && !r->limited && !q->send.pkt &&
	       r->psn_send == r->psn_next;
}

static int opcode_of(const struct eng_swqe *w)
{
	switch (w->opcode) {
	case IBV_WR_SEND: return WIRE_RC_SEND_ONLY;
	case IBV_WR_SEND_WITH_IMM: return WIRE_RC_SEND_ONLY_WITH_IMMEDIATE;
	case IBV_WR_RDMA_WRITE: return WIRE_RC_RDMA_WRITE_ONLY;
	case IBV_WR_RDMA_WRITE_WITH_IMM: return WIRE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE;
	default: return -1;
	}
}

static bool copy_payload(struct ibp_qp *q, struct eng_swqe *w, uint8_t *to)
{
	struct ibp_shm *shm = &q->port->shm;
	int n;

	if (!w->length)
		return true;
	if (w->flags & IBV_SEND_INLINE) {
		memcpy(to, eng_swqe_inline(w), w->length);
		return true;
	}
	n = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, 0, w->length, false, shm->iov,
			IBP_SHM_PIECES);
	shm->stage.pages_checked_at = q->port->link->rx_stage->pages_checked_at;
	return n > 0 && ut_stage_load_user(&shm->stage, to, shm->iov, n) == (ssize_t)w->length;
}

static void put_header(struct ibp_qp *q, const struct eng_swqe *w, uint8_t opcode, uint8_t *at)
{
	bool se = (w->flags & IBV_SEND_SOLICITED) && opcode != WIRE_RC_RDMA_WRITE_ONLY;
	uint64_t va = w->remote_addr;
	bool acks = opcode <= WIRE_RC_SEND_ONLY_WITH_IMMEDIATE && ibp_shm_acks(q, &va);

	ibp_header_put(at, (struct ibp_header){
		.opcode = opcode, .unit = (uint8_t)__builtin_ctz(q->conn.req.mtu),
		.flags = (uint8_t)(IBP_HEADER_ASK | (se ? IBP_HEADER_SE : 0) |
				   (acks ? IBP_HEADER_ACKS : 0)),
		.psn = q->conn.req.psn_next, .dest_qpn = q->qp->attr.dest_qp_num,
		.src_qpn = q->qp->qpn, .imm = w->imm, .rkey = w->rkey, .va = va,
		.length = (uint32_t)w->length,
	});
}

/* Few enough that the reader begins while the others are written. */
static bool wait_for_more(struct ibp_shm *shm, bool more)
{
	shm->unshown = more && shm->unshown + 1 < GROUP ? shm->unshown + 1 : 0;
	return shm->unshown;
}

static bool post_one(struct ibp_qp *q, struct eng_swqe *w, bool more)
{
	struct eng_dev *dev = q->port->dev;
	struct shm_channel *chan = q->port->chan;
	struct ibp_req *r = &q->conn.req;
	int opcode = opcode_of(w);
	struct shm_reservation place;

	if (opcode < 0 || w->started || w->verdict || (w->flags & IBV_SEND_FENCE) ||
	    w->length > IBP_SHM_COPY ||
	    (uint32_t)psn_diff(r->psn_send, r->psn_una) >= r->window ||
	    chan->ops->reserve(chan, &q->conn.path.flow, q->qp->attr.dest_qp_num, (uint32_t)w->length,
				  &place) < 0 ||
	    !copy_payload(q, w, place.data))
		return false;
	put_header(q, w, (uint8_t)opcode, place.header);
	ibp_req_number(q, w);
	place.more = wait_for_more(&q->port->shm, more);
	chan->ops->commit(chan, &place, (uint32_t)w->length);
	r->ring_end = place.end;
	eng_dev_held(dev);
	dev->counters[ENG_C_tx_pkts]++;
	dev->counters[ENG_C_tx_bytes] += w->length;
	dev->counters[ENG_C_local_tx]++;
	return true;
}

bool ibp_fast_post(struct eng_qp *qp, bool batch)
{
	struct ibp_qp *q = ibp_qp(qp);
	struct ibp_req *r = &q->conn.req;
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_acquire);

	if (!may_post(q))
		return false;
	if (r->deadline == UT_NEVER)
		arm_later(q);
	while (q->send.cur != tail)
		if (!post_one(q, eng_ring_at(&qp->sq, q->send.cur), batch || q->send.cur + 1 != tail))
			return false;
	return true;
}

/* --- acknowledging --- */

bool ibp_fast_ack(struct ibp_qp *q, uint32_t psn)
{
	struct ibp_port *port = q->port;
	struct eng_dev *dev = port->dev;
	struct shm_channel *chan = port->chan;
	struct shm_reservation place;

	if (!q->conn.resp.local || q->cls != WIRE_CLASS_RC || port->shm.say_plain ||
	    chan->ops->reserve(chan, &q->conn.path.flow, q->qp->attr.dest_qp_num, 0, &place) < 0)
		return false;
	ibp_header_put(place.header, (struct ibp_header){
		.opcode = WIRE_RC_ACKNOWLEDGE, .unit = (uint8_t)__builtin_ctz(q->conn.resp.mtu), .syndrome = WIRE_SYN_ACK,
		.psn = psn, .dest_qpn = q->qp->attr.dest_qp_num, .src_qpn = q->qp->qpn,
		.length = q->conn.resp.msn,
	});
	place.quiet = port->shm.quiet;
	chan->ops->commit(chan, &place, 0);
	eng_dev_held(dev);
	port->sent++;
	dev->counters[ENG_C_tx_pkts]++;
	dev->counters[ENG_C_local_tx]++;
	return true;
}

/* --- what comes --- */

/* The oldest requests are Sends and Writes up to this PSN, and it ends one of them. */
static bool complete(struct ibp_qp *q, uint32_t psn)
{
	struct eng_ring *sq = &q->qp->sq;
	const struct eng_swqe *w;
	int32_t left;

	do {
		w = eng_ring_head(sq);
		if (!w || !w->started || opcode_of(w) < 0)
			return false;
		left = psn_diff(psn, w->last_psn);
		if (left < 0)
			return false;
		q->conn.req.psn_una = psn_add(w->last_psn, 1);
		eng_send_done(q->qp, ENG_OK);
	} while (left && eng_qp_state(q->qp) == IBV_QPS_RTS);
	return true;
}

/* False: not so simple; what was done is done, and the rest is the same acknowledgement. */
static bool acknowledged(struct ibp_qp *q, uint32_t psn)
{
	struct ibp_req *r = &q->conn.req;
	uint32_t before = r->psn_una;
	const struct eng_swqe *next;

	if (!r->local || r->rd_count || r->recovering || r->rnr_wait || q->send.halted || r->limited ||
	    q->qp->sq_draining || r->psn_send != r->psn_next || psn_diff(psn, r->psn_next) >= 0)
		return false;
	if (psn_diff(psn, before) < 0)
		return true; /* known */
	if (!complete(q, psn))
		return false;
	r->retry_left = q->qp->attr.retry_cnt;
	r->rnr_left = q->qp->attr.rnr_retry;
	r->deadline = UT_NEVER;
	ibp_req_grow(q, (uint32_t)psn_diff(r->psn_una, before));
	if (ibp_req_outstanding(q))
		arm_later(q);
	/* What was executed here as it was posted, and waited for its turn to say so. */
	next = eng_ring_head(&q->qp->sq);
	if (next && next->done)
		ibp_req_complete(q);
	if (q->send.cur != atomic_load_explicit(&q->qp->sq.tail, memory_order_relaxed))
		ibp_activate(q);
	return true;
}

static bool take_ack(struct ibp_qp *q, const struct ibp_header *n, const struct shm_message *rx)
{
	return n->syndrome == WIRE_SYN_ACK && rx->len == SHM_CHANNEL_HEADER_BYTES &&
	       acknowledged(q, n->psn & IBP_PSN_MASK);
}

static bool is_next(const struct ibp_qp *q, const struct ibp_header *n, uint32_t len)
{
	const struct ibp_resp *r = &q->conn.resp;

	return r->chosen && r->local && !r->dead && !r->gap_nak && q->recv.message == IBP_NONE &&
	       (n->psn & IBP_PSN_MASK) == r->epsn && n->unit < 32 && 1u << n->unit == r->mtu &&
	       len <= IBP_SHM_COPY && !(n->flags & (IBP_HEADER_FETCH | IBP_HEADER_PLAIN));
}

static bool take_send(struct ibp_qp *q, const struct ibp_header *n, uint32_t len)
{
	if (ibp_resp_take(q) != ENG_OK || len > q->recv.rwqe->length ||
	    ibp_place_recv(q, q->port->link->rx_stage, 0, len, 0, true) != ENG_OK)
		return false;
	q->recv.offset = len;
	if (n->opcode == WIRE_RC_SEND_ONLY_WITH_IMMEDIATE)
		ibp_recv_done(q, IBV_WC_RECV, IBV_WC_WITH_IMM, n->imm, n->flags & IBP_HEADER_SE);
	else
		ibp_recv_done(q, IBV_WC_RECV, 0, 0, n->flags & IBP_HEADER_SE);
	return true;
}

/* The receive is taken before memory changes: without one nothing has happened. */
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
	/* A guessed key is counted once, by those who refuse it. */
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

static bool take_request(struct ibp_qp *q, const struct ibp_header *n, const struct shm_message *rx)
{
	struct ibp_shm *shm = &q->port->shm;
	uint32_t len = rx->len - SHM_CHANNEL_HEADER_BYTES;
	bool done;

	if (!is_next(q, n, len))
		return false;
	if (n->flags & IBP_HEADER_ACKS) {
		if (!acknowledged(q, (uint32_t)n->va & IBP_PSN_MASK) ||
		    !ibp_resp_hears(q->qp))
			return false;
	}
	shm->rx = rx;
	shm->data = rx->data + SHM_CHANNEL_HEADER_BYTES;
	shm->n_from = 0;
	done = n->opcode <= WIRE_RC_SEND_ONLY_WITH_IMMEDIATE ? take_send(q, n, len) : take_write(q, n, len);
	shm->rx = NULL;
	if (done && ibp_resp_hears(q->qp))
		ibp_resp_executed(q, n->flags & IBP_HEADER_ASK);
	return done;
}

bool ibp_fast_take(struct ibp_port *port, const struct shm_message *rx)
{
	struct ibp_header n;
	struct eng_qp *qp;
	struct ibp_qp *q;
	bool done = false;

	if (!port->shm.stage.base || rx->len < SHM_CHANNEL_HEADER_BYTES)
		return false;
	n = ibp_header_get(rx->data);
	eng_dev_held(port->dev);
	qp = eng_qp_find(port->dev, n.dest_qpn & IBP_PSN_MASK);
	if (!qp || qp->type != IBV_QPT_RC || !ibp_resp_hears(qp))
		return false;
	q = ibp_qp(qp);
	if (!ibp_path_between(&q->conn.path, rx->src, rx->dst) || (n.src_qpn & IBP_PSN_MASK) != qp->attr.dest_qp_num)
		return false;
	if (n.opcode == WIRE_RC_ACKNOWLEDGE)
		done = take_ack(q, &n, rx);
	else if (n.opcode == WIRE_RC_SEND_ONLY || n.opcode == WIRE_RC_SEND_ONLY_WITH_IMMEDIATE || n.opcode == WIRE_RC_RDMA_WRITE_ONLY ||
		 n.opcode == WIRE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE)
		done = take_request(q, &n, rx);
	if (done)
		q->conn.heard = port->now;
	return done;
}

int ibp_fast_receive(struct eng_dev *dev, const struct shm_message *rx, int n)
{
	struct ibp_port *port = dev->proto_port;
	int done = 0;

	eng_dev_held(dev);
	while (done < n && ibp_fast_take(port, &rx[done]))
		dev->counters[ENG_C_rx_bytes] += rx[done++].len;
	dev->counters[ENG_C_rx_pkts] += (uint64_t)done;
	return done;
}

void ibp_arm_all(struct ibp_port *port)
{
	struct ut_list *n;

	while ((n = ut_list_pop(&port->unarmed))) {
		struct ibp_qp *q = ut_container(n, struct ibp_qp, conn.unarmed);

		if (ibp_req_outstanding(q) && !q->conn.req.rnr_wait && q->conn.req.deadline == UT_NEVER)
			ibp_req_arm(q, ibp_timeout_ns(q->qp->attr.timeout));
	}
}

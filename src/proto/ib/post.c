/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/post.h"

#include "engine/plain.h"
#include "engine/ring.h"
#include "host/shm/grant.h"
#include "host/shm/lane.h"
#include "proto/ib/coalesce.h"
#include "proto/ib/direct.h"
#include "proto/ib/put.h"
#include "proto/ib/requester.h"
#include "proto/ib/responder.h"
#include "proto/ib/retry.h"
#include "proto/ib/sent.h"
#include "proto/ib/show.h"
#include "proto/ib/ud.h"
#include "proto/ib/usual.h"
#include "util/probe.h"
#include "wire/ib_fields.h"

#define GROUP 16 /* messages in one commit, where more follow */

static inline bool is_usual(const struct ibp_req *r, const struct eng_swqe *w, const bool local)
{
	return !(w->started | w->verdict | (w->flags & IBV_SEND_FENCE)) &&
	       w->length <= (local ? IBP_SHM_PACKET : r->mtu) &&
	       (uint32_t)psn_diff(r->psn_send, r->psn_una) < r->window;
}

static inline bool load_wire(struct ibp_qp *q, struct eng_swqe *w, uint8_t *at)
{
	struct ut_stage *st = &q->port->train.stage;
	struct iovec iov;

	if (!w->length)
		return true;
	if (w->flags & IBV_SEND_INLINE) {
		memcpy(at, eng_swqe_inline(w), w->length);
		return true;
	}
	return eng_sge_iov(q->qp->pd, w->sge, w->num_sge, 0, w->length, false, &iov, 1) == 1 &&
	       ut_stage_gather_user(st, (size_t)(at - st->base), &iov, 1) == (ssize_t)w->length;
}

/* acks: it carries the acknowledgement that is due. */
static inline struct ibp_header local_header(const struct ibp_qp *q, const struct eng_swqe *w, uint8_t opcode, bool acks)
{
	bool se = (w->flags & IBV_SEND_SOLICITED) && opcode != WIRE_RC_RDMA_WRITE_ONLY;

	return (struct ibp_header){
		.opcode = opcode, .unit = (uint8_t)__builtin_ctz(q->conn.req.mtu),
		.flags = (uint8_t)(IBP_HEADER_ASK | (se ? IBP_HEADER_SE : 0) |
				   (acks ? IBP_HEADER_ACKS : 0)),
		.psn = q->conn.req.psn_next, .dest_qpn = q->qp->attr.dest_qp_num,
		.src_qpn = q->qp->qpn, .imm = w->imm, .rkey = w->rkey,
		.va = acks ? ibp_resp_acks(&q->conn.resp) : w->remote_addr,
		.length = (uint32_t)w->length,
	};
}

static void put_wire_header(const struct ibp_qp *q, const struct eng_swqe *w, uint8_t *at)
{
	uint8_t h[WIRE_BTH_LEN] = { 0 };

	wire_set_BTH_opcode(h, WIRE_RC_SEND_ONLY);
	wire_set_BTH_se(h, !!(w->flags & IBV_SEND_SOLICITED));
	wire_set_BTH_migreq(h, 1);
	wire_set_BTH_pad(h, -w->length & 3);
	wire_set_BTH_pkey(h, q->conn.pkey);
	wire_set_BTH_dest_qpn(h, q->qp->attr.dest_qp_num);
	wire_set_BTH_ack_req(h, 1);
	wire_set_BTH_psn(h, q->conn.req.psn_next);
	memcpy(at, h, sizeof(h));
}

/* Few enough that the reader begins on these messages while the next are written. */
static inline bool wait_for_more(struct ibp_shm *shm, bool more)
{
	more = more && shm->unpublished + 1 < GROUP;
	shm->unpublished = more ? shm->unpublished + 1 : 0;
	return more;
}

/* As ibp_put() does, with everything that is usual in one place: a call is 3 % of the post of a Send. */
static inline bool put_request(struct ibp_qp *q, struct eng_swqe *w, uint8_t opcode, bool acks, bool more)
{
	uint32_t len = (uint32_t)w->length;
	const uint8_t *from = len ? ibp_seen_payload(q, w) : NULL;
	struct shm_record *at;
	uint64_t skip;

	if ((len && !from) || !ibp_has_lane(q, q->qp->attr.dest_qp_num)) {
		struct ibp_leaving m = {
			.header = local_header(q, w, opcode, acks), .data = from, .w = w, .bytes = len, .more = more,
		};

		return ibp_put_otherwise(q, &m) && (q->conn.req.ring_end = m.end, true);
	}
	at = shm_lane_reserve(&q->conn.lane, len, &skip);
	if (!at)
		return false;
	ibp_header_put(at->header, local_header(q, w, opcode, acks));
	if (len)
		memcpy(at + 1, from, len);
	q->conn.req.ring_end = shm_lane_commit(q->port->chan, &q->conn.lane, at, len, skip, more);
	return true;
}

static inline bool post_local(struct ibp_qp *q, struct eng_swqe *w, uint8_t opcode, bool more)
{
	bool acks = opcode <= WIRE_RC_SEND_ONLY_WITH_IMMEDIATE && ibp_resp_may_ack_along(q);

	if (!put_request(q, w, opcode, acks, wait_for_more(&q->port->shm, more)))
		return false;
	if (acks)
		ibp_resp_acked(q);
	ibp_req_number(q, w);
	ibp_sent_local(q, opcode, (uint32_t)w->length);
	return true;
}

static inline bool post_wire(struct ibp_qp *q, struct eng_swqe *w)
{
	uint32_t len = (uint32_t)w->length;
	uint8_t *at = ibp_train_room(q->port, q, WIRE_BTH_LEN + len + (-len & 3) + 4);

	if (!at || !load_wire(q, w, at + WIRE_BTH_LEN))
		return false;
	put_wire_header(q, w, at);
	ibp_train_add(q->port, at, WIRE_BTH_LEN + len, -len & 3);
	ibp_show_sent(q, len, IBP_BY_WIRE);
	ibp_req_number(q, w);
	return true;
}

/* An atomic within the host: its operands are the payload. */
static __attribute__((noinline)) bool post_atomic(struct ibp_qp *q, struct eng_swqe *w, bool more)
{
	bool swaps = w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	const uint64_t operands[2] = {
		swaps ? w->atomic.swap : w->atomic.compare_add, swaps ? w->atomic.compare_add : 0,
	};
	uint8_t opcode = swaps ? WIRE_RC_COMPARE_SWAP : WIRE_RC_FETCH_ADD;
	struct ibp_req *r = &q->conn.req;
	uint32_t peer_psn = r->peer_psn;

	struct ibp_leaving m = { .data = operands, .bytes = ibp_shm_atomic_bytes(opcode) };

	if (!is_usual(r, w, IBP_FRAMED_SHM) || !ibp_req_depth_free(q))
		return false;
	m.header = local_header(q, w, opcode, false);
	m.more = wait_for_more(&q->port->shm, more);
	if (!ibp_put(q, &m))
		return false;
	r->ring_end = m.end;
	ibp_req_depth_use(r, r->psn_next);
	ibp_req_number(q, w);
	r->peer_psn = peer_psn;
	ibp_sent_local(q, opcode, 0);
	return true;
}

/* Returns true for a request that leaves as one packet, without anything unusual. */
static inline bool is_packet(const struct ibp_qp *q, const struct eng_swqe *w)
{
	return ibp_packet_opcode(w, IBP_FRAMED_WIRE) >= 0 && is_usual(&q->conn.req, w, IBP_FRAMED_WIRE);
}

/* Returns how many of at most `most` requests have left in packets. */
static uint32_t post_packets(struct ibp_qp *q, uint32_t tail, uint32_t most)
{
	uint32_t n = 0;

	for (; n < most && q->send.cur != tail; n++) {
		struct eng_swqe *w = eng_ring_at(&q->qp->sq, q->send.cur);

		if (!is_packet(q, w) || !post_wire(q, w))
			break;
	}
	return n;
}

/* Sends the requests up to the tail, or to one that is not usual. more: others follow them. */
static inline void post_messages(struct ibp_qp *q, uint32_t tail, bool more)
{
	while (q->send.cur != tail) {
		struct eng_swqe *w = eng_ring_at(&q->qp->sq, q->send.cur);
		bool follow = more || q->send.cur + 1 != tail;
		int opcode = ibp_packet_opcode(w, IBP_FRAMED_SHM);

		if (opcode < 0) {
			if (!ibp_is_atomic(w->opcode) || !post_atomic(q, w, follow))
				break;
		} else if (!is_usual(&q->conn.req, w, IBP_FRAMED_SHM) || !post_local(q, w, (uint8_t)opcode, follow)) {
			break;
		}
	}
}

/* The header of a Send carries the acknowledgement that is due; before a Write it leaves by itself. */
static __attribute__((noinline)) bool ack_first(struct ibp_qp *q, uint32_t tail)
{
	const struct eng_swqe *w = eng_ring_at(&q->qp->sq, q->send.cur);

	if (q->send.cur == tail || (w->opcode != IBV_WR_RDMA_WRITE && w->opcode != IBV_WR_RDMA_WRITE_WITH_IMM &&
				    !ibp_is_atomic(w->opcode) && ibp_resp_may_ack_along(q)))
		return true;
	return ibp_resp_ack_first(q);
}

/* Returns true if all that was posted is on its way. */
static inline bool send_messages(struct ibp_qp *q, bool batch)
{
	uint32_t tail = atomic_load_explicit(&q->qp->sq.tail, memory_order_acquire);

	if (!ibp_may_send(&q->conn.req, IBP_FRAMED_SHM))
		return false;
	if (q->conn.resp.ack_due && !ack_first(q, tail))
		return false;
	if (q->conn.req.deadline == UT_NEVER)
		ibp_arm_later(q);
	post_messages(q, tail, batch);
	return q->send.cur == tail;
}

/* Posts that coalesce, or that find other work, leave with a round. */
static inline bool may_send_packets(const struct ibp_qp *q)
{
	const struct ibp_port *port = q->port;

	return ibp_may_send(&q->conn.req, IBP_FRAMED_WIRE) && ut_list_empty(&port->active) && !port->train.waiting &&
	       !ibp_train_has_any(&port->train) &&
	       psn_diff(q->conn.req.psn_send, q->conn.req.psn_una) < IBP_COALESCE_FLIGHT;
}

/* Returns true if all that was posted is on its way, by datagrams: the acknowledgement that is due, and requests of one
 * packet. */
static bool send_packets(struct ibp_qp *q)
{
	uint32_t tail = atomic_load_explicit(&q->qp->sq.tail, memory_order_acquire);
	struct ibp_port *port = q->port;

	if (q->send.cur == tail || !may_send_packets(q) || !is_packet(q, eng_ring_at(&q->qp->sq, q->send.cur)) ||
	    (q->conn.resp.ack_due && !ibp_resp_ack_ahead(q)))
		return false;
	if (q->conn.req.deadline == UT_NEVER)
		ibp_arm_later(q);
	post_packets(q, tail, UINT32_MAX);
	ibp_train_flush(port);
	return q->send.cur == tail && !port->train.waiting;
}

/* Nothing is unusual now, so that the next plain requests of these opcodes may leave at once. */
static void set_ready(struct ibp_qp *q, uint32_t ops)
{
	uint32_t before = atomic_load_explicit(&q->qp->ready_ops, memory_order_relaxed), now = before | (ops & q->qp->plain_ops);

	if (now != before)
		atomic_store_explicit(&q->qp->ready_ops, now, memory_order_relaxed);
}

static enum proto_posted not_ready(struct ibp_qp *q)
{
	atomic_store_explicit(&q->qp->ready_ops, 0, memory_order_relaxed);
	return PROTO_NEEDS_ROUND;
}

/* The lane leads to the peer, or an observer watches it; nothing about the connection is unusual. */
static inline bool is_ready(const struct ibp_qp *q, bool *ret_watched)
{
	const struct shm_channel *chan = q->port->chan;

	*ret_watched = !shm_lane_leads(chan, &q->conn.lane);
	return ibp_may_send(&q->conn.req, IBP_FRAMED_SHM) && !q->conn.req.to_self &&
	       (!*ret_watched || shm_lane_is_watched(chan, &q->conn.lane));
}

/* A plain Send of so many octets is the next to leave: all before it have left, and there are a slot and a place in the window. */
static inline bool is_next_to_leave(struct ibp_qp *q, uint32_t len, uint32_t tail)
{
	const struct ibp_req *r = &q->conn.req;
	const struct eng_ring *sq = &q->qp->sq;

	return len - 1 < IBP_SHM_PACKET && q->send.cur == tail &&
	       tail - atomic_load_explicit(&sq->head, memory_order_relaxed) < sq->max &&
	       (uint32_t)psn_diff(r->psn_send, r->psn_una) < r->window;
}

/* The header by its words: where the compiler has all its fields at hand before the first store, it spills the PSN by 32 bits
 * and loads 64, which waits until the store buffer is empty: 3 of 32 ns of a stream of Sends. */
static inline void put_plain(struct ibp_qp *q, struct shm_record *at, const struct ibv_send_wr *wr, uint8_t opcode, bool acks,
			     const uint8_t *from, uint32_t len)
{
	uint8_t flags = (uint8_t)(IBP_HEADER_ASK | (wr->send_flags & IBV_SEND_SOLICITED ? IBP_HEADER_SE : 0) |
				  (acks ? IBP_HEADER_ACKS : 0));

	ibp_header_word(at->header, 0,
			ibp_header_first(opcode, flags, (uint8_t)__builtin_ctz(q->conn.req.mtu), q->conn.req.psn_next));
	ibp_header_word(at->header, 1, q->qp->attr.dest_qp_num | (uint64_t)q->qp->qpn << 32);
	ibp_header_word(at->header, 2, wr->imm_data);
	ibp_header_word(at->header, 3, acks ? ibp_resp_acks(&q->conn.resp) : 0);
	ibp_header_word(at->header, 4, len);
	if (len <= UT_STAGE_TAIL)
		ibp_copy_small((uint8_t *)(at + 1), from, len);
	else
		memcpy(at + 1, from, len);
}

/* What a retry and the completion need of a request that has left. */
static inline void queue_sent(struct ibp_qp *q, const struct ibv_send_wr *wr, uint32_t tail, uint8_t opcode)
{
	struct eng_swqe *w = eng_ring_at(&q->qp->sq, tail);

	if (q->conn.req.deadline == UT_NEVER)
		ibp_arm_later(q);
	eng_ring_warm(&q->qp->sq, tail + ENG_RING_AHEAD);
	eng_plain_fill(q->qp, w, wr, false);
	UT_PROBE4(post_send, q->qp->qpn, wr->opcode, wr->wr_id, wr->num_sge);
	ibp_req_number(q, w);
	ibp_sent_local(q, opcode, wr->sg_list->length);
	atomic_store_explicit(&q->qp->sq.tail, tail + 1, memory_order_release);
}

/* A plain Send. */
static inline enum proto_posted send_now(struct ibp_qp *q, const struct ibv_send_wr *wr, bool more)
{
	uint32_t tail = atomic_load_explicit(&q->qp->sq.tail, memory_order_relaxed), len = wr->sg_list->length;
	struct shm_channel *chan = q->port->chan;
	const uint8_t opcode = wr->opcode == IBV_WR_SEND ? WIRE_RC_SEND_ONLY : WIRE_RC_SEND_ONLY_WITH_IMMEDIATE;
	const bool acks = q->conn.resp.ack_due;
	const uint8_t *from;
	struct shm_record *at;
	uint64_t skip;
	bool watched;

	if (!is_ready(q, &watched))
		return not_ready(q);
	if (!is_next_to_leave(q, len, tail) || (acks && !ibp_resp_may_ack_along(q)))
		return PROTO_NEEDS_ROUND;
	from = ibp_seen_piece(q, wr->sg_list);
	at = from ? shm_lane_reserve(&q->conn.lane, len, &skip) : NULL;
	if (!at)
		return PROTO_NEEDS_ROUND;
	put_plain(q, at, wr, opcode, acks, from, len);
	if (__builtin_expect(watched, 0))
		chan->ops->watch(chan, &q->conn.path.chan, at->header, (const uint8_t *)(at + 1), len,
				 shm_lane_follows(&q->conn.lane));
	q->conn.req.ring_end = shm_lane_commit(chan, &q->conn.lane, at, len, skip, wait_for_more(&q->port->shm, more));
	if (acks)
		ibp_resp_acked(q);
	q->port->awaited = wr->send_flags & IBV_SEND_SIGNALED && q->conn.req.psn_una == q->conn.req.psn_next ? q : NULL;
	queue_sent(q, wr, tail, opcode);
	return PROTO_SENT;
}

enum proto_posted ibp_post_now(struct eng_qp *qp, const struct ibv_send_wr *wr, unsigned how)
{
	uint32_t ops = atomic_load_explicit(&qp->ready_ops, memory_order_relaxed);
	struct ibp_qp *q = ibp_qp(qp);

	if (!(ops >> wr->opcode & 1))
		return PROTO_NEEDS_ROUND; /* by a round since the caller saw it */
	if (wr->opcode == IBV_WR_RDMA_WRITE)
		return ibp_direct_now(q, wr, how) ? PROTO_EXECUTED : PROTO_NEEDS_ROUND;
	return how & PROTO_POST_SEND ? send_now(q, wr, how & PROTO_POST_BATCH) : PROTO_NEEDS_ROUND;
}

/* Of UC within the host: by the full rules, which need no time. Returns true if all that was posted is on its way. */
static bool send_unreliable(struct ibp_qp *q)
{
	struct ibp_req *r = &q->conn.req;

	if (r->slow != IBP_REQ_SERVICE || r->framing != &ibp_frame_shm || r->to_self || !ut_list_empty(&q->active))
		return false;
	ibp_req_run(q, GROUP);
	return ut_list_empty(&q->active) && q->send.cur == atomic_load_explicit(&q->qp->sq.tail, memory_order_relaxed);
}

/* Requests of unreliable services, and those of reliable connections that leave by packets. */
static enum proto_posted post_otherwise(struct ibp_qp *q, unsigned how)
{
	if (q->cls == WIRE_CLASS_UD)
		return ibp_ud_post(q) ? PROTO_SENT : PROTO_NEEDS_ROUND;
	if (q->cls == WIRE_CLASS_UC)
		return send_unreliable(q) ? PROTO_SENT : PROTO_NEEDS_ROUND;
	return !(how & (PROTO_POST_BATCH | PROTO_POST_MANY)) && send_packets(q) ? PROTO_SENT : PROTO_NEEDS_ROUND;
}

enum proto_posted ibp_post(struct eng_qp *qp, unsigned how, uint64_t now)
{
	struct ibp_qp *q = ibp_qp(qp);
	struct eng_swqe *w = ibp_direct_first(qp);

	if (w) {
		enum proto_posted r = ibp_direct_post(qp, w, how, now);

		if (r == PROTO_EXECUTED && shm_grant_holds(q->port->chan, &q->conn.grant.access))
			set_ready(q, 1u << IBV_WR_RDMA_WRITE);
		if (r != PROTO_NEEDS_ROUND)
			return r;
	} else if (ibp_direct_done(qp)) {
		return PROTO_EXECUTED; /* a round that ran meanwhile has sent it */
	}
	if (!(how & PROTO_POST_SEND))
		return PROTO_NEEDS_ROUND;
	if (!send_messages(q, how & PROTO_POST_BATCH))
		return post_otherwise(q, how);
	if (!q->conn.req.to_self)
		set_ready(q, ENG_PLAIN_SENDS);
	if (!q->conn.req.to_self || how & PROTO_POST_BATCH)
		return PROTO_SENT;
	q->port->chan->to_self = true;
	return PROTO_SENT_SELF;
}

bool ibp_post_packets(struct ibp_qp *q, uint32_t most)
{
	uint32_t tail = atomic_load_explicit(&q->qp->sq.tail, memory_order_acquire);

	/* An acknowledgement that is due leaves first, in a train of its own: the full rules send it. */
	return ibp_may_send(&q->conn.req, IBP_FRAMED_WIRE) && !q->conn.resp.ack_due && post_packets(q, tail, most);
}

void ibp_post_arm(struct ibp_port *port)
{
	struct ut_list *n;

	while ((n = ut_list_pop(&port->unarmed))) {
		struct ibp_qp *q = ut_container(n, struct ibp_qp, conn.unarmed);

		if (ibp_req_outstanding(q) && !ibp_req_is(&q->conn.req, IBP_REQ_RNR_WAIT) &&
		    q->conn.req.deadline == UT_NEVER)
			ibp_req_arm(q, ibp_timeout_ns(q->qp->attr.timeout));
	}
}

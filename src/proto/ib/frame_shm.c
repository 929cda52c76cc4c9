/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/frame_shm.h"

#include "engine/ring.h"
#include "proto/ib/put.h"
#include "proto/ib/responder.h"
#include "proto/ib/retry.h"
#include "proto/ib/sent.h"

#include <errno.h>

_Static_assert(IBP_HEADER_WORDS * 8 == SHM_CHANNEL_HEADER_BYTES, "it is what the link carries");

#define STAGE_BYTES (SHM_CHANNEL_MAX + 4096u)

int ibp_shm_init(struct ibp_port *port)
{
	port->shm.stage = (struct ut_stage)UT_STAGE_INIT;
	return port->chan->messages ? ut_stage_init(&port->shm.stage, STAGE_BYTES) : 0;
}

void ibp_shm_fini(struct ibp_port *port)
{
	ut_stage_fini(&port->shm.stage);
}

/* --- making --- */

static enum shm_reach find_way(struct ibp_qp *q)
{
	struct shm_channel *chan = q->port->chan;

	if (q->conn.route == IBP_ROUTE_ASKED)
		ibp_route_follow(q);
	if (q->conn.route != IBP_ROUTE_GOOD)
		return q->conn.route == IBP_ROUTE_ASKED ? SHM_REACH_ASKED : SHM_REACH_WIRE;
	return chan->ops->reach(chan, &q->conn.path.chan, q->qp->attr.dest_qp_num);
}

bool ibp_shm_choose(struct ibp_qp *q)
{
	struct ibp_port *port = q->port;
	struct ibp_req *r = &q->conn.req;
	enum shm_reach how = SHM_REACH_WIRE;

	if (!ibp_req_is(r, IBP_REQ_UNCHOSEN))
		return true;
	/* Where the requests of the peer have taken the wire, so do their acknowledgements, and a request by the ring
	 * would overtake them. */
	if (port->shm.stage.base && !port->wire_only && q->conn.path.valid &&
	    (ibp_resp_is(&q->conn.resp, IBP_RESP_UNCHOSEN) || q->conn.resp.framing == &ibp_frame_shm))
		how = find_way(q);
	if (how == SHM_REACH_ASKED) {
		port->blocked = true;
		return false;
	}
	ibp_req_put(r, IBP_REQ_UNCHOSEN, false);
	r->to_self = false;
	if (how != SHM_REACH_LOCAL)
		return true;
	/* An unreliable request completes when its message is in the ring, so its payload must be
	 * there, too. */
	r->framing = &ibp_frame_shm;
	r->to_self = port->chan->found_self;
	r->mtu = IBP_SHM_PACKET;
	ibp_req_open(q);
	return true;
}

/* Returns 0 if messages pass, as reserve() does if not. */
static int route_error(struct ibp_qp *q)
{
	if (q->conn.route == IBP_ROUTE_ASKED)
		ibp_route_follow(q);
	return q->conn.route == IBP_ROUTE_GOOD ? 0 : q->conn.route == IBP_ROUTE_ASKED ? -EAGAIN : -EHOSTUNREACH;
}

static struct iovec *begin(struct ibp_qp *q, bool response, uint32_t size, int *max)
{
	struct ibp_port *port = q->port;
	struct ibp_shm *shm = &port->shm;
	struct shm_channel *chan = port->chan;
	int r;

	r = route_error(q);
	if (r == 0)
		r = chan->ops->reserve(chan, &q->conn.path.chan, q->qp->attr.dest_qp_num, size, &shm->place);
	if (r == -EAGAIN) {
		port->blocked = true;
		ibp_activate(q); /* no event tells when the ring has room */
		return NULL;
	}
	shm->lost = r < 0;
	shm->response = response;
	*max = IBP_SHM_PIECES;
	return shm->iov;
}

/* Puts the payload behind the header. Returns its bytes or -EFAULT. */
static int put_payload(struct ibp_qp *q, const struct wire_ib_packet *p, int n, bool user)
{
	struct ibp_shm *shm = &q->port->shm;
	uint64_t *word = (uint64_t *)shm->place.data;

	if (wire_ib_shape(p->opcode)->flags & WIRE_F_ATOMIC) {
		word[0] = p->swap_add;
		if (ibp_shm_atomic_bytes(p->opcode) > sizeof(*word))
			word[1] = p->compare;
		return (int)ibp_shm_atomic_bytes(p->opcode);
	}
	if (!p->payload_len)
		return 0;
	if (!user) {
		memcpy(shm->place.data, shm->iov[0].iov_base, p->payload_len);
		return (int)p->payload_len;
	}
	shm->stage.pages_checked_at = q->port->link->rx_stage->pages_checked_at;
	if (ut_stage_load_user(&shm->stage, shm->place.data, shm->iov, n) !=
	    (ssize_t)p->payload_len)
		return -EFAULT;
	return (int)p->payload_len;
}

static void put_header(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct ibp_shm *shm = &q->port->shm;
	uint32_t mtu = shm->response ? q->conn.resp.mtu : q->conn.req.mtu;
	struct ibp_header h = {
		.opcode = p->opcode, .unit = (uint8_t)__builtin_ctz(mtu), .syndrome = p->syndrome,
		.flags = (uint8_t)((p->se ? IBP_HEADER_SE : 0) | (p->ack_req ? IBP_HEADER_ASK : 0) |
				   (p->migreq ? 0 : IBP_HEADER_ARMED)),
		.psn = p->psn, .dest_qpn = p->dest_qpn, .src_qpn = q->qp->qpn,
		.imm = p->imm, .rkey = p->rkey, .va = p->va,
		.length = shm->response ? p->msn : p->dma_len, .srqn = p->srqn,
	};

	if (!shm->response &&
	    !(wire_ib_shape(p->opcode)->hdrs & (WIRE_H_RETH | WIRE_H_AtomicETH)) &&
	    ibp_resp_may_ack_along(q)) {
		h.flags |= IBP_HEADER_ACKS;
		h.va = ibp_resp_acks(&q->conn.resp);
		ibp_resp_acked(q);
	}
	ibp_header_put(shm->place.header, h);
	if (!shm->response)
		ibp_header_put_pkey(shm->place.header, q->conn.pkey);
}

/* Inside a message each fourth packet wakes a reader that sleeps: a switch of threads for each would take as long as its copy. */
static bool is_urgent(const struct wire_ib_packet *p)
{
	return !(wire_ib_shape(p->opcode)->flags & (WIRE_F_FIRST | WIRE_F_MIDDLE)) || p->psn % 4 == 3;
}

static int end(struct ibp_qp *q, const struct wire_ib_packet *p, int n, bool user)
{
	struct ibp_port *port = q->port;
	struct eng_dev *dev = port->dev;
	struct ibp_shm *shm = &port->shm;
	int bytes = 0;

	eng_dev_held(dev);
	if (!shm->lost)
		bytes = put_payload(q, p, n, user);
	if (bytes >= 0 && !shm->lost) {
		put_header(q, p);
		shm->place.quiet = shm->quiet || !is_urgent(p);
		port->chan->ops->commit(port->chan, &shm->place, (uint32_t)bytes);
		port->chan->to_self |= q->conn.req.to_self;
		if (!shm->response) {
			q->conn.req.ring_end = shm->place.end;
			ibp_req_put(&q->conn.req, IBP_REQ_ROUTE, false);
		}
	}
	if (bytes < 0 || shm->lost)
		ibp_count(port, ENG_C_tx_faults);
	if (bytes < 0)
		return -EFAULT;
	port->sent++;
	ibp_sent_local(q, p->opcode, p->payload_len);
	return 0;
}

/* --- reading --- */

/* Reads the header fields behind the first words. Returns false if they do not fit the opcode. */
static bool read_payload(struct ibp_shm *shm, struct wire_ib_packet *p)
{
	uint32_t len = shm->rx->len - SHM_CHANNEL_HEADER_BYTES;
	uint64_t word[2] = { 0 };

	shm->data = shm->rx->data + SHM_CHANNEL_HEADER_BYTES;
	if (p->shape->flags & WIRE_F_ATOMIC) {
		if (len != ibp_shm_atomic_bytes(p->opcode))
			return false;
		memcpy(word, shm->data, len);
		p->swap_add = word[0];
		p->compare = word[1];
		return true;
	}
	if (!(p->shape->flags & WIRE_F_PAYLOAD))
		return len == 0;
	p->payload_len = len;
	return len <= SHM_CHANNEL_MAX;
}

/* A datagram has no connection to know the rest from (ibp_header_way()). */
static void read_way(const struct ibp_header *n, struct wire_ib_packet *p, struct link_rx *rx)
{
	rx->tos = (uint8_t)n->va;
	rx->ttl = (uint8_t)(n->va >> 8);
	p->pkey = (uint16_t)(n->va >> 16);
	p->qkey = n->rkey;
}

bool ibp_shm_parse(struct ibp_port *port, const struct shm_message *m, struct wire_ib_packet *p, struct link_rx *rx)
{
	struct ibp_shm *shm = &port->shm;
	const struct wire_ib_shape *shape;
	struct ibp_header n;

	if (!shm->stage.base || m->len < SHM_CHANNEL_HEADER_BYTES)
		return false;
	n = ibp_header_get(m->data);
	shape = wire_ib_shape(n.opcode);
	if (!shape || (shape->cls != WIRE_CLASS_RC && shape->cls != WIRE_CLASS_UC &&
		       shape->cls != WIRE_CLASS_UD && shape->cls != WIRE_CLASS_XRC) ||
	    n.unit != IBP_UNIT)
		return false;
	*p = (struct wire_ib_packet){
		.shape = shape, .opcode = n.opcode, .psn = n.psn & IBP_PSN_MASK,
		.dest_qpn = n.dest_qpn & IBP_PSN_MASK, .src_qpn = n.src_qpn & IBP_PSN_MASK, .pkey = ibp_header_pkey(m->data),
		.va = n.va, .rkey = n.rkey, .dma_len = n.length, .srqn = n.srqn & IBP_PSN_MASK,
		.imm = n.imm, .syndrome = n.syndrome, .migreq = !(n.flags & IBP_HEADER_ARMED),
		.se = n.flags & IBP_HEADER_SE, .ack_req = n.flags & IBP_HEADER_ASK,
	};
	if (shape->cls == WIRE_CLASS_UD)
		read_way(&n, p, rx);
	shm->rx = m;
	shm->unit = 1u << n.unit;
	shm->acks = (n.flags & IBP_HEADER_ACKS) && shape->cls == WIRE_CLASS_RC &&
		     !(shape->flags & WIRE_F_RSP);
	shm->ack_psn = (uint32_t)n.va & IBP_PSN_MASK;
	shm->ack_msn = (uint32_t)(n.va >> 32) & IBP_PSN_MASK;
	if (!read_payload(shm, p))
		return false;
	p->pad = -p->payload_len & 3; /* as checked for packets of the wire */
	p->payload = shm->data;
	return true;
}

int ibp_shm_place(struct ibp_port *port, struct iovec *iov, int n, uint32_t len, bool last)
{
	struct ibp_shm *shm = &port->shm;

	if (!len)
		return 0;
	if (last)
		n = ut_stage_tail(iov, n);
	shm->stage.pages_checked_at = port->link->rx_stage->pages_checked_at;
	return ut_stage_store_user(&shm->stage, shm->data, len, iov, n) == (ssize_t)len
		       ? 0 : -EFAULT;
}

static int place(struct ibp_qp *q, bool request, size_t off, struct iovec *iov, int n, uint32_t len, bool last)
{
	(void)request;
	(void)off;
	return ibp_shm_place(q->port, iov, n, len, last);
}

/* A datagram may be of any queue pair; those for QP1 keep to packets. */
static bool is_of_peer(const struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	if (p->shape->cls == WIRE_CLASS_UD)
		return !q->qp->gsi;
	return ibp_path_admits_message(&q->conn.path, rx->src, rx->dst) && p->src_qpn == q->qp->attr.dest_qp_num;
}

static bool admits(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	if (!is_of_peer(q, p, rx)) {
		ibp_count(q->port, ENG_C_rx_bad_source);
		return false;
	}
	if (!p->pkey || eng_pkey_matches(q->conn.pkey, p->pkey))
		return true;
	ibp_count(q->port, ENG_C_rx_bad_pkey);
	return false;
}

static uint32_t unit(const struct ibp_qp *q)
{
	return q->port->shm.unit;
}

/* --- the ring --- */

static bool unread(struct ibp_qp *q, bool *ret_busy)
{
	struct shm_channel *chan = q->port->chan;
	uint64_t at;

	at = chan->ops->consumed(chan, &q->conn.path.chan, q->qp->attr.dest_qp_num);
	*ret_busy = at != q->conn.req.ring_read;
	q->conn.req.ring_read = at;
	return at < q->conn.req.ring_end;
}

/* --- the framing --- */

static void flush(struct ibp_port *port)
{
	port->chan->ops->flush(port->chan);
}

/* A message that was committed belongs to the reader. */
static bool holds(const struct ibp_port *port, const struct ibp_qp *q)
{
	(void)port;
	(void)q;
	return false;
}

const struct ibp_framing ibp_frame_shm = {
	.begin = begin, .end = end, .flush = flush, .holds = holds, .acknowledge = ibp_put_ack, .unread = unread,
	.admits = admits, .unit = unit, .place = place,
};

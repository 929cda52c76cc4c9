/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The target's side of forward.h: requests go to the home process of their queue, answers come back. */
#include "proto/ib/xrc/forward.h"

#include "proto/ib/responder.h"
#include "proto/ib/xrc/home.h"
#include "util/alloc.h"
#include "util/clock.h"

#include <errno.h>

_Static_assert(sizeof(struct ibp_forward_header) == SHM_CHANNEL_HEADER_BYTES, "it is what the link carries");
_Static_assert(offsetof(struct ibp_forward_header, mark) == IBP_HEADER_UNIT_AT,
	       "by which they are told apart");

#define WAY_NS UT_MS          /* looks in between, while the way to the home process is not known */
#define TICK_NS (20 * UT_MS)  /* time without an answer after which the home process is asked */

int ibp_forward_new(struct ibp_qp *q)
{
	q->forward = ut_zalloc(sizeof(*q->forward));
	if (!q->forward)
		return -ENOMEM;
	q->forward->run = (uint32_t)ut_rng_u64(&q->port->rng);
	return 0;
}

static uint32_t oldest(const struct ibp_qp *q)
{
	return psn_add(q->conn.resp.epsn, -q->forward->out);
}

static bool same_home(struct ibp_port *port, uint32_t a, uint32_t b)
{
	eng_dev_held(port->dev);
	return !((a ^ b) & ~port->dev->qpn_mask & IBP_PSN_MASK);
}

static bool foreign(struct ibp_port *port, uint32_t srqn)
{
	eng_dev_held(port->dev);
	return !same_home(port, srqn, port->dev->qpn_fixed);
}

/* Returns true if the home process is on this process's address, too. */
static struct ut_flow here(const struct ibp_qp *q)
{
	struct ut_flow f = q->conn.path.chan;

	memcpy(f.dst, f.src, 16);
	return f;
}

int ibp_forward_say(struct ibp_port *port, const struct ut_flow *f, uint32_t qpn,
		  const struct ibp_forward_header *n, uint64_t *ret_end)
{
	struct shm_channel *chan = port->chan;
	struct shm_reservation at;
	int r = chan->ops->reserve(chan, f, qpn, 0, &at);

	if (r < 0)
		return r;
	memcpy(at.header, n, sizeof(*n));
	chan->ops->commit(chan, &at, 0);
	if (ret_end)
		*ret_end = at.end;
	port->sent++;
	ibp_count(port, ENG_C_tx_pkts);
	ibp_count(port, ENG_C_local_tx);
	return 0;
}

static struct ibp_forward_header header(const struct ibp_qp *q, enum ibp_forward_kind kind, uint32_t psn)
{
	return (struct ibp_forward_header){ .kind = kind, .mark = IBP_FORWARD_MARK, .psn = psn,
					.qpn = q->qp->qpn, .run = q->forward->run };
}

static void arm(struct ibp_qp *q, uint64_t delay)
{
	struct ut_timer *t = &q->conn.req.timer;
	uint64_t at = q->port->now + delay;

	if (!ut_timer_queued(t) || t->at > at)
		ut_timer_set(&q->port->timers, t, at);
}

/* --- requests --- */

/* Not forwarded from here: a Read and an atomic, which return data of this process; and a message
 * stays with the process in which it began. */
static bool goes_out(const struct ibp_qp *q, const struct wire_ib_packet *p)
{
	uint16_t f = p->shape->flags;

	return (f & (WIRE_F_SEND | WIRE_F_WRITE)) && foreign(q->port, p->srqn) &&
	       q->qp->xrcd->shared && q->conn.path.valid &&
	       (f & WIRE_F_START ? !q->forward->abroad
				 : q->forward->abroad &&
					   same_home(q->port, p->srqn, q->forward->srqn));
}

static int allowed(const struct ibp_qp *q, const struct wire_ib_packet *p)
{
	return (p->shape->flags & WIRE_F_WRITE) &&
			       !(q->qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE)
		       ? ENG_V_RX_DISABLED : ENG_OK;
}

static enum shm_reach way(const struct ibp_qp *q, uint32_t srqn)
{
	struct ut_flow f = here(q);

	return q->port->chan->ops->reach(q->port->chan, &f, srqn);
}

/* A header or its payload did not leave: returns what becomes of the request. */
static int not_sent(struct ibp_qp *q, int error)
{
	struct ibp_forward *y = q->forward;

	if (error != -ENOTCONN || y->out) /* if the home process is gone, the timer finds out */
		return IBP_DEFERRED;
	return y->abroad ? ENG_V_RX_HOME : ENG_V_RX_SRQN;
}

/* All requests before it have been answered. */
static void begin_run(struct ibp_qp *q)
{
	struct ibp_forward *y = q->forward;

	y->run++;
	y->msn = q->conn.resp.msn;
	y->ends = 0;
	y->seen = q->conn.resp.epsn;
}

static int open_message(struct ibp_qp *q, const struct ut_flow *f, uint32_t srqn)
{
	struct ibp_forward_header n = header(q, IBP_FORWARD_OPEN, q->conn.resp.epsn);

	n.open.fs = q->qp->xrcd->fs;
	n.open.ino = q->qp->xrcd->ino;
	return ibp_forward_say(q->port, f, srqn, &n, NULL);
}

static void put_request(const struct ibp_qp *q, const struct wire_ib_packet *p, uint8_t *to)
{
	struct ibp_forward_header n = header(q, IBP_FORWARD_REQUEST, p->psn);

	n.kind |= (p->se ? IBP_FORWARD_SOLICITED : 0) | (q->forward->out ? 0 : IBP_FORWARD_FIRST);
	n.opcode = p->opcode;
	n.unit = (uint8_t)__builtin_ctz(q->conn.resp.mtu);
	n.req.va = p->va;
	n.req.rkey = p->rkey;
	n.req.length = p->dma_len;
	n.req.imm = p->imm;
	n.req.srqn = p->srqn;
	memcpy(to, &n, sizeof(n));
}

/* Returns 0 or the error of the channel. */
static int put(struct ibp_qp *q, const struct ut_flow *f, const struct wire_ib_packet *p)
{
	struct ibp_port *port = q->port;
	struct shm_channel *chan = port->chan;
	struct shm_reservation at;
	int r = chan->ops->reserve(chan, f, p->srqn, p->payload_len, &at);

	if (r < 0)
		return r;
	if (p->payload_len)
		memcpy(at.data, p->payload, p->payload_len);
	put_request(q, p, at.header);
	chan->ops->commit(chan, &at, p->payload_len);
	port->sent++;
	ibp_count(port, ENG_C_tx_pkts);
	ibp_count(port, ENG_C_local_tx);
	return 0;
}

/* The request is out: epsn has moved on, but the home process answers. */
static void book(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct ibp_forward *y = q->forward;
	struct ibp_resp *r = &q->conn.resp;
	uint16_t f = p->shape->flags;

	if (f & WIRE_F_START) {
		q->recv.offset = 0;
		q->recv.va = f & WIRE_F_WRITE ? p->va : 0;
		q->recv.rkey = f & WIRE_F_WRITE ? p->rkey : 0;
	}
	q->recv.offset += p->payload_len;
	q->recv.srq = NULL; /* none of ours */
	ibp_recv_message(q, f & WIRE_F_END ? IBP_NONE : f & WIRE_F_WRITE ? IBP_WRITE : IBP_SEND);
	r->epsn = psn_add(r->epsn, 1);
	y->abroad = !(f & WIRE_F_END);
	y->ends += !!(f & WIRE_F_END);
	y->asked |= p->ack_req;
	y->out++;
	arm(q, TICK_NS);
}

static int forward(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct ut_flow f = here(q);
	int r = 0;

	if (!q->forward->out)
		begin_run(q);
	q->forward->srqn = p->srqn;
	if (p->shape->flags & WIRE_F_START)
		r = open_message(q, &f, p->srqn);
	if (r == 0)
		r = put(q, &f, p);
	if (r < 0)
		return not_sent(q, r);
	book(q, p);
	return IBP_AWAY;
}

int ibp_forward_request(struct ibp_qp *q, const struct wire_ib_packet *p, int v)
{
	struct ibp_forward *y = q->forward;
	enum shm_reach how = SHM_REACH_LOCAL;

	y->held = false;
	if (!goes_out(q, p))
		return y->out ? IBP_DEFERRED : IBP_HERE;
	if (v == ENG_OK)
		v = allowed(q, p);
	if (y->out && (v != ENG_OK || !same_home(q->port, p->srqn, y->srqn)))
		return IBP_DEFERRED;
	if (v != ENG_OK)
		return v;
	if (!y->out && (p->shape->flags & WIRE_F_START))
		how = way(q, p->srqn);
	if (how == SHM_REACH_LOCAL)
		return forward(q, p);
	y->srqn = p->srqn;
	return how == SHM_REACH_WIRE ? ENG_V_RX_SRQN : IBP_DEFERRED;
}

/* --- requests that are dropped meanwhile --- */

void ibp_forward_hold(struct ibp_qp *q)
{
	q->forward->held = true;
	ibp_resp_put(&q->conn.resp, IBP_RESP_GAP, true);
	arm(q, q->forward->out ? TICK_NS : WAY_NS);
}

static void ask_again(struct ibp_qp *q)
{
	struct ibp_forward *y = q->forward;

	q->conn.resp.seq_due = true;
	y->held = false;
	ibp_activate(q);
}

bool ibp_forward_covers(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	if (!q->forward->out || psn_diff(p->psn, oldest(q)) < 0)
		return false;
	q->forward->asked |= p->ack_req;
	return true;
}

/* --- answers --- */

/* The oldest request that is out was not executed, nor were those behind it. */
static void fall_back(struct ibp_qp *q, bool inside)
{
	struct ibp_forward *y = q->forward;

	q->conn.resp.epsn = oldest(q);
	ibp_recv_message(q, inside ? IBP_WRITE : IBP_NONE); /* a Send is refused before it begins */
	y->out = 0;
	y->abroad = inside;
	y->held = y->asked = false;
}

static void fail(struct ibp_qp *q, enum eng_verdict v)
{
	fall_back(q, false);
	ibp_resp_fatal(q, v, q->conn.resp.epsn);
}

static void refused(struct ibp_qp *q, const struct ibp_forward_header *n)
{
	uint32_t v = n->say.verdict;

	if (n->kind == IBP_FORWARD_ERROR) {
		fail(q, v && v < ENG_V_COUNT && eng_verdicts[v].nak ? (enum eng_verdict)v
								    : ENG_V_RX_HOME);
		return;
	}
	fall_back(q, n->say.inside);
	ibp_resp_put(&q->conn.resp, IBP_RESP_GAP, true);
	q->conn.resp.rnr_due = true;
	ibp_activate(q);
}

static void done(struct ibp_qp *q, uint32_t n)
{
	struct ibp_forward *y = q->forward;

	if (n && y->asked)
		ibp_resp_owe(q);
	if (y->out)
		return;
	y->asked = false;
	if (y->held)
		ask_again(q);
}

static struct ibp_qp *target(struct ibp_port *port, uint32_t qpn)
{
	struct eng_qp *qp = eng_qp_find(port->dev, qpn);

	return qp && qp->type == IBV_QPT_XRC_RECV ? ibp_qp(qp) : NULL;
}

/* A home process that reports a message of this target in work is told if there is none. */
static void asked(struct ibp_port *port, const struct shm_message *rx, struct ibp_qp *q,
		  const struct ibp_forward_header *n)
{
	struct ut_flow back = ibp_forward_back(port, rx);
	struct ibp_forward_header close = { .kind = IBP_FORWARD_CLOSE, .mark = IBP_FORWARD_MARK,
					.qpn = n->qpn };

	if (q && (q->forward->out || q->forward->abroad) &&
	    same_home(port, q->forward->srqn, n->req.srqn))
		return;
	(void)ibp_forward_say(port, &back, n->req.srqn & IBP_PSN_MASK, &close, NULL);
}

void ibp_forward_told(struct ibp_port *port, const struct shm_message *rx,
		    const struct ibp_forward_header *n)
{
	struct ibp_qp *q = target(port, n->qpn & IBP_PSN_MASK);
	struct ibp_forward *y;
	int32_t d;

	if (n->kind == IBP_FORWARD_ASK) {
		asked(port, rx, q, n);
		return;
	}
	if (!q || !q->forward->out || n->run != q->forward->run || ibp_resp_is(&q->conn.resp, IBP_RESP_DEAD))
		return;
	y = q->forward;
	d = psn_diff(n->psn & IBP_PSN_MASK, oldest(q));
	if (d < 0 || (uint32_t)d > y->out || (n->kind != IBP_FORWARD_DONE && (uint32_t)d == y->out))
		return;
	y->out -= (uint32_t)d;
	q->conn.resp.msn = psn_add(y->msn, n->say.ends < y->ends ? n->say.ends : y->ends);
	if (n->kind == IBP_FORWARD_DONE)
		done(q, (uint32_t)d);
	else
		refused(q, n);
}

/* --- time and end --- */

/* A single request may lie unread there. */
static void probe(struct ibp_qp *q)
{
	struct ibp_forward *y = q->forward;
	struct ibp_forward_header n = header(q, IBP_FORWARD_PROBE, oldest(q));
	struct shm_channel *chan = q->port->chan;
	struct ut_flow f = here(q);
	struct shm_reservation at;
	int r = chan->ops->reserve(chan, &f, y->srqn, 0, &at);

	if (r == -ENOTCONN)
		fail(q, ENG_V_RX_HOME);
	else if (r == 0 && chan->ops->consumed(chan, &f, y->srqn) >= y->probe_end)
		(void)ibp_forward_say(q->port, &f, y->srqn, &n, &y->probe_end);
}

void ibp_forward_timer(struct ibp_qp *q)
{
	struct ibp_forward *y = q->forward;

	if (q->proxy) {
		ibp_home_timer(q);
		return;
	}
	if (ibp_resp_is(&q->conn.resp, IBP_RESP_DEAD))
		return;
	if (y->out && oldest(q) == y->seen)
		probe(q);
	y->seen = oldest(q);
	if (y->out)
		arm(q, TICK_NS);
	else if (y->held && way(q, y->srqn) == SHM_REACH_ASKED)
		arm(q, WAY_NS);
	else if (y->held)
		ask_again(q);
}

void ibp_forward_stop(struct ibp_qp *q)
{
	struct ibp_forward *y = q->forward;
	struct ibp_forward_header n = header(q, IBP_FORWARD_CLOSE, 0);
	struct ut_flow f = here(q);

	y->held = false;
	if (!y->out && !y->abroad)
		return;
	(void)ibp_forward_say(q->port, &f, y->srqn, &n, NULL);
	fall_back(q, false);
}

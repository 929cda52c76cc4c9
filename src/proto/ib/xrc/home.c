/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/xrc/home.h"

#include "engine/gid.h"
#include "engine/proxy.h"
#include "engine/why.h"
#include "proto/ib/qp.h"
#include "proto/ib/responder.h"
#include "util/alloc.h"
#include "util/clock.h"

#include <errno.h>
#include <stdlib.h>

#define WAIT_NS (50 * UT_MS) /* time without a packet of a message in work after which the target is
                              * asked */
#define WAIT_MOST UT_S

/* --- proxies --- */

void ibp_forwards_init(struct ibp_port *port)
{
	for (unsigned i = 0; i < IBP_PROXY_KEYS; i++)
		ut_list_init(&port->forwards.keys[i]);
	ut_list_init(&port->forwards.spare);
	ut_list_init(&port->forwards.due);
}

static void destroy(struct ibp_proxy *s)
{
	struct ibp_qp *q = s->q;

	ut_timer_clear(&q->port->timers, &q->conn.req.timer);
	ut_list_del(&q->active);
	ut_list_del(&s->node);
	ut_list_del(&s->due);
	free(q->recv.rwqe);
	eng_proxy_free(q->qp);
	free(s);
}

static void destroy_all(struct ut_list *list)
{
	struct ibp_proxy *s;

	while ((s = ut_list_first(list, struct ibp_proxy, node)))
		destroy(s);
}

void ibp_forwards_fini(struct ibp_port *port)
{
	for (unsigned i = 0; i < IBP_PROXY_KEYS; i++)
		destroy_all(&port->forwards.keys[i]);
	destroy_all(&port->forwards.spare);
}

static int fill(struct ibp_port *port, struct ibp_proxy *s, struct eng_qp *qp)
{
	uint32_t sges = (uint32_t)port->dev->attr.orig_attr.max_sge;
	struct ibp_qp *q = ibp_qp(qp);

	q->qp = qp;
	q->port = port;
	q->cls = WIRE_CLASS_XRC;
	q->proxy = s;
	q->conn.req.framing = q->conn.resp.framing = &ibp_frame_shm;
	ut_list_init(&q->active);
	ut_list_init(&q->conn.acks);
	ut_list_init(&q->conn.unarmed);
	s->q = q;
	ut_list_init(&s->node);
	ut_list_init(&s->due);
	q->recv.rwqe = ut_zalloc(sizeof(struct eng_rwqe) + sges * sizeof(struct ibv_sge));
	return q->recv.rwqe ? ut_heap_reserve(&port->timers) : -ENOMEM;
}

static struct ibp_proxy *make(struct ibp_port *port)
{
	struct ibp_proxy *s = ut_zalloc(sizeof(*s));
	struct eng_qp *qp = s ? eng_proxy_new(port->dev) : NULL;

	if (!qp) {
		free(s);
		return NULL;
	}
	if (fill(port, s, qp) < 0) {
		destroy(s);
		return NULL;
	}
	port->forwards.n++;
	return s;
}

/* Returns the proxy that was used the longest time ago. */
static struct ibp_proxy *idle(struct ibp_port *port)
{
	struct ibp_proxy *s, *best = NULL;

	for (unsigned i = 0; i < IBP_PROXY_KEYS; i++)
		ut_list_each(s, &port->forwards.keys[i], node)
			if (s->q->recv.message == IBP_NONE && ut_list_empty(&s->due) &&
			    (!best || s->touched < best->touched))
				best = s;
	return best;
}

static struct ibp_proxy *unused(struct ibp_port *port)
{
	struct ibp_proxy *s = ut_list_first(&port->forwards.spare, struct ibp_proxy, node);

	if (!s && port->forwards.n < IBP_PROXIES_MAX)
		s = make(port);
	return s ? s : idle(port);
}

static struct ut_list *keys_of(struct ibp_port *port, uint32_t qpn)
{
	return &port->forwards.keys[qpn % IBP_PROXY_KEYS];
}

static struct ibp_proxy *find(struct ibp_port *port, const struct shm_message *rx, uint32_t qpn)
{
	struct ibp_proxy *s;

	ut_list_each(s, keys_of(port, qpn), node)
		if (s->q->qp->qpn == qpn && !memcmp(s->back.dst, rx->src, 16) &&
		    !memcmp(s->back.src, rx->dst, 16))
			return s;
	return NULL;
}

/* The message that was in work will not be finished. */
static void end(struct ibp_proxy *s, enum eng_verdict v)
{
	struct ibp_qp *q = s->q;

	ibp_recv_end(q, v);
	eng_proxy_revive(q->qp); /* it does not matter if there was no room for the answer */
	ibp_recv_message(q, IBP_NONE);
	ut_timer_clear(&q->port->timers, &q->conn.req.timer);
}

static void retire(struct ibp_proxy *s)
{
	end(s, ENG_V_FLUSH);
	ut_list_del(&s->due);
	ut_list_del(&s->node);
	ut_list_add_tail(&s->q->port->forwards.spare, &s->node);
}

bool ibp_home_domain(const struct ibp_proxy *s, const struct eng_xrcd *x)
{
	return x->shared && x->fs == s->fs && x->ino == s->ino;
}

/* --- answers --- */

struct ut_flow ibp_forward_back(struct ibp_port *port, const struct shm_message *rx)
{
	struct ut_flow f = { .ttl = 64 };
	int i;

	eng_dev_held(port->dev);
	i = eng_gid_find(port->dev, (const union ibv_gid *)rx->dst);
	f.scope = i >= 0 ? port->dev->port.gids[i].ifindex : 0;
	memcpy(f.src, rx->dst, 16);
	memcpy(f.dst, rx->src, 16);
	return f;
}

static void owe(struct ibp_proxy *s)
{
	if (ut_list_empty(&s->due))
		ut_list_add_tail(&s->q->port->forwards.due, &s->due);
}

static void answer(struct ibp_proxy *s, enum ibp_forward_kind kind, uint32_t psn,
		   enum eng_verdict v)
{
	const struct ibp_resp *r = &s->q->conn.resp;

	s->said = (struct ibp_forward_header){
		.kind = kind, .mark = IBP_FORWARD_MARK, .psn = psn, .qpn = s->q->qp->qpn, .run = s->run,
		.say = { .verdict = v, .ends = (uint32_t)psn_diff(r->msn, s->msn),
			 .inside = s->q->recv.message != IBP_NONE },
	};
	s->ended = kind != IBP_FORWARD_DONE;
	owe(s);
}

/* A target that does not read its ring misses this answer: it asks later. */
static void give(struct ibp_proxy *s)
{
	int r = ibp_forward_say(s->q->port, &s->back, s->said.qpn, &s->said, NULL);

	if (r == -EAGAIN)
		return;
	ut_list_del(&s->due);
	if (r == -ENOTCONN)
		retire(s);
}

void ibp_forward_run(struct ibp_port *port)
{
	struct ut_list *n, *next;

	for (n = port->forwards.due.next; n != &port->forwards.due; n = next) {
		next = n->next;
		give(ut_container(n, struct ibp_proxy, due));
	}
}

/* The target has no proxy here and may go on with another home process. If the answer cannot be
 * sent, the target asks. */
static void unknown(struct ibp_port *port, const struct shm_message *rx, const struct ibp_forward_header *n)
{
	struct ut_flow back = ibp_forward_back(port, rx);
	struct ibp_forward_header no = { .kind = IBP_FORWARD_ERROR, .mark = IBP_FORWARD_MARK,
				     .psn = n->psn, .qpn = n->qpn, .run = n->run,
				     .say = { .verdict = ENG_V_RX_HOME } };

	(void)ibp_forward_say(port, &back, n->qpn, &no, NULL);
}

/* --- requests --- */

static void open_message(struct ibp_port *port, const struct shm_message *rx, const struct ibp_forward_header *n)
{
	struct ibp_proxy *s = find(port, rx, n->qpn);

	if (s && s->ended && s->run == n->run)
		return;
	if (!s) {
		s = unused(port);
		if (!s)
			return;
		retire(s);
		ut_list_del(&s->node);
		ut_list_add_tail(keys_of(port, n->qpn), &s->node);
		s->q->qp->qpn = n->qpn;
		s->back = ibp_forward_back(port, rx);
		s->run = s->said.run = ~n->run;
		s->ended = false;
		memcpy(s->q->qp->attr.ah_attr.grh.dgid.raw, rx->src, 16);
	}
	/* Of an earlier connection of this queue pair. */
	if (s->q->recv.message != IBP_NONE)
		end(s, ENG_V_FLUSH);
	s->touched = port->now;
	s->fs = n->open.fs;
	s->ino = n->open.ino;
}

static bool parse(struct ibp_port *port, const struct shm_message *rx, const struct ibp_forward_header *n,
		  struct wire_ib_packet *p)
{
	const struct wire_ib_shape *shape = wire_ib_shape(n->opcode);
	struct ibp_shm *shm = &port->shm;

	if (!shape->name || shape->cls != WIRE_CLASS_XRC || !(shape->flags & WIRE_F_REQ) ||
	    !(shape->flags & (WIRE_F_SEND | WIRE_F_WRITE)) || n->unit < 8 ||
	    n->unit > IBP_UNIT)
		return false;
	*p = (struct wire_ib_packet){
		.shape = shape, .opcode = n->opcode, .psn = n->psn, .va = n->req.va,
		.rkey = n->req.rkey, .dma_len = n->req.length, .imm = n->req.imm,
		.srqn = n->req.srqn & IBP_PSN_MASK, .se = n->kind & IBP_FORWARD_SOLICITED,
		.payload_len = rx->len - SHM_CHANNEL_HEADER_BYTES, .migreq = true,
	};
	p->pad = -p->payload_len & 3;
	shm->rx = rx;
	shm->data = p->payload = rx->data + SHM_CHANNEL_HEADER_BYTES;
	shm->unit = 1u << n->unit;
	return true;
}

static int execute(struct ibp_proxy *s, const struct shm_message *m, const struct ibp_forward_header *n)
{
	struct link_rx rx = ibp_shm_packet(m);
	struct ibp_resp *r = &s->q->conn.resp;
	struct wire_ib_packet p;
	int v;

	if (n->psn != r->epsn)
		return ENG_V_RX_SEQUENCE;
	if (!parse(s->q->port, m, n, &p))
		return ENG_V_RX_LENGTH;
	if (s->q->recv.message == IBP_NONE)
		r->mtu = s->q->port->shm.unit;
	else if (r->mtu != s->q->port->shm.unit)
		return ENG_V_RX_LENGTH;
	s->srqn = p.srqn;
	v = ibp_resp_execute(s->q, &p, &rx);
	return eng_proxy_revive(s->q->qp) ? ENG_V_RX_CQ_FULL : v;
}

/* The receive that was taken reports the error here; the target fails in its own process. */
static void failed(struct ibp_proxy *s, enum eng_verdict v, uint32_t psn)
{
	struct eng_why why = { .key = s->q->recv.message == IBP_WRITE ? s->q->recv.rkey : 0,
			       .addr = s->q->recv.message == IBP_WRITE ? s->q->recv.va + s->q->recv.offset : 0,
			       .doing = "a request" };

	memcpy(why.peer.raw, s->back.dst, 16);
	why.peer_qpn = s->q->qp->qpn;
	eng_why(s->q->qp, v, &why);
	s->q->qp->why_said = 0;
	end(s, v);
	answer(s, IBP_FORWARD_ERROR, psn, v);
}

static void watch(struct ibp_proxy *s)
{
	struct ibp_qp *q = s->q;

	if (ut_timer_queued(&q->conn.req.timer))
		return;
	s->wait = WAIT_NS;
	s->seen = q->conn.resp.epsn;
	ut_timer_set(&q->port->timers, &q->conn.req.timer, q->port->now + s->wait);
}

static void request(struct ibp_port *port, const struct shm_message *rx, const struct ibp_forward_header *n)
{
	struct ibp_proxy *s = find(port, rx, n->qpn);
	int v;

	if (s && s->run == n->run && s->ended)
		return;
	if (!s || (s->run != n->run && !(n->kind & IBP_FORWARD_FIRST))) {
		unknown(port, rx, n);
		return;
	}
	s->touched = port->now;
	if (s->run != n->run) {
		s->run = n->run;
		s->ended = false;
		s->msn = s->q->conn.resp.msn;
		s->q->conn.resp.epsn = n->psn;
	}
	v = execute(s, rx, n);
	if (v == ENG_OK)
		answer(s, IBP_FORWARD_DONE, s->q->conn.resp.epsn, ENG_OK);
	else if (v == IBP_RNR)
		answer(s, IBP_FORWARD_RNR, n->psn, ENG_OK);
	else
		failed(s, v > 0 ? (enum eng_verdict)v : ENG_V_LOC_FAULT, n->psn);
	if (s->q->recv.message != IBP_NONE)
		watch(s);
}

static void probe(struct ibp_port *port, const struct shm_message *rx, const struct ibp_forward_header *n)
{
	struct ibp_proxy *s = find(port, rx, n->qpn);

	if (s && s->run == n->run && s->said.run == n->run)
		owe(s);
	else
		unknown(port, rx, n);
}

static void receive(struct ibp_port *port, const struct shm_message *rx,
		       const struct ibp_forward_header *n)
{
	struct ibp_proxy *s;

	switch (n->kind & IBP_FORWARD_KIND) {
	case IBP_FORWARD_OPEN:
		open_message(port, rx, n);
		break;
	case IBP_FORWARD_REQUEST:
		request(port, rx, n);
		break;
	case IBP_FORWARD_PROBE:
		probe(port, rx, n);
		break;
	default:
		s = find(port, rx, n->qpn);
		if (s)
			retire(s);
	}
}

bool ibp_forward_receive(struct ibp_port *port, const struct shm_message *rx)
{
	struct ibp_forward_header n;
	uint8_t kind;

	if (!port->shm.stage.base || rx->len < sizeof(n))
		return false;
	memcpy(&n, rx->data, sizeof(n));
	kind = n.kind & IBP_FORWARD_KIND;
	if (n.mark != IBP_FORWARD_MARK || kind < IBP_FORWARD_OPEN || kind > IBP_FORWARD_ASK)
		return false;
	n.psn &= IBP_PSN_MASK;
	n.qpn &= IBP_PSN_MASK;
	if (kind <= IBP_FORWARD_CLOSE) {
		receive(port, rx, &n);
	} else {
		n.kind = kind;
		ibp_forward_told(port, rx, &n);
	}
	return true;
}

/* --- a message that does not go on --- */

void ibp_home_timer(struct ibp_qp *q)
{
	struct ibp_proxy *s = q->proxy;
	struct ibp_forward_header ask = { .kind = IBP_FORWARD_ASK, .mark = IBP_FORWARD_MARK,
				      .qpn = q->qp->qpn, .run = s->run, .req = { .srqn = s->srqn } };
	struct shm_channel *chan = q->port->chan;
	struct shm_reservation at;
	int r = 0;

	if (q->recv.message == IBP_NONE)
		return;
	if (q->conn.resp.epsn != s->seen) {
		s->wait = WAIT_NS;
	} else {
		s->wait = s->wait < WAIT_MOST / 2 ? s->wait * 2 : WAIT_MOST;
		r = chan->ops->reserve(chan, &s->back, ask.qpn, 0, &at);
		if (r == 0 && chan->ops->consumed(chan, &s->back, ask.qpn) >= s->ask_end)
			r = ibp_forward_say(q->port, &s->back, ask.qpn, &ask, &s->ask_end);
	}
	if (r == -ENOTCONN) {
		retire(s);
		return;
	}
	s->seen = q->conn.resp.epsn;
	ut_timer_set(&q->port->timers, &q->conn.req.timer, q->port->now + s->wait);
}

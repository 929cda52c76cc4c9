/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A queue pair of a port with rules has a slow responder, so that each of its requests comes here, and exports no memory,
 * so that no requester executes one alone.
 */
#include "proto/ib/faults.h"

#include "engine/cq.h"
#include "proto/ib/direct.h"
#include "proto/ib/ibp.h"
#include "proto/ib/responder.h"

static enum link_op op_of(uint16_t flags)
{
	return flags & WIRE_F_SEND ? LINK_OP_SEND : flags & WIRE_F_WRITE ? LINK_OP_WRITE : flags & WIRE_F_READ ? LINK_OP_READ :
	       LINK_OP_ATOMIC;
}

/* A receiver that posts its next receive late. */
static int slow(struct link_rule *r, uint64_t now)
{
	if (now < r->due)
		return IBP_RNR;
	r->due = now + r->value;
	return ENG_OK;
}

static int verdict_of(struct ibp_qp *q, struct link_rule *r)
{
	if (r->act == LINK_ACT_RNR)
		return IBP_RNR;
	if (r->act == LINK_ACT_SLOW)
		return slow(r, q->port->now);
	if (r->act == LINK_ACT_OVERRUN)
		eng_cq_overrun(q->qp->recv_cq);
	if (r->act != LINK_ACT_NAK)
		return ENG_OK;
	switch (r->value) {
	case 0x61: return ENG_V_RULE_REQUEST; /* syndromes of IBTA table 45 */
	case 0x62: return ENG_V_RULE_ACCESS;
	case 0x63: return ENG_V_RULE_OPERATION;
	default: return IBP_AGAIN; /* a sequence NAK: the requester sends the packet again */
	}
}

int ibp_fault_request(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct ibp_port *port = q->port;
	/* A message has its receive from its first packet on. */
	uint32_t set = LINK_ACTS_REQUEST & (p->shape->flags & WIRE_F_START ? UINT32_MAX : ~(1u << LINK_ACT_SLOW));
	struct link_event e = {
		.op = op_of(p->shape->flags), .qpns = { q->qp->qpn, q->qp->attr.dest_qp_num }, .now = port->now,
		.adapter = port->dev->name, .peer = q->conn.path.flow.dst,
	};
	struct link_rule *r = link_rules_find(port->rules, set, &e);

	return r ? verdict_of(q, r) : ENG_OK;
}

uint32_t ibp_fault_window(struct ibp_qp *q, uint32_t limit)
{
	struct ibp_port *port = q->port;
	struct link_event e = {
		.out = true, .op = LINK_OP_OTHER, .qpns = { q->qp->qpn, q->qp->attr.dest_qp_num }, .now = port->now,
		.adapter = port->dev->name, .peer = q->conn.path.flow.dst,
	};
	const struct link_rule *r = link_rules_find(port->rules, LINK_ACTS_QUEUE_PAIR, &e);

	return r && r->value < limit ? (uint32_t)r->value : limit;
}

static void take(struct ibp_qp *q, bool on)
{
	ibp_resp_put(&q->conn.resp, IBP_RESP_RULES, on);
	if (on)
		q->conn.req.window = ibp_fault_window(q, q->conn.req.window);
}

unsigned ibp_faults(struct eng_dev *dev, struct link_rules *rules)
{
	struct ibp_port *port = dev->proto_port;
	struct shm_export *s = port->chan->export;
	bool on = rules && rules->acts & (LINK_ACTS_REQUEST | LINK_ACTS_QUEUE_PAIR);
	unsigned without_packets = 0;
	struct eng_qp *qp;
	uint32_t i = 0;

	eng_dev_held(dev);
	port->rules = on ? rules : NULL;
	port->wire_only = rules && rules->acts & LINK_ACTS_PACKET;
	while ((qp = ut_idtab_next(&dev->qps, &i))) {
		take(ibp_qp(qp), on);
		without_packets += port->wire_only && ibp_qp(qp)->conn.req.framing == &ibp_frame_shm;
	}
	if (!s || !on)
		return without_packets;
	for (uint32_t k = 0; k < SHM_EXPORTS; k++) {
		atomic_store_explicit(&s->keys[k].key, 0, memory_order_relaxed);
		atomic_store_explicit(&s->qps[k].qpn, 0, memory_order_relaxed);
	}
	port->chan->ops->end_grants(port->chan);
	port->chan->ops->quiesce(port->chan);
	return without_packets;
}

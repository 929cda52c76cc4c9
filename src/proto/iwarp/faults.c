/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/iwarp/faults.h"

#include "engine/cq.h"

static enum link_op op_of(uint8_t opcode)
{
	switch (opcode) {
	case WIRE_IW_RDMA_WRITE: return LINK_OP_WRITE;
	case WIRE_IW_READ_REQUEST: return LINK_OP_READ;
	case WIRE_IW_ATOMIC_REQUEST: return LINK_OP_ATOMIC;
	case WIRE_IW_READ_RESPONSE:
	case WIRE_IW_ATOMIC_RESPONSE: return LINK_OP_ACK;
	case WIRE_IW_TERMINATE: return LINK_OP_OTHER;
	default: return LINK_OP_SEND;
	}
}

static struct link_event event_of(const struct iwp_qp *q, bool out, enum link_op op)
{
	return (struct link_event){ .out = out, .op = op, .qpns = { q->qp->qpn }, .adapter = q->port->dev->name,
				    .peer = q->s->remote.addr, .now = q->port->now };
}

enum eng_verdict iwp_fault_request(struct iwp_qp *q, const struct iwp_rx *rx)
{
	struct link_event e = event_of(q, false, op_of(rx->opcode));
	const struct link_rule *r = link_rules_find(q->port->rules, LINK_ACTS_REQUEST & ~(1u << LINK_ACT_SLOW), &e);

	if (!r)
		return ENG_OK;
	switch (r->act) {
	case LINK_ACT_RNR: return ENG_V_RX_NO_BUFFER;
	case LINK_ACT_NAK: return r->value == 0x62 ? ENG_V_RULE_ACCESS : ENG_V_RULE_REQUEST; /* IBTA table 45 */
	case LINK_ACT_TERMINATE: return ENG_V_RULE_OPERATION;
	case LINK_ACT_OVERRUN: eng_cq_overrun(q->qp->recv_cq); return ENG_OK;
	default: return ENG_OK;
	}
}

/* A system call that takes less than was offered: the caller goes on with the rest. */
static ssize_t send_short(struct link_stream *s, const void *data, size_t len)
{
	struct iwp_qp *q = s->user;
	struct link_event e = event_of(q, true, LINK_OP_OTHER);
	const struct link_rule *r = link_rules_find(q->port->rules, LINK_ACTS_STREAM, &e);

	return q->port->streams->ops->send(s, data, r && r->value < len ? r->value : len);
}

void iwp_faults(struct eng_dev *dev, struct link_rules *rules)
{
	struct iwp_port *p = dev->proto_port;

	p->rules = rules && rules->acts & (LINK_ACTS_REQUEST | LINK_ACTS_STREAM) ? rules : NULL;
	p->over = *p->streams->ops;
	p->over.send = send_short;
	p->ops = rules && rules->acts & LINK_ACTS_STREAM ? &p->over : p->streams->ops;
}

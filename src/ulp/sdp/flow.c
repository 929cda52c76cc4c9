/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/flow.h"

void sdp_flow_begin(struct sdp_flow *f, uint32_t posted, uint32_t peer_bufs)
{
	*f = (struct sdp_flow){ .bufs = peer_bufs, .posted = posted, .told = posted };
}

bool sdp_flow_may_send(const struct sdp_flow *f, enum sdp_use use)
{
	uint32_t under_way = f->tx_seq - f->tx_acked;

	return f->bufs > under_way && f->bufs - under_way > (uint32_t)use;
}

void sdp_flow_stamp(struct sdp_flow *f, struct sdp_msg *m)
{
	m->seq = ++f->tx_seq;
	m->ack = f->rx_seq;
	m->bufs = (uint16_t)(f->posted > UINT16_MAX ? UINT16_MAX : f->posted);
	f->told = m->bufs;
	f->is_short = false;
}

enum sdp_verdict sdp_flow_arrived(struct sdp_flow *f, const struct sdp_msg *m)
{
	if (m->seq != f->rx_seq + 1)
		return SDP_BAD_SEQ;
	if (m->ack - f->tx_acked > f->tx_seq - f->tx_acked)
		return SDP_BAD_ACK;
	if (!f->told || !f->posted)
		return SDP_NO_CREDIT;
	f->rx_seq = m->seq;
	f->tx_acked = m->ack;
	f->bufs = m->bufs;
	f->told--;
	f->posted--;
	/* Not behind an update: two ends that are short would send one for the other's, forever. */
	f->is_short |= f->told <= SDP_FOR_CONTROL && (m->mid != WIRE_SDP_DATA || m->payload_len);
	return SDP_GOOD;
}

void sdp_flow_posted(struct sdp_flow *f, uint32_t nr)
{
	f->posted += nr;
}

/* The peer knows of less than half of the posted receives, or of fewer than an answer needs. An update itself uses one receive of the peer. */
bool sdp_flow_owes_update(const struct sdp_flow *f)
{
	return f->told < f->posted - f->told || (f->is_short && f->told < f->posted);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/state.h"

#include <errno.h>

int sdp_fail_rule(struct sdp_conn *c, enum sdp_verdict v)
{
	return ulp_end(&c->rdma, EPROTO, "the peer broke a rule of SDP: %s", sdp_rules[v]);
}

void sdp_disconnected(struct sdp_conn *c)
{
	c->standing = sdp_has_left(c) ? SDP_LEFT : SDP_LOST;
}

void sdp_end_again(struct sdp_conn *c)
{
	c->standing = SDP_CONNECTING;
	if (c->out_end == SDP_OUT_END_SENT)
		c->out_end = SDP_OUT_END_WANTED;
	if (c->in_end != SDP_IN_OPEN)
		c->in_end = SDP_IN_END_CAME_BEFORE;
}

bool sdp_may_post(const struct sdp_conn *c, enum sdp_use use)
{
	return !c->rdma.error && c->under_way < c->conf.depth && sdp_flow_may_send(&c->flow, use);
}

uint8_t *sdp_next_message(const struct sdp_conn *c)
{
	uint32_t lkey;

	return sdp_send_at(c, c->send_next, &lkey);
}

int sdp_post(struct sdp_conn *c, struct sdp_msg *m)
{
	uint32_t lkey;
	uint8_t *at = sdp_send_at(c, c->send_next, &lkey);
	struct ibv_sge sge = { (uintptr_t)at, 0, lkey };
	/* The end waits for DisConn, and the next Read perhaps for RdmaRdCompl; what precedes it is complete then. */
	bool signalled = c->unsignalled + 1 >= c->conf.depth / 4 || m->mid == WIRE_SDP_DISCONN || m->mid == WIRE_SDP_RDMA_RD_COMPL;
	struct ibv_send_wr wr = { .wr_id = sdp_work_id(SDP_WORK_MESSAGE, c->unsignalled + 1), .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND, .send_flags = signalled ? IBV_SEND_SIGNALED : 0 }, *bad;
	int r;

	m->req_pipe = c->wants && c->in.mode == SDP_COMBINED;
	sdp_flow_stamp(&c->flow, m);
	sge.length = (uint32_t)sdp_msg_put(at, m);
	if (m->oob_pres || m->oob_pend)
		wr.send_flags |= IBV_SEND_SOLICITED;
	if (sge.length <= c->inline_max)
		wr.send_flags |= IBV_SEND_INLINE;
	r = ibv_post_send(c->rdma.id->qp, &wr, &bad);
	if (r)
		return ulp_end(&c->rdma, r, "a message cannot be posted (%s)", strerror(r));
	c->send_next = (c->send_next + 1) % c->conf.depth;
	c->under_way++;
	c->sink.answering = m->mid == WIRE_SDP_RDMA_RD_COMPL || c->sink.answering;
	c->unsignalled = signalled ? 0 : c->unsignalled + 1;
	c->has_spoken = true;
	return 0;
}

int sdp_owe(struct sdp_conn *c, uint8_t mid, uint32_t number)
{
	if (c->nr_owed == SDP_OWED_MAX)
		return ulp_end(&c->rdma, EPROTO, "the peer asks for more answers than it gives credits for");
	c->owed[c->nr_owed++] = (struct sdp_owed){ mid, number };
	return 0;
}

void sdp_give(struct sdp_conn *c, const uint8_t *at, uint32_t len, bool oob, int32_t receive)
{
	uint32_t room = c->conf.depth + 1u;

	c->items[(c->item_first + c->nr_items) % room] = (struct sdp_item){ at, len, oob, receive };
	c->nr_items++;
	c->counts.received += len;
}

int sdp_stage(struct sdp_conn *c, struct sdp_stage *s, size_t len, int access, bool share)
{
	int r = s->at ? 0 : sdp_stage_open(s, c->rdma.pd, len, access, share);

	return r ? ulp_end(&c->rdma, -r, "memory for zero copy cannot be registered (%s)", strerror(-r)) : 0;
}

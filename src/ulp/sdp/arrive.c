/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/arrive.h"

#include "ulp/sdp/sink.h"
#include "ulp/sdp/source.h"

#include <errno.h>

/* A connection that has failed may have no queue pair: a move ends so. */
int sdp_post_receive(struct sdp_conn *c, uint32_t i)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .wr_id = sdp_work_id(SDP_WORK_RECEIVE, i), .sg_list = &sge, .num_sge = 1 }, *bad;
	int r = c->rdma.error ? -c->rdma.error : sdp_longer_post(c, i);

	if (r)
		return r;
	sge.addr = (uintptr_t)sdp_receive_at(c, i, &sge.length, &sge.lkey);
	r = ibv_post_recv(c->rdma.id->qp, &wr, &bad);
	if (r)
		return ulp_end(&c->rdma, r, "a receive cannot be posted (%s)", strerror(r));
	sdp_flow_posted(&c->flow, 1);
	return 0;
}

/* Data, or octets with an advertisement. A message without any has done its work; its receive is posted again. */
static int take_payload(struct sdp_conn *c, const struct sdp_msg *m, uint32_t i)
{
	if (!m->payload_len)
		return sdp_post_receive(c, i);
	if (c->in_end)
		return sdp_fail_rule(c, SDP_AFTER_DISCONN);
	if (c->sink.nr)
		return sdp_fail_rule(c, SDP_DATA_IN_ADVERT);
	sdp_sink_data(c);
	sdp_give(c, m->payload, m->payload_len, m->oob_pres, (int32_t)i);
	return 0;
}

static int take_disconn(struct sdp_conn *c)
{
	if (c->sink.nr)
		return sdp_fail_rule(c, SDP_DATA_IN_ADVERT);
	c->in_end = c->out_end == SDP_OUT_END_SENT ? SDP_IN_END_CAME_LAST : SDP_IN_END_CAME;
	sdp_sink_end(c);
	return 0;
}

static int take_mode(struct sdp_conn *c, const struct sdp_msg *m)
{
	enum sdp_verdict v = sdp_mode_arrived(&c->out, &c->in, m->number, c->sink.nr);

	return v ? sdp_fail_rule(c, v) : 0;
}

static int take_src_avail(struct sdp_conn *c, const struct sdp_msg *m, uint32_t i)
{
	bool crossed;
	enum sdp_verdict v = c->in_end ? SDP_AFTER_DISCONN : sdp_in_src_avail(&c->in, m, c->sink.nr, c->out.nr, &crossed);
	int r;

	if (v)
		return sdp_fail_rule(c, v);
	r = take_payload(c, m, i);
	/* One that meets SuspComm is void. */
	return r || crossed || c->suspend.state == SDP_SUSPEND_SENT ? r : sdp_sink_open(c, m);
}

/* Its octets, if any, are of the direction from the peer, as those of Data. */
static int take_sink_avail(struct sdp_conn *c, const struct sdp_msg *m, uint32_t i)
{
	int r = take_payload(c, m, i);

	return r || c->suspend.state == SDP_SUSPEND_SENT ? r : sdp_source_sink_avail(c, m);
}

static int take_control(struct sdp_conn *c, const struct sdp_msg *m)
{
	switch (m->mid) {
	case WIRE_SDP_DISCONN:
		return take_disconn(c);
	case WIRE_SDP_ABORT_CONN:
		return ulp_end(&c->rdma, ECONNRESET, "the peer aborts the connection");
	case WIRE_SDP_SEND_SM:
	case WIRE_SDP_RDMA_RD_COMPL:
		return sdp_source_answered(c, m);
	case WIRE_SDP_SRC_AVAIL_CANCEL:
		sdp_sink_cancel(c);
		return 0;
	case WIRE_SDP_SINK_AVAIL_CANCEL:
		return sdp_out_cancel(&c->out) ? sdp_owe(c, WIRE_SDP_SINK_CANCEL_ACK, 0) : 0;
	case WIRE_SDP_RDMA_WR_COMPL:
		return sdp_sink_written(c, m);
	case WIRE_SDP_SINK_CANCEL_ACK:
		return sdp_sink_cancel_acked(c);
	case WIRE_SDP_MODE_CHANGE:
		return take_mode(c, m);
	case WIRE_SDP_CH_RCV_BUF:
		return sdp_longer_asked(c, m->number);
	case WIRE_SDP_CH_RCV_BUF_ACK:
		return sdp_longer_answered(c, m->number);
	case WIRE_SDP_SUSP_COMM:
		return sdp_suspend_asked(c, m->service);
	case WIRE_SDP_SUSP_COMM_ACK:
		return sdp_suspend_answered(c);
	default: /* Hello and HelloAck come by the connection manager */
		return sdp_fail_rule(c, SDP_BAD_MID);
	}
}

int sdp_arrive(struct sdp_conn *c, uint32_t i, size_t len)
{
	uint32_t room, lkey;
	struct sdp_msg m;
	enum sdp_verdict v = sdp_msg_get(&m, sdp_receive_at(c, i, &room, &lkey), len);
	int r;

	if (!v)
		v = sdp_flow_arrived(&c->flow, &m);
	if (v)
		return sdp_fail_rule(c, v);
	/* Behind SuspComm its sender answers, and no more; behind SuspCommAck nothing follows. */
	if (c->suspend.state >= SDP_MOVED && (m.mid == WIRE_SDP_SRC_AVAIL || m.mid == WIRE_SDP_SINK_AVAIL || m.payload_len))
		return sdp_fail_rule(c, SDP_SUSPENDED);
	c->has_spoken = true;
	c->out.pipe_wanted |= m.req_pipe && c->out.mode == SDP_COMBINED;
	if (m.mid == WIRE_SDP_SRC_AVAIL)
		return take_src_avail(c, &m, i);
	if (m.mid == WIRE_SDP_SINK_AVAIL)
		return take_sink_avail(c, &m, i);
	if (m.mid == WIRE_SDP_DATA)
		return take_payload(c, &m, i);
	r = take_control(c, &m);
	return r ? r : sdp_post_receive(c, i);
}

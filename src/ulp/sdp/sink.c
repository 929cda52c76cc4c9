/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/sink.h"

/* The sink of an iWARP Read is written by the peer's answer, with a key of its own (RFC 5040, 4). */
static int read_access(const struct sdp_conn *c)
{
	bool iwarp = c->rdma.id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;

	return IBV_ACCESS_LOCAL_WRITE | (iwarp ? IBV_ACCESS_REMOTE_WRITE : 0);
}

int sdp_sink_open(struct sdp_conn *c, const struct sdp_msg *m)
{
	struct sdp_sink *k = &c->sink;

	if (k->open)
		return sdp_fail_rule(c, SDP_TWO_ADVERTS);
	k->left = m->length - m->payload_len;
	k->vaddr = m->vaddr + m->payload_len;
	k->rkey = m->rkey;
	k->cancelled = false;
	k->open = k->left != 0;
	return k->open ? sdp_stage(c, &k->stage, &k->mr, read_access(c)) : 0;
}

/* One that has ended meanwhile has been answered. */
void sdp_sink_cancel(struct sdp_conn *c)
{
	c->sink.cancelled = c->sink.open;
}

int sdp_sink_read_done(struct sdp_conn *c)
{
	struct sdp_sink *k = &c->sink;
	uint32_t n = k->reads;

	k->reading = false;
	k->staged = true;
	k->left -= n;
	k->vaddr += n;
	k->open = k->left != 0;
	c->counts.reads++;
	sdp_give(c, k->stage, n, false, -1);
	return sdp_owe(c, WIRE_SDP_RDMA_RD_COMPL, n);
}

void sdp_sink_taken(struct sdp_conn *c)
{
	c->sink.staged = false;
}

static int read_next(struct sdp_conn *c)
{
	struct sdp_sink *k = &c->sink;
	struct ibv_sge sge = { (uintptr_t)k->stage, k->left < SDP_STAGE ? k->left : SDP_STAGE, k->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = sdp_work_id(SDP_WORK_READ, 0), .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { k->vaddr, k->rkey } }, *bad;
	int r = ibv_post_send(c->rdma.id->qp, &wr, &bad);

	if (r)
		return ulp_end(&c->rdma, r, "an RDMA Read cannot be posted (%s)", strerror(r));
	k->reads = sge.length;
	k->reading = true;
	return 0;
}

int sdp_sink_progress(struct sdp_conn *c)
{
	struct sdp_sink *k = &c->sink;

	if (!k->open || k->reading)
		return 0;
	if (k->cancelled) {
		k->open = k->cancelled = false;
		return sdp_owe(c, WIRE_SDP_SEND_SM, 0);
	}
	return k->staged ? 0 : read_next(c);
}

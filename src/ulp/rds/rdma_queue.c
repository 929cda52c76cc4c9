/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/rdma_queue.h"

#include "ulp/rds/exchange.h"
#include "ulp/rds/node.h"

#include <errno.h>
#include <string.h>

#define ASK_EVERY 8                     /* messages: rds_sysctl_max_unacked_packets of Linux */
#define SIGNAL_EVERY 16                 /* sends: the ring holds several that complete */
#define OF_RECEIVE (1ull << 32)         /* in a work request identifier; the rest is a count */

static uint8_t *send_slot(const struct rds_rdma *r, uint32_t count)
{
	return r->u.memory + (size_t)(count % RDS_RDMA_SENDS) * RDS_PACKET_MAX;
}

static uint8_t *receive_slot(const struct rds_rdma *r, uint32_t count)
{
	return r->u.memory + (size_t)(RDS_RDMA_SENDS + count % RDS_RDMA_RECEIVES) * RDS_PACKET_MAX;
}

static struct ibv_sge sge_of(const struct rds_rdma *r, const uint8_t *slot, size_t len)
{
	return (struct ibv_sge){ (uintptr_t)slot, (uint32_t)len, r->u.mr->lkey };
}

static int post_receive(struct rds_rdma *r, uint32_t count)
{
	struct ibv_sge sge = sge_of(r, receive_slot(r, count), RDS_PACKET_MAX);
	struct ibv_recv_wr wr = { .wr_id = OF_RECEIVE | count, .sg_list = &sge, .num_sge = 1 }, *bad;
	int err = ibv_post_recv(r->u.id->qp, &wr, &bad);

	return err ? ulp_end(&r->u, err, "a receive cannot be posted (%s)", strerror(err)) : 0;
}

static int make_qp(struct rds_rdma *r)
{
	struct ibv_qp_init_attr a = {
		.send_cq = r->u.cq, .recv_cq = r->u.cq, .qp_type = IBV_QPT_RC, .cap = {
			.max_send_wr = RDS_RDMA_SENDS, .max_recv_wr = RDS_RDMA_RECEIVES, .max_send_sge = 1, .max_recv_sge = 1 } };

	return rdma_create_qp(r->u.id, r->u.pd, &a)
		? ulp_end(&r->u, errno, "no queue pair can be made (%s)", strerror(errno)) : 0;
}

int rds_rdma_make_queues(struct rds_rdma *r)
{
	int e = ulp_make_queues(&r->u, RDS_RDMA_SENDS + RDS_RDMA_RECEIVES);

	if (!e)
		e = ulp_make_memory(&r->u, (size_t)(RDS_RDMA_SENDS + RDS_RDMA_RECEIVES) * RDS_PACKET_MAX);
	if (!e)
		e = make_qp(r);
	for (uint32_t i = 0; !e && i < RDS_RDMA_RECEIVES; i++)
		e = post_receive(r, i);
	return e ? e : rds_rdma_watch(r);
}

/* --- sending --- */

/* Posts a packet. `last`: its receiver has to look now. */
static void post(struct rds_rdma *r, struct rds_header *h, const uint8_t *payload, uint32_t len, bool last)
{
	uint8_t *slot = send_slot(r, r->tx_posted);
	struct ibv_sge sge = sge_of(r, slot, WIRE_RDS_HEADER_LEN + len);
	struct ibv_send_wr wr = { .wr_id = r->tx_posted, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	int err;

	h->ack = r->ack;
	h->credits = rds_credit_spend(&r->credit);
	r->ack_due = false;
	rds_header_put(slot, h);
	rds_header_sum(slot);
	if (len)
		memcpy(slot + WIRE_RDS_HEADER_LEN, payload, len);
	if (r->tx_posted % SIGNAL_EVERY == SIGNAL_EVERY - 1)
		wr.send_flags |= IBV_SEND_SIGNALED;
	if (last || !rds_credit_may_send(&r->credit))
		wr.send_flags |= IBV_SEND_SOLICITED;
	err = ibv_post_send(r->u.id->qp, &wr, &bad);
	if (err)
		ulp_end(&r->u, err, "a packet cannot be sent (%s)", strerror(err));
	r->tx_posted++;
}

/* The last slot is for an acknowledgement. */
static bool may_post(const struct rds_rdma *r, bool is_ack)
{
	return !r->u.error && r->tx_posted - r->tx_done < RDS_RDMA_SENDS - (is_ack ? 0u : 1u) && rds_credit_may_send(&r->credit);
}

static bool begin_message(struct rds_rdma *r)
{
	if (!rds_out_begin(&r->c))
		return false;
	r->offset = 0;
	r->head_posted = false;
	if (!r->c.out.is_map && (++r->without_ack >= ASK_EVERY || rds_flow_is_last(&r->c.flow))) {
		r->c.out.header.ack_required = true;
		r->without_ack = 0;
	}
	return true;
}

static void post_fragment(struct rds_rdma *r)
{
	struct rds_header h = r->c.out.header;
	uint32_t left = h.len - r->offset, len = left < WIRE_RDS_FRAGMENT ? left : WIRE_RDS_FRAGMENT;

	post(r, &h, rds_out_payload(&r->c) + r->offset, len, len == left);
	r->offset += len;
	r->head_posted = true;
	if (r->offset == h.len)
		rds_out_end(&r->c, h.sequence);
}

void rds_rdma_transmit(struct rds_rdma *r)
{
	struct rds_header h = { 0 };

	if (r->state != RDS_RDMA_UP)
		return;
	while (may_post(r, false) && (r->c.out.begun || begin_message(r)))
		post_fragment(r);
	if ((r->ack_due || rds_credit_is_due(&r->credit, RDS_RDMA_RECEIVES)) && may_post(r, true))
		post(r, &h, NULL, 0, true);
	rds_rdma_check(r);
}

/* --- receiving --- */

/* A packet of one that has completed: its acknowledgement and credits count, whoever waits for the rest of it. */
static void look_at(struct rds_rdma *r, const uint8_t *packet, uint32_t len)
{
	struct rds_header h;
	enum rds_verdict v = rds_packet_get(&h, packet, len);

	if (v == RDS_BAD_SUM)
		r->c.node->counters.recv_drop_bad_checksum++;
	if (v != RDS_GOOD) {
		rds_rdma_broke_rule(r, v);
		return;
	}
	rds_credit_add(&r->credit, h.credits);
	if (h.ack <= r->acked)
		return;
	r->acked = h.ack;
	rds_flow_acked(&r->c.flow, h.ack, rds_node_done, r->c.node);
}

static void take_packet(struct rds_rdma *r, const uint8_t *packet, uint32_t len)
{
	struct rds_header h, first;
	struct rds_message *m;
	enum rds_verdict v = rds_packet_get(&h, packet, len);

	if (rds_packet_is_ack(&h, len))
		return;
	v = rds_packet_take(&r->in, &h, packet, len, &m);
	if (v != RDS_GOOD)
		rds_rdma_broke_rule(r, v);
	if (!m)
		return;
	first = r->in.first;
	if (!first.map)
		r->ack = first.sequence;
	r->ack_due |= first.ack_required;
	rds_in_done(&r->c, &first, m);
}

void rds_rdma_take_packets(struct rds_rdma *r)
{
	while (!r->u.error && !r->c.paused && r->rx_taken != r->rx_done) {
		take_packet(r, receive_slot(r, r->rx_taken), r->rx_len[r->rx_taken % RDS_RDMA_RECEIVES]);
		if (!r->u.error && !post_receive(r, r->rx_taken + RDS_RDMA_RECEIVES))
			rds_credit_posted(&r->credit);
		r->rx_taken++;
	}
	rds_rdma_transmit(r);
	rds_rdma_check(r);
}

static void take_completion(struct rds_rdma *r, const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS) {
		ulp_end(&r->u, ECONNRESET, "%s (%s)", wc->wr_id & OF_RECEIVE ? "a receive fails" : "a packet does not arrive",
			ibv_wc_status_str(wc->status));
	} else if (!(wc->wr_id & OF_RECEIVE)) {
		r->tx_done = (uint32_t)wc->wr_id + 1;
	} else if (!r->broke) {
		r->rx_len[r->rx_done % RDS_RDMA_RECEIVES] = wc->byte_len;
		look_at(r, receive_slot(r, r->rx_done), wc->byte_len);
		r->rx_done++;
	}
}

/* Returns false if there was none. */
static bool take_event(struct rds_rdma *r)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(r->u.channel, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void poll_all(struct rds_rdma *r)
{
	struct ibv_wc wc[16];
	int n;

	while ((n = ibv_poll_cq(r->u.cq, 16, wc)) > 0)
		for (int i = 0; i < n; i++)
			take_completion(r, &wc[i]);
}

void rds_rdma_take_completions(struct rds_rdma *r)
{
	while (take_event(r))
		;
	if (ibv_req_notify_cq(r->u.cq, 0))
		ulp_end(&r->u, errno, "completions cannot be waited for (%s)", strerror(errno));
	poll_all(r);
	rds_rdma_take_packets(r);
}

void rds_rdma_drain(struct rds_rdma *r)
{
	poll_all(r);
	for (; !r->broke && r->rx_taken != r->rx_done; r->rx_taken++)
		take_packet(r, receive_slot(r, r->rx_taken), r->rx_len[r->rx_taken % RDS_RDMA_RECEIVES]);
}

void rds_rdma_probe(struct rds_rdma *r)
{
	r->ack_due = true;
	rds_rdma_transmit(r);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/rdma_queue.h"

#include "ulp/rds/exchange.h"
#include "ulp/rds/job.h"
#include "ulp/rds/node.h"
#include "ulp/rds/region.h"

#include <errno.h>
#include <linux/rds.h>
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
	int e;

	r->u.pd = rds_region_pd(r->u.id->verbs);
	r->u.shares_pd = true;
	if (!r->u.pd)
		return ulp_end(&r->u, errno, "no protection domain can be made (%s)", strerror(errno));
	e = ulp_make_queues(&r->u, RDS_RDMA_SENDS + RDS_RDMA_RECEIVES);
	if (!e)
		e = ulp_make_memory(&r->u, (size_t)(RDS_RDMA_SENDS + RDS_RDMA_RECEIVES) * RDS_PACKET_MAX);
	if (!e)
		e = make_qp(r);
	for (uint32_t i = 0; !e && i < RDS_RDMA_RECEIVES; i++)
		e = post_receive(r, i);
	return e ? e : rds_rdma_watch(r);
}

/* --- sending --- */

/* Posts a packet. `last`: its receiver has to look now. `fence`: behind what has been read before. */
static void post(struct rds_rdma *r, struct rds_header *h, const uint8_t *payload, uint32_t len, bool last, bool fence)
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
	if (fence)
		wr.send_flags |= IBV_SEND_FENCE;
	if (r->tx_posted % SIGNAL_EVERY == SIGNAL_EVERY - 1)
		wr.send_flags |= IBV_SEND_SIGNALED;
	if (last || !rds_credit_may_send(&r->credit))
		wr.send_flags |= IBV_SEND_SOLICITED;
	err = ibv_post_send(r->u.id->qp, &wr, &bad);
	if (err)
		ulp_end(&r->u, err, "a packet cannot be sent (%s)", strerror(err));
	r->tx_posted++;
}

/* --- works --- */

/* The next work of the message that has begun, and not been posted; or NULL. */
static struct rds_job *next_job(const struct rds_rdma *r)
{
	const struct rds_message *m = r->c.out.is_map ? NULL : rds_flow_next(&r->c.flow);

	for (int i = 0; m && i < RDS_WORK_MAX; i++)
		if (m->works[i] && !m->works[i]->posted)
			return m->works[i];
	return NULL;
}

static struct ibv_send_wr work_request(const struct rds_work *w)
{
	struct ibv_send_wr wr = { .num_sge = 1, .send_flags = IBV_SEND_SIGNALED };

	wr.opcode = w->kind == RDS_WORK_READ ? IBV_WR_RDMA_READ : w->kind == RDS_WORK_WRITE ? IBV_WR_RDMA_WRITE
		: w->kind == RDS_WORK_FADD ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
	if (w->kind < RDS_WORK_FADD) {
		wr.wr.rdma.remote_addr = w->remote;
		wr.wr.rdma.rkey = w->key;
		return wr;
	}
	wr.wr.atomic.remote_addr = w->remote;
	wr.wr.atomic.rkey = w->key;
	wr.wr.atomic.compare_add = w->operand;
	wr.wr.atomic.swap = w->swap;
	return wr;
}

static void post_job(struct rds_rdma *r, struct rds_job *j)
{
	int e = rds_job_register(j, r->u.pd);
	struct ibv_send_wr wr = work_request(&j->work), *bad;
	struct ibv_sge sge = { (uintptr_t)rds_job_memory(j), j->work.bytes, e ? 0 : j->mr->lkey };

	wr.wr_id = r->tx_posted;
	wr.sg_list = &sge;
	if (!e) {
		j->posted = true;
		e = -ibv_post_send(r->u.id->qp, &wr, &bad);
		j->posted = !e;
	}
	if (e) {
		ulp_end(&r->u, -e, "an RDMA operation cannot be posted (%s)", strerror(-e));
		return;
	}
	rds_job_use(j);
	r->jobs[r->tx_posted++ % RDS_RDMA_SENDS] = j;
}

/* What was flushed was not done: it ends with its message, which is dropped. */
static void job_done(struct rds_rdma *r, uint32_t count, enum ibv_wc_status s)
{
	struct rds_job *j = r->jobs[count % RDS_RDMA_SENDS];
	struct rds_counters *c = &r->c.node->counters;

	if (!j)
		return;
	r->jobs[count % RDS_RDMA_SENDS] = NULL;
	if (s == IBV_WC_SUCCESS) {
		c->send_rdma_bytes += j->work.kind == RDS_WORK_WRITE ? j->work.bytes : 0;
		c->recv_rdma_bytes += j->work.kind == RDS_WORK_READ ? j->work.bytes : 0;
	}
	if (s == IBV_WC_SUCCESS)
		rds_node_worked(r->c.node, j, RDS_RDMA_SUCCESS);
	else if (s != IBV_WC_WR_FLUSH_ERR)
		rds_rdma_refused(r, j, s);
	else if (j->uses == 1) /* its message is acknowledged */
		rds_node_worked(r->c.node, j, RDS_RDMA_DROPPED);
	rds_job_put(j);
}

void rds_rdma_drop_jobs(struct rds_rdma *r)
{
	for (uint32_t i = 0; i < RDS_RDMA_SENDS; i++)
		job_done(r, i, IBV_WC_WR_FLUSH_ERR);
}

/* --- packets --- */

/* The last slot is for an acknowledgement. */
static bool has_slot(const struct rds_rdma *r, bool is_ack)
{
	return !r->u.error && r->tx_posted - r->tx_done < RDS_RDMA_SENDS - (is_ack ? 0u : 1u);
}

static bool may_post(const struct rds_rdma *r, bool is_ack)
{
	return has_slot(r, is_ack) && rds_credit_may_send(&r->credit);
}

/* Of its works the peer's program is not told. */
static bool is_silent(const struct rds_rdma *r)
{
	return !r->c.out.is_map && rds_flow_next(&r->c.flow)->silent;
}

static bool begin_message(struct rds_rdma *r)
{
	if ((!r->c.map_due && !rds_flow_may_send(&r->c.flow)) || !rds_out_begin(&r->c))
		return false;
	r->offset = 0;
	if (!r->c.out.is_map && !is_silent(r) &&
	    (++r->without_ack >= ASK_EVERY || rds_flow_is_last(&r->c.flow) || rds_flow_fills_window(&r->c.flow))) {
		r->c.out.header.ack_required = true;
		r->without_ack = 0;
	}
	return true;
}

static bool has_fence(const struct rds_rdma *r)
{
	const struct rds_message *m = r->c.out.is_map ? NULL : rds_flow_next(&r->c.flow);

	return m && m->works[0] && m->works[0]->work.flags & RDS_RDMA_FENCE;
}

static void post_fragment(struct rds_rdma *r)
{
	struct rds_header h = r->c.out.header;
	uint32_t left = h.len - r->offset, len = left < WIRE_RDS_FRAGMENT ? left : WIRE_RDS_FRAGMENT;

	post(r, &h, rds_out_payload(&r->c) + r->offset, len, len == left, has_fence(r));
	r->offset += len;
	if (r->offset == h.len)
		rds_out_end(&r->c, h.sequence);
}

/* Posts a work, or a packet. Returns false if there is nothing to be done, or no room. */
static bool take_step(struct rds_rdma *r)
{
	struct rds_job *j;

	if (!r->c.out.begun && (!may_post(r, false) || !begin_message(r)))
		return false;
	j = next_job(r);
	if (j ? !has_slot(r, false) : !is_silent(r) && !may_post(r, false))
		return false;
	if (j)
		post_job(r, j);
	else if (is_silent(r))
		rds_out_end(&r->c, r->c.out.header.sequence);
	else
		post_fragment(r);
	return true;
}

void rds_rdma_transmit(struct rds_rdma *r)
{
	struct rds_header h = { 0 };

	if (r->state != RDS_RDMA_UP)
		return;
	while (take_step(r))
		;
	if ((r->ack_due || rds_credit_is_due(&r->credit, RDS_RDMA_RECEIVES)) && may_post(r, true))
		post(r, &h, NULL, 0, true, false);
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
		if (!(wc->wr_id & OF_RECEIVE))
			job_done(r, (uint32_t)wc->wr_id, wc->status);
		ulp_end(&r->u, ECONNRESET, "%s (%s)", wc->wr_id & OF_RECEIVE ? "a receive fails" : "a packet does not arrive",
			ibv_wc_status_str(wc->status));
	} else if (!(wc->wr_id & OF_RECEIVE)) {
		for (; r->tx_done != (uint32_t)wc->wr_id + 1; r->tx_done++)
			job_done(r, r->tx_done, IBV_WC_SUCCESS);
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
	if (n < 0)
		ulp_end(&r->u, EIO, "completions cannot be polled (%s)", strerror(EIO));
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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/sink.h"

#include "ulp/clock.h"

#include <string.h>

/* What a Read of a peer of this host takes at most: so much, and for each octet 1/6 ns. */
#define LOCAL_READ_NS 12000
#define LOCAL_READ_SPEED 6

/* --- the peer's SrcAvail --- */

/* The sink of an iWARP Read is written by the peer's answer, with a key of its own (RFC 5040, 4). */
static int read_access(const struct sdp_conn *c)
{
	return IBV_ACCESS_LOCAL_WRITE | (sdp_is_iwarp(c) ? IBV_ACCESS_REMOTE_WRITE : 0);
}

int sdp_sink_open(struct sdp_conn *c, const struct sdp_msg *m)
{
	struct sdp_sink *k = &c->sink;
	struct sdp_target t = { m->vaddr + m->payload_len, m->rkey, m->length - m->payload_len };

	if (t.len)
		k->adverts[k->nr++] = t;
	return 0;
}

/* Those that have ended meanwhile have been answered. */
void sdp_sink_cancel(struct sdp_conn *c)
{
	c->sink.cancelled = c->sink.nr != 0;
}

void sdp_sink_void(struct sdp_conn *c)
{
	c->sink.nr = 0;
	c->sink.cancelled = false;
}

static void give_back(struct sdp_conn *c)
{
	c->want = (struct sdp_want){ 0 };
}

int sdp_sink_read_done(struct sdp_conn *c)
{
	struct sdp_sink *k = &c->sink;
	struct sdp_target *t = &k->adverts[0];
	uint32_t n = k->reads;

	k->reading = false;
	k->is_local = ulp_now_ns() - k->since_ns < LOCAL_READ_NS + n / LOCAL_READ_SPEED;
	t->len -= n;
	t->vaddr += n;
	if (!t->len)
		memmove(t, t + 1, --k->nr * sizeof(*t));
	k->cancelled = k->cancelled && k->nr;
	c->counts.reads++;
	if (k->into_wanted) {
		sdp_give(c, c->want.at, n, false, SDP_IN_WANTED);
	} else {
		k->staged = true;
		sdp_give(c, k->stage.at, n, false, SDP_IN_STAGE);
	}
	/* Also memory that the program offered while the stage was being filled: these octets go in front of it. */
	give_back(c);
	return sdp_owe(c, WIRE_SDP_RDMA_RD_COMPL, n);
}

void sdp_sink_taken(struct sdp_conn *c)
{
	c->sink.staged = false;
}

static int read_into(struct sdp_conn *c, uint8_t *at, uint32_t len, uint32_t lkey)
{
	struct sdp_sink *k = &c->sink;
	struct sdp_target *t = &k->adverts[0];
	struct ibv_sge sge = { (uintptr_t)at, t->len < len ? t->len : len, lkey };
	struct ibv_send_wr wr = { .wr_id = sdp_work_id(SDP_WORK_READ, 0), .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { t->vaddr, t->rkey } }, *bad;
	int r;

	k->since_ns = ulp_now_ns();
	r = ibv_post_send(c->rdma.id->qp, &wr, &bad);
	if (r)
		return ulp_end(&c->rdma, r, "an RDMA Read cannot be posted (%s)", strerror(r));
	k->reads = sge.length;
	k->reading = true;
	return 0;
}

static int read_next(struct sdp_conn *c)
{
	struct sdp_sink *k = &c->sink;
	int r;

	/* Octets that the program has not taken come before those of the wanted memory. */
	k->into_wanted = c->want.at && !c->want.back && !c->nr_items;
	if (k->into_wanted)
		return read_into(c, c->want.at, c->want.len, c->want.mr->lkey);
	/* A program that takes octets in its own memory asks for the next ones soon. */
	if (k->staged || (c->nr_items && c->wants))
		return 0;
	r = sdp_stage(c, &k->stage, SDP_STAGE, read_access(c), false);
	return r ? r : read_into(c, k->stage.at, SDP_STAGE, k->stage.mr->lkey);
}

bool sdp_sink_may_answer_later(const struct sdp_conn *c)
{
	for (uint32_t i = 0; i < c->nr_owed; i++)
		if (c->owed[i].mid != WIRE_SDP_RDMA_RD_COMPL)
			return false;
	return c->sink.is_local && c->sink.nr && !c->sink.cancelled && !c->suspend.state && c->nr_owed < SDP_MAX_ADVERTS / 2;
}

static int go_on_reading(struct sdp_conn *c)
{
	struct sdp_sink *k = &c->sink;

	if (!k->nr || k->reading || (k->is_local && k->answering) || sdp_suspend_is_next(c))
		return 0;
	if (k->cancelled) {
		k->nr = 0;
		k->cancelled = false;
		return sdp_owe(c, WIRE_SDP_SEND_SM, 0);
	}
	return read_next(c);
}

/* --- our SinkAvail --- */

void sdp_sink_data(struct sdp_conn *c)
{
	if (sdp_in_data(&c->in))
		c->counts.discarded++;
	give_back(c);
}

int sdp_sink_written(struct sdp_conn *c, const struct sdp_msg *m)
{
	enum sdp_verdict v = c->in_end ? SDP_AFTER_DISCONN : sdp_in_written(&c->in, m->number);

	if (v)
		return sdp_fail_rule(c, v);
	c->counts.written++;
	if (m->number)
		sdp_give(c, c->want.at, m->number, false, SDP_IN_WANTED);
	give_back(c);
	return 0;
}

int sdp_sink_cancel_acked(struct sdp_conn *c)
{
	enum sdp_verdict v = sdp_in_cancel_acked(&c->in);

	if (v)
		return sdp_fail_rule(c, v);
	give_back(c);
	return 0;
}

void sdp_sink_end(struct sdp_conn *c)
{
	sdp_in_begin(&c->in);
	if (!c->sink.reading)
		give_back(c);
}

/* Not in front of an RdmaRdCompl: the peer would take its SrcAvail as not read. */
static bool may_advertise(const struct sdp_conn *c)
{
	return c->want.at && !c->want.back && !c->want.quiet && !c->suspend.state && !c->nr_items && !c->sink.nr && !c->nr_owed && !c->in_end &&
	       sdp_in_may_advertise(&c->in, c->want.len, sdp_receive_size(c) - WIRE_SDP_BSDH_LEN,
				    c->source.sent, c->peer_adverts);
}

static int take_back(struct sdp_conn *c)
{
	struct sdp_msg m = { .mid = WIRE_SDP_SINK_AVAIL_CANCEL };

	if (!c->in.len && !(c->sink.reading && c->sink.into_wanted))
		give_back(c);
	if (!c->in.len || c->in.cancelled || !sdp_may_post(c, SDP_FOR_CONTROL))
		return 0;
	sdp_in_cancel(&c->in);
	return sdp_post(c, &m);
}

static int advertise(struct sdp_conn *c)
{
	struct sdp_msg m = { .mid = WIRE_SDP_SINK_AVAIL, .length = c->want.len, .rkey = c->want.mr->rkey,
			     .vaddr = (uintptr_t)c->want.at, .kept = c->in.kept };

	if (!may_advertise(c) || !sdp_may_post(c, SDP_FOR_CONTROL))
		return 0;
	sdp_in_advertise(&c->in, m.length);
	c->counts.sink_avail++;
	return sdp_post(c, &m);
}

int sdp_sink_progress(struct sdp_conn *c)
{
	int r = go_on_reading(c);

	if (r || !c->want.at)
		return r;
	return c->want.back ? take_back(c) : advertise(c);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/source.h"

#include "ulp/clock.h"

bool sdp_source_is_busy(const struct sdp_conn *c)
{
	return c->source.state != SDP_ADVERT_NONE || c->source.writing;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t data_max(const struct sdp_conn *c)
{
	return c->send_max - WIRE_SDP_BSDH_LEN;
}

/* A message with octets, which stand behind its header. */
static int post_octets(struct sdp_conn *c, struct sdp_msg *m)
{
	if (m->payload_len)
		sdp_out_data(&c->out);
	return sdp_post(c, m);
}

/* --- SrcAvail --- */

static bool may_advertise(const struct sdp_conn *c)
{
	return c->out.mode != SDP_BUFFERED && (c->in.len != 0) + 1 <= c->peer_adverts;
}

static int advertise(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	struct sdp_msg m = { .mid = WIRE_SDP_SRC_AVAIL, .length = s->len - s->done, .rkey = s->at_mr->rkey,
			     .vaddr = (uintptr_t)(s->at + s->done) };
	size_t header = sdp_header_len(m.mid);

	/* In Combined mode the message has the first octets with it, and not all. */
	if (c->out.mode == SDP_COMBINED) {
		m.payload_len = least(m.length - 1, c->send_max - (uint32_t)header);
		memcpy(sdp_next_message(c) + header, s->at + s->done, m.payload_len);
		s->done += m.payload_len;
	}
	s->state = SDP_ADVERT_SENT;
	s->until = ulp_now_ms() + c->conf.advert_ms;
	c->counts.src_avail++;
	return post_octets(c, &m);
}

int sdp_source_answered(struct sdp_conn *c, const struct sdp_msg *m)
{
	struct sdp_source *s = &c->source;

	/* SendSm may cross with the end of its advertisement. */
	if (s->state != SDP_ADVERT_SENT && s->state != SDP_ADVERT_CANCELLED)
		return m->mid == WIRE_SDP_SEND_SM ? 0 : sdp_fail_rule(c, SDP_NO_ADVERT);
	if (m->mid == WIRE_SDP_SEND_SM) {
		s->state = SDP_ADVERT_COPY;
		c->counts.send_sm++;
		return 0;
	}
	if (m->number > s->len - s->done)
		return sdp_fail_rule(c, SDP_LONG_COMPL);
	s->done += m->number;
	if (s->done == s->len) {
		s->state = SDP_ADVERT_NONE;
		c->counts.rd_compl++;
	} else if (s->state == SDP_ADVERT_SENT) {
		s->until = ulp_now_ms() + c->conf.advert_ms;
	}
	return 0;
}

static int cancel(struct sdp_conn *c)
{
	struct sdp_msg m = { .mid = WIRE_SDP_SRC_AVAIL_CANCEL };

	if ((!c->source.stop && ulp_now_ms() < c->source.until) || !sdp_may_post(c, SDP_FOR_CONTROL))
		return 0;
	c->source.state = SDP_ADVERT_CANCELLED;
	c->counts.cancelled++;
	return sdp_post(c, &m);
}

/* --- SinkAvail --- */

int sdp_source_sink_avail(struct sdp_conn *c, const struct sdp_msg *m)
{
	struct sdp_source *s = &c->source;
	bool stale;
	enum sdp_verdict v = sdp_out_sink_avail(&c->out, m, c->sink.open, data_max(c), &stale);

	if (v)
		return sdp_fail_rule(c, v);
	if (stale) {
		c->counts.stale++;
		return 0;
	}
	/* The peer drops the SrcAvail that crosses with it. */
	if (s->state == SDP_ADVERT_SENT || s->state == SDP_ADVERT_CANCELLED) {
		s->state = SDP_ADVERT_READY;
		c->counts.crossed++;
	}
	return 0;
}

/* RdmaWrCompl follows its Write on the same queue pair, so that the octets are there before it. */
static int write_next(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	struct sdp_target *t = &c->out.targets[0];
	struct ibv_sge sge = { (uintptr_t)(s->at + s->done), least(s->len - s->done, t->len), s->at_mr->lkey };
	struct ibv_send_wr wr = { .wr_id = sdp_work_id(SDP_WORK_WRITE, 0), .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { t->vaddr, t->rkey } }, *bad;
	struct sdp_msg m = { .mid = WIRE_SDP_RDMA_WR_COMPL, .number = sge.length };
	int r = ibv_post_send(c->rdma.id->qp, &wr, &bad);

	if (r)
		return ulp_end(&c->rdma, r, "an RDMA Write cannot be posted (%s)", strerror(r));
	s->writing = true;
	s->done += sge.length;
	if (s->done == s->len)
		s->state = SDP_ADVERT_NONE;
	c->counts.writes++;
	sdp_out_written(&c->out);
	return sdp_post(c, &m);
}

void sdp_source_write_done(struct sdp_conn *c)
{
	c->source.writing = false;
}

/* --- the way of the octets --- */

static int copy(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	struct sdp_msg m = { .mid = WIRE_SDP_DATA };
	int r = 0;

	while (!r && s->done < s->len && sdp_may_post(c, SDP_FOR_DATA)) {
		m.payload_len = least(s->len - s->done, data_max(c));
		memcpy(sdp_next_message(c) + WIRE_SDP_BSDH_LEN, s->at + s->done, m.payload_len);
		s->done += m.payload_len;
		c->counts.data++;
		r = post_octets(c, &m);
	}
	if (s->done == s->len)
		s->state = SDP_ADVERT_NONE;
	return r;
}

static int go_on(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;

	if (s->writing)
		return 0;
	if (c->out.nr)
		return sdp_may_post(c, SDP_FOR_CONTROL) ? write_next(c) : 0;
	if (s->len - s->done < 2 || s->len - s->done < c->conf.advertise || !may_advertise(c)) {
		s->state = SDP_ADVERT_COPY;
		return copy(c);
	}
	return sdp_may_post(c, SDP_FOR_DATA) ? advertise(c) : 0;
}

/* The source changes between advertisements: none has to change its form. */
static int change_mode(struct sdp_conn *c)
{
	struct sdp_msg m = { .mid = WIRE_SDP_MODE_CHANGE };

	if (!c->out.pipe_wanted || c->out.mode != SDP_COMBINED || c->source.state == SDP_ADVERT_SENT ||
	    c->source.state == SDP_ADVERT_CANCELLED || !sdp_may_post(c, SDP_FOR_CONTROL))
		return 0;
	c->out.pipe_wanted = false;
	m.number = sdp_out_change(&c->out, SDP_PIPELINED);
	c->counts.mode_changes++;
	return sdp_post(c, &m);
}

bool sdp_source_may_begin(const struct sdp_conn *c)
{
	return !sdp_source_is_busy(c) && (c->out.nr || may_advertise(c)) && sdp_may_post(c, SDP_FOR_DATA);
}

int sdp_source_begin(struct sdp_conn *c, const uint8_t *at, uint32_t len, const struct ibv_mr *mr)
{
	struct sdp_source *s = &c->source;

	s->at = at;
	s->at_mr = mr;
	s->len = len;
	s->done = 0;
	s->stop = false;
	s->state = SDP_ADVERT_READY;
	c->counts.sent += len;
	return go_on(c);
}

/* What the peer has not been told of, or has given back by SendSm, goes back to the program. */
static void stop(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;

	if (s->writing || (s->state != SDP_ADVERT_READY && s->state != SDP_ADVERT_COPY))
		return;
	c->counts.sent -= s->len - s->done;
	s->state = SDP_ADVERT_NONE;
	s->stop = false;
}

int sdp_source_progress(struct sdp_conn *c)
{
	int r = change_mode(c);

	if (r)
		return r;
	if (c->source.stop)
		stop(c);
	switch (c->source.state) {
	case SDP_ADVERT_READY:
		return go_on(c);
	case SDP_ADVERT_SENT:
		return cancel(c);
	case SDP_ADVERT_COPY:
		return copy(c);
	default:
		return 0;
	}
}

int64_t sdp_source_due(const struct sdp_conn *c)
{
	return c->source.state == SDP_ADVERT_SENT ? c->source.until : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/source.h"

#include "ulp/clock.h"

#include <string.h>

/* From SrcAvail to RdmaRdCompl a peer of this host takes at most so much, and 1/10 ns for each octet that is advertised. */
#define LOCAL_NS 12000
#define LOCAL_SPEED 10

bool sdp_source_is_busy(const struct sdp_conn *c)
{
	return c->source.nr || c->source.writing;
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

/* --- pieces --- */

/* The oldest piece has gone, or is taken back. */
static void drop(struct sdp_source *s)
{
	if (s->direct)
		s->gone = s->pieces[0].done;
	s->nr--;
	s->direct = false;
	memmove(s->pieces, s->pieces + 1, s->nr * sizeof(s->pieces[0]));
}

static bool is_done(const struct sdp_source *s)
{
	return s->pieces[0].done == s->pieces[0].len;
}

/* --- SrcAvail --- */

static bool may_advertise(const struct sdp_conn *c)
{
	unsigned outstanding = c->source.sent + (c->in.len != 0);

	switch (c->out.mode) {
	case SDP_COMBINED:
		return !c->source.sent && outstanding < c->peer_adverts;
	case SDP_PIPELINED:
		return outstanding < c->peer_adverts;
	default:
		return false;
	}
}

static int advertise(struct sdp_conn *c, struct sdp_piece *p)
{
	struct sdp_source *s = &c->source;
	struct sdp_msg m = { .mid = WIRE_SDP_SRC_AVAIL, .length = p->len - p->done, .rkey = p->mr->rkey,
			     .vaddr = (uintptr_t)(p->at + p->done) };
	size_t header = sdp_header_len(m.mid);

	/* In Combined mode the message has the first octets with it, and not all. */
	if (c->out.mode == SDP_COMBINED) {
		m.payload_len = least(m.length - 1, c->send_max - (uint32_t)header);
		memcpy(sdp_next_message(c) + header, p->at + p->done, m.payload_len);
		p->done += m.payload_len;
	}
	sdp_longer_sent(c, 0);
	p->since_ns = ulp_now_ns();
	p->ahead = 0;
	for (uint32_t i = 0; i <= s->sent; i++)
		p->ahead += s->pieces[i].len - s->pieces[i].done;
	if (!s->sent++)
		s->until = ulp_now_ms() + c->conf.advert_ms;
	c->counts.src_avail++;
	return post_octets(c, &m);
}

void sdp_source_void(struct sdp_conn *c)
{
	c->source.sent = 0;
	if (c->source.state == SDP_ADVERT_CANCELLED)
		c->source.state = SDP_ADVERT_READY;
}

static int take_compl(struct sdp_conn *c, uint32_t octets)
{
	struct sdp_source *s = &c->source;
	struct sdp_piece *p = &s->pieces[0];

	if (octets > p->len - p->done)
		return sdp_fail_rule(c, SDP_LONG_COMPL);
	p->done += octets;
	s->until = ulp_now_ms() + c->conf.advert_ms;
	if (!is_done(s))
		return 0;
	s->is_local = ulp_now_ns() - p->since_ns < LOCAL_NS + p->ahead / LOCAL_SPEED;
	drop(s);
	c->counts.rd_compl++;
	if (!--s->sent)
		s->state = SDP_ADVERT_READY;
	return 0;
}

int sdp_source_answered(struct sdp_conn *c, const struct sdp_msg *m)
{
	struct sdp_source *s = &c->source;

	/* SendSm may cross with the end of its advertisement. */
	if (!s->sent)
		return m->mid == WIRE_SDP_SEND_SM ? 0 : sdp_fail_rule(c, SDP_NO_ADVERT);
	if (m->mid == WIRE_SDP_RDMA_RD_COMPL)
		return take_compl(c, m->number);
	s->state = SDP_ADVERT_COPY;
	s->copies = s->sent;
	s->sent = 0;
	c->counts.send_sm++;
	return 0;
}

static int cancel(struct sdp_conn *c)
{
	struct sdp_msg m = { .mid = WIRE_SDP_SRC_AVAIL_CANCEL };

	if (!c->source.sent || (!c->source.stop && ulp_now_ms() < c->source.until) || !sdp_may_post(c, SDP_FOR_CONTROL))
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
	enum sdp_verdict v = sdp_out_sink_avail(&c->out, m, c->sink.nr, data_max(c), &stale);

	if (v)
		return sdp_fail_rule(c, v);
	if (stale) {
		c->counts.stale++;
		return 0;
	}
	/* The peer drops the SrcAvails that cross with it. */
	if (s->sent) {
		s->state = SDP_ADVERT_READY;
		s->sent = 0;
		c->counts.crossed++;
	}
	return 0;
}

/* RdmaWrCompl follows its Write on the same queue pair, so that the octets are there before it. */
static int write_next(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	struct sdp_piece *p = &s->pieces[0];
	struct sdp_target *t = &c->out.targets[0];
	struct ibv_sge sge = { (uintptr_t)(p->at + p->done), least(p->len - p->done, t->len), p->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = sdp_work_id(SDP_WORK_WRITE, 0), .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { t->vaddr, t->rkey } }, *bad;
	struct sdp_msg m = { .mid = WIRE_SDP_RDMA_WR_COMPL, .number = sge.length };
	int r = ibv_post_send(c->rdma.id->qp, &wr, &bad);

	if (r)
		return ulp_end(&c->rdma, r, "an RDMA Write cannot be posted (%s)", strerror(r));
	s->writing = true;
	p->done += sge.length;
	if (is_done(s))
		drop(s);
	c->counts.writes++;
	sdp_out_written(&c->out);
	return sdp_post(c, &m);
}

void sdp_source_write_done(struct sdp_conn *c)
{
	c->source.writing = false;
}

/* --- the way of the octets --- */

static int copy_octets(struct sdp_conn *c, struct sdp_piece *p)
{
	struct sdp_msg m = { .mid = WIRE_SDP_DATA };

	m.payload_len = least(p->len - p->done, data_max(c));
	memcpy(sdp_next_message(c) + WIRE_SDP_BSDH_LEN, p->at + p->done, m.payload_len);
	p->done += m.payload_len;
	sdp_longer_sent(c, m.payload_len);
	c->counts.data++;
	return post_octets(c, &m);
}

static int copy(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	int r = 0;

	while (!r && s->copies && sdp_may_post(c, SDP_FOR_DATA)) {
		r = copy_octets(c, &s->pieces[0]);
		if (!is_done(s))
			continue;
		drop(s);
		s->copies--;
	}
	if (!s->copies)
		s->state = SDP_ADVERT_READY;
	return r;
}

/* The next piece that is not advertised. */
static int go_on(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	struct sdp_piece *p = &s->pieces[s->sent];
	bool few;

	if (s->sent == s->nr || s->writing)
		return 0;
	if (c->out.nr)
		return sdp_may_post(c, SDP_FOR_CONTROL) ? write_next(c) : 0;
	few = p->len - p->done < 2 || p->len - p->done < c->conf.advertise;
	if (!few && may_advertise(c))
		return sdp_may_post(c, SDP_FOR_DATA) ? advertise(c, p) : 0;
	/* Data may not pass octets that are advertised. */
	if (s->sent)
		return 0;
	s->state = SDP_ADVERT_COPY;
	s->copies = 1;
	return copy(c);
}

/* The source changes between advertisements: none has to change its form. */
static int change_mode(struct sdp_conn *c)
{
	struct sdp_msg m = { .mid = WIRE_SDP_MODE_CHANGE };

	if (!c->out.pipe_wanted || c->out.mode != SDP_COMBINED || c->source.sent || !sdp_may_post(c, SDP_FOR_CONTROL))
		return 0;
	c->out.pipe_wanted = false;
	m.number = sdp_out_change(&c->out, SDP_PIPELINED);
	c->counts.mode_changes++;
	return sdp_post(c, &m);
}

bool sdp_source_is_local(const struct sdp_conn *c)
{
	/* Over iWARP within a host the answer to a Read goes through a stream, and not by loads of the stage. */
	return c->source.is_local && !sdp_is_iwarp(c) && (!c->source.stage.at || c->source.stage.shared);
}

bool sdp_source_may_begin(const struct sdp_conn *c)
{
	return !sdp_source_is_busy(c) && (c->out.nr || may_advertise(c)) && sdp_may_post(c, SDP_FOR_DATA);
}

/* A second piece waits for its advertisement at most until the first has ended. */
static bool may_stage(const struct sdp_conn *c)
{
	const struct sdp_source *s = &c->source;

	return sdp_source_may_begin(c) || (s->nr && s->nr < s->nr_slots && !s->direct && !s->writing && s->state == SDP_ADVERT_READY &&
					   may_advertise(c) && sdp_may_post(c, SDP_FOR_DATA));
}

static uint8_t *next_slot(const struct sdp_source *s)
{
	return s->stage.at + s->slot * (size_t)s->slot_len;
}

/* As many slots as the peer takes advertisements, which may be others behind a move. */
static void lay_out(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	uint32_t n = c->peer_adverts < 2 ? 2 : c->peer_adverts < SDP_MAX_ADVERTS ? c->peer_adverts : SDP_MAX_ADVERTS;

	if (s->nr || s->nr_slots == n)
		return;
	s->slot = 0;
	s->nr_slots = n;
	s->slot_len = 2 * SDP_STAGE / n & ~63u;
}

uint8_t *sdp_source_room(struct sdp_conn *c, size_t *ret_len)
{
	struct sdp_source *s = &c->source;

	if (!may_stage(c) || sdp_stage(c, &s->stage, 2 * (size_t)SDP_STAGE, IBV_ACCESS_REMOTE_READ, true))
		return NULL;
	lay_out(c);
	*ret_len = s->slot_len;
	return next_slot(s);
}

static int begin(struct sdp_conn *c, struct sdp_piece p)
{
	c->source.pieces[c->source.nr++] = p;
	c->counts.sent += p.len;
	return c->source.state == SDP_ADVERT_READY && !c->suspend.state ? go_on(c) : 0;
}

bool sdp_source_is_room(const struct sdp_conn *c, const uint8_t *room)
{
	return c->source.stage.at && room == next_slot(&c->source);
}

int sdp_source_send(struct sdp_conn *c, uint32_t len)
{
	struct sdp_source *s = &c->source;
	struct sdp_piece p = { next_slot(s), s->stage.mr, len, 0 };

	s->slot = (s->slot + 1) % s->nr_slots;
	return begin(c, p);
}

int sdp_source_begin(struct sdp_conn *c, const uint8_t *at, uint32_t len, const struct ibv_mr *mr)
{
	c->source.stop = false;
	c->source.direct = true;
	return begin(c, (struct sdp_piece){ at, mr, len, 0 });
}

/* What the peer has not been told of, or has given back by SendSm, goes back to the program. */
static void stop(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;

	if (s->writing || s->sent || s->state == SDP_ADVERT_CANCELLED)
		return;
	if (s->nr) {
		c->counts.sent -= s->pieces[0].len - s->pieces[0].done;
		drop(s);
	}
	s->copies = 0;
	s->state = SDP_ADVERT_READY;
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
		r = cancel(c);
		return r || c->source.state != SDP_ADVERT_READY ? r : go_on(c);
	case SDP_ADVERT_COPY:
		return copy(c);
	default:
		return 0;
	}
}

int64_t sdp_source_due(const struct sdp_conn *c)
{
	return c->source.sent && c->source.state == SDP_ADVERT_READY ? c->source.until : 0;
}

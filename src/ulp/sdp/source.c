/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/source.h"

#include "ulp/clock.h"

bool sdp_source_is_busy(const struct sdp_conn *c)
{
	return c->source.state != SDP_ADVERT_NONE;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

int sdp_source_advertise(struct sdp_conn *c, uint32_t len)
{
	struct sdp_source *s = &c->source;
	struct sdp_msg m = { .mid = WIRE_SDP_SRC_AVAIL, .length = len, .rkey = s->mr->rkey,
			     .vaddr = (uintptr_t)s->stage };
	size_t header = sdp_header_len(m.mid);

	/* Combined mode, in which a connection begins: the message has the first octets with it. */
	m.payload_len = least(len, c->send_max - (uint32_t)header);
	memcpy(sdp_next_message(c) + header, s->stage, m.payload_len);
	s->state = m.payload_len == len ? SDP_ADVERT_NONE : SDP_ADVERT_SENT;
	s->len = len;
	s->done = m.payload_len;
	s->until = ulp_now_ms() + c->conf.advert_ms;
	c->counts.src_avail++;
	c->counts.sent += len;
	return sdp_post(c, &m);
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

static int copy(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	struct sdp_msg m = { .mid = WIRE_SDP_DATA };
	int r = 0;

	while (!r && s->done < s->len && sdp_may_post(c, SDP_FOR_DATA)) {
		m.payload_len = least(s->len - s->done, c->send_max - WIRE_SDP_BSDH_LEN);
		memcpy(sdp_next_message(c) + WIRE_SDP_BSDH_LEN, s->stage + s->done, m.payload_len);
		s->done += m.payload_len;
		c->counts.data++;
		r = sdp_post(c, &m);
	}
	if (s->done == s->len)
		s->state = SDP_ADVERT_NONE;
	return r;
}

int sdp_source_progress(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	struct sdp_msg m = { .mid = WIRE_SDP_SRC_AVAIL_CANCEL };

	if (s->state == SDP_ADVERT_COPY)
		return copy(c);
	if (s->state != SDP_ADVERT_SENT || ulp_now_ms() < s->until || !sdp_may_post(c, SDP_FOR_CONTROL))
		return 0;
	s->state = SDP_ADVERT_CANCELLED;
	c->counts.cancelled++;
	return sdp_post(c, &m);
}

int64_t sdp_source_due(const struct sdp_conn *c)
{
	return c->source.state == SDP_ADVERT_SENT ? c->source.until : 0;
}

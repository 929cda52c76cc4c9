/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/rmpp.h"

#include "mgmt/agents.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "wire/cm_fields.h"
#include "wire/rmpp_fields.h"

#include <stdlib.h>
#include <string.h>

/* What a segment carries behind the RMPP header; PayloadLength counts these bytes (IBTA vol 1, 13.6.2.1). */
#define BEHIND_RMPP (ATT_MAD_LENGTH - WIRE_RMPP_END)

static unsigned data_size(const uint8_t *mad)
{
	return ATT_MAD_LENGTH - agents_data_offset((uint8_t)wire_get_MAD_mgmt_class(mad));
}

bool rmpp_is_active(const uint8_t *mad)
{
	return agents_is_rmpp_class((uint8_t)wire_get_MAD_mgmt_class(mad)) && wire_get_RMPP_active(mad);
}

/* The headers of a MAD in the opposite direction. */
static void begin_reply(uint8_t *reply, const uint8_t *mad, enum wire_rmpp_type type)
{
	memset(reply, 0, ATT_MAD_LENGTH);
	memcpy(reply, mad, agents_data_offset((uint8_t)wire_get_MAD_mgmt_class(mad)));
	wire_set_MAD_r(reply, !wire_get_MAD_r(mad));
	wire_set_RMPP_version(reply, 1);
	wire_set_RMPP_type(reply, type);
	wire_set_RMPP_first(reply, 0);
	wire_set_RMPP_last(reply, 0);
	wire_set_RMPP_active(reply, 1);
	wire_set_RMPP_status(reply, 0);
}

static void reply(const struct att_addr *to, const uint8_t *mad, enum wire_rmpp_type type, unsigned status,
		  uint32_t segment, uint32_t window, const struct rmpp_out *out)
{
	uint8_t r[ATT_MAD_LENGTH];

	begin_reply(r, mad, type);
	wire_set_RMPP_status(r, status);
	wire_set_RMPP_segment(r, segment);
	wire_set_RMPP_length_or_window(r, window);
	out->transmit(out->ctx, to, r);
}

static void refuse(const struct att_addr *to, const uint8_t *mad, enum wire_rmpp_status status,
		   const struct rmpp_out *out)
{
	reply(to, mad, status == WIRE_RMPP_RESOURCES ? WIRE_RMPP_STOP : WIRE_RMPP_ABORT, status, 0, 0, out);
}

/* --- sender --- */

void rmpp_send_init(struct rmpp_send *s, const uint8_t *message, size_t length, const struct att_addr *to,
		    uint32_t window)
{
	size_t data = length - agents_data_offset((uint8_t)wire_get_MAD_mgmt_class(message));

	*s = (struct rmpp_send){ .message = message, .length = length, .to = *to, .window = window };
	s->segments = data ? (uint32_t)((data + data_size(message) - 1) / data_size(message)) : 1;
}

/* Bytes of data in segment n, from 1. */
static unsigned segment_data(const struct rmpp_send *s, uint32_t n)
{
	size_t size = data_size(s->message), at = (n - 1) * size;
	size_t all = s->length - (ATT_MAD_LENGTH - size);

	return (unsigned)(all - at < size ? all - at : size);
}

static void send_segment(const struct rmpp_send *s, uint32_t n, const struct rmpp_out *out)
{
	uint8_t mad[ATT_MAD_LENGTH] = { 0 };
	unsigned size = data_size(s->message), header = ATT_MAD_LENGTH - size, len = segment_data(s, n);
	uint32_t payload = 0, pad = size - segment_data(s, s->segments);

	memcpy(mad, s->message, header);
	memcpy(mad + header, s->message + header + (size_t)(n - 1) * size, len);
	wire_set_RMPP_version(mad, 1);
	wire_set_RMPP_type(mad, WIRE_RMPP_DATA);
	wire_set_RMPP_active(mad, 1);
	wire_set_RMPP_first(mad, n == 1);
	wire_set_RMPP_last(mad, n == s->segments);
	wire_set_RMPP_status(mad, 0);
	wire_set_RMPP_segment(mad, n);
	if (n == 1)
		payload = (uint32_t)(s->segments * (size_t)BEHIND_RMPP - pad);
	if (n == s->segments)
		payload = BEHIND_RMPP - pad;
	wire_set_RMPP_length_or_window(mad, payload);
	out->transmit(out->ctx, &s->to, mad);
}

void rmpp_send_more(struct rmpp_send *s, const struct rmpp_out *out)
{
	while (s->sent < s->segments && s->sent < s->window)
		send_segment(s, ++s->sent, out);
}

void rmpp_send_again(struct rmpp_send *s, const struct rmpp_out *out)
{
	s->sent = s->acked;
	rmpp_send_more(s, out);
}

/* Returns 0, or the status of the ABORT for a STOP or ABORT that is malformed, or for another type. */
static enum wire_rmpp_status judge_end(const uint8_t *mad)
{
	unsigned status = (unsigned)wire_get_RMPP_status(mad);

	switch (wire_get_RMPP_type(mad)) {
	case WIRE_RMPP_STOP:
		return status == WIRE_RMPP_RESOURCES ? 0 : WIRE_RMPP_BAD_STATUS;
	case WIRE_RMPP_ABORT:
		return status >= WIRE_RMPP_ABORT_FIRST && status <= WIRE_RMPP_ABORT_LAST ? 0 : WIRE_RMPP_BAD_STATUS;
	default:
		return WIRE_RMPP_BAD_TYPE;
	}
}

static enum wire_rmpp_status judge_ack(const uint8_t *mad)
{
	if (wire_get_RMPP_status(mad))
		return WIRE_RMPP_BAD_STATUS;
	if (wire_get_RMPP_length_or_window(mad) < wire_get_RMPP_segment(mad))
		return WIRE_RMPP_WINDOW_TOO_SMALL;
	return 0;
}

static enum wire_rmpp_status judge(const uint8_t *mad)
{
	if (wire_get_RMPP_version(mad) != 1)
		return WIRE_RMPP_BAD_VERSION;
	return wire_get_RMPP_type(mad) == WIRE_RMPP_ACK ? judge_ack(mad) : judge_end(mad);
}

static enum rmpp_verdict take_ack(struct rmpp_send *s, const struct att_addr *from, const uint8_t *mad,
				  bool need_answer, const struct rmpp_out *out)
{
	uint32_t n = (uint32_t)wire_get_RMPP_segment(mad), window = (uint32_t)wire_get_RMPP_length_or_window(mad);
	bool was_done = rmpp_send_done(s), more = n > s->acked;

	if (!was_done) {
		if (n > s->segments || n > s->window) {
			refuse(from, mad, WIRE_RMPP_SEGMENT_TOO_BIG, out);
			return RMPP_ENDED;
		}
		if (window < s->window || n < s->acked)
			return RMPP_NOTHING;
		s->acked = n;
		s->window = window;
		if (s->sent < n)
			s->sent = n;
		if (!rmpp_send_done(s))
			return more || s->sent < s->window ? RMPP_PROGRESS : RMPP_NOTHING;
	}
	if (need_answer)
		reply(from, mad, WIRE_RMPP_ACK, 0, 0, 1, out);
	return was_done ? RMPP_REPEATED : RMPP_DONE;
}

enum rmpp_verdict rmpp_send_reply(struct rmpp_send *s, const struct att_addr *from, const uint8_t *mad,
				  bool need_answer, const struct rmpp_out *out)
{
	enum wire_rmpp_status bad = judge(mad);

	if (bad)
		refuse(from, mad, bad, out);
	else if (wire_get_RMPP_type(mad) == WIRE_RMPP_ACK)
		return take_ack(s, from, mad, need_answer, out);
	return rmpp_send_done(s) ? RMPP_NOTHING : RMPP_ENDED;
}

void rmpp_send_stray(const struct att_addr *from, const uint8_t *mad, const struct rmpp_out *out)
{
	enum wire_rmpp_status bad = judge(mad);

	/* An ABORT is not answered by one: two ends that know nothing would go on for ever. */
	if (bad && wire_get_RMPP_type(mad) != WIRE_RMPP_ABORT)
		refuse(from, mad, bad, out);
}

/* --- receiver --- */

/* One message. */
struct rmpp_receive {
	struct ut_list bucket, age;
	struct att_addr from;
	uint8_t first[WIRE_RMPP_END]; /* headers of its first segment, which the others must repeat */
	bool finished;
	uint64_t until;
	uint32_t got;             /* all segments up to this one are here */
	uint32_t window;          /* the highest that may come */
	uint32_t acked;
	uint32_t answer_window;
	uint64_t ahead;           /* bit i: segment got + 1 + i is here */
	uint32_t last;            /* number of the last segment; 0: not known yet */
	uint32_t last_payload;
	uint8_t *bytes;
	size_t room;
};

_Static_assert(RMPP_WINDOW <= 64, "a bit for each segment ahead");

void rmpp_receiver_init(struct rmpp_receiver *r)
{
	*r = (struct rmpp_receiver){ 0 };
	for (unsigned i = 0; i < RMPP_BUCKETS; i++)
		ut_list_init(&r->buckets[i]);
	ut_list_init(&r->open);
	ut_list_init(&r->finished);
}

static void drop_bytes(struct rmpp_receiver *r, struct rmpp_receive *m)
{
	free(m->bytes);
	r->bytes -= m->room;
	m->bytes = NULL;
	m->room = 0;
}

static void forget(struct rmpp_receiver *r, struct rmpp_receive *m)
{
	ut_list_del(&m->bucket);
	ut_list_del(&m->age);
	if (m->finished)
		r->n_finished--;
	else
		r->n_open--;
	drop_bytes(r, m);
	free(m);
}

void rmpp_receiver_fini(struct rmpp_receiver *r)
{
	struct rmpp_receive *m, *next;

	ut_list_each_safe(m, next, &r->open, age)
		forget(r, m);
	ut_list_each_safe(m, next, &r->finished, age)
		forget(r, m);
}

/* The receiver with a constant view keeps its lists writable: they are no part of what const promises. */
static struct ut_list *bucket_of(const struct rmpp_receiver *r, const uint8_t *mad)
{
	uint64_t tid = wire_get_MAD_tid(mad);

	return (struct ut_list *)&r->buckets[(tid ^ tid >> 32) % RMPP_BUCKETS];
}

/* acquire_rmpp_recv() of the kernel. r_bit: that of the segments. */
static struct rmpp_receive *find(const struct rmpp_receiver *r, const struct att_addr *from, const uint8_t *mad,
				 bool r_bit)
{
	struct ut_list *head = bucket_of(r, mad);
	struct rmpp_receive *m;

	ut_list_each(m, head, bucket)
		if (wire_get_MAD_tid(m->first) == wire_get_MAD_tid(mad) && m->from.qpn == from->qpn &&
		    m->from.lid == from->lid && wire_get_MAD_mgmt_class(m->first) == wire_get_MAD_mgmt_class(mad) &&
		    wire_get_MAD_class_version(m->first) == wire_get_MAD_class_version(mad) &&
		    wire_get_MAD_method(m->first) == wire_get_MAD_method(mad) && wire_get_MAD_r(m->first) == r_bit)
			return m;
	return NULL;
}

static void acknowledge(struct rmpp_receive *m, const struct att_addr *from, const uint8_t *mad,
			const struct rmpp_out *out)
{
	m->acked = m->got;
	reply(from, mad, WIRE_RMPP_ACK, 0, m->got, m->window, out);
}

/* Makes room for the data of segment n; the array grows with what has come, whatever length the first one claims. */
static bool make_room(struct rmpp_receiver *r, struct rmpp_receive *m, uint32_t n)
{
	size_t size = data_size(m->first), need = ATT_MAD_LENGTH - size + (size_t)n * size, room = m->room;
	uint8_t *p;

	if (need <= room)
		return true;
	room = room * 2 > need ? room * 2 : need;
	if (r->bytes - m->room + room > RMPP_BYTES_MAX)
		return false;
	p = ut_realloc(m->bytes, room);
	if (!p)
		return false;
	r->bytes += room - m->room;
	m->bytes = p;
	m->room = room;
	return true;
}

static void store(struct rmpp_receive *m, const uint8_t *mad, uint32_t n)
{
	size_t size = data_size(mad), header = ATT_MAD_LENGTH - size;

	if (n == 1)
		memcpy(m->bytes, mad, header);
	memcpy(m->bytes + header + (size_t)(n - 1) * size, mad + header, size);
	if (!wire_get_RMPP_last(mad))
		return;
	m->last = n;
	m->last_payload = (uint32_t)wire_get_RMPP_length_or_window(mad);
}

/* Marks segment n, and moves on over all that are here. */
static void advance(struct rmpp_receive *m, uint32_t n)
{
	m->ahead |= 1ull << (n - m->got - 1);
	while (m->ahead & 1) {
		m->ahead >>= 1;
		m->got++;
	}
}

/* get_mad_len() of the kernel. */
static size_t message_length(const struct rmpp_receive *m)
{
	size_t size = data_size(m->first);
	uint32_t pad = m->last_payload > BEHIND_RMPP ? 0 : BEHIND_RMPP - m->last_payload;

	return ATT_MAD_LENGTH - size + m->last * size - pad;
}

static void finish(struct rmpp_receiver *r, struct rmpp_receive *m, uint64_t now, struct rmpp_message *ret)
{
	*ret = (struct rmpp_message){ .bytes = m->bytes, .length = message_length(m), .from = m->from };
	r->bytes -= m->room;
	m->bytes = NULL;
	m->room = 0;
	m->finished = true;
	m->until = now + RMPP_FINISHED_S * UT_S;
	ut_list_del(&m->age);
	ut_list_add_tail(&r->finished, &m->age);
	r->n_open--;
	if (++r->n_finished > RMPP_FINISHED_MAX)
		forget(r, ut_list_first(&r->finished, struct rmpp_receive, age));
}

static struct rmpp_receive *begin(struct rmpp_receiver *r, const struct att_addr *from, const uint8_t *mad,
				  uint64_t now)
{
	struct rmpp_receive *m = r->n_open < RMPP_OPEN_MAX ? ut_zalloc(sizeof(*m)) : NULL;

	if (!m)
		return NULL;
	m->from = *from;
	memcpy(m->first, mad, sizeof(m->first));
	m->until = now + RMPP_RECEIVE_S * UT_S;
	m->window = 1;
	m->answer_window = 1;
	ut_list_add_tail(bucket_of(r, mad), &m->bucket);
	ut_list_add_tail(&r->open, &m->age);
	r->n_open++;
	return m;
}

/* A segment of a message that has begun. Returns true if the message is complete. */
static bool take(struct rmpp_receiver *r, struct rmpp_receive *m, const struct att_addr *from, const uint8_t *mad,
		 uint64_t now, const struct rmpp_out *out, struct rmpp_message *ret)
{
	uint32_t n = (uint32_t)wire_get_RMPP_segment(mad);

	if (n > m->window)
		return false;
	if (m->finished || n <= m->acked) {
		acknowledge(m, from, mad, out);
		return false;
	}
	if (n <= m->got || m->ahead >> (n - m->got - 1) & 1)
		return false;
	if (!make_room(r, m, n)) {
		refuse(from, mad, WIRE_RMPP_RESOURCES, out);
		forget(r, m);
		return false;
	}
	store(m, mad, n);
	advance(m, n);
	if (m->last && m->got >= m->last) {
		m->got = m->last;
		acknowledge(m, from, mad, out);
		finish(r, m, now, ret);
		return true;
	}
	if (m->got == m->window) {
		m->window += RMPP_WINDOW;
		acknowledge(m, from, mad, out);
	}
	return false;
}

static enum wire_rmpp_status judge_data(const uint8_t *mad)
{
	bool first = wire_get_RMPP_first(mad), is_1 = wire_get_RMPP_segment(mad) == 1;

	if (wire_get_RMPP_version(mad) != 1)
		return WIRE_RMPP_BAD_VERSION;
	if (wire_get_RMPP_type(mad) != WIRE_RMPP_DATA)
		return WIRE_RMPP_BAD_TYPE;
	if (wire_get_RMPP_status(mad))
		return WIRE_RMPP_BAD_STATUS;
	return first == is_1 && wire_get_RMPP_segment(mad) ? 0 : WIRE_RMPP_BAD_SEGMENT;
}

bool rmpp_receive(struct rmpp_receiver *r, const struct att_addr *from, const uint8_t *mad, uint64_t now,
		  const struct rmpp_out *out, struct rmpp_message *ret)
{
	enum wire_rmpp_status bad = judge_data(mad);
	struct rmpp_receive *m;

	if (bad) {
		refuse(from, mad, bad, out);
		return false;
	}
	m = find(r, from, mad, wire_get_MAD_r(mad));
	if (!m && wire_get_RMPP_first(mad))
		m = begin(r, from, mad, now);
	return m && take(r, m, from, mad, now, out, ret);
}

void rmpp_receive_opening(struct rmpp_receiver *r, const struct att_addr *from, const uint8_t *mad)
{
	struct rmpp_receive *m = find(r, from, mad, wire_get_MAD_r(mad));

	if (m && m->finished)
		m->answer_window = (uint32_t)wire_get_RMPP_length_or_window(mad);
}

uint32_t rmpp_receive_window(const struct rmpp_receiver *r, const struct att_addr *to, const uint8_t *mad)
{
	struct rmpp_receive *m = wire_get_MAD_r(mad) ? find(r, to, mad, false) : NULL;

	return m && m->answer_window ? m->answer_window : 1;
}

void rmpp_receive_expire(struct rmpp_receiver *r, uint64_t now, const struct rmpp_out *out)
{
	struct rmpp_receive *m;

	while ((m = ut_list_first(&r->open, struct rmpp_receive, age)) && m->until <= now) {
		uint8_t mad[ATT_MAD_LENGTH] = { 0 };

		memcpy(mad, m->first, sizeof(m->first));
		refuse(&m->from, mad, WIRE_RMPP_TIME_TOO_LONG, out);
		forget(r, m);
	}
	while ((m = ut_list_first(&r->finished, struct rmpp_receive, age)) && m->until <= now)
		forget(r, m);
}

uint64_t rmpp_receive_next(const struct rmpp_receiver *r)
{
	const struct rmpp_receive *a = ut_list_first(&r->open, struct rmpp_receive, age);

	return a ? a->until : UINT64_MAX;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RMPP in both roles: a receiver that gets any segments from two peers, and a sender that gets any replies. Nothing
 * outside an object is touched, memory follows what has come and not what is claimed, each message comes out once, and
 * all is free at the end. No MAD is answered by more than the window of a message.
 *
 * The input: operations of one byte (enum op) and their arguments.
 */
#include "input.h"

#include "mgmt/agents.h"
#include "mgmt/rmpp.h"
#include "util/clock.h"
#include "wire/cm_fields.h"
#include "wire/rmpp_fields.h"

#include <stdbool.h>

enum { OPS_MAX = 400, MESSAGE_MAX = 20000 };
enum op { SEGMENT, REPLY, TIME, AGAIN, NEXT_SEGMENT, ACK_ALL, OPENING, BEGIN, OPS };

static const uint8_t classes[] = { 0x03, 0x06, 0x10, 0x12, 0x30, 0x32, 0x4f };
static struct input in;
static unsigned sent;
static uint8_t message[MESSAGE_MAX], mad[ATT_MAD_LENGTH];
static uint32_t next; /* segment of NEXT_SEGMENT */
static uint64_t now;

static void transmit(void *ctx, const struct att_addr *to, const uint8_t bytes[ATT_MAD_LENGTH])
{
	REQUIRE(ctx == &sent && to->lid && rmpp_is_active(bytes));
	sent++;
}

static const struct rmpp_out out = { transmit, &sent };

static void fill(unsigned type)
{
	memset(mad, 0, sizeof(mad));
	in_fill(&in, mad, 40);
	wire_set_MAD_mgmt_class(mad, classes[in8(&in) % sizeof(classes)]);
	if (type)
		wire_set_RMPP_type(mad, type);
	wire_set_RMPP_active(mad, 1);
	wire_set_MAD_tid(mad, in8(&in) % 4);
}

static void receive(struct rmpp_receiver *r)
{
	struct att_addr from = { .lid = (uint16_t)(1 + in8(&in) % 2), .qpn = 1 };
	struct rmpp_message m;

	if (!rmpp_receive(r, &from, mad, now, &out, &m))
		return;
	REQUIRE(m.bytes && m.length >= WIRE_RMPP_END && m.from.lid == from.lid);
	/* Every byte is there: a sanitizer looks. */
	for (size_t i = 0; i < m.length; i += 97)
		message[0] ^= m.bytes[i];
	free(m.bytes);
}

static void segment_in_order(struct rmpp_receiver *r)
{
	unsigned how = in8(&in);

	fill(WIRE_RMPP_DATA);
	wire_set_RMPP_version(mad, 1);
	wire_set_RMPP_status(mad, 0);
	wire_set_RMPP_segment(mad, ++next);
	wire_set_RMPP_first(mad, next == 1);
	wire_set_RMPP_last(mad, how % 16 == 0);
	wire_set_MAD_tid(mad, 1);
	receive(r);
	if (how % 16 == 0)
		next = 0;
}

static void begin(struct rmpp_send *s)
{
	struct att_addr to = { .lid = 9, .qpn = 1 };
	size_t length;

	in_fill(&in, message, 30);
	wire_set_MAD_mgmt_class(message, classes[in8(&in) % sizeof(classes)]);
	wire_set_RMPP_active(message, 1);
	length = agents_data_offset((uint8_t)wire_get_MAD_mgmt_class(message)) + in16(&in) % (MESSAGE_MAX - 100);
	rmpp_send_init(s, message, length, &to, 1);
	rmpp_send_more(s, &out);
}

static void take_reply(struct rmpp_send *s)
{
	struct att_addr from = { .lid = 9, .qpn = 1 };
	uint32_t acked = s->acked;

	switch (rmpp_send_reply(s, &from, mad, in8(&in) & 1, &out)) {
	case RMPP_PROGRESS:
		REQUIRE(!rmpp_send_done(s) && s->acked >= acked);
		rmpp_send_more(s, &out);
		break;
	case RMPP_DONE:
		REQUIRE(rmpp_send_done(s));
		break;
	case RMPP_ENDED:
		begin(s);
		break;
	default:
		break;
	}
	REQUIRE(s->acked <= s->segments && s->sent <= s->segments && s->acked <= s->sent);
}

static void ack(struct rmpp_send *s)
{
	fill(WIRE_RMPP_ACK);
	wire_set_MAD_mgmt_class(mad, wire_get_MAD_mgmt_class(message));
	wire_set_RMPP_version(mad, 1);
	wire_set_RMPP_status(mad, 0);
	wire_set_RMPP_segment(mad, s->sent);
	wire_set_RMPP_length_or_window(mad, s->sent + in8(&in));
	take_reply(s);
}

static void step(struct rmpp_receiver *r, struct rmpp_send *s)
{
	struct att_addr from = { .lid = 1, .qpn = 1 };

	switch (in8(&in) % OPS) {
	case SEGMENT:
		fill(0);
		receive(r);
		break;
	case REPLY:
		fill(0);
		take_reply(s);
		rmpp_send_stray(&from, mad, &out);
		break;
	case TIME:
		now += in8(&in) * (UT_S / 4);
		rmpp_receive_expire(r, now, &out);
		REQUIRE(rmpp_receive_next(r) > now);
		break;
	case AGAIN:
		rmpp_send_again(s, &out);
		break;
	case NEXT_SEGMENT:
		segment_in_order(r);
		break;
	case ACK_ALL:
		ack(s);
		break;
	case OPENING:
		fill(WIRE_RMPP_ACK);
		rmpp_receive_opening(r, &from, mad);
		rmpp_receive_window(r, &from, mad);
		break;
	case BEGIN:
		begin(s);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rmpp_receiver r;
	struct rmpp_send s;

	in = (struct input){ data, data + size };
	sent = next = 0;
	now = UT_S;
	rmpp_receiver_init(&r);
	begin(&s);
	for (unsigned i = 0; i < OPS_MAX && in.at < in.end; i++) {
		unsigned before = sent;

		step(&r, &s);
		/* A step sends at most a message, and one answer for each message that it ends. */
		REQUIRE(sent - before <= MESSAGE_MAX / 192 + RMPP_OPEN_MAX + 4);
		REQUIRE(r.n_open <= RMPP_OPEN_MAX && r.bytes <= (size_t)OPS_MAX * RMPP_WINDOW * 3 * ATT_MAD_LENGTH);
	}
	rmpp_receiver_fini(&r);
	REQUIRE(!r.n_open && !r.n_finished && !r.bytes);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sdp_octets.h"

struct memory memory;

uint8_t octet(uint64_t n, unsigned s)
{
	return (uint8_t)(n * 7 + (n >> 8) * 3 + (n >> 16) + s);
}

bool push(struct sdp_conn *c, struct stream *s)
{
	uint64_t left = s->to_send - s->sent;
	uint8_t *room;
	size_t len;

	room = left ? sdp_send_room(c, s->large && left >= 65536, &len) : NULL;
	if (!room)
		return false;
	if (len > left)
		len = left;
	for (size_t i = 0; i < len; i++)
		room[i] = octet(s->sent + i, s->out);
	CHECK(!sdp_send(c, room, len, false));
	s->sent += len;
	return true;
}

bool take(struct sdp_conn *c, struct stream *s)
{
	const uint8_t *at;
	size_t len;
	bool oob;

	at = sdp_received(c, &len, &oob);
	if (!at)
		return false;
	CHECK(len && s->got + len <= s->to_get);
	if (len > 3 && s->got % 5 == 1) /* in pieces, too */
		len = 3;
	for (size_t i = 0; i < len; i++)
		CHECK_MSG(at[i] == octet(s->got + i, s->in), "octet %llu", (unsigned long long)(s->got + i));
	sdp_received_take(c, len);
	s->got += len;
	return true;
}

void progress(struct sdp_conn *c)
{
	CHECK_MSG(!sdp_conn_progress(c), "%s", sdp_conn_why(c));
}

void run(struct sdp_conn *c, struct stream *s)
{
	bool moved;

	while (s->sent < s->to_send || s->got < s->to_get) {
		CHECK_MSG(!sdp_conn_progress(c), "%s", sdp_conn_why(c));
		moved = push(c, s);
		moved = take(c, s) || moved;
		if (!moved)
			sdp_ends_wait_for(c);
	}
}

void finish(struct sdp_conn *c)
{
	sdp_send_end(c);
	while (!sdp_is_over(c)) {
		CHECK_MSG(!sdp_conn_progress(c), "%s", sdp_conn_why(c));
		if (!sdp_is_over(c))
			sdp_ends_wait_for(c);
	}
	CHECK(sdp_received_end(c));
	sdp_conn_close(c);
}

void await_received_end(struct sdp_conn *c)
{
	while (!sdp_received_end(c)) {
		sdp_ends_wait_for(c);
		progress(c);
	}
}

/* --- memory of the program --- */

void memory_register(struct sdp_conn *c)
{
	memory.out_mr = ibv_reg_mr(sdp_conn_domain(c), memory.out, MEMORY, IBV_ACCESS_REMOTE_READ);
	memory.in_mr = ibv_reg_mr(sdp_conn_domain(c), memory.in, MEMORY, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(memory.out_mr && memory.in_mr);
}

void memory_release(void)
{
	CHECK(!ibv_dereg_mr(memory.out_mr) && !ibv_dereg_mr(memory.in_mr));
}

bool is_direct(const uint8_t *at)
{
	return at >= memory.in && at < memory.in + MEMORY;
}

static bool push_from(struct sdp_conn *c, struct stream *s)
{
	uint64_t left = s->to_send - s->sent;
	uint32_t len = left < MEMORY ? (uint32_t)left : MEMORY;

	if (!len || sdp_send_is_busy(c))
		return false;
	for (size_t i = 0; i < len; i++)
		memory.out[i] = octet(s->sent + i, s->out);
	if (!sdp_send_from(c, memory.out, len, memory.out_mr))
		return false;
	s->sent += len;
	return true;
}

static bool is_on(const struct sdp_conn *c, const struct stream *s)
{
	return s->sent < s->to_send || s->got < s->to_get || sdp_send_is_busy(c);
}

void run_direct(struct sdp_conn *c, struct stream *s, uint32_t want, unsigned *ret_direct)
{
	const uint8_t *at;
	bool moved, oob;
	size_t len;

	while (is_on(c, s)) {
		if (s->got < s->to_get && !sdp_is_wanting(c) && !sdp_received(c, &len, &oob))
			sdp_want(c, memory.in, want, memory.in_mr);
		CHECK_MSG(!sdp_conn_progress(c), "%s", sdp_conn_why(c));
		moved = push_from(c, s);
		/* The answer to the last octets may be here before the completion of their Write. */
		at = s->got < s->to_get ? sdp_received(c, &len, &oob) : NULL;
		*ret_direct += at && is_direct(at);
		moved = (at && take(c, s)) || moved;
		if (!moved && is_on(c, s))
			sdp_ends_wait_for(c);
	}
}

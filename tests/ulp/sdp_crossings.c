/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Streams of SDP that move, with a peer that keeps an order: what crosses with SuspComm and with its answer, and what follows them. */
#include "sdp_octets.h"
#include "sdp_raw.h"
#include "sdp_rows.h"

#include "ulp/sdp/stream.h"

static struct sdp_msg suspend_to(uint16_t port)
{
	return (struct sdp_msg){ .mid = WIRE_SDP_SUSP_COMM, .service = SDP_PORT_SPACE << 16 | port };
}

/* The listener of the test has gone with the request. */
static struct sdp_msg suspend_to_nowhere(const struct ends *e)
{
	return suspend_to(ntohs(((const struct sockaddr_in *)&e->addr)->sin_port));
}

/* The peer's connection ends, and this end follows it to nowhere. */
static void expect_nowhere(struct sdp_conn *c)
{
	while (!sdp_conn_progress(c) && !sdp_is_over(c))
		sdp_ends_wait_for(c);
	CHECK_MSG(sdp_conn_failed(c) == ECONNREFUSED && !sdp_is_over(c) && !sdp_is_moved(c), "%s", sdp_conn_why(c));
}

static void await_moved(struct sdp_conn *c)
{
	while (!sdp_is_moved(c)) {
		sdp_ends_wait_for(c);
		progress(c);
	}
}

/* A SinkAvail of before SuspComm and one that crosses with it are void, so that their cancellation is not answered. */
static void void_sink_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);

	while (!sdp_conn_takes_writes(c)) {
		sdp_ends_wait_for(c);
		progress(c);
	}
	memory_register(c);
	sdp_suspend(c, 1);
	/* Not any more: it would be advertised, or wait for octets that do not come here. */
	sdp_want(c, memory.in, MEMORY, memory.in_mr);
	CHECK(!sdp_is_wanting(c));
	progress(c);
	await_moved(c);
	memory_release();
	sdp_conn_close(c);
}

static void void_sink_client(struct ends *e)
{
	raw_dial(e);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_DATA, .req_pipe = true }, 0);
	raw_await(WIRE_SDP_MODE_CHANGE);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_SINK_AVAIL, .length = 4096, .rkey = 1, .vaddr = 64 }, 0);
	raw_await(WIRE_SDP_SUSP_COMM);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_SINK_AVAIL_CANCEL }, 0);
	raw_expect_nothing();
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_SINK_AVAIL, .length = 4096, .rkey = 1, .vaddr = 64 }, 0);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_SINK_AVAIL_CANCEL }, 0);
	raw_expect_nothing();
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_SUSP_COMM_ACK }, 0);
	raw_await_end();
	raw_close();
}

/* SuspComm does not wait for the program to take what the peer has advertised: the rest is void. */
static void void_source_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	size_t len;
	bool oob;

	while (!sdp_received(c, &len, &oob)) {
		sdp_ends_wait_for(c);
		progress(c);
	}
	sdp_suspend(c, 1);
	progress(c);
	await_moved(c);
	CHECK(sdp_received(c, &len, &oob) && len == 10000 && sdp_conn_counts(c)->received == 10000);
	sdp_conn_close(c);
}

static void void_source_client(struct ends *e)
{
	raw_dial(e);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_MODE_CHANGE, .number = 2 }, 0);
	for (int i = 0; i < 3; i++)
		raw_send((struct sdp_msg){ .mid = WIRE_SDP_SRC_AVAIL, .length = 10000, .rkey = raw.mr->rkey, .vaddr = (uintptr_t)raw.memory }, 0);
	CHECK(raw_await(WIRE_SDP_RDMA_RD_COMPL).number == 10000);
	raw_await(WIRE_SDP_SUSP_COMM);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_SRC_AVAIL, .length = 10000, .rkey = raw.mr->rkey, .vaddr = (uintptr_t)raw.memory }, 0);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_SRC_AVAIL_CANCEL }, 0);
	raw_expect_nothing();
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_SUSP_COMM_ACK }, 0);
	raw_await_end();
	raw_close();
}

/* SuspComms cross, and that of the end that has connected is in force. */
static void crossed_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);

	sdp_suspend(c, 1);
	expect_nowhere(c);
	sdp_conn_close(c);
}

static void crossed_client(struct ends *e)
{
	raw_dial(e);
	raw_await(WIRE_SDP_SUSP_COMM);
	raw_send(suspend_to_nowhere(e), 0);
	raw_await(WIRE_SDP_SUSP_COMM_ACK);
	raw_close();
}

/* Both directions have ended when SuspComm comes: the stream moves, and ends there. */
static void late_move_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);

	await_received_end(c);
	sdp_send_end(c);
	expect_nowhere(c);
	sdp_conn_close(c);
}

static void late_move_client(struct ends *e)
{
	raw_dial(e);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_DISCONN }, 0);
	raw_await(WIRE_SDP_DISCONN);
	raw_send(suspend_to_nowhere(e), 0);
	raw_await(WIRE_SDP_SUSP_COMM_ACK);
	raw_close();
}

/* A program that moves a stream which has ended: nothing is left to move. */
static void no_move_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);

	await_received_end(c);
	sdp_send_end(c);
	progress(c);
	await(e);
	sdp_suspend(c, 1);
	progress(c);
	mark(e);
	while (!sdp_is_over(c)) {
		sdp_ends_wait_for(c);
		progress(c);
	}
	CHECK(!sdp_is_moved(c));
	sdp_conn_close(c);
}

static void no_move_client(struct ends *e)
{
	raw_dial(e);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_DISCONN }, 0);
	raw_await(WIRE_SDP_DISCONN);
	mark(e);
	await(e);
	raw_expect_nothing();
	raw_close();
}

/* SuspComm is there, and not seen, when a call begins to send: its octets are for the next connection. */
static void unseen_server(struct ends *e)
{
	struct sdp_conn *c;
	struct sdp_stream s;

	conf = sdp_conf_stream;
	c = sdp_ends_serve_good(e);
	sdp_stream_begin(&s, c, &conf, 0);
	progress(c);
	mark(e);
	sdp_ends_wait_for(c);
	CHECK(sdp_stream_send(&s, memory.out, 20000) == -ECONNREFUSED);
	sdp_conn_close(c);
}

static void unseen_client(struct ends *e)
{
	raw_dial(e);
	await(e);
	raw_send(suspend_to_nowhere(e), 0);
	CHECK(raw_next().mid == WIRE_SDP_SUSP_COMM_ACK);
	raw_close();
}

/* Between SuspCommAck and the end of the connection the program gets its memory back, by polls alone. */
static void polling_server(struct ends *e)
{
	struct pollfd p = { e->in, POLLIN, 0 };
	struct sdp_conn *c = sdp_ends_serve_good(e);

	memory_register(c);
	sdp_want_reads(c, memory.in, MEMORY, memory.in_mr);
	while (!poll(&p, 1, 0))
		CHECK(sdp_conn_poll(c) >= 0);
	await(e);
	sdp_want_no_more(c);
	CHECK(!sdp_conn_poll(c) && !sdp_is_wanting(c));
	memory_release();
	mark(e);
	expect_nowhere(c);
	sdp_conn_close(c);
}

static void polling_client(struct ends *e)
{
	raw_dial(e);
	raw_send(suspend_to_nowhere(e), 0);
	raw_await(WIRE_SDP_SUSP_COMM_ACK);
	mark(e);
	await(e);
	raw_close();
}

/* Nothing follows SuspCommAck: octets there would come on the next connection, too. */
static void behind_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	size_t len;
	bool oob;

	sdp_suspend(c, 1);
	progress(c);
	await(e);
	while (!sdp_is_moved(c) && !sdp_conn_progress(c))
		if (!sdp_is_moved(c))
			sdp_ends_wait_for(c);
	CHECK(!sdp_received(c, &len, &oob));
	sdp_conn_close(c);
}

static void behind_client(struct ends *e)
{
	raw_dial(e);
	raw_await(WIRE_SDP_SUSP_COMM);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_SUSP_COMM_ACK }, 0);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_DATA, .payload_len = 1 }, 0);
	raw_arrived();
	mark(e);
	raw_await_end();
	raw_close();
}

/* The new owner takes fewer advertisements than the one before, so that slots of the stage are fewer and longer. */
#define SLOTS_SENT 5

static uint8_t *large_room(struct sdp_conn *c, size_t *ret_len)
{
	uint8_t *room;

	while (!(room = sdp_send_room(c, true, ret_len))) {
		sdp_ends_wait_for(c);
		progress(c);
	}
	return room;
}

static void slots_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	uint8_t *stage = NULL, *room;
	size_t len;

	for (unsigned n = 1; n <= SLOTS_SENT; n++) {
		room = large_room(c, &len);
		stage = stage ? stage : room;
		CHECK(len == 2 * SDP_STAGE / 8 && room == stage + (n - 1) * len);
		CHECK(!sdp_send(c, room, len, false));
		while (sdp_conn_counts(c)->rd_compl < n) {
			sdp_ends_wait_for(c);
			progress(c);
		}
	}
	while (!sdp_conn_counts(c)->moves) {
		sdp_ends_wait_for(c);
		progress(c);
	}
	room = large_room(c, &len);
	CHECK(len == SDP_STAGE && room >= stage && room + len <= stage + 2 * SDP_STAGE);
	sdp_conn_close(c);
}

static void slots_client(struct ends *e)
{
	struct rdma_cm_id *listener = raw_listen();
	struct sdp_msg m, move;

	raw.adverts = 8;
	raw_dial(e);
	for (unsigned n = 0; n < SLOTS_SENT; n++) {
		m = raw_await(WIRE_SDP_SRC_AVAIL);
		raw_send((struct sdp_msg){ .mid = WIRE_SDP_RDMA_RD_COMPL, .number = m.length - m.payload_len, .ack = m.seq }, 0);
	}
	move = suspend_to(ntohs(rdma_get_src_port(listener)));
	move.ack = m.seq;
	raw_send(move, 0);
	raw_await(WIRE_SDP_SUSP_COMM_ACK);
	raw.adverts = 1;
	raw_move(listener);
	raw_await_end();
	raw_close();
}

int main(int argc, char **argv)
{
	static const struct sdp_row rows[] = {
		{ "SinkAvails are void", AF_INET, void_sink_server, void_sink_client },
		{ "SrcAvails are void", AF_INET, void_source_server, void_source_client },
		{ "SuspComms cross", AF_INET, crossed_server, crossed_client },
		{ "a move behind both ends", AF_INET, late_move_server, late_move_client },
		{ "no move behind both ends", AF_INET, no_move_server, no_move_client },
		{ "a call sends into a move", AF_INET, unseen_server, unseen_client },
		{ "memory comes back in a move", AF_INET, polling_server, polling_client },
		{ "octets behind SuspCommAck", AF_INET, behind_server, behind_client },
		{ "fewer advertisements behind a move", AF_INET, slots_server, slots_client },
	};

	return SDP_RUN_ROWS(rows, argc, argv);
}

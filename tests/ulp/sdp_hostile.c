/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peers that break SDP, of which each octet is written by hand: the connection ends by the rule that was broken, and no other does. */
#include "sdp_octets.h"
#include "sdp_raw.h"
#include "sdp_rows.h"

#include "ulp/sdp/advert.h"

static void hello_ack_is_right(void)
{
	const struct rdma_cm_event *ev = raw.id->event;
	struct sdp_hello h;

	CHECK(ev && sdp_hello_ack_get(&h, ev->param.conn.private_data, ev->param.conn.private_data_len) == SDP_GOOD);
	CHECK(h.bufs == conf.depth && h.receive_size == conf.receive_size && h.max_adverts == SDP_MAX_ADVERTS);
}

/* One wrong message after the other that is right; the connection must end by the rule. */
struct wrong {
	const char *rule;
	struct sdp_msg first, m;
	size_t add;
};

static const struct wrong wrongs[] = {
	{ "the length", { 0 }, { .mid = WIRE_SDP_DATA }, 1 },
	{ "message identifier", { 0 }, { .mid = 0x55 }, 0 },
	{ "does not follow", { 0 }, { .mid = WIRE_SDP_DATA, .seq = 7 }, 0 },
	{ "has not been sent", { 0 }, { .mid = WIRE_SDP_DATA, .ack = 9 }, 0 },
	{ "is not outstanding", { 0 }, { .mid = WIRE_SDP_RDMA_RD_COMPL, .number = 1 }, 0 },
	{ "is not outstanding", { 0 }, { .mid = WIRE_SDP_RDMA_WR_COMPL, .number = 1 }, 0 },
	{ "is not outstanding", { 0 }, { .mid = WIRE_SDP_SINK_CANCEL_ACK }, 0 },
	{ "answers no ChRcvBuf", { 0 }, { .mid = WIRE_SDP_CH_RCV_BUF_ACK, .number = 1 }, 0 },
	{ "a second ChRcvBuf", { .mid = WIRE_SDP_CH_RCV_BUF, .number = UINT32_MAX }, { .mid = WIRE_SDP_CH_RCV_BUF, .number = 1 }, 0 },
	{ "may not make", { 0 }, { .mid = WIRE_SDP_MODE_CHANGE, .number = 1 }, 0 },
	{ "may not make", { 0 }, { .mid = WIRE_SDP_MODE_CHANGE, .number = 8 | 1 }, 0 },
	{ "may not make", { .mid = WIRE_SDP_MODE_CHANGE, .number = 2 }, { .mid = WIRE_SDP_MODE_CHANGE, .number = 2 }, 0 },
	{ "is not of the mode", { 0 }, { .mid = WIRE_SDP_SINK_AVAIL, .length = 1 << 20, .rkey = 1, .vaddr = 64 }, 0 },
	{ "is not of the mode", { .mid = WIRE_SDP_MODE_CHANGE, .number = 0 }, { .mid = WIRE_SDP_SRC_AVAIL, .length = 2, .payload_len = 1 }, 0 },
	{ "is not of the mode", { .mid = WIRE_SDP_MODE_CHANGE, .number = 2 }, { .mid = WIRE_SDP_SRC_AVAIL, .length = 2, .payload_len = 1 }, 0 },
	{ "not one of SDP", { 0 }, { .mid = WIRE_SDP_SUSP_COMM }, 0 },
	{ "not one of SDP", { 0 }, { .mid = WIRE_SDP_SUSP_COMM, .service = 0x10000 }, 0 },
	{ "not one of SDP", { 0 }, { .mid = WIRE_SDP_SUSP_COMM, .service = 0x20001 }, 0 },
	{ "not one of SDP", { 0 }, { .mid = WIRE_SDP_SUSP_COMM, .service = UINT64_MAX }, 0 },
	{ "follows the SuspComm", { .mid = WIRE_SDP_SUSP_COMM, .service = 0x10001 }, { .mid = WIRE_SDP_SUSP_COMM, .service = 0x10001 }, 0 },
	{ "follows the SuspComm", { .mid = WIRE_SDP_SUSP_COMM, .service = 0x10001 }, { .mid = WIRE_SDP_DATA, .payload_len = 1 }, 0 },
	{ "follows the SuspComm", { .mid = WIRE_SDP_SUSP_COMM, .service = 0x10001 }, { .mid = WIRE_SDP_SRC_AVAIL, .length = 9 }, 0 },
	{ "answers no SuspComm", { 0 }, { .mid = WIRE_SDP_SUSP_COMM_ACK }, 0 },
	{ "advertises", { 0 }, { .mid = WIRE_SDP_SRC_AVAIL, .length = 2, .payload_len = 3 }, 0 },
	{ "follows DisConn", { .mid = WIRE_SDP_DISCONN }, { .mid = WIRE_SDP_DATA, .payload_len = 1 }, 0 },
	{ "work request", { 0 }, { .mid = WIRE_SDP_SRC_AVAIL, .length = 100, .rkey = 1, .vaddr = 64 }, 0 },
	{ "aborts", { 0 }, { .mid = WIRE_SDP_ABORT_CONN }, 0 },
};

static const struct wrong *wrong;

static void wrong_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);

	while (!sdp_conn_progress(c))
		sdp_ends_wait_for(c);
	CHECK_MSG(strstr(sdp_conn_why(c), wrong->rule), "%s", sdp_conn_why(c));
	sdp_conn_close(c);
}

static void wrong_client(struct ends *e)
{
	uint8_t data[WIRE_SDP_HELLO_LEN] = { 0 };

	CHECK(!raw_connect(e, data, sizeof(data)));
	hello_ack_is_right();
	if (wrong->first.mid)
		raw_send(wrong->first, 0);
	raw_send(wrong->m, wrong->add);
	raw_await_end();
	raw_close();
}

/* --- peers that lie about SinkAvail: the first message makes the server send one, after which come the others --- */

struct wrong_sink {
	const char *rule;
	struct sdp_msg first;
	uint8_t awaited;
	struct sdp_msg m[2];
	unsigned times;                 /* so often; 0: once */
	bool sends;                     /* the server has octets to send */
};

static const struct wrong_sink wrong_sinks[] = {
	/* The server is the source, in Pipelined mode. */
	{ "takes fewer octets", { .mid = WIRE_SDP_DATA, .req_pipe = true }, WIRE_SDP_MODE_CHANGE,
	  { { .mid = WIRE_SDP_SINK_AVAIL, .length = 1007, .rkey = 1, .vaddr = 64 } } },
	{ "more advertisements", { .mid = WIRE_SDP_DATA, .req_pipe = true }, WIRE_SDP_MODE_CHANGE,
	  { { .mid = WIRE_SDP_SINK_AVAIL, .length = 4096, .rkey = 1, .vaddr = 64 } }, SDP_MAX_ADVERTS + 1 },
	{ "work request", { .mid = WIRE_SDP_DATA, .req_pipe = true }, WIRE_SDP_MODE_CHANGE,
	  { { .mid = WIRE_SDP_SINK_AVAIL, .length = 1 << 20, .rkey = 1, .vaddr = 64 } }, 1, true },
	{ "work request", { .mid = WIRE_SDP_DATA, .req_pipe = true }, WIRE_SDP_MODE_CHANGE,
	  { { .mid = WIRE_SDP_SINK_AVAIL, .length = UINT32_MAX, .rkey = 1, .vaddr = UINT64_MAX } }, 1, true },
	/* The server is the sink, and has memory advertised. */
	{ "more octets than were advertised", { .mid = WIRE_SDP_MODE_CHANGE, .number = SDP_PIPELINED }, WIRE_SDP_SINK_AVAIL,
	  { { .mid = WIRE_SDP_RDMA_WR_COMPL, .number = MEMORY + 1 } } },
	{ "is not outstanding", { .mid = WIRE_SDP_MODE_CHANGE, .number = SDP_PIPELINED }, WIRE_SDP_SINK_AVAIL,
	  { { .mid = WIRE_SDP_SINK_CANCEL_ACK } } },
	{ "is not outstanding", { .mid = WIRE_SDP_MODE_CHANGE, .number = SDP_PIPELINED }, WIRE_SDP_SINK_AVAIL,
	  { { .mid = WIRE_SDP_DATA, .payload_len = 1 }, { .mid = WIRE_SDP_RDMA_WR_COMPL, .number = 1 } } },
	{ "follows DisConn", { .mid = WIRE_SDP_MODE_CHANGE, .number = SDP_PIPELINED }, WIRE_SDP_SINK_AVAIL,
	  { { .mid = WIRE_SDP_DISCONN }, { .mid = WIRE_SDP_RDMA_WR_COMPL, .number = 1 } } },
};

static const struct wrong_sink *wrong_sink;

/* Sends as soon as that goes by RDMA Write; waits in its memory where the peer is the source. */
static void wrong_sink_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);

	memory_register(c);
	if (wrong_sink->awaited == WIRE_SDP_SINK_AVAIL)
		sdp_want(c, memory.in, MEMORY, memory.in_mr);
	while (!sdp_conn_progress(c)) {
		if (wrong_sink->sends && sdp_conn_takes_writes(c))
			sdp_send_from(c, memory.out, MEMORY, memory.out_mr);
		sdp_ends_wait_for(c);
	}
	/* A Write of iWARP is complete once TCP has it; the peer's adapter then ends the connection. */
	CHECK_MSG(strstr(sdp_conn_why(c), wrong_sink->rule) || (wrong_sink->sends && strstr(sdp_conn_why(c), "disconnected")), "%s",
		  sdp_conn_why(c));
	memory_release();
	sdp_conn_close(c);
}

static void wrong_sink_client(struct ends *e)
{
	uint8_t data[WIRE_SDP_HELLO_LEN] = { 0 };

	CHECK(!raw_connect(e, data, sizeof(data)));
	raw_send(wrong_sink->first, 0);
	raw_await(wrong_sink->awaited);
	for (unsigned n = 0; !n || n < wrong_sink->times; n++)
		for (int i = 0; i < 2 && wrong_sink->m[i].mid; i++)
			raw_send(wrong_sink->m[i], 0);
	raw_await_end();
	raw_close();
}

/* --- peers that lie about the size of receives --- */

/* Receives for the sizes that a peer asks for: none, the size in force, and more than memory has. */
static void sizes_server(struct ends *e)
{
	struct sdp_conn *c;

	conf.depth = 8;
	c = sdp_ends_serve_good(e);
	while (!sdp_conn_progress(c))
		sdp_ends_wait_for(c);
	CHECK_MSG(strstr(sdp_conn_why(c), "aborts"), "%s", sdp_conn_why(c));
	sdp_conn_close(c);
}

/* Each of the eight receives has to be used once. */
static void sizes_client(struct ends *e)
{
	static const uint32_t asked[] = { 0, 32768, UINT32_MAX, UINT32_MAX }, granted[] = { 32768, 32768, 65536, 65536 };
	uint8_t data[WIRE_SDP_HELLO_LEN] = { 0 };

	CHECK(!raw_connect(e, data, sizeof(data)));
	for (int i = 0; i < 4; i++) {
		raw_send((struct sdp_msg){ .mid = WIRE_SDP_CH_RCV_BUF, .number = asked[i] }, 0);
		for (int n = 0; i == 2 && n < 10; n += 5) {
			for (int j = 0; j < 5; j++)
				raw_send((struct sdp_msg){ .mid = WIRE_SDP_DATA }, 0);
			if (!n)
				raw_await(WIRE_SDP_DATA);
		}
		CHECK(raw_await(WIRE_SDP_CH_RCV_BUF_ACK).number == granted[i]);
	}
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_ABORT_CONN }, 0);
	raw_await_end();
	raw_close();
}

/* Answers to the server's wish: sizes, then one more than questions. Messages may become no longer than the server asked for. */
static const uint32_t *answer;

static void answer_server(struct ends *e)
{
	struct sdp_conn *c;
	uint8_t *room;
	size_t len;

	conf.advertise = 0;
	c = sdp_ends_serve_good(e);
	while (!sdp_conn_progress(c)) {
		room = sdp_conn_counts(c)->sent < 40 * 1008 ? sdp_send_room(c, false, &len) : NULL;
		CHECK(!room || len == 1008 || (*answer > 1024 && len == conf.receive_max - 16));
		if (room)
			sdp_send(c, room, 1008, false);
		else
			sdp_ends_wait_for(c);
	}
	CHECK_MSG(strstr(sdp_conn_why(c), "answers no ChRcvBuf"), "%s", sdp_conn_why(c));
	CHECK(sdp_conn_counts(c)->longer == (*answer > 1024 ? conf.receive_max : 0));
	sdp_conn_close(c);
}

static void answer_client(struct ends *e)
{
	uint8_t data[WIRE_SDP_HELLO_LEN] = { 0 };
	uint32_t n = 0;

	CHECK(!raw_connect(e, data, sizeof(data)));
	/* 32 filled messages take more credits than the 30 of Hello; the question follows them. */
	while (n++ < 30)
		raw_await(WIRE_SDP_DATA);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_DATA, .ack = 30 }, 0);
	CHECK(raw_await(WIRE_SDP_CH_RCV_BUF).number == conf.receive_max);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_CH_RCV_BUF_ACK, .number = *answer, .ack = 30 }, 0);
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_CH_RCV_BUF_ACK, .number = *answer, .ack = 30 }, 0);
	raw_await_end();
	raw_close();
}

/* The peer moves the connection to a port where nothing listens. */
static void nowhere_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);

	while (!sdp_conn_progress(c))
		sdp_ends_wait_for(c);
	CHECK_MSG(sdp_conn_failed(c) == ECONNREFUSED, "%s", sdp_conn_why(c));
	sdp_conn_close(c);
}

static void nowhere_client(struct ends *e)
{
	uint8_t data[WIRE_SDP_HELLO_LEN] = { 0 };

	CHECK(!raw_connect(e, data, sizeof(data)));
	/* Its listener has gone with the request. */
	raw_send((struct sdp_msg){ .mid = WIRE_SDP_SUSP_COMM, .service = 0x10000 | ntohs(((struct sockaddr_in *)&e->addr)->sin_port) }, 0);
	raw_await(WIRE_SDP_SUSP_COMM_ACK);
	CHECK(!rdma_disconnect(raw.id));
	raw_close();
}

/* More messages than credits: the server does not look before all have been sent. */
static void flood_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	const uint8_t *at;
	size_t len;
	bool oob;

	do {
		while ((at = sdp_received(c, &len, &oob)))
			sdp_received_take(c, len);
		if (!sdp_conn_progress(c))
			sdp_ends_wait_for(c);
	} while (!sdp_conn_progress(c));
	CHECK_MSG(strstr(sdp_conn_why(c), "credit") || strstr(sdp_conn_why(c), "more answers"), "%s", sdp_conn_why(c));
	sdp_conn_close(c);
}

/* The client never acknowledges, so that no answer can leave for want of credits. */
static void flood_client(struct ends *e)
{
	uint8_t data[WIRE_SDP_HELLO_LEN] = { 0 };

	CHECK(!raw_connect(e, data, sizeof(data)));
	for (unsigned i = 0; i < 60; i++)
		raw_send((struct sdp_msg){ .mid = WIRE_SDP_CH_RCV_BUF, .number = 1, .bufs = 1 }, 0);
	raw_await_end();
	raw_close();
}

/* Requests whose Hello is refused. */
static void bad_hello_server(struct ends *e)
{
	CHECK(!sdp_ends_serve(e) && strstr(why, "rule of SDP"));
}

static void bad_hello_client(struct ends *e)
{
	uint8_t data[WIRE_SDP_HELLO_LEN] = { 0, 1 };
	struct sdp_hello h = { .bufs = 4, .receive_size = 100, .max_adverts = 1 };
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	memcpy(&h.from, &from, sizeof(from));
	memcpy(&h.to, &from, sizeof(from));
	sdp_hello_put(data, &h);
	data[1] = 1; /* keep it as it is */
	CHECK(raw_connect(e, data, sizeof(data)) && errno == ECONNREFUSED);
	rdma_destroy_qp(raw.id);
	rdma_dereg_mr(raw.mr);
	CHECK(!rdma_destroy_id(raw.id));
}

static void wrong_rows(const char *name)
{
	for (wrong = wrongs; wrong < wrongs + sizeof(wrongs) / sizeof(wrongs[0]); wrong++)
		ends_run(wrong->rule, AF_INET, wrong_server, wrong_client);
}

static void wrong_sink_rows(const char *name)
{
	for (wrong_sink = wrong_sinks; wrong_sink < wrong_sinks + sizeof(wrong_sinks) / sizeof(wrong_sinks[0]); wrong_sink++)
		ends_run(wrong_sink->rule, AF_INET, wrong_sink_server, wrong_sink_client);
}

static void answers(const char *name)
{
	static const uint32_t sizes[] = { 0, 1, 1024, UINT32_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		answer = &sizes[i];
		ends_run(name, AF_INET, answer_server, answer_client);
	}
}

int main(int argc, char **argv)
{
	static const struct sdp_row rows[] = {
		{ "messages that break a rule", .run = wrong_rows },
		{ "SinkAvails that break a rule", .run = wrong_sink_rows },
		{ "sizes of receives", AF_INET, sizes_server, sizes_client },
		{ "answers to ChRcvBuf", .run = answers },
		{ "a move to nowhere", AF_INET, nowhere_server, nowhere_client },
		{ "answers without credits", AF_INET, flood_server, flood_client },
		{ "a Hello that is refused", AF_INET, bad_hello_server, bad_hello_client },
	};

	return SDP_RUN_ROWS(rows, argc, argv);
}

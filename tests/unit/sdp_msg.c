/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages, Hello and HelloAck of SDP: golden octets, and octets that must be refused. Credits of both directions. */
#include "ulp/sdp/flow.h"
#include "ulp/sdp/msg.h"

#include "support/cases.h"
#include "support/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* SrcAvail of 0x12345 octets with 3 of them, number 5, which acknowledges 4, 61 receives. */
static const uint8_t src_avail[] = {
	0xfe, 0x00, 0x00, 61, 0, 0, 0, 35, 0, 0, 0, 5, 0, 0, 0, 4,
	0x00, 0x01, 0x23, 0x45, 0xaa, 0xbb, 0xcc, 0xdd, 1, 2, 3, 4, 5, 6, 7, 8, 'a', 'b', 'c',
};

/* SinkAvail of 0x100000 octets, whose sink has kept 7 messages. */
static const uint8_t sink_avail[] = {
	0xfd, 0x00, 0x00, 60, 0, 0, 0, 36, 0, 0, 0, 9, 0, 0, 0, 8,
	0x00, 0x10, 0x00, 0x00, 0xaa, 0xbb, 0xcc, 0xdd, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 7,
};

/* ModeChange of a source to Pipelined mode, whose sender asks for that mode as a sink, too; and of a sink to Combined mode. */
static const uint8_t mode_change[] = { 0x07, 0x04, 0x00, 60, 0, 0, 0, 20, 0, 0, 0, 9, 0, 0, 0, 8, 0x20, 0, 0, 0 };
static const uint8_t mode_change_by_sink[] = { 0x07, 0x00, 0x00, 60, 0, 0, 0, 20, 0, 0, 0, 9, 0, 0, 0, 8, 0x90, 0, 0, 0 };

/* ChRcvBuf for 64 KiB, and its answer; SuspComm to port 40000 of SDP's service IDs, and its answer. */
static const uint8_t ch_rcv_buf[] = { 0x0b, 0x00, 0x00, 60, 0, 0, 0, 20, 0, 0, 0, 9, 0, 0, 0, 8, 0, 1, 0, 0 };
static const uint8_t ch_rcv_buf_ack[] = { 0x0c, 0x00, 0x00, 60, 0, 0, 0, 20, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0x80, 0 };
static const uint8_t susp_comm[] = { 0x0d, 0x00, 0x00, 60, 0, 0, 0, 24, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 0, 0, 1, 0x9c, 0x40 };
static const uint8_t susp_comm_ack[] = { 0x0e, 0x00, 0x00, 60, 0, 0, 0, 16, 0, 0, 0, 9, 0, 0, 0, 8 };

static const uint8_t urgent[] = { 0xff, 0x03, 0x00, 64, 0, 0, 0, 17, 0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 'u' };

/* As OFED 1.5 sends it from 10.77.0.1 port 40000 to 10.77.0.2: 64 receives of 32 KiB, one advertisement. */
static const uint8_t hello[] = {
	0x00, 0x00, 0x00, 64, 0, 0, 0, 92, 0, 0, 0, 0, 0, 0, 0, 0,
	0x22, 0x40, 0x00, 0x01, 0, 0, 0x80, 0x00, 0, 0, 0x80, 0x00, 0x9c, 0x40, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 77, 0, 1,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 77, 0, 2,
};

static void read_src_avail(void)
{
	struct sdp_msg m;

	CHECK(sdp_msg_get(&m, src_avail, sizeof(src_avail)) == SDP_GOOD);
	CHECK(m.mid == WIRE_SDP_SRC_AVAIL && m.bufs == 61 && m.seq == 5 && m.ack == 4 && !m.oob_pres);
	CHECK(m.length == 0x12345 && m.rkey == 0xaabbccdd && m.vaddr == 0x0102030405060708);
	CHECK(m.payload == src_avail + 32 && m.payload_len == 3);
}

static void write_src_avail(void)
{
	struct sdp_msg m = { .mid = WIRE_SDP_SRC_AVAIL, .bufs = 61, .seq = 5, .ack = 4, .length = 0x12345,
			     .rkey = 0xaabbccdd, .vaddr = 0x0102030405060708, .payload_len = 3 };
	uint8_t out[sizeof(src_avail)];

	memcpy(out + 32, "abc", 3);
	CHECK(sdp_msg_put(out, &m) == sizeof(out) && !memcmp(out, src_avail, sizeof(out)));
}

static void sink_avails(void)
{
	struct sdp_msg m, again = { .mid = WIRE_SDP_SINK_AVAIL, .bufs = 60, .seq = 9, .ack = 8, .length = 0x100000, .rkey = 0xaabbccdd,
				    .vaddr = 0x0102030405060708, .kept = 7 };
	uint8_t out[sizeof(sink_avail)];

	CHECK(sdp_msg_get(&m, sink_avail, sizeof(sink_avail)) == SDP_GOOD && m.kept == 7 && m.length == 0x100000 &&
	      m.rkey == 0xaabbccdd && m.vaddr == 0x0102030405060708 && !m.payload_len);
	CHECK(sdp_msg_put(out, &again) == sizeof(out) && !memcmp(out, sink_avail, sizeof(out)));
	CHECK(sdp_msg_get(&m, sink_avail, sizeof(sink_avail) - 1) == SDP_SHORT);
}

static void is_same(const struct sdp_msg *m, const uint8_t *data, size_t len)
{
	uint8_t out[SDP_HEADER_MAX];

	CHECK(sdp_msg_put(out, m) == len && !memcmp(out, data, len));
}

static void sizes_and_moves(void)
{
	struct sdp_msg m;

	CHECK(sdp_msg_get(&m, ch_rcv_buf, sizeof(ch_rcv_buf)) == SDP_GOOD && m.number == 65536);
	is_same(&m, ch_rcv_buf, sizeof(ch_rcv_buf));
	CHECK(sdp_msg_get(&m, ch_rcv_buf_ack, sizeof(ch_rcv_buf_ack)) == SDP_GOOD && m.number == 32768);
	is_same(&m, ch_rcv_buf_ack, sizeof(ch_rcv_buf_ack));
	CHECK(sdp_msg_get(&m, susp_comm, sizeof(susp_comm)) == SDP_GOOD && m.service == 0x19c40);
	is_same(&m, susp_comm, sizeof(susp_comm));
	CHECK(sdp_msg_get(&m, susp_comm, sizeof(susp_comm) - 1) == SDP_SHORT);
	CHECK(sdp_msg_get(&m, susp_comm_ack, sizeof(susp_comm_ack)) == SDP_GOOD);
	is_same(&m, susp_comm_ack, sizeof(susp_comm_ack));
}

static void mode_changes(void)
{
	struct sdp_msg m;
	uint8_t out[sizeof(mode_change)];

	CHECK(sdp_msg_get(&m, mode_change, sizeof(mode_change)) == SDP_GOOD && m.number == 2 && m.req_pipe && !m.oob_pres);
	CHECK(sdp_msg_put(out, &m) == sizeof(out) && !memcmp(out, mode_change, sizeof(out)));
	CHECK(sdp_msg_get(&m, mode_change_by_sink, sizeof(mode_change)) == SDP_GOOD && m.number == 9 && !m.req_pipe);
	CHECK(sdp_msg_put(out, &m) == sizeof(out) && !memcmp(out, mode_change_by_sink, sizeof(out)));
}

static void read_urgent(void)
{
	struct sdp_msg m;

	CHECK(sdp_msg_get(&m, urgent, sizeof(urgent)) == SDP_GOOD);
	CHECK(m.oob_pres && m.oob_pend && m.seq == 256 && m.ack == 0xffffffff && m.payload_len == 1);
}

static void all_kinds(void)
{
	static const uint8_t mids[] = { 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xfd, 0xfe, 0xff };
	static const uint8_t lens[] = { 16, 16, 16, 20, 20, 20, 16, 16, 16, 20, 20, 24, 16, 36, 32, 16 };
	unsigned known = 0;

	for (unsigned i = 0; i < sizeof(mids); i++)
		CHECK(sdp_header_len(mids[i]) == lens[i]);
	for (unsigned mid = 0; mid < 256; mid++)
		known += sdp_header_len((uint8_t)mid) != 0;
	CHECK(known == sizeof(mids));
}

static void refuse(void)
{
	struct sdp_msg m;
	uint8_t bad[sizeof(src_avail)];

	CHECK(sdp_msg_get(&m, src_avail, 15) == SDP_SHORT && sdp_msg_get(&m, src_avail, 31) == SDP_SHORT);
	CHECK(sdp_msg_get(&m, src_avail, 34) == SDP_BAD_LEN);
	memcpy(bad, src_avail, sizeof(bad));
	bad[0] = 0x0f;
	CHECK(sdp_msg_get(&m, bad, sizeof(bad)) == SDP_BAD_MID);
	bad[0] = WIRE_SDP_DISCONN; /* control messages have no payload */
	CHECK(sdp_msg_get(&m, bad, sizeof(bad)) == SDP_BAD_LEN);
	memcpy(bad, src_avail, sizeof(bad));
	bad[17] = 0, bad[18] = 0, bad[19] = 2; /* 3 octets of 2 */
	CHECK(sdp_msg_get(&m, bad, sizeof(bad)) == SDP_LONG_PAYLOAD);
}

static void hellos(void)
{
	uint8_t data[WIRE_SDP_HELLO_LEN] = { 0 }, out[WIRE_SDP_HELLO_LEN];
	struct sdp_hello h;

	memcpy(data, hello, sizeof(hello));
	CHECK(sdp_hello_get(&h, data, sizeof(data)) == SDP_GOOD);
	CHECK(h.bufs == 64 && h.receive_size == 32768 && h.wanted_size == 32768 && h.max_adverts == 1);
	CHECK(h.from.ss_family == AF_INET && ((struct sockaddr_in *)&h.from)->sin_port == htons(40000));
	CHECK(((struct sockaddr_in *)&h.to)->sin_addr.s_addr == inet_addr("10.77.0.2"));
	sdp_hello_put(out, &h);
	CHECK(!memcmp(out, data, sizeof(out)));
	CHECK(sdp_hello_get(&h, data, 63) == SDP_SHORT);
	data[16] = 0x11; /* of 2005 */
	CHECK(sdp_hello_get(&h, data, sizeof(data)) == SDP_GOOD);
	data[16] = 0x32;
	CHECK(sdp_hello_get(&h, data, sizeof(data)) == SDP_BAD_VERSION);
	data[16] = 0x22, data[17] = 0x50;
	CHECK(sdp_hello_get(&h, data, sizeof(data)) == SDP_BAD_FAMILY);
	data[17] = 0x40, data[19] = 0;
	CHECK(sdp_hello_get(&h, data, sizeof(data)) == SDP_NO_ADVERTS);
	data[19] = 1, data[26] = 0, data[27] = 255;
	CHECK(sdp_hello_get(&h, data, sizeof(data)) == SDP_SMALL_RECEIVE);
	data[26] = 1, data[3] = 0;
	CHECK(sdp_hello_get(&h, data, sizeof(data)) == SDP_NO_BUFS);
}

static void acks(void)
{
	struct sdp_hello h = { .bufs = 64, .receive_size = 32768, .max_adverts = 1 }, got;
	uint8_t out[WIRE_SDP_HELLO_ACK_LEN];

	sdp_hello_ack_put(out, &h);
	CHECK(out[0] == 1 && out[3] == 64 && out[7] == 196 && out[16] == 0x22 && out[19] == 1 && out[22] == 0x80);
	CHECK(sdp_hello_ack_get(&got, out, sizeof(out)) == SDP_GOOD && got.bufs == 64 && got.receive_size == 32768);
	CHECK(sdp_hello_ack_get(&got, out, 23) == SDP_SHORT && sdp_hello_ack_get(&got, hello, 64) == SDP_BAD_MID);
}

/* --- credits --- */

static void message(struct sdp_flow *from, struct sdp_flow *to, bool repost)
{
	struct sdp_msg m = { .mid = WIRE_SDP_DATA };

	sdp_flow_stamp(from, &m);
	CHECK(sdp_flow_arrived(to, &m) == SDP_GOOD);
	if (repost)
		sdp_flow_posted(to, 1);
}

static void credits_end(void)
{
	struct sdp_flow a, b;
	unsigned n = 0;

	sdp_flow_begin(&a, 8, 8);
	sdp_flow_begin(&b, 8, 8);
	for (; sdp_flow_may_send(&a, SDP_FOR_DATA); n++)
		message(&a, &b, false);
	CHECK(n == 6 && sdp_flow_may_send(&a, SDP_FOR_CONTROL));
	message(&a, &b, false);
	CHECK(!sdp_flow_may_send(&a, SDP_FOR_CONTROL) && sdp_flow_may_send(&a, SDP_FOR_UPDATE));
	message(&a, &b, false);
	CHECK(!sdp_flow_may_send(&a, SDP_FOR_UPDATE) && b.posted == 0);
	sdp_flow_posted(&b, 8);
	CHECK(sdp_flow_owes_update(&b));
	message(&b, &a, true);
	CHECK(!sdp_flow_owes_update(&b) && sdp_flow_may_send(&a, SDP_FOR_DATA));
}

/* Messages that cross: the credits of one that is still under way stay in use. */
static void crossing(void)
{
	struct sdp_flow a, b;
	struct sdp_msg first = { .mid = WIRE_SDP_DATA }, m = first;

	sdp_flow_begin(&a, 8, 8);
	sdp_flow_begin(&b, 8, 8);
	sdp_flow_stamp(&a, &first);
	message(&b, &a, true);
	CHECK(a.bufs - (a.tx_seq - a.tx_acked) == 7);
	CHECK(sdp_flow_arrived(&b, &first) == SDP_GOOD);
	CHECK(sdp_flow_arrived(&b, &first) == SDP_BAD_SEQ);
	m.seq = 2, m.ack = 2;
	CHECK(sdp_flow_arrived(&b, &m) == SDP_BAD_ACK);
	m.ack = 0xffffffff;
	CHECK(sdp_flow_arrived(&b, &m) == SDP_BAD_ACK);
}

static void overrun(void)
{
	struct sdp_flow a, b;
	struct sdp_msg m = { .mid = WIRE_SDP_DATA };

	sdp_flow_begin(&a, 8, 100);
	sdp_flow_begin(&b, 8, 8);
	for (unsigned i = 0; i < 8; i++)
		message(&a, &b, true); /* posted again, and the peer has not been told */
	sdp_flow_stamp(&a, &m);
	CHECK(sdp_flow_arrived(&b, &m) == SDP_NO_CREDIT);
}

/* Updates answer messages, never one another for ever. */
static void updates_end(void)
{
	struct sdp_flow a, b;
	unsigned n = 0;

	sdp_flow_begin(&a, 8, 8);
	sdp_flow_begin(&b, 8, 8);
	for (unsigned i = 0; i < 5; i++)
		message(&a, &b, true);
	for (; n < 100 && (sdp_flow_owes_update(&a) || sdp_flow_owes_update(&b)); n++)
		sdp_flow_owes_update(&b) ? message(&b, &a, true) : message(&a, &b, true);
	CHECK(n == 1);
}

/* Each control message to an end whose other receives are full of octets has a credit for the next one; both ends may be so. */
static void full_ends(void)
{
	struct sdp_flow a, b;
	struct sdp_msg m;
	unsigned n = 0;

	sdp_flow_begin(&a, 8, 8);
	sdp_flow_begin(&b, 8, 8);
	while (sdp_flow_may_send(&a, SDP_FOR_DATA))
		message(&a, &b, false);
	while (sdp_flow_may_send(&b, SDP_FOR_DATA))
		message(&b, &a, false);
	for (unsigned i = 0; i < 20; i++) {
		CHECK(sdp_flow_may_send(&a, SDP_FOR_CONTROL));
		m = (struct sdp_msg){ .mid = WIRE_SDP_RDMA_RD_COMPL };
		sdp_flow_stamp(&a, &m);
		CHECK(sdp_flow_arrived(&b, &m) == SDP_GOOD);
		sdp_flow_posted(&b, 1);
		for (n = 0; n < 100 && (sdp_flow_owes_update(&a) || sdp_flow_owes_update(&b)); n++)
			sdp_flow_owes_update(&b) ? message(&b, &a, true) : message(&a, &b, true);
		CHECK(n && n < 4);
	}
}

static const struct test_case cases[] = {
	{ "-", "SrcAvail is read", read_src_avail },
	{ "-", "SrcAvail is written", write_src_avail },
	{ "-", "urgent octets", read_urgent },
	{ "-", "SinkAvail", sink_avails },
	{ "-", "ModeChange", mode_changes },
	{ "-", "ChRcvBuf, SuspComm and their answers", sizes_and_moves },
	{ "-", "headers of all kinds", all_kinds },
	{ "-", "messages that are refused", refuse },
	{ "-", "Hello", hellos },
	{ "-", "HelloAck", acks },
	{ "-", "two credits are kept back", credits_end },
	{ "-", "messages that cross", crossing },
	{ "-", "a message without a credit", overrun },
	{ "-", "updates end", updates_end },
	{ "-", "credits of ends that are full", full_ends },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

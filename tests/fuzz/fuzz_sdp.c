/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a peer of SDP, or a rules file, may say. The first byte says which: a message, which is read and written the same;
 * a Hello or HelloAck; a sequence of messages of two ends, whose credits never pass what is posted; a line of rules.
 */
#include "support/check.h"
#include "ulp/preload/rules.h"
#include "ulp/sdp/flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void message(const uint8_t *data, size_t size)
{
	struct sdp_msg m, again;
	uint8_t out[SDP_HEADER_MAX];
	size_t header;

	if (sdp_msg_get(&m, data, size))
		return;
	header = sdp_header_len(m.mid);
	CHECK(header && m.payload == data + header && m.payload_len == size - header);
	CHECK(sdp_msg_put(out, &m) == size);
	m.payload_len = 0;
	wire_set_SDP_BSDH_len(out, header);
	CHECK(!sdp_msg_get(&again, out, header));
	again.payload = m.payload;
	CHECK(again.mid == m.mid && again.seq == m.seq && again.ack == m.ack && again.bufs == m.bufs &&
	      again.length == m.length && again.rkey == m.rkey && again.vaddr == m.vaddr &&
	      again.oob_pres == m.oob_pres && again.oob_pend == m.oob_pend);
}

static void hello(const uint8_t *data, size_t size)
{
	struct sdp_hello h, again;
	uint8_t out[WIRE_SDP_HELLO_ACK_LEN];

	if (!sdp_hello_get(&h, data, size)) {
		sdp_hello_put(out, &h);
		CHECK(!sdp_hello_get(&again, out, WIRE_SDP_HELLO_LEN) && h.bufs == again.bufs &&
		      h.receive_size == again.receive_size && h.wanted_size == again.wanted_size &&
		      !memcmp(&h.from, &again.from, sizeof(h.from)));
	}
	if (!sdp_hello_ack_get(&h, data, size)) {
		sdp_hello_ack_put(out, &h);
		CHECK(!sdp_hello_ack_get(&again, out, sizeof(out)) && h.bufs == again.bufs);
	}
}

/* Each byte: a message of one end or the other, a receive that is posted, or numbers of the peer's choice. */
static void flows(const uint8_t *data, size_t size)
{
	struct sdp_flow f[2];
	struct sdp_msg m = { .mid = WIRE_SDP_DATA };
	uint32_t lost[2] = { 0 };

	sdp_flow_begin(&f[0], 4, 4);
	sdp_flow_begin(&f[1], 4, 4);
	for (size_t i = 0; i < size; i++) {
		unsigned end = data[i] & 1;

		if (data[i] & 2) {
			if (lost[end])
				sdp_flow_posted(&f[end], 1), lost[end]--;
		} else if (data[i] & 4) {
			m.seq = f[end].rx_seq + (data[i] >> 4);
			m.ack = f[end].tx_acked + (data[i] >> 5);
			m.bufs = data[i] >> 3;
			if (!sdp_flow_arrived(&f[end], &m))
				lost[end]++;
			return;
		} else if (sdp_flow_may_send(&f[end], SDP_FOR_UPDATE)) {
			sdp_flow_stamp(&f[end], &m);
			CHECK(!sdp_flow_arrived(&f[!end], &m));
			lost[!end]++;
		}
		CHECK(f[end].told <= f[end].posted && f[end].posted <= 4 && f[end].posted + lost[end] == 4);
	}
}

static void rules(const uint8_t *data, size_t size)
{
	struct rsp_addr at = { .family = AF_INET, .port = 80, .addr = { 10, 0, 0, 1 } };
	struct rsp_rule_row row;
	char line[256];

	size = size < sizeof(line) - 1 ? size : sizeof(line) - 1;
	memcpy(line, data, size);
	line[size] = '\0';
	if (rsp_rule_read(line, &row) != 1)
		return;
	CHECK(row.first <= row.last && row.bits <= 128 && strlen(row.program) < sizeof(row.program));
	rsp_rule_fits(&row, "program", RSP_RULE_CONNECT, &at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const kinds[])(const uint8_t *, size_t) = { message, hello, flows, rules };

	if (size)
		kinds[data[0] & 3](data + 1, size - 1);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a peer of SDP, or a rules file, may say. The first byte says which: a message, which is read and written the same;
 * a Hello or HelloAck; a sequence of messages of two ends, whose credits never pass what is posted; a line of rules; the
 * advertisements of one direction, whose octets come in order whatever crosses; advertisements of a peer that lies.
 */
#include "support/check.h"
#include "ulp/preload/rules.h"
#include "ulp/sdp/advert.h"
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
	      again.oob_pres == m.oob_pres && again.oob_pend == m.oob_pend && again.req_pipe == m.req_pipe &&
	      again.kept == m.kept && again.number == m.number);
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

/* --- one direction in Pipelined mode: both ends, and what is under way between them, in order --- */

#define QUEUE 8
#define SRC 9

struct queue {
	struct sdp_msg m[QUEUE];        /* number: the position of its first octet, or the octets of a completion */
	unsigned first, nr;
};

struct direction {
	struct sdp_out o;
	struct sdp_in i;
	struct queue to_sink, to_source;
	uint32_t sent, got;             /* positions */
	unsigned srcs, opens;           /* SrcAvails at the source, and those of them at the sink: of SRC octets each, from `sent` on */
	uint32_t open_at;
};

static bool put(struct queue *q, struct sdp_msg m)
{
	if (q->nr == QUEUE)
		return false;
	q->m[(q->first + q->nr++) % QUEUE] = m;
	return true;
}

static bool get(struct queue *q, struct sdp_msg *m)
{
	if (!q->nr)
		return false;
	*m = q->m[q->first];
	q->first = (q->first + 1) % QUEUE;
	q->nr--;
	return true;
}

static void take(struct direction *d, uint32_t at, uint32_t len)
{
	CHECK(at == d->got);
	d->got += len;
}

static void send_octets(struct direction *d)
{
	if (d->srcs || !put(&d->to_sink, (struct sdp_msg){ .mid = WIRE_SDP_DATA, .number = d->sent, .payload_len = 3 }))
		return;
	sdp_out_data(&d->o);
	d->sent += 3;
}

static void write_octets(struct direction *d)
{
	if (d->srcs || !d->o.nr ||
	    !put(&d->to_sink, (struct sdp_msg){ .mid = WIRE_SDP_RDMA_WR_COMPL, .number = d->sent, .length = d->o.targets[0].len / 2 }))
		return;
	d->sent += d->o.targets[0].len / 2;
	sdp_out_written(&d->o);
}

static void advertise(struct direction *d)
{
	struct sdp_msg m = { .mid = WIRE_SDP_SRC_AVAIL, .number = d->sent + d->srcs * SRC, .length = SRC };

	if (d->srcs < SDP_MAX_ADVERTS && !d->o.nr && put(&d->to_sink, m))
		d->srcs++;
}

static void want(struct direction *d, uint32_t len)
{
	if (d->opens || !sdp_in_may_advertise(&d->i, len, 4, 0, 1) ||
	    !put(&d->to_source, (struct sdp_msg){ .mid = WIRE_SDP_SINK_AVAIL, .length = len, .kept = d->i.kept }))
		return;
	sdp_in_advertise(&d->i, len);
}

static void want_no_more(struct direction *d)
{
	if (d->i.len && !d->i.cancelled && put(&d->to_source, (struct sdp_msg){ .mid = WIRE_SDP_SINK_AVAIL_CANCEL }))
		sdp_in_cancel(&d->i);
}

static void fetch(struct direction *d)
{
	if (!d->opens || !put(&d->to_source, (struct sdp_msg){ .mid = WIRE_SDP_RDMA_RD_COMPL, .length = SRC }))
		return;
	take(d, d->open_at, SRC);
	d->open_at += SRC;
	d->opens--;
}

static void sink_gets(struct direction *d)
{
	struct sdp_msg m;
	bool crossed;

	if (!get(&d->to_sink, &m))
		return;
	if (m.mid == WIRE_SDP_DATA) {
		CHECK(!d->opens);
		sdp_in_data(&d->i);
		take(d, m.number, m.payload_len);
	} else if (m.mid == WIRE_SDP_RDMA_WR_COMPL) {
		CHECK(sdp_in_written(&d->i, m.length) == SDP_GOOD);
		take(d, m.number, m.length);
	} else if (m.mid == WIRE_SDP_SINK_CANCEL_ACK) {
		CHECK(sdp_in_cancel_acked(&d->i) == SDP_GOOD);
	} else {
		CHECK(sdp_in_src_avail(&d->i, &m, d->opens, 0, &crossed) == SDP_GOOD);
		if (!crossed && !d->opens)
			d->open_at = m.number;
		CHECK(crossed || m.number == d->open_at + d->opens * SRC);
		d->opens += !crossed;
	}
}

/* An answer that finds no room waits with its question. */
static void source_gets(struct direction *d)
{
	struct sdp_msg m;
	bool stale;

	if (d->to_sink.nr == QUEUE || !get(&d->to_source, &m))
		return;
	if (m.mid == WIRE_SDP_SINK_AVAIL) {
		CHECK(sdp_out_sink_avail(&d->o, &m, 0, 4, &stale) == SDP_GOOD);
		if (!stale)
			d->srcs = 0;
	} else if (m.mid == WIRE_SDP_SINK_AVAIL_CANCEL) {
		if (sdp_out_cancel(&d->o))
			CHECK(put(&d->to_sink, (struct sdp_msg){ .mid = WIRE_SDP_SINK_CANCEL_ACK }));
	} else {
		CHECK(d->srcs && m.length == SRC);
		d->sent += m.length;
		d->srcs--;
	}
}

static void adverts(const uint8_t *data, size_t size)
{
	struct direction d = { .sent = 0 };
	struct sdp_out other;

	sdp_out_begin(&d.o);
	sdp_out_begin(&other);
	sdp_in_begin(&d.i);
	CHECK(!sdp_mode_arrived(&other, &d.i, sdp_out_change(&d.o, SDP_PIPELINED), 0));
	for (size_t i = 0; i < size; i++) {
		switch (data[i] & 7) {
		case 0: send_octets(&d); break;
		case 1: write_octets(&d); break;
		case 2: advertise(&d); break;
		case 3: want(&d, 4 + (data[i] >> 3)); break;
		case 4: want_no_more(&d); break;
		case 5: sink_gets(&d); break;
		case 6: source_gets(&d); break;
		default: fetch(&d);
		}
		CHECK(d.o.nr <= SDP_MAX_ADVERTS);
	}
	/* Once nothing is under way both ends agree. */
	while (d.to_sink.nr || d.to_source.nr || d.opens) {
		sink_gets(&d);
		source_gets(&d);
		fetch(&d);
	}
	CHECK(d.o.kept == d.i.kept && (d.o.nr != 0) == (d.i.len != 0) && d.got == d.sent && !d.i.cancelled);
}

/* Four bytes are a message; what is wrong is refused, and nothing passes its bounds. */
static void lies(const uint8_t *data, size_t size)
{
	struct sdp_out o;
	struct sdp_in i;
	bool flag;

	sdp_out_begin(&o);
	sdp_in_begin(&i);
	for (; size >= 4; data += 4, size -= 4) {
		struct sdp_msg m = { .length = data[1], .kept = data[2], .payload_len = data[3] & 1, .number = data[1] };

		switch (data[0] % 9) {
		case 0: sdp_mode_arrived(&o, &i, data[1] & 15, data[2] & 1); break;
		case 1: sdp_out_sink_avail(&o, &m, data[3] & 15, 4, &flag); break;
		case 2: sdp_out_data(&o); break;
		case 3: sdp_out_cancel(&o); break;
		case 4: if (sdp_in_may_advertise(&i, m.length, 4, 0, 1)) sdp_in_advertise(&i, m.length); break;
		case 5: if (!sdp_in_written(&i, m.number)) CHECK(!i.len); break;
		case 6: sdp_in_src_avail(&i, &m, data[3] & 15, data[3] >> 4, &flag); break;
		case 7: if (i.len) sdp_in_cancel(&i); break;
		default: sdp_in_cancel_acked(&i);
		}
		CHECK(o.nr <= SDP_MAX_ADVERTS && o.mode <= SDP_PIPELINED && i.mode <= SDP_PIPELINED && (i.len || !i.cancelled || i.mode != SDP_PIPELINED));
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
	static void (*const kinds[])(const uint8_t *, size_t) = { message, hello, flows, rules, adverts, lies, message, adverts };

	if (size)
		kinds[data[0] & 7](data + 1, size - 1);
	return 0;
}

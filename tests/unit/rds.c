/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RDS: headers and private data as a Linux 6.1 kernel sent them, the messages of a connection that ends and begins again, packets
 * and credits of RDMA, congestion maps.
 */
#include "ulp/rds/claim.h"
#include "ulp/rds/cong.h"
#include "ulp/rds/credit.h"
#include "ulp/rds/flow.h"
#include "ulp/rds/header.h"
#include "ulp/rds/packet.h"
#include "ulp/rds/private.h"

#include "support/cases.h"
#include "support/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The probe of Linux: ping from port 1 to port 0, number 1, eight paths. */
static const uint8_t probe[WIRE_RDS_HEADER_LEN] = {
	0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x05, 0x00, 0x08,
};

/* The head of a congestion map. */
static const uint8_t map_head[WIRE_RDS_HEADER_LEN] = { [18] = 0x20, [24] = 0x01 };

/* A retransmitted message of 258 octets from port 4000 to port 7. */
static const uint8_t again[WIRE_RDS_HEADER_LEN] = {
	1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0x0f, 0xa0, 0, 7, 4,
};

/* Private data of a request from 10.77.0.11 to 10.77.0.1, as a 6.1 kernel sends it: 3.1, one credit. */
static const uint8_t private_data[WIRE_RDS_PRIVATE_LEN] = {
	10, 77, 0, 11, 10, 77, 0, 1, 3, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
};

static void read_headers(void)
{
	struct rds_header h;

	CHECK(rds_header_get(&h, probe) == RDS_GOOD);
	CHECK(h.sequence == 1 && h.sport == WIRE_RDS_PROBE_PORT && !h.dport && !h.len && h.paths == 8 && !h.generation);
	CHECK(!h.map && !h.retransmitted && !h.ack_required);
	CHECK(rds_header_get(&h, map_head) == RDS_GOOD && h.map && h.len == WIRE_RDS_MAP_LEN && !h.sequence);
	CHECK(rds_header_get(&h, again) == RDS_GOOD && h.retransmitted && h.sequence == 0x0102030405060708);
	CHECK(h.len == 258 && h.sport == 4000 && h.dport == 7);
	CHECK(wire_get_RDS_PRIVATE_major(private_data) == 3 && wire_get_RDS_PRIVATE_minor(private_data) == 1);
	CHECK(wire_get_RDS_PRIVATE_minor_mask(private_data) == 3 && wire_get_RDS_PRIVATE_credits(private_data) == 1);
}

static void write_headers(void)
{
	struct rds_header h = { .sequence = 1, .sport = WIRE_RDS_PROBE_PORT, .paths = 8 };
	uint8_t out[WIRE_RDS_HEADER_LEN];

	rds_header_put(out, &h);
	CHECK(!memcmp(out, probe, sizeof(out)));
	h = (struct rds_header){ .len = WIRE_RDS_MAP_LEN, .map = true };
	rds_header_put(out, &h);
	CHECK(!memcmp(out, map_head, sizeof(out)));
	h = (struct rds_header){ .paths = 1, .generation = 0x01020304 };
	rds_header_put(out, &h);
	CHECK(!memcmp(out + 32, "\5\0\1\6\1\2\3\4\0", 9));
	CHECK(rds_header_get(&h, out) == RDS_GOOD && h.paths == 1 && h.generation == 0x01020304);
}

/* The region that an operation has used, then one of the sender: as Linux writes them. Together they fit, and nothing more does. */
static void headers_of_regions(void)
{
	struct rds_header h = { .uses_region = true, .key = 0x01020304, .cookie = 0x0fffabcdef12 };
	uint8_t out[WIRE_RDS_HEADER_LEN];

	rds_header_put(out, &h);
	CHECK(!memcmp(out + 32, "\2\1\2\3\4\3\xab\xcd\xef\x12\0\0\x0f\xff\0\0", 16));
	CHECK(rds_header_get(&h, out) == RDS_GOOD && h.uses_region && h.key == 0x01020304 && h.cookie == 0x0fffabcdef12);
	/* A key may be 0; a cookie of 0 is none. */
	h = (struct rds_header){ .uses_region = true };
	rds_header_put(out, &h);
	CHECK(rds_header_get(&h, out) == RDS_GOOD && h.uses_region && !h.key && !h.cookie);
	h = (struct rds_header){ .generation = 1, .uses_region = true, .cookie = 5 };
	rds_header_put(out, &h);
	CHECK(rds_header_get(&h, out) == RDS_GOOD && h.generation == 1 && h.uses_region && !h.cookie);
}

static void refused_headers(void)
{
	uint8_t in[WIRE_RDS_HEADER_LEN];
	struct rds_header h;

	memcpy(in, again, sizeof(in));
	wire_set_RDS_HEADER_length(in, RDS_MESSAGE_MAX);
	CHECK(rds_header_get(&h, in) == RDS_GOOD);
	wire_set_RDS_HEADER_length(in, RDS_MESSAGE_MAX + 1);
	CHECK(rds_header_get(&h, in) == RDS_LONG);
	memcpy(in, map_head, sizeof(in));
	wire_set_RDS_HEADER_length(in, WIRE_RDS_MAP_LEN - 1);
	CHECK(rds_header_get(&h, in) == RDS_BAD_MAP);
	/* An unknown extension ends the list; one that does not fit is none. */
	memcpy(in, again, sizeof(in));
	memcpy(in + 32, "\x63\5\0\1", 4);
	CHECK(rds_header_get(&h, in) == RDS_GOOD && !h.paths);
	memset(in + 32, 0, 16);
	memcpy(in + 32, "\1aaaa\1bbbb\2cccc\6", 16);
	CHECK(rds_header_get(&h, in) == RDS_GOOD && !h.generation);
}

/* --- messages --- */

static unsigned nr_done;

static void done(void *arg, const struct rds_message *m)
{
	CHECK(arg == &nr_done && m);
	nr_done++;
}

static void queue(struct rds_flow *f, uint64_t sender, uint16_t dport)
{
	struct rds_message *m = rds_message_new(10);

	m->sender = sender;
	m->dport = dport;
	rds_flow_queue(f, m);
}

static void ends_and_begins_again(void)
{
	struct rds_flow f;
	struct rds_message *m;

	nr_done = 0;
	rds_flow_init(&f);
	CHECK(!rds_flow_next(&f));
	for (int i = 0; i < 6; i++)
		queue(&f, 1, 7);
	for (uint64_t end = 58; end <= 4 * 58; end += 58)
		rds_flow_sent(&f, end);
	CHECK(rds_flow_next(&f)->sequence == 5 && f.nr == 6 && f.bytes == 60);
	rds_flow_acked(&f, 2 * 58 + 57, done, &nr_done);
	CHECK(nr_done == 2 && f.nr == 4);
	rds_flow_restart(&f);
	for (uint64_t want = 3; want <= 6; want++) {
		m = rds_flow_next(&f);
		CHECK(m && m->sequence == want && m->retransmitted == (want < 5));
		rds_flow_sent(&f, want);
	}
	rds_flow_restart(&f);
	CHECK(rds_flow_next(&f)->sequence == 3);
	rds_flow_cancel(&f, 0, NULL, NULL, false, done, &nr_done);
	CHECK(nr_done == 6 && !f.nr && !f.bytes && !rds_flow_next(&f));
}

/*
 * A transport that ends at its n-th packet, again and again. As over RDMA the sender posts whatever it may before an acknowledgement
 * is back, and one that is under way as the connection ends is lost.
 */
static void ends_again_and_again(unsigned n, unsigned count)
{
	struct rds_flow tx, rx;
	uint64_t arrived = 0;
	unsigned packets, connections = 0;

	nr_done = 0;
	rds_flow_init(&tx);
	rds_flow_init(&rx);
	for (unsigned i = 0; i < count; i++)
		queue(&tx, 1, 7);
	while (rds_flow_next(&tx)) {
		CHECK(connections++ < count);
		for (packets = 0; packets < n && rds_flow_next(&tx);) {
			for (; packets < n && rds_flow_next(&tx) && rds_flow_may_send(&tx); packets++) {
				const struct rds_message *m = rds_flow_next(&tx);

				if (rds_flow_arrived(&rx, m->sequence, m->retransmitted))
					CHECK(m->sequence == ++arrived);
				rds_flow_sent(&tx, m->sequence);
			}
			if (packets < n || !rds_flow_next(&tx))
				rds_flow_acked(&tx, arrived, done, &nr_done);
		}
		rds_flow_restart(&tx);
	}
	CHECK(arrived == count && nr_done == count && !tx.in_flight);
	if (n > count)
		CHECK(connections == 1);
}

static void ends_at_the_nth_packet(void)
{
	for (unsigned n = 2; n < 400; n++)
		ends_again_and_again(n, 300);
}

static bool to_port(const struct rds_message *m, const void *key)
{
	return m->dport == *(const uint16_t *)key;
}

static void cancelled(void)
{
	struct rds_flow f;
	uint16_t port = 7;

	nr_done = 0;
	rds_flow_init(&f);
	for (uint64_t sender = 1; sender <= 2; sender++)
		for (uint16_t p = 7; p <= 8; p++)
			for (int i = 0; i < 2; i++)
				queue(&f, sender, p);
	/* The first one is under way. */
	rds_flow_cancel(&f, 1, to_port, &port, true, done, &nr_done);
	CHECK(nr_done == 1 && rds_flow_next(&f)->sequence == 1);
	rds_flow_sent(&f, 58);
	rds_flow_cancel(&f, 1, to_port, &port, false, done, &nr_done);
	CHECK(nr_done == 2 && rds_flow_next(&f)->dport == 8);
	rds_flow_cancel(&f, 2, NULL, NULL, false, done, &nr_done);
	CHECK(nr_done == 6 && f.nr == 2);
	rds_flow_cancel(&f, 0, NULL, NULL, false, done, &nr_done);
}

static void arrivals(void)
{
	struct rds_flow f;

	rds_flow_init(&f);
	CHECK(rds_flow_arrived(&f, 1, false) && rds_flow_arrived(&f, 5, false)); /* numbers may skip */
	CHECK(!rds_flow_arrived(&f, 5, true) && !rds_flow_arrived(&f, 1, true) && rds_flow_arrived(&f, 6, true));
	CHECK(rds_flow_arrived(&f, 1, false) && !rds_flow_arrived(&f, 1, true) && rds_flow_arrived(&f, 2, true));
	rds_flow_arrived(&f, 100, false);
	rds_flow_peer(&f, 0);
	rds_flow_peer(&f, 77); /* the first one says nothing about the numbers before */
	CHECK(!rds_flow_arrived(&f, 1, true));
	rds_flow_peer(&f, 77);
	CHECK(!rds_flow_arrived(&f, 1, true));
	rds_flow_peer(&f, 78);
	CHECK(rds_flow_arrived(&f, 1, true) && !rds_flow_arrived(&f, 1, true));
}

/* --- RDMA --- */

static void private_data_of_both_families(void)
{
	uint8_t out[WIRE_RDS_PRIVATE6_LEN], six[WIRE_RDS_PRIVATE6_LEN];
	struct rds_private p;

	CHECK(rds_private_get(&p, private_data, sizeof(private_data), AF_INET) == RDS_GOOD);
	CHECK(!memcmp(p.from.addr, "\12\115\0\13", 4) && !memcmp(p.to.addr, "\12\115\0\1", 4) && p.credits == 1);
	CHECK(rds_private_put(out, &p) == sizeof(private_data) && !memcmp(out, private_data, sizeof(private_data)));
	for (uint8_t i = 0; i < 16; i++) {
		p.from.addr[i] = i;
		p.to.addr[i] = (uint8_t)(0x80 + i);
	}
	p.from.family = p.to.family = AF_INET6;
	p.credits = 0x01020304;
	CHECK(rds_private_put(six, &p) == WIRE_RDS_PRIVATE6_LEN);
	CHECK(six[0] == 0 && six[15] == 15 && six[16] == 0x80 && six[31] == 0x8f && !memcmp(six + 32, "\3\1\0\3\0\0\0\0", 8));
	CHECK(!memcmp(six + 48, "\1\2\3\4", 4));
	CHECK(rds_private_get(&p, six, sizeof(six), AF_INET6) == RDS_GOOD && p.to.addr[15] == 0x8f && p.credits == 0x01020304);
	CHECK(rds_private_get(&p, six, sizeof(six) - 1, AF_INET6) == RDS_NO_PRIVATE);
	CHECK(rds_private_get(&p, private_data, sizeof(private_data) - 1, AF_INET) == RDS_NO_PRIVATE);
	CHECK(rds_private_get(&p, NULL, 0, AF_INET) == RDS_NO_PRIVATE);
	memcpy(out, private_data, sizeof(private_data));
	wire_set_RDS_PRIVATE_major(out, 4);
	CHECK(rds_private_get(&p, out, sizeof(private_data), AF_INET) == RDS_BAD_VERSION);
	wire_set_RDS_PRIVATE_major(out, 3);
	wire_set_RDS_PRIVATE_minor(out, 0);
	CHECK(rds_private_get(&p, out, sizeof(private_data), AF_INET) == RDS_BAD_VERSION);
	memset(out, 0, sizeof(out)); /* octets of a manager */
	CHECK(rds_private_get(&p, out, sizeof(private_data), AF_INET) == RDS_NO_PRIVATE);
}

static void checksums(void)
{
	static const uint8_t ack[WIRE_RDS_HEADER_LEN] = { [15] = 5, [30] = 0xff, [31] = 0xfa };
	uint8_t out[WIRE_RDS_HEADER_LEN];
	struct rds_header h = { .ack = 5 };

	rds_header_put(out, &h);
	rds_header_sum(out);
	CHECK(!memcmp(out, ack, sizeof(out)) && rds_header_sum_is_right(out));
	CHECK(rds_packet_get(&h, out, sizeof(out)) == RDS_GOOD && rds_packet_is_ack(&h, sizeof(out)) && !rds_packet_is_ack(&h, 49));
	out[16] ^= 1;
	CHECK(!rds_header_sum_is_right(out) && rds_packet_get(&h, out, sizeof(out)) == RDS_BAD_SUM);
	out[30] = out[31] = 0; /* a header without one */
	CHECK(rds_header_sum_is_right(out));
	CHECK(rds_packet_get(&h, out, sizeof(out) - 1) == RDS_SHORT);
	rds_header_sum(out);
	CHECK(rds_header_sum_is_right(out));
}

static uint8_t packet[RDS_PACKET_MAX];

/* A packet of a message of `len` octets, with `n` of them. */
static enum rds_verdict give(struct rds_assembly *a, uint64_t sequence, uint32_t len, uint32_t n, struct rds_message **ret)
{
	struct rds_header h = { .sequence = sequence, .len = len, .sport = 3, .dport = 4 };

	memset(packet, (int)n, sizeof(packet));
	rds_header_put(packet, &h);
	rds_header_sum(packet);
	CHECK(rds_packet_get(&h, packet, WIRE_RDS_HEADER_LEN + n) == RDS_GOOD);
	return rds_packet_take(a, &h, packet, WIRE_RDS_HEADER_LEN + n, ret);
}

static void fragments(void)
{
	struct rds_assembly a = { 0 };
	struct rds_message *m;

	CHECK(give(&a, 1, 0, 0, &m) == RDS_GOOD && m && !m->len && m->sport == 3 && m->dport == 4);
	free(m);
	CHECK(give(&a, 2, 4096, 4096, &m) == RDS_GOOD && m);
	free(m);
	CHECK(give(&a, 3, 8193, 4096, &m) == RDS_GOOD && !m && give(&a, 3, 8193, 4096, &m) == RDS_GOOD && !m);
	CHECK(give(&a, 3, 8193, 1, &m) == RDS_GOOD && m && m->len == 8193 && m->data[8192] == 1 && !m->data[8191]);
	free(m);
	/* Neither less nor more than the place of a fragment asks for. */
	CHECK(give(&a, 4, 8193, 4095, &m) == RDS_BAD_FRAGMENT && !m);
	rds_packet_drop(&a);
	CHECK(give(&a, 4, 10, 11, &m) == RDS_BAD_FRAGMENT && !m);
	rds_packet_drop(&a);
	/* Of another message. */
	CHECK(give(&a, 5, 8192, 4096, &m) == RDS_GOOD && give(&a, 6, 8192, 4096, &m) == RDS_BAD_FRAGMENT && !m);
	CHECK(give(&a, 5, 8000, 3904, &m) == RDS_BAD_FRAGMENT && give(&a, 5, 8192, 4096, &m) == RDS_GOOD && m);
	free(m);
	rds_packet_drop(&a);
}

/* Two ends of eight receives each that send whenever they may: none waits for ever, and none sends without a receive. */
static void credits_of_two_ends(void)
{
	enum { RECEIVES = 8 };
	struct rds_credit c[2];
	uint32_t in[2] = { 0 }, sent = 0;
	uint8_t told[2][64];

	for (int i = 0; i < 2; i++)
		rds_credit_begin(&c[i], RECEIVES, true);
	for (int turn = 0; turn < 4000; turn++) {
		int me = turn * 7 / 3 & 1, peer = !me;

		if (rds_credit_may_send(&c[me]) && (turn % 5 || rds_credit_is_due(&c[me], RECEIVES))) {
			told[peer][in[peer]++] = rds_credit_spend(&c[me]);
			CHECK(in[peer] <= RECEIVES);
			sent++;
		}
		if (turn % 3 == 0 && in[me]) {
			rds_credit_add(&c[me], told[me][0]);
			memmove(told[me], told[me] + 1, --in[me]);
			rds_credit_posted(&c[me]);
		}
	}
	CHECK(sent > 1000);
	rds_credit_begin(&c[0], 1, true);
	CHECK(!rds_credit_may_send(&c[0])); /* the last one is for an update */
	rds_credit_posted(&c[0]);
	CHECK(rds_credit_may_send(&c[0]) && rds_credit_spend(&c[0]) == 1 && !rds_credit_may_send(&c[0]));
	for (int i = 0; i < 1000; i++)
		rds_credit_posted(&c[0]);
	rds_credit_add(&c[0], 255);
	CHECK(rds_credit_spend(&c[0]) == 255 && c[0].posted == 745 && c[0].available == 254);
	for (int i = 0; i < 300; i++)
		rds_credit_add(&c[0], 255);
	CHECK(c[0].available == 65535);
	rds_credit_begin(&c[0], UINT32_MAX, false);
	rds_credit_posted(&c[0]);
	CHECK(c[0].available == 65535 && rds_credit_spend(&c[0]) == 0 && !rds_credit_is_due(&c[0], RECEIVES));
	rds_credit_begin(&c[0], 0, true); /* a peer that takes no part: always, and it is told nevertheless */
	rds_credit_posted(&c[0]);
	CHECK(rds_credit_may_send(&c[0]) && rds_credit_spend(&c[0]) == 1 && rds_credit_may_send(&c[0]));
}

static void another_transport(void)
{
	struct rds_flow a, b;

	nr_done = 0;
	rds_flow_init(&a);
	rds_flow_init(&b);
	for (uint16_t port = 1; port <= 4; port++)
		queue(&a, 1, port);
	rds_flow_next(&a)->either = ut_container(a.waiting.prev, struct rds_message, node)->either = true;
	CHECK(!rds_flow_is_last(&a) && !rds_flow_is_last(&b));
	rds_flow_move(&a, &b);
	CHECK(a.nr == 2 && a.bytes == 20 && b.nr == 2 && b.bytes == 20 && rds_flow_next(&a)->dport == 2);
	CHECK(rds_flow_next(&b)->dport == 1 && rds_flow_next(&b)->sequence == 1);
	rds_flow_sent(&b, 1);
	CHECK(rds_flow_is_last(&b) && rds_flow_next(&b)->dport == 4 && rds_flow_next(&b)->sequence == 2);
	/* One without packets asks for no acknowledgement. */
	queue(&b, 1, 5);
	CHECK(!rds_flow_is_last(&b));
	ut_container(b.waiting.prev, struct rds_message, node)->silent = true;
	CHECK(rds_flow_is_last(&b));
	rds_flow_cancel(&a, 0, NULL, NULL, false, done, &nr_done);
	rds_flow_cancel(&b, 0, NULL, NULL, false, done, &nr_done);
	CHECK(nr_done == 5);
}

/* --- the next owner --- */

/* Its messages have the numbers that they had, and are sent again; new ones get further numbers. */
static void messages_of_the_owner_before(void)
{
	struct rds_flow f;
	struct rds_message *m;

	nr_done = 0;
	rds_flow_init(&f);
	for (uint64_t sequence = 7; sequence < 10; sequence++) {
		m = rds_message_new(10);
		m->sequence = sequence;
		rds_flow_again(&f, m);
	}
	f.next_tx = 12;
	queue(&f, 1, 7);
	CHECK(f.nr == 4 && f.bytes == 40);
	for (uint64_t want = 7; want < 10; want++) {
		CHECK(rds_flow_next(&f)->sequence == want && rds_flow_next(&f)->retransmitted && rds_flow_fills_window(&f));
		rds_flow_sent(&f, want);
		CHECK(!rds_flow_may_send(&f));
		rds_flow_acked(&f, want, done, &nr_done);
		f.window = 1;
	}
	CHECK(rds_flow_next(&f)->sequence == 12 && !rds_flow_next(&f)->retransmitted);
	rds_flow_cancel(&f, 0, NULL, NULL, false, done, &nr_done);
	CHECK(nr_done == 4 && !f.in_flight);
}

/* In each order of events one of the two records of a number is received. */
static void records_given_twice(void)
{
	_Atomic uint64_t w = 0;

	/* Nothing is in doubt: each counts, also in another order of threads. */
	CHECK(rds_claim(&w, 1) && rds_claim(&w, 3) && rds_claim(&w, 2));
	/* It had been sent, and received. */
	rds_claim_doubt(&w, 3);
	CHECK(!rds_claim(&w, 3) && !rds_claim(&w, 3) && rds_claim(&w, 4));
	/* It had not. */
	rds_claim_doubt(&w, 5);
	CHECK(rds_claim(&w, 5) && !rds_claim(&w, 5) && rds_claim(&w, 6));
	/* It had been sent; both are in the socket, and another thread is ahead. */
	rds_claim_doubt(&w, 7);
	CHECK(rds_claim(&w, 8) && rds_claim(&w, 7) && !rds_claim(&w, 7));
	/* Twice in doubt: two owners have been killed. */
	rds_claim_doubt(&w, 9);
	rds_claim_doubt(&w, 9);
	CHECK(rds_claim(&w, 9));
	rds_claim_doubt(&w, 9);
	CHECK(!rds_claim(&w, 9));
	rds_claim_settle(&w);
	CHECK(rds_claim(&w, 9));
	/* Numbers wrap, and leave out 0. */
	CHECK(rds_claim_next(0) == 1 && rds_claim_next(0x7ffffffe) == 0x7fffffff && rds_claim_next(0x7fffffff) == 1);
	CHECK(rds_claim(&w, 0x30000000) && rds_claim(&w, 0x60000000) && rds_claim(&w, 0x7fffffff) && rds_claim(&w, 1));
	rds_claim_doubt(&w, 1);
	CHECK(!rds_claim(&w, 1));
}

/* --- congestion --- */

static struct rsp_addr address(const char *text)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct rsp_addr a;

	CHECK(inet_pton(AF_INET, text, &in.sin_addr) == 1);
	rsp_addr_from(&a, (struct sockaddr *)&in);
	return a;
}

static void maps(void)
{
	struct rds_maps *all = calloc(1, sizeof(*all));
	struct rsp_addr a = address("10.0.0.1"), b = address("10.0.0.2"), other;
	uint8_t octets[WIRE_RDS_MAP_LEN];
	struct rds_map *m;
	char text[32];

	CHECK(all && !rds_map_find(all, &a));
	m = rds_map_make(all, &a);
	CHECK(m && rds_map_make(all, &b) != m && rds_map_make(all, &a) == m && rds_map_find(all, &a) == m);
	CHECK(rds_map_set(m, 65535, true) && !rds_map_set(m, 65535, true) && rds_map_set(m, 0, true) && rds_map_set(m, 9, true));
	CHECK(rds_map_test(m, 65535) && rds_map_test(m, 0) && rds_map_test(m, 9) && !rds_map_test(m, 8));
	rds_map_put(octets, m);
	CHECK(octets[0] == 1 && octets[1] == 2 && octets[8191] == 0x80 && !octets[2]);
	/* Another map of the same address: port 9 is free, port 0 stays, port 70 becomes congested. */
	octets[1] = 0;
	octets[8] = 0x40;
	CHECK(rds_map_get(m, octets) == 1ull << 9 && rds_map_test(m, 70) && rds_map_test(m, 0) && !rds_map_test(m, 9));
	memset(octets, 0, sizeof(octets));
	CHECK(rds_map_get(m, octets) == (1ull << 0 | 1ull << 70 % 64 | 1ull << 63));
	CHECK(!rds_map_set(m, 0, false));
	rds_maps_changed(all);
	CHECK(atomic_load(&all->changes) == 1);
	for (int i = 2; i < RDS_MAPS; i++) {
		snprintf(text, sizeof(text), "10.1.%d.%d", i / 250, i % 250);
		other = address(text);
		CHECK(rds_map_make(all, &other));
	}
	other = address("10.2.0.1");
	CHECK(!rds_map_make(all, &other) && rds_map_make(all, &a) == m);
	free(all);
}

static const struct test_case cases[] = {
	{ "-", "headers that are read", read_headers },
	{ "-", "headers that are written", write_headers },
	{ "-", "headers that name regions", headers_of_regions },
	{ "-", "headers that are refused", refused_headers },
	{ "-", "a connection that ends and begins again", ends_and_begins_again },
	{ "-", "connections that end at the n-th packet", ends_at_the_nth_packet },
	{ "-", "messages that are cancelled", cancelled },
	{ "-", "arrivals that are old, and a peer that begins anew", arrivals },
	{ "-", "private data", private_data_of_both_families },
	{ "-", "checksums", checksums },
	{ "-", "fragments", fragments },
	{ "-", "credits of two ends", credits_of_two_ends },
	{ "-", "messages that change the transport", another_transport },
	{ "-", "messages of the owner before", messages_of_the_owner_before },
	{ "-", "records that are given twice", records_given_twice },
	{ "-", "congestion maps", maps },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a peer of RDS may say. The first byte says which: a header; a congestion map; a connection of two ends over a
 * transport that ends at any place and begins again: each message that was not cancelled arrives once, in order; packets
 * of RDMA, one after the other; private data of a request; credits of two ends.
 */
#include "input.h"
#include "ulp/rds/cong.h"
#include "ulp/rds/flow.h"
#include "ulp/rds/header.h"
#include "ulp/rds/credit.h"
#include "ulp/rds/packet.h"
#include "ulp/rds/private.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static void header(const uint8_t *data, size_t size)
{
	uint8_t in[WIRE_RDS_HEADER_LEN] = { 0 }, out[WIRE_RDS_HEADER_LEN];
	struct rds_header h, again;

	memcpy(in, data, size < sizeof(in) ? size : sizeof(in));
	if (rds_header_get(&h, in))
		return;
	REQUIRE(h.len <= RDS_MESSAGE_MAX && (!h.map || h.len == WIRE_RDS_MAP_LEN));
	rds_header_put(out, &h);
	REQUIRE(!rds_header_get(&again, out));
	REQUIRE(h.sequence == again.sequence && h.ack == again.ack && h.len == again.len && h.sport == again.sport &&
		h.dport == again.dport && h.map == again.map && h.ack_required == again.ack_required &&
		h.retransmitted == again.retransmitted && h.credits == again.credits && h.paths == again.paths &&
		h.generation == again.generation && h.uses_region == again.uses_region && h.key == again.key &&
		h.cookie == again.cookie);
}

/* Each four octets: a port that becomes congested or free here; then the octets as a map of the peer. */
static void congestion(const uint8_t *data, size_t size)
{
	static struct rds_maps all;
	static uint8_t octets[WIRE_RDS_MAP_LEN], back[WIRE_RDS_MAP_LEN];
	struct rsp_addr a = { .family = AF_INET, .addr = { 10, 0, 0, 1 } };
	struct rds_map *m;
	uint64_t freed, want = 0;
	struct input in = { data, data + size };

	memset(&all, 0, sizeof(all));
	for (unsigned i = 0; i < 300; i++) {
		a.addr[2] = (uint8_t)(i >> 8);
		a.addr[3] = (uint8_t)i;
		REQUIRE((rds_map_make(&all, &a) != NULL) == (i < RDS_MAPS));
	}
	a.addr[2] = a.addr[3] = 0;
	m = rds_map_find(&all, &a);
	REQUIRE(m);
	while (in.at < in.end) {
		uint16_t port = in16(&in);
		bool on = in8(&in) & 1, was = rds_map_test(m, port);

		REQUIRE(rds_map_set(m, port, on) == (was != on) && rds_map_test(m, port) == on);
	}
	memset(octets, 0, sizeof(octets));
	memcpy(octets, data, size);
	for (uint32_t port = 0; port <= UINT16_MAX; port++)
		want |= rds_map_test(m, (uint16_t)port) && !(octets[port / 8] >> port % 8 & 1) ? 1ull << port % 64 : 0;
	freed = rds_map_get(m, octets);
	rds_map_put(back, m);
	rds_maps_changed(&all);
	REQUIRE(freed == want && !memcmp(back, octets, sizeof(back)));
}

/* --- two ends --- */

#define STREAM 256

struct ends {
	struct rds_flow tx, rx;
	/* What is in the stream: numbers and marks; `taken` of them have reached the receiver. */
	struct { uint64_t sequence; bool again; } stream[STREAM];
	size_t sent, taken, acked;
	uint64_t last;          /* number that arrived last */
	uint64_t arrived, queued, cancelled, freed;
};

static void freed(void *arg, const struct rds_message *m)
{
	struct ends *e = arg;

	e->freed++;
	REQUIRE(m->sequence <= e->queued);
}

static bool is_odd(const struct rds_message *m, const void *key)
{
	return m->dport & 1 && key;
}

static void queue(struct ends *e, uint8_t op)
{
	struct rds_message *m = rds_message_new(op & 3);

	m->sender = 1 + (op >> 4 & 1);
	m->dport = op >> 5;
	rds_flow_queue(&e->tx, m);
	REQUIRE(m->sequence == ++e->queued);
}

static void transmit(struct ends *e)
{
	const struct rds_message *m = rds_flow_next(&e->tx);

	if (!m || e->sent == STREAM || !rds_flow_may_send(&e->tx))
		return;
	e->stream[e->sent].sequence = m->sequence;
	e->stream[e->sent++].again = m->retransmitted;
	rds_flow_sent(&e->tx, e->sent);
}

static void take(struct ends *e)
{
	if (e->taken == e->sent)
		return;
	if (rds_flow_arrived(&e->rx, e->stream[e->taken].sequence, e->stream[e->taken].again)) {
		REQUIRE(e->stream[e->taken].sequence > e->last);
		e->last = e->stream[e->taken].sequence;
		e->arrived++;
	}
	e->taken++;
}

/* The transport tells the sender of some of what has arrived. */
static void acknowledge(struct ends *e)
{
	e->acked = (e->acked + e->taken + 1) / 2;
	rds_flow_acked(&e->tx, e->acked, freed, e);
}

static void end(struct ends *e)
{
	rds_flow_restart(&e->tx);
	e->sent = e->taken = e->acked = 0;
}

static void cancel(struct ends *e, uint8_t op)
{
	uint64_t before = e->freed;

	rds_flow_cancel(&e->tx, op >> 4 & 3, op & 0x80 ? is_odd : NULL, "", op & 0x40, freed, e);
	e->cancelled += e->freed - before;
}

static void connection(const uint8_t *data, size_t size)
{
	static struct ends e;

	memset(&e, 0, sizeof(e));
	rds_flow_init(&e.tx);
	rds_flow_init(&e.rx);
	for (size_t i = 0; i < size; i++) {
		switch (data[i] & 0xf) {
		case 0 ... 4: queue(&e, data[i]); break;
		case 5 ... 8: transmit(&e); break;
		case 9 ... 11: take(&e); break;
		case 12: acknowledge(&e); break;
		case 13: end(&e); break;
		case 14: cancel(&e, data[i]); break;
		default: rds_flow_peer(&e.rx, 1); break;
		}
	}
	/* Whatever happened before: a transport that lasts brings all that is left. */
	while (rds_flow_next(&e.tx)) {
		end(&e);
		while (rds_flow_next(&e.tx) && e.sent < STREAM) {
			while (rds_flow_next(&e.tx) && e.sent < STREAM && rds_flow_may_send(&e.tx))
				transmit(&e);
			while (e.taken < e.sent)
				take(&e);
			rds_flow_acked(&e.tx, e.sent, freed, &e);
		}
	}
	while (e.taken < e.sent)
		take(&e);
	REQUIRE(e.arrived <= e.queued && e.arrived + e.cancelled >= e.queued);
	rds_flow_cancel(&e.tx, 0, NULL, NULL, false, freed, &e);
	rds_flow_cancel(&e.rx, 0, NULL, NULL, false, freed, &e);
	REQUIRE(e.freed == e.queued && !e.tx.nr && !e.tx.bytes);
}

/* --- RDMA --- */

/* The octets of a packet's header differ from good ones where the input says so; the lengths are its own. */
static void packets(const uint8_t *data, size_t size)
{
	static uint8_t packet[RDS_PACKET_MAX];
	struct rds_assembly a = { 0 };
	struct rds_message *m;
	struct rds_header h = { .sequence = 1, .sport = 3, .dport = 4 };
	struct input in = { data, data + size };
	uint64_t octets = 0;

	while (in.at < in.end) {
		uint8_t op = in8(&in);
		size_t len = op & 1 ? WIRE_RDS_HEADER_LEN + in16(&in) % (WIRE_RDS_FRAGMENT + 1)
			: op & 2 ? RDS_PACKET_MAX : in16(&in) % (RDS_PACKET_MAX + 1);

		if (op & 4)
			h = (struct rds_header){ .sequence = in8(&in), .len = op & 8 ? (uint32_t)in16(&in) << 5 : in16(&in),
						 .sport = in8(&in), .dport = 4, .map = op & 16 };
		rds_header_put(packet, &h);
		rds_header_sum(packet);
		if (op & 32)
			packet[in8(&in) % WIRE_RDS_HEADER_LEN] ^= in8(&in);
		if (op & 64)
			rds_header_sum(packet);
		if (rds_packet_get(&h, packet, len) != RDS_GOOD || rds_packet_is_ack(&h, len))
			continue;
		if (rds_packet_take(&a, &h, packet, len, &m) != RDS_GOOD)
			break;
		octets += len - WIRE_RDS_HEADER_LEN;
		REQUIRE(!a.m || (a.got < a.first.len && octets == a.got));
		if (!m)
			continue;
		REQUIRE(!a.m && octets == m->len && m->len <= RDS_MESSAGE_MAX);
		octets = 0;
		free(m);
	}
	rds_packet_drop(&a);
	REQUIRE(!a.m);
}

static void private_data(const uint8_t *data, size_t size)
{
	uint16_t family = size && data[0] & 1 ? AF_INET6 : AF_INET;
	uint8_t out[WIRE_RDS_PRIVATE6_LEN];
	struct rds_private p, again;
	size_t len;

	if (!size || rds_private_get(&p, data + 1, size - 1, family) != RDS_GOOD)
		return;
	len = rds_private_put(out, &p);
	REQUIRE(len <= size - 1 && rds_private_get(&again, out, len, family) == RDS_GOOD);
	REQUIRE(!memcmp(&p, &again, sizeof(p)));
}

/* Each octet is a turn of one of two ends, which begin with as many receives as the first ones say. */
static void credits(const uint8_t *data, size_t size)
{
	struct rds_credit c[2];
	uint32_t receives[2], waiting[2] = { 0 };
	uint8_t told[2][256];

	if (size < 2)
		return;
	for (int i = 0; i < 2; i++)
		receives[i] = 2 + data[i] % 100;
	for (int i = 0; i < 2; i++)
		rds_credit_begin(&c[i], receives[!i], true);
	for (size_t at = 2; at < size; at++) {
		int me = data[at] & 1, peer = !me;

		if (data[at] & 2 && rds_credit_may_send(&c[me])) {
			told[peer][waiting[peer]++] = rds_credit_spend(&c[me]);
			REQUIRE(waiting[peer] <= receives[peer]);
		} else if (waiting[me]) {
			rds_credit_add(&c[me], told[me][0]);
			memmove(told[me], told[me] + 1, --waiting[me]);
			rds_credit_posted(&c[me]);
		}
	}
	/* All that is under way arrives: then one of them at least may send. */
	for (int me = 0; me < 2; me++)
		for (; waiting[me]; waiting[me]--) {
			rds_credit_add(&c[me], told[me][0]);
			memmove(told[me], told[me] + 1, waiting[me] - 1);
			rds_credit_posted(&c[me]);
		}
	REQUIRE(rds_credit_may_send(&c[0]) || rds_credit_may_send(&c[1]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const kinds[])(const uint8_t *, size_t) = { header, congestion, connection, connection, packets, packets,
								   private_data, credits };

	if (size)
		kinds[data[0] & 7](data + 1, size - 1);
	return 0;
}

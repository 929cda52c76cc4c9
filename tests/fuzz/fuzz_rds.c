/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a peer of RDS may say. The first byte says which: a header; a congestion map; a connection of two ends over a
 * transport that ends at any place and begins again: each message that was not cancelled arrives once, in order.
 */
#include "input.h"
#include "ulp/rds/cong.h"
#include "ulp/rds/flow.h"
#include "ulp/rds/header.h"

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
		h.generation == again.generation);
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

	if (!m || e->sent == STREAM)
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
		while (rds_flow_next(&e.tx) && e.sent < STREAM)
			transmit(&e);
		while (e.taken < e.sent)
			take(&e);
		rds_flow_acked(&e.tx, e.sent, freed, &e);
	}
	while (e.taken < e.sent)
		take(&e);
	REQUIRE(e.arrived <= e.queued && e.arrived + e.cancelled >= e.queued);
	rds_flow_cancel(&e.tx, 0, NULL, NULL, false, freed, &e);
	rds_flow_cancel(&e.rx, 0, NULL, NULL, false, freed, &e);
	REQUIRE(e.freed == e.queued && !e.tx.nr && !e.tx.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const kinds[])(const uint8_t *, size_t) = { header, congestion, connection, connection };

	if (size)
		kinds[data[0] & 3](data + 1, size - 1);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes into parser, text and ICRC check. A packet that parses must be the same after a rebuild,
 * but for reserved bits. The first byte of the input chooses family and ID guess, the rest is the
 * packet.
 */
#include <stdlib.h>
#include <string.h>

#include "wire/ib_packet.h"
#include "wire/ib_text.h"
#include "wire/icrc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

static const uint8_t addr[2][16] = { { 10, 0, 0, 1 }, { 10, 0, 0, 2 } };

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_text(const uint8_t *buf, size_t len, size_t room)
{
	char line[512];
	size_t n = wire_ib_text(line, room, buf, len);

	require(room ? n < room && line[n] == 0 : n == 0);
	require(!room || strlen(line) == n);
}

/* With every reserved field cleared, headers and their rebuild are the same bytes. */
static void check_rebuild(const uint8_t *buf, const struct wire_ib_packet *p)
{
	unsigned hdrs = p->shape->hdrs | WIRE_H_BTH;
	uint8_t want[WIRE_IB_HDRS_MAX], got[WIRE_IB_HDRS_MAX], *h = want;

	memcpy(want, buf, p->shape->hdr_len);
	for (unsigned i = 0; i < WIRE_NR_HDRS; i++) {
		if (!(hdrs & 1u << i))
			continue;
		for (unsigned f = 0; f < wire_headers[i].nr; f++) {
			const struct wire_field *row = &wire_fields[wire_headers[i].first + f];

			if (strncmp(row->name, "rsv", 3))
				continue;
			if (row->width > 64)
				memset(h + row->pos / 8, 0, row->width / 8);
			else
				wire_set_bits(h, row->pos, row->width, 0);
		}
		h += wire_headers[i].length;
	}
	require(wire_ib_build(got, p) == p->shape->hdr_len);
	require(!memcmp(got, want, p->shape->hdr_len));
}

/* A filled ICRC matches, and the identification is found from any guess. */
static void check_own_icrc(const struct wire_icrc_flow *flow, uint8_t *buf, size_t len, uint16_t id)
{
	struct wire_icrc_memo memo = { 0 };
	uint16_t guess = (uint16_t)(id * 31 + 7);

	wire_icrc_fill(flow, 0xc000, 4791, id, true, buf, len - WIRE_ICRC_LEN);
	require(wire_icrc_check(flow, &memo, 0xc000, 4791, buf, len, &guess) == WIRE_OK);
	require(flow->kind == WIRE_ICRC_V6 || guess == id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_icrc_memo memo = { 0 };
	struct wire_icrc_flow flow;
	struct wire_ib_packet p;
	uint16_t id;
	uint8_t *buf;
	size_t len;

	if (size < 1)
		return 0;
	/* A copy of exactly this size: the sanitizer reports each access beyond the end. */
	len = size - 1;
	buf = malloc(len + !len);
	if (!buf)
		return 0;
	memcpy(buf, data + 1, len);
	id = data[0] & 0x7f;
	if (data[0] & 0x80)
		wire_icrc_flow_v6(&flow, addr[0], addr[1]);
	else
		wire_icrc_flow_v4(&flow, addr[0], addr[1]);

	(void)wire_icrc_check(&flow, &memo, 0xc000, 4791, buf, len, &id);
	check_text(buf, len, 512);
	check_text(buf, len, id % 90);
	if (wire_ib_parse(buf, len, &p) == WIRE_OK) {
		require(p.payload >= buf && p.payload + p.payload_len + p.pad == p.icrc);
		require(p.icrc + WIRE_ICRC_LEN == buf + len);
		check_rebuild(buf, &p);
		if (len <= 65507)
			check_own_icrc(&flow, buf, len, id);
	}
	free(buf);
	return 0;
}

static uint32_t next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	return *state ^= *state << 5;
}

/* A number that is likely to matter in a field of this width. */
static uint64_t edge(uint32_t *rnd)
{
	static const uint64_t edges[] = { 0, 1, ~0ull, 0x7fffffff, 0x80000000, 0x800000, 0x7fffff };
	uint32_t i = next(rnd) % 10;

	return i < 7 ? edges[i] : (uint64_t)next(rnd) << 32 | next(rnd);
}

/* Field-wise: another opcode, another length, or one field of one header that the packet has. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint32_t rnd = seed * 2654435761u | 1;
	uint8_t *h = data + 1;
	unsigned hdrs;

	if (size < 1 + WIRE_BTH_LEN || next(&rnd) % 4 == 0) {
		size_t want = next(&rnd) % (max < 160 ? max + 1 : 160);

		for (size_t i = size; i < want; i++)
			data[i] = (uint8_t)next(&rnd);
		return want;
	}
	if (next(&rnd) % 4 == 0) {
		data[1] = (uint8_t)next(&rnd);
		return size;
	}
	hdrs = wire_ib_shape(data[1])->hdrs | WIRE_H_BTH;
	for (unsigned i = 0; i < WIRE_NR_HDRS; i++) {
		const struct wire_field *row;

		if (!(hdrs & 1u << i))
			continue;
		if (h + wire_headers[i].length > data + size)
			break;
		row = &wire_fields[wire_headers[i].first + next(&rnd) % wire_headers[i].nr];
		if (row->width <= 64 && next(&rnd) % 2)
			wire_set_bits(h, row->pos, row->width, edge(&rnd));
		h += wire_headers[i].length;
	}
	return size;
}

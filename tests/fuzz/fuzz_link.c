/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes as a packet of an InfiniBand link, LRH to ICRC: parser, text and both CRCs. Headers that
 * parse must be the same after a rebuild, but for their reserved bits.
 */
#include <stdlib.h>
#include <string.h>

#include "wire/ib_link.h"
#include "wire/ib_packet.h"
#include "wire/ib_text.h"
#include "wire/icrc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_text(const uint8_t *buf, size_t len, size_t room)
{
	char line[600];
	size_t n = wire_link_text(line, room, buf, len);

	require(room ? n < room && line[n] == 0 && strlen(line) == n : n == 0);
}

static void check_rebuild(const uint8_t *buf, const struct wire_link_packet *p)
{
	uint8_t want[WIRE_LINK_HDRS_MAX], got[WIRE_LINK_HDRS_MAX];
	size_t n = (size_t)(p->ib - buf);

	memcpy(want, buf, n);
	wire_set_LRH_rsv2(want, 0);
	wire_set_LRH_rsv5(want, 0);
	require(wire_link_build(got, n, p) == n && !memcmp(got, want, n));
	require(wire_link_build(got, n - 1, p) == 0);
}

/* CRCs that were filled in match, in a copy with room for the VCRC and no more. */
static void check_crcs(const uint8_t *buf, size_t len)
{
	uint8_t *copy = malloc(len + WIRE_VCRC_LEN);

	if (!copy)
		return;
	memcpy(copy, buf, len);
	wire_icrc_link_fill(copy, len - WIRE_ICRC_LEN);
	require(wire_icrc_link_check(copy, len) == WIRE_OK);
	wire_vcrc_fill(copy, len);
	require(wire_vcrc_check(copy, len + WIRE_VCRC_LEN) == WIRE_OK);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_link_packet p;
	struct wire_ib_packet ib;
	/* A copy of exactly this size: the sanitizer reports each access beyond the end. */
	uint8_t *buf = malloc(size + !size);

	if (!buf)
		return 0;
	memcpy(buf, data, size);
	(void)wire_icrc_link_check(buf, size);
	(void)wire_vcrc_check(buf, size);
	check_text(buf, size, 600);
	check_text(buf, size, size ? buf[0] % 90 : 0);
	if (wire_link_parse(buf, size, &p) == WIRE_OK) {
		require(p.ib > buf && p.ib + p.ib_len == buf + size);
		check_rebuild(buf, &p);
		if (wire_ib_parse(p.ib, p.ib_len, &ib) == WIRE_OK)
			check_crcs(buf, size);
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

static void change_field(uint8_t *header, enum wire_hdr hdr, uint32_t *rnd)
{
	const struct wire_header *h = &wire_headers[hdr];
	const struct wire_field *row = &wire_fields[h->first + next(rnd) % h->nr];

	if (row->width <= 64)
		wire_set_bits(header, row->pos, row->width, next(rnd) % 3 ? next(rnd) : 0);
}

/* Another length with a PktLen that fits, or one field of LRH or GRH. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint32_t rnd = seed * 2654435761u | 1;

	if (size < WIRE_LRH_LEN || next(&rnd) % 2 == 0) {
		size_t want = next(&rnd) % (max < 160 ? max + 1 : 160);

		for (size_t i = size; i < want; i++)
			data[i] = (uint8_t)next(&rnd);
		size = want;
	}
	if (size < WIRE_LRH_LEN)
		return size;
	if (next(&rnd) % 4 == 0)
		change_field(data, WIRE_HDR_LRH, &rnd);
	if (next(&rnd) % 4 == 0 && size >= WIRE_LINK_HDRS_MAX)
		change_field(data + WIRE_LRH_LEN, WIRE_HDR_GRH, &rnd);
	if (next(&rnd) % 4)
		wire_set_LRH_pkt_len(data, size / 4);
	if (next(&rnd) % 2 && size >= WIRE_LINK_HDRS_MAX)
		wire_set_GRH_pay_len(data + WIRE_LRH_LEN, size - WIRE_LINK_HDRS_MAX);
	return size;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets of InfiniBand links: LRH and GRH rows, lengths, ICRC and VCRC.
 *
 * Sources of the bytes:
 * - `local` without its VCRC: the sample packet of IBTA volume 1, 7.8.3, table 29 (an RDMA WRITE
 *   Only of 14 bytes), with its ICRC 96 25 b7 5a, as quoted byte by byte on the linux-rdma list in
 *   January 2025 (messages 20250129183009.GC2120662@ziepe.ca and
 *   20250129202537.GA66821@sol.localdomain).
 * - `global`: the same packet with a GRH, as the test array of the packet generator in Mellanox's
 *   VAPI of 2004 has it, with payload length and next header as IBTA 8.3 demands. Its ICRC was
 *   computed with Python's zlib.crc32 over the packet with LRH, traffic class, flow label, hop
 *   limit and byte 4 of BTH as ones; the generator masks the same bytes.
 * - VCRCs: no published packet was found. The values were computed with a bit-by-bit program in
 *   Python from the parameters that the packet generator above and Endace's dagcrc.c agree on:
 *   0x100b reflected (0xd008), seed and final inversion 0xffff, low byte first. `generator_rows`
 *   are entries of the generator's table.
 */
#include "wire/ib_link.h"

#include "wire/ib_packet.h"
#include "wire/ib_text.h"
#include "wire/icrc.h"
#include "wire_test.h"

static const uint8_t local[58] = {
	0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2,
	0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a,
	0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2, 0x7a, 0x05,
	0x00, 0x00, 0x00, 0x0e,
	0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0, 0,
	0x96, 0x25, 0xb7, 0x5a, 0x45, 0xfa,
};

static const uint8_t global[98] = {
	0x70, 0x13, 0x37, 0x5c, 0x00, 0x18, 0x17, 0xd2,
	0x60, 0x00, 0x00, 0x00, 0x00, 0x30, 0x1b, 0x10,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x25, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x26,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x17, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x96,
	0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a,
	0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2, 0x7a, 0x05,
	0x00, 0x00, 0x00, 0x0e,
	0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0, 0,
	0xad, 0xbf, 0x9e, 0x56, 0xe9, 0x71,
};

enum { LOCAL_LEN = sizeof(local) - WIRE_VCRC_LEN, GLOBAL_LEN = sizeof(global) - WIRE_VCRC_LEN };

static const struct {
	uint8_t byte;
	uint16_t remainder;
} generator_rows[] = {
	{ 0x00, 0x0000 }, { 0x01, 0x1ba1 }, { 0x07, 0x4267 }, { 0x5c, 0xc189 }, { 0x80, 0xd008 },
	{ 0x96, 0x93cf }, { 0xaa, 0x0e40 }, { 0xc0, 0xb80c }, { 0xfe, 0x12c1 }, { 0xff, 0x0960 },
};

static const char local_line[] =
	"RC_RDMA_WRITE_ONLY, LRH vl 7 sl 1 lnh 2 dlid 0x375c pkt_len 0xe slid 0x17d2, "
	"BTH opcode 0xa pad 2 pkey 0x2487 dest_qpn 0x87b1b3 psn 0xdec2a, "
	"RETH va 0x1710a1c015d4002 rkey 0x38f27a05 dma_len 0xe, payload length 14 icrc 0x5ab72596";

static const char global_line[] =
	"RC_RDMA_WRITE_ONLY, LRH vl 7 sl 1 lnh 3 dlid 0x375c pkt_len 0x18 slid 0x17d2, "
	"GRH ipver 6 tclass 0x0 flow_label 0x0 pay_len 0x30 nxt_hdr 0x1b hop_lmt 0x10 "
	"sgid 0x00000000000001250000000000000026 dgid 0x00000000000001170000000000000096, "
	"BTH opcode 0xa pad 2 pkey 0x2487 dest_qpn 0x87b1b3 psn 0xdec2a, "
	"RETH va 0x1710a1c015d4002 rkey 0x38f27a05 dma_len 0xe, payload length 14 icrc 0x569ebfad";

static void check_local(void)
{
	struct wire_link_packet p;
	struct wire_ib_packet ib;
	uint8_t out[8];

	CHECK(wire_link_parse(local, LOCAL_LEN, &p) == WIRE_OK, "sample packet");
	CHECK(p.lrh.vl == 7 && p.lrh.lver == 0 && p.lrh.sl == 1 && p.lrh.lnh == WIRE_LNH_LOCAL, "LRH");
	CHECK(p.lrh.dlid == 0x375c && p.lrh.slid == 0x17d2 && p.lrh.pkt_len == 14, "LRH");
	CHECK(p.ib == local + 8 && p.ib_len == 48, "transport packet");
	CHECK(wire_ib_parse(p.ib, p.ib_len, &ib) == WIRE_OK, "transport packet");
	CHECK(ib.opcode == WIRE_RC_RDMA_WRITE_ONLY && ib.payload_len == 14 && ib.dma_len == 14, "BTH");
	p.lrh.pkt_len = 0;
	CHECK(wire_link_build(out, sizeof(out), &p) == 8 && !memcmp(out, local, 8), "built anew");
	CHECK(wire_link_build(out, 7, &p) == 0 && wire_lrh_put(out, 7, &p.lrh) == 0, "no room");
	CHECK(wire_icrc_link(local, LOCAL_LEN - 4) == 0x5ab72596, "ICRC of table 29");
	CHECK(wire_icrc_link_check(local, LOCAL_LEN) == WIRE_OK, "ICRC of table 29");
	CHECK(wire_vcrc_check(local, sizeof(local)) == WIRE_OK, "%04x", wire_vcrc(local, LOCAL_LEN));
}

static void check_global(void)
{
	struct wire_link_packet p;
	uint8_t out[48];

	CHECK(wire_link_parse(global, GLOBAL_LEN, &p) == WIRE_OK, "packet with GRH");
	CHECK(p.lrh.lnh == WIRE_LNH_GLOBAL && p.lrh.pkt_len == 24, "LRH");
	CHECK(p.grh.ipver == 6 && p.grh.tclass == 0 && p.grh.flow_label == 0, "GRH");
	CHECK(p.grh.pay_len == 48 && p.grh.nxt_hdr == 0x1b && p.grh.hop_lmt == 16, "GRH");
	CHECK(p.grh.sgid[7] == 0x25 && p.grh.sgid[15] == 0x26 && p.grh.dgid[15] == 0x96, "GIDs");
	CHECK(p.ib == global + 48 && p.ib_len == 48, "transport packet");
	p.lrh.pkt_len = 0;
	p.grh.pay_len = p.grh.nxt_hdr = p.grh.ipver = 0;
	CHECK(wire_link_build(out, sizeof(out), &p) == 48 && !memcmp(out, global, 48), "built anew");
	CHECK(wire_link_build(out, 47, &p) == 0 && wire_grh_put(out, 39, &p.grh) == 0, "no room");
	CHECK(wire_icrc_link_check(global, GLOBAL_LEN) == WIRE_OK, "%08x",
	      wire_icrc_link(global, GLOBAL_LEN - 4));
	CHECK(wire_vcrc_check(global, sizeof(global)) == WIRE_OK, "%04x",
	      wire_vcrc(global, GLOBAL_LEN));
}

/* Every length of both packets, the last byte before the fence; each wrong field by itself. */
static void check_refused(uint8_t *end)
{
	static const struct {
		const char *what;
		unsigned byte;
		uint8_t value;
		int drop;
	} rows[] = {
		{ "LVer 1", 0, 0x71, WIRE_DROP_LVER },
		{ "LNH raw", 1, 0x10, WIRE_DROP_LNH },
		{ "LNH IP", 1, 0x11, WIRE_DROP_LNH },
		{ "PktLen too small", 5, 23, WIRE_DROP_PKTLEN },
		{ "PktLen too large", 4, 1, WIRE_DROP_PKTLEN },
		{ "reserved bits of PktLen", 4, 0xf8, WIRE_OK },
		{ "reserved bits before LNH", 1, 0x1f, WIRE_OK },
		{ "IPVer 4", 8, 0x40, WIRE_DROP_GRH },
		{ "GRH's length", 13, 0x34, WIRE_DROP_GRH },
		{ "GRH's next header", 14, 17, WIRE_DROP_GRH },
	};
	struct wire_link_packet p;

	for (size_t len = 0; len < GLOBAL_LEN; len++) {
		memcpy(end - len, global, len);
		CHECK(wire_link_parse(end - len, len, &p) == (len < 8 ? WIRE_DROP_LRH : WIRE_DROP_PKTLEN),
		      "%zu bytes", len);
		CHECK(wire_icrc_link_check(end - len, len) == WIRE_DROP_ICRC, "%zu bytes", len);
		CHECK(wire_vcrc_check(end - len, len) == WIRE_DROP_VCRC, "%zu bytes", len);
		if (len < 8 || len % 4)
			continue;
		wire_set_LRH_pkt_len(end - len, len / 4);
		CHECK(wire_link_parse(end - len, len, &p) == WIRE_DROP_GRH, "%zu bytes", len);
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		memcpy(end - GLOBAL_LEN, global, GLOBAL_LEN);
		end[(long)rows[i].byte - GLOBAL_LEN] = rows[i].value;
		CHECK(wire_link_parse(end - GLOBAL_LEN, GLOBAL_LEN, &p) == rows[i].drop, "%s",
		      rows[i].what);
	}
}

static void check_build_limits(void)
{
	struct wire_link_packet p = { .lrh.lnh = WIRE_LNH_LOCAL, .ib_len = 2047 * 4 - 8 };
	uint8_t out[48];

	CHECK(wire_link_build(out, sizeof(out), &p) == 8 && wire_get_LRH_pkt_len(out) == 2047, "longest");
	p.ib_len += 4;
	CHECK(wire_link_build(out, sizeof(out), &p) == 0, "beyond pkt_len");
	p.ib_len = 18;
	CHECK(wire_link_build(out, sizeof(out), &p) == 0, "no multiple of 4");
	p.ib_len = 16;
	p.lrh.lnh = WIRE_LNH_IP;
	CHECK(wire_link_build(out, sizeof(out), &p) == 0, "raw");
	p.lrh.lnh = 4;
	CHECK(wire_link_build(out, sizeof(out), &p) == 0, "no such LNH");
}

/* --- both CRCs, bit by bit, without code of the room under test --- */

static uint16_t slow_vcrc(const uint8_t *p, size_t len)
{
	uint16_t state = 0xffff, reflected = 0;

	/* As IBTA draws it: a left-shifting register that takes the low bit of each byte first. */
	for (size_t bit = 0; bit < len * 8; bit++) {
		unsigned in = p[bit / 8] >> bit % 8 & 1, out = state >> 15;

		state = (uint16_t)(state << 1 ^ (in != out ? 0x100b : 0));
	}
	for (int i = 0; i < 16; i++)
		reflected |= (uint16_t)((state >> i & 1) << (15 - i));
	return (uint16_t)~reflected;
}

/* The masks by byte number, as 7.8.1 counts them. */
static uint8_t icrc_mask(bool global_packet, size_t i)
{
	if (!global_packet)
		return i == 0 ? 0xf0 : i == 12 ? 0xff : 0;
	if (i < 8 || (i > 8 && i < 12) || i == 15 || i == 52)
		return 0xff;
	return i == 8 ? 0x0f : 0;
}

static uint32_t slow_icrc(bool global_packet, const uint8_t *p, size_t len)
{
	uint32_t state = 0xffffffff;

	for (size_t i = 0; i < len; i++) {
		state ^= p[i] | icrc_mask(global_packet, i);
		for (int bit = 0; bit < 8; bit++)
			state = state & 1 ? state >> 1 ^ 0xedb88320 : state >> 1;
	}
	return ~state;
}

static void check_crcs(uint8_t *end, uint64_t *rnd)
{
	for (size_t i = 0; i < sizeof(generator_rows) / sizeof(*generator_rows); i++) {
		uint8_t byte = generator_rows[i].byte ^ 0xff;
		uint16_t want = (uint16_t)~(generator_rows[i].remainder ^ 0xff);

		CHECK(wire_vcrc(&byte, 1) == want, "%02x: %04x", byte, wire_vcrc(&byte, 1));
	}
	CHECK(wire_vcrc(end, 0) == 0, "VCRC of nothing");
	for (size_t len = 20; len < 4300; len += len < 300 ? 1 : 37) {
		bool global_packet = len >= 60 && len % 3;
		uint8_t *p = end - len - 6;

		for (size_t i = 0; i < len; i++)
			p[i] = (uint8_t)wire_random(rnd);
		wire_set_LRH_lnh(p, global_packet ? WIRE_LNH_GLOBAL : WIRE_LNH_LOCAL);
		CHECK(wire_icrc_link(p, len) == slow_icrc(global_packet, p, len), "ICRC of %zu", len);
		wire_icrc_link_fill(p, len);
		CHECK(wire_icrc_link_check(p, len + 4) == WIRE_OK, "ICRC of %zu", len);
		CHECK(wire_vcrc(p, len) == slow_vcrc(p, len), "VCRC of %zu", len);
		wire_vcrc_fill(p, len + 4);
		CHECK(wire_vcrc_check(p, len + 6) == WIRE_OK, "VCRC of %zu", len);
	}
}

/* Each bit of a packet: the VCRC sees all, the ICRC all but those that change on the way. */
static void check_damage(uint8_t *p, const uint8_t *packet, size_t len)
{
	bool global_packet = len == sizeof(global);

	memcpy(p, packet, len);
	for (size_t bit = 0; bit < (len - WIRE_VCRC_LEN) * 8; bit++) {
		uint8_t flip = (uint8_t)(1u << bit % 8);
		bool masked = icrc_mask(global_packet, bit / 8) & flip;

		p[bit / 8] ^= flip;
		CHECK(wire_vcrc_check(p, len) == WIRE_DROP_VCRC, "bit %zu", bit);
		/* Another LNH is another set of masks. */
		if (bit / 8 != WIRE_LRH_lnh_OFFSET || flip > 2)
			CHECK(!wire_icrc_link_check(p, len - WIRE_VCRC_LEN) == masked, "bit %zu", bit);
		p[bit / 8] ^= flip;
	}
	p[WIRE_LRH_lnh_OFFSET] &= 0xfc;
	CHECK(wire_icrc_link_check(p, len - WIRE_VCRC_LEN) == WIRE_DROP_ICRC, "a raw packet has none");
}

static void check_line(const uint8_t *buf, size_t len, const char *want)
{
	char out[600];
	size_t n = wire_link_text(out, sizeof(out), buf, len);

	CHECK(n == strlen(want) && !strcmp(out, want), "\n%s\n%s", out, want);
	for (size_t size = 0; size <= n; size++) {
		memset(out, '#', sizeof(out));
		CHECK(wire_link_text(out, size, buf, len) == (size ? size - 1 : 0), "cut to %zu", size);
		CHECK(!memcmp(out, want, size ? size - 1 : 0) && out[size] == '#', "cut to %zu", size);
	}
}

int main(void)
{
	uint8_t *end = wire_fence();
	uint64_t rnd = 6;

	CHECK(end, "no memory");
	if (!end)
		return 1;
	check_local();
	check_global();
	check_refused(end);
	check_build_limits();
	check_crcs(end, &rnd);
	check_damage(end - sizeof(local), local, sizeof(local));
	check_damage(end - sizeof(global), global, sizeof(global));
	check_line(local, LOCAL_LEN, local_line);
	check_line(global, GLOBAL_LEN, global_line);
	check_line(local, 7, "dropped: shorter than a local route header length 7");
	check_line(local, 60 - 8, "dropped: packet length of the local route header is wrong length 52");
	return wire_test_end();
}

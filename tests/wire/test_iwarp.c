/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * iWARP on the wire: headers and CRCs of known messages, Terminates in both bit orders, segment
 * sizes, and the arithmetic of markers against a model that counts every octet.
 */
#include "wire/iwarp_opcode.h"
#include "wire/iwarp_term.h"
#include "wire/mpa_fields.h"
#include "wire/mpa_fpdu.h"
#include "wire_test.h"

static size_t hex(const char *t, uint8_t *out)
{
	size_t n = 0;

	for (; t[0] && t[1]; t += 2) {
		unsigned v;

		sscanf(t, "%2x", &v);
		out[n++] = (uint8_t)v;
	}
	return n;
}

static const struct {
	const char *bytes;
	unsigned opcode, msn, mo, qn;
	uint64_t stag, to;
} fpdus[] = {
	{ "001741430000000000000000000000010000000068656c6c6f000000b990b10c", 3, 1, 0, 0, 0, 0 },
	{ "000ec140000000010000000000000000ebd34c5f", 0, 0, 0, 0, 1, 0 },
	{ "0012c14000abcd010000000000010000414243441f65e35e", 0, 0, 0, 0, 0xabcd01, 0x10000 },
	{ "002e4141000000000000000100000001000000000000550100000000000020000000000400abcd01"
	  "0000000000010000bac10dcc", 1, 1, 0, 1, 0, 0 },
	{ "0012c14200005501000000000000200041424344fe6c5616", 2, 0, 0, 0, 0x5501, 0x2000 },
	{ "0012414600abcd010000000000000002000000005ebf889d", 6, 2, 0, 0, 0, 0 },
	{ "0016414700000000000000020000000100000000200200007fe42585", 7, 1, 0, 2, 0, 0 },
	{ "0046414a00000000000000010000000200000000000000000000001100abcd01000000000001000000000000"
	  "0000000500000000000000000000000000000000ffffffffffffffff2689dc52", 10, 2, 0, 1, 0, 0 },
	{ "0046414a00000000000000010000000300000000000000020000001200abcd01000000000001000800000000"
	  "00000099ffffffffffffffff0000000000000007ffffffffffffffff2fe2c14e", 10, 3, 0, 1, 0, 0 },
	{ "001e414b00000000000000030000000100000000000000111122334455667788d1249cae", 11, 1, 0, 3,
	  0, 0 },
	{ "001a414900000000000000000000000300000000000000000102030469134ee1", 9, 3, 0, 0, 0, 0 },
	{ "002e41410000000000000001000000010000000000000001000000000000000000000000000000010000"
	  "00000000000027dbd7e7", 1, 1, 0, 1, 0, 0 },
};

static void known_fpdus(void)
{
	for (size_t i = 0; i < sizeof(fpdus) / sizeof(*fpdus); i++) {
		uint8_t p[256] = { 0 };
		size_t n = hex(fpdus[i].bytes, p);
		uint32_t ulpdu = (uint32_t)wire_get_DDPTagged_ulpdu_len(p);
		const struct wire_iwarp_shape *s = wire_iwarp_shape((unsigned)wire_get_DDPTagged_opcode(p));
		uint32_t head = s->flags & WIRE_IWF_TAGGED ? WIRE_DDPTagged_LEN : WIRE_DDPUntagged_LEN;

		CHECK(n == wire_fpdu_len(4, ulpdu, false), "%zu", i);
		CHECK(wire_get_icrc(p + n - 4) == wire_mpa_crc(p, n - 4), "%zu", i);
		CHECK(wire_get_DDPTagged_opcode(p) == fpdus[i].opcode, "%zu", i);
		CHECK(wire_get_DDPTagged_dv(p) == 1 && wire_get_DDPTagged_rv(p) == 1, "%zu", i);
		CHECK(wire_get_DDPTagged_last(p) == 1, "%zu", i);
		CHECK(!!wire_get_DDPTagged_tagged(p) == !!(s->flags & WIRE_IWF_TAGGED), "%zu", i);
		CHECK(s->len == WIRE_IW_VARIES || ulpdu + 2 == head + s->len, "%zu", i);
		if (s->flags & WIRE_IWF_TAGGED) {
			CHECK(wire_get_DDPTagged_stag(p) == fpdus[i].stag, "%zu", i);
			CHECK(wire_get_DDPTagged_to(p) == fpdus[i].to, "%zu", i);
		} else {
			CHECK(wire_get_DDPUntagged_qn(p) == fpdus[i].qn && s->qn == fpdus[i].qn, "%zu", i);
			CHECK(wire_get_DDPUntagged_msn(p) == fpdus[i].msn, "%zu", i);
			CHECK(wire_get_DDPUntagged_mo(p) == fpdus[i].mo, "%zu", i);
		}
	}
}

static void known_frames(void)
{
	uint8_t p[64];
	const uint8_t *e = p + WIRE_MPA_LEN;

	CHECK(hex("4d504120494420526571204672616d6540010000", p) == WIRE_MPA_LEN, " ");
	CHECK(!memcmp(p, wire_mpa_request_key, 16) && wire_get_MPA_crc(p) && !wire_get_MPA_markers(p) &&
	      wire_get_MPA_rev(p) == 1 && wire_get_MPA_pd_length(p) == 0, " ");
	hex("4d504120494420526571204672616d65500200048004c008", p);
	CHECK(wire_get_MPA_enhanced(p) && wire_get_MPA_rev(p) == 2 && wire_get_MPA_pd_length(p) == 4, " ");
	CHECK(wire_get_MPAEnhanced_peer_to_peer(e) && !wire_get_MPAEnhanced_rtr_send(e) &&
	      wire_get_MPAEnhanced_ird(e) == 4 && wire_get_MPAEnhanced_rtr_write(e) &&
	      wire_get_MPAEnhanced_rtr_read(e) && wire_get_MPAEnhanced_ord(e) == 8, " ");
	hex("4d504120494420526570204672616d6550020006800880046869", p);
	CHECK(!memcmp(p, wire_mpa_reply_key, 16) && !wire_get_MPA_reject(p), " ");
	CHECK(wire_get_MPAEnhanced_ird(e) == 8 && wire_get_MPAEnhanced_ord(e) == 4 &&
	      !wire_get_MPAEnhanced_rtr_read(e), " ");
}

/* RFC 5044 figure 6 and the one before it, as the specification quotes them. */
static void marker_crc(void)
{
	uint8_t p[64];
	size_t n = hex("002a4143000000000000000000000002000000000000001400000000", p);

	memset(p + n, 0, 20);
	CHECK(wire_mpa_crc(p, n + 20) == 0x98589284, "%08x", wire_mpa_crc(p, n + 20));
}

static void segment_sizes(void)
{
	static const uint32_t rows[][3] = {
		{ 1448, 1442, 1430 }, { 1460, 1454, 1442 }, { 8948, 8942, 8870 },
		{ 65535, 64768, 64768 }, { 0, 128, 128 }, { 100, 128, 128 }, { 536, 530, 522 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CHECK(wire_mulpdu(rows[i][0], false) == rows[i][1], "%u", rows[i][0]);
		CHECK(wire_mulpdu(rows[i][0], true) == rows[i][2] || rows[i][0] == 65535, "%u: %u",
		      rows[i][0], wire_mulpdu(rows[i][0], true));
	}
	/* A full FPDU fits its segment wherever that lies between the markers. */
	for (uint32_t mss = 200; mss < 9000; mss += 13)
		for (uint64_t pos = 0; pos < 512; pos += 4) {
			CHECK(wire_fpdu_len(pos, wire_mulpdu(mss, false), false) <= mss, "%u", mss);
			CHECK(wire_fpdu_len(pos, wire_mulpdu(mss, true), true) <= mss, "%u at %u", mss,
			      (unsigned)pos);
		}
}

/* --- markers, one octet at a time --- */

static size_t slow_build(uint64_t pos, const uint8_t *body, size_t n, uint8_t *out)
{
	size_t at = 0, fpdu = pos % 512 ? 0 : 4;

	for (size_t i = 0; i < n; i++) {
		if ((pos + at) % 512 == 0) {
			uint32_t back = at < fpdu ? 0 : (uint32_t)(at - fpdu);

			out[at++] = 0;
			out[at++] = 0;
			out[at++] = (uint8_t)(back >> 8);
			out[at++] = (uint8_t)back;
		}
		out[at++] = body[i];
	}
	return at;
}

static void markers(void)
{
	static uint8_t body[66000], out[67000], copy[67000];
	uint64_t seed = 1;

	for (size_t i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)wire_random(&seed);
	for (uint64_t pos = 0; pos < 1024; pos += 4)
		for (uint32_t ulpdu = 14; ulpdu < 64768; ulpdu += ulpdu < 1600 ? 1 : 4999) {
			uint32_t n = wire_fpdu_body(ulpdu) + 4;
			size_t len = slow_build(pos, body, n, out);
			uint8_t *p = copy;

			if (ulpdu > 1600 && pos % 36)
				continue;
			CHECK(wire_fpdu_len(pos, ulpdu, true) == len, "%u at %u", ulpdu, (unsigned)pos);
			memcpy(copy, out, len);
			CHECK(wire_fpdu_strip(pos, &p, (uint32_t)len), "%u at %u", ulpdu, (unsigned)pos);
			CHECK(!memcmp(p, body, n), "%u at %u", ulpdu, (unsigned)pos);
		}
}

static void wrong_markers(void)
{
	uint8_t body[1600] = { 0 }, out[1700], copy[1700];

	for (uint64_t pos = 0; pos < 512; pos += 4) {
		uint32_t len = (uint32_t)slow_build(pos, body, 1600, out);
		uint32_t first = (uint32_t)(-pos % 512);

		for (uint32_t m = first; m < len; m += 512)
			for (int bit = 0; bit < 16; bit++) {
				uint8_t *p = copy;

				memcpy(copy, out, len);
				copy[m + 3 - (unsigned)bit / 8] ^= (uint8_t)(1 << bit % 8);
				CHECK(wire_fpdu_strip(pos, &p, len) == (bit < 2), "%u at %u, bit %d", m,
				      (unsigned)pos, bit);
			}
	}
}

/* --- Terminates --- */

static void terminates_out(void)
{
	uint8_t g10[128], out[WIRE_TERM_MAX];
	size_t n = hex("00464147000000000000000200000001000000000100e000002e4141000000000000000100000001"
		       "000000000000550100000000000020000000001000123400000000000000100000f7886818", g10);
	struct wire_term t = { .layer = 0, .etype = 1, .code = 0, .ddp = g10 + 24, .read = g10 + 44 };

	(void)n;
	CHECK(wire_term_build(out, &t) == 52, " ");
	CHECK(!memcmp(out, g10 + 20, 52), " ");
	t = (struct wire_term){ .layer = 2, .code = 2 };
	CHECK(wire_term_build(out, &t) == 4 && !memcmp(out, "\x20\x02\0\0", 4), " ");
}

static void terminates_in(void)
{
	static const struct {
		const char *bytes;
		bool setup, swapped;
		int layer, etype, code, ddp, read;
	} rows[] = {
		{ "20020000", false, false, 2, 0, 2, 0, 0 },
		{ "20060000", false, true, 0, 2, 6, 0, 0 }, /* siw: unknown opcode */
		{ "20060000", true, false, 2, 0, 6, 0, 0 },
		{ "02060000", true, true, 2, 0, 6, 0, 0 },  /* siw: Reply ORD 200 */
		{ "0206000000000000", true, true, 2, 0, 6, 0, 0 },
		{ "02060000", false, false, 0, 2, 6, 0, 0 },
		{ "02ff0000", false, false, 0, 2, 255, 0, 0 },
		{ "110003000004c140001234000000000000000000", false, true, 1, 1, 0, 1, 0 },
		{ "1100c0000012c140001234000000000000000000", false, false, 1, 1, 0, 1, 0 },
		{ "1203c00000124143000000000000000000000002" "00000000", false, false, 1, 2, 3, 1, 0 },
		{ "1001070000004141000000000000000100000010000000000000007700000000000020000000001001e79c"
		  "00000055bc282fbffa", false, true, 0, 1, 1, 1, 1 },
		{ "0101e000002e4141000000000000000100000010000000000000007700000000000020000000001001e79c"
		  "00000055bc282fbffa", false, false, 0, 1, 1, 1, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint8_t p[128];
		size_t n = hex(rows[i].bytes, p);
		struct wire_term t;

		CHECK(wire_term_parse(&t, p, n, rows[i].setup), "%zu", i);
		CHECK(t.swapped == rows[i].swapped && t.layer == rows[i].layer &&
		      t.etype == rows[i].etype && t.code == rows[i].code, "%zu: %d/%d/%d", i, t.layer,
		      t.etype, t.code);
		CHECK(!!t.ddp == rows[i].ddp && !!t.read == rows[i].read, "%zu", i);
		if (t.read)
			CHECK(wire_get_ReadRequest_sink_stag(t.read) == 0x77, "%zu", i);
	}
}

/* A message cut at any length is refused or read within its bounds. */
static void terminates_cut(void)
{
	uint8_t whole[64], *end = wire_fence();
	size_t n = hex("0101e000002e4141000000000000000100000010000000000000007700000000000020000000001001"
		       "e79c00000055bc282fbffa", whole);

	for (size_t len = 0; len <= n; len++)
		for (int flags = 0; flags < 256; flags++) {
			struct wire_term t;
			uint8_t *p = end - len;

			memcpy(p, whole, len);
			if (len > 2)
				p[2] = (uint8_t)flags;
			if (wire_term_parse(&t, p, len, false)) {
				CHECK(!t.ddp || t.ddp + 16 <= end, "%zu", len);
				CHECK(!t.read || t.read + 28 <= end, "%zu", len);
			}
		}
}

int main(void)
{
	known_fpdus();
	known_frames();
	marker_crc();
	segment_sizes();
	markers();
	wrong_markers();
	terminates_out();
	terminates_in();
	terminates_cut();
	return wire_test_end();
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ICRC against a slow one written from the specification and against zlib; the search for the
 * IPv4 ID.
 */
#include "wire/icrc.h"

#include "util/crc.h"
#include "wire/ib_link.h"
#include "wire/ib_packet.h"
#include "wire_test.h"

static const uint8_t src4[] = { 10, 77, 0, 1 }, dst4[] = { 10, 77, 0, 2 };
static const uint8_t src6[16] = { 0xfd, 0x77, [15] = 1 }, dst6[16] = { 0xfd, 0x77, [15] = 2 };

enum { SPORT = 0xc121, DPORT = 4791 };

/*
 * Packets written by hand; the CRC values were computed with Python's zlib.crc32 over eight bytes
 * 0xff, the IP header with TOS/TTL/checksum (class, flow label, hop limit) as ones, the UDP header
 * with checksum 0xffff and the packet with byte 4 as 0xff.
 */
static const struct {
	const char *what;
	size_t len;
	uint8_t bytes[48];
	uint32_t id0, id1234, id1234_no_df, v6;
} goldens[] = {
	{ "RC acknowledge", 16,
	  { 0x11, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x12, 0x00, 0xab, 0xcd, 0xef,
	    0x1f, 0x00, 0x00, 0x01 }, 0xbb762af0, 0x7fe7d21e, 0xc4bf1569, 0x43421287 },
	{ "UD send, pad 2", 24,
	  { 0x64, 0x20, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01, 0x80, 0x00, 0x00, 0x05,
	    0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 'h', 'i', 0, 0 },
	  0x2f41cf8d, 0x2425079d, 0x0cc08d8e, 0xf52d0758 },
	{ "RC write with immediate, FECN and BECN", 36,
	  { 0x0b, 0xa0, 0xff, 0xff, 0xc5, 0x00, 0xab, 0xcd, 0x80, 0xff, 0xff, 0xfe,
	    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x89, 0xab, 0xcd, 0xef,
	    0x00, 0x00, 0x00, 0x02, 0xde, 0xad, 0xbe, 0xef, 'o', 'k', 0, 0 },
	  0x80833a26, 0xcda82038, 0xcb8294a1, 0x507d0eac },
};

static uint32_t slow(uint32_t state, const uint8_t *p, size_t len)
{
	while (len--) {
		state ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			state = state & 1 ? state >> 1 ^ 0xedb88320 : state >> 1;
	}
	return state;
}

/* Byte by byte from the specification, without code of the room under test. */
static uint32_t slow_icrc(bool v6, uint16_t id, bool df, const uint8_t *ib, size_t len)
{
	unsigned udp = 8 + (unsigned)len + 4, ip = 20 + udp;
	const uint8_t ones[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
	const uint8_t h4[12] = { 0x45, 0xff, (uint8_t)(ip >> 8), (uint8_t)ip, (uint8_t)(id >> 8),
				 (uint8_t)id, df ? 0x40 : 0, 0, 0xff, 17, 0xff, 0xff };
	const uint8_t h6[8] = { 0x6f, 0xff, 0xff, 0xff, (uint8_t)(udp >> 8), (uint8_t)udp, 17, 0xff };
	const uint8_t u[8] = { SPORT >> 8, SPORT & 255, DPORT >> 8, DPORT & 255,
			       (uint8_t)(udp >> 8), (uint8_t)udp, 0xff, 0xff };
	uint32_t s = slow(0xffffffff, ones, 8);

	s = v6 ? slow(s, h6, 8) : slow(s, h4, 12);
	s = v6 ? slow(s, src6, 16) : slow(s, src4, 4);
	s = v6 ? slow(s, dst6, 16) : slow(s, dst4, 4);
	s = slow(s, u, 8);
	s = slow(s, ib, 4);
	s = slow(s, ones, 1);
	return ~slow(s, ib + 5, len - 5);
}

static void check_goldens(const struct wire_icrc_flow *f4, const struct wire_icrc_flow *f6)
{
	for (size_t i = 0; i < sizeof(goldens) / sizeof(*goldens); i++) {
		const uint8_t *b = goldens[i].bytes;
		size_t len = goldens[i].len;

#define IS(flow, id, df, want) do {                                                            \
		uint32_t got = wire_icrc_compute(flow, SPORT, DPORT, id, df, b, len);          \
		CHECK(got == (want), "%s: %08x", goldens[i].what, got);                        \
		CHECK(slow_icrc(flow == f6, id, df, b, len) == (want), "%s", goldens[i].what); \
	} while (0)
		IS(f4, 0, true, goldens[i].id0);
		IS(f4, 0x1234, true, goldens[i].id1234);
		IS(f4, 0x1234, false, goldens[i].id1234_no_df);
		IS(f6, 0, true, goldens[i].v6);
#undef IS
	}
}

/* The check of a flow's first packet. */
static int check_first(const struct wire_icrc_flow *flow, const uint8_t *ib, size_t len, uint16_t *id)
{
	struct wire_icrc_memo memo = { 0 };

	return wire_icrc_check(flow, &memo, SPORT, DPORT, ib, len, id);
}

/* Every length that a packet can have up to one of 4096 bytes, both families. */
static void check_lengths(const struct wire_icrc_flow *f4, const struct wire_icrc_flow *f6,
			  uint8_t *end)
{
	for (size_t len = 12; len < 4200; len += len < 300 ? 1 : 41) {
		uint8_t *ib = end - len - 4;
		uint16_t id = (uint16_t)(len * 7919), guess;

		CHECK(wire_icrc_compute(f4, SPORT, DPORT, id, true, ib, len) ==
		      slow_icrc(false, id, true, ib, len), "IPv4 %zu", len);
		CHECK(wire_icrc_compute(f6, SPORT, DPORT, id, true, ib, len) ==
		      slow_icrc(true, id, true, ib, len), "IPv6 %zu", len);
		wire_icrc_fill(f6, SPORT, DPORT, 0, true, ib, len);
		guess = 77;
		CHECK(!check_first(f6, ib, len + 4, &guess), "IPv6 %zu", len);
		CHECK(guess == 77, "IPv6 has no ID");
		ib[len] ^= 1;
		CHECK(check_first(f6, ib, len + 4, &guess) == WIRE_DROP_ICRC,
		      "IPv6 %zu", len);
	}
}

/* Copying with the ICRC gives the bytes of a copy followed by wire_icrc_fill(), and no byte behind is
 * written. */
static void check_copies(const struct wire_icrc_flow *f4, const struct wire_icrc_flow *f6,
			 const uint8_t *end)
{
	static uint8_t want[4300], got[4300];
	const uint8_t *from = end - 4200;
	struct wire_icrc_memo memo[2] = { 0 };

	for (size_t n = 0; n < 4200; n += n < 300 ? 1 : 41) {
		const struct wire_icrc_flow *f = n & 1 ? f4 : f6;
		size_t hdr = n % 3 ? 28 : 12, pad = -n & 3, len = hdr + n + pad;

		memset(want, 0xa5, sizeof(want));
		memcpy(want, from, hdr);
		memcpy(got, want, sizeof(got));
		memcpy(want + hdr, end - n, n);
		memset(want + hdr + n, 0, pad);
		wire_icrc_fill(f, SPORT, DPORT, 9, true, want, len);
		wire_icrc_copy(f, &memo[n & 1], SPORT, DPORT, 9, got, hdr, end - n, n, pad);
		CHECK(!memcmp(want, got, sizeof(got)), "copy of %zu behind %zu", n, hdr);
	}
}

static void check_ids(const struct wire_icrc_flow *f4, uint8_t *end, uint64_t *rnd)
{
	for (int i = 0; i < 1000; i++) {
		size_t len = 12 + wire_random(rnd) % 4140;
		uint8_t *ib = end - len - 4;
		uint16_t id = (uint16_t)wire_random(rnd), guess = (uint16_t)wire_random(rnd);
		bool df = i % 4 != 3;

		if (i % 4 == 1)
			guess = 0;
		if (i % 4 == 2)
			guess = id;
		wire_icrc_fill(f4, SPORT, DPORT, id, df, ib, len);
		CHECK(!check_first(f4, ib, len + 4, &guess), "id %04x", id);
		CHECK(guess == id, "%04x, not %04x", guess, id);
	}
}

/* Of 2^32 differences 2^17 look like an ID: of 20000 random ones 0.6 on average. */
static void check_strength(const struct wire_icrc_flow *f4, uint8_t *end, uint64_t *rnd)
{
	unsigned accepted = 0;

	for (int i = 0; i < 20000; i++) {
		size_t len = 12 + wire_random(rnd) % 1100;
		uint8_t *ib = end - len - 4;
		uint32_t any = (uint32_t)wire_random(rnd);
		uint16_t guess = 0;

		memcpy(ib + len, &any, 4);
		accepted += !check_first(f4, ib, len + 4, &guess);
	}
	printf("random CRC: %u of 20000 accepted\n", accepted);
	CHECK(accepted <= 6, "%u random CRCs accepted", accepted);
}

/* The memo of one packet serves later ones of the same length and ports, and no others. */
static void check_memo(const struct wire_icrc_flow *flow, uint8_t *end)
{
	uint64_t own = 4, *rnd = &own;
	struct wire_icrc_memo m = { 0 };
	size_t len = 12;
	uint16_t sport = SPORT, dport = DPORT;

	for (int i = 0; i < 20000; i++) {
		uint16_t id = (uint16_t)wire_random(rnd), found = id;
		uint8_t *ib;

		if (wire_random(rnd) % 4 == 0)
			len = 12 + wire_random(rnd) % (i % 8 ? 90 : 1100);
		if (wire_random(rnd) % 16 == 0)
			sport = (uint16_t)wire_random(rnd);
		if (wire_random(rnd) % 64 == 0)
			dport = (uint16_t)wire_random(rnd);
		ib = end - len - 4;
		CHECK(wire_icrc_again(flow, &m, sport, dport, id, ib, len) ==
		      wire_icrc_compute(flow, sport, dport, id, true, ib, len), "%zu bytes", len);
		wire_icrc_fill(flow, sport, dport, id, true, ib, len);
		found ^= (uint16_t)(wire_random(rnd) & (flow->kind == WIRE_ICRC_V6 ? 0 : 0xffff));
		CHECK(wire_icrc_check(flow, &m, sport, dport, ib, len + 4, &found) == WIRE_OK,
		      "%zu bytes", len);
		CHECK(found == id, "identification %u, not %u", found, id);
		ib[wire_random(rnd) % 4] ^= 1;
		if (flow->kind == WIRE_ICRC_V6)
			CHECK(wire_icrc_check(flow, &m, sport, dport, ib, len + 4, &found),
			      "damage");
	}
}

static bool masked(size_t bit)
{
	return bit / 8 == 4;
}

/* 1, 2 or 3 flipped bits of a 1 KiB packet, ICRC included, ID unknown to the receiver. */
static void check_damage(const struct wire_icrc_flow *f4, uint8_t *end, uint64_t *rnd)
{
	enum { LEN = 28 + 1024 };
	unsigned accepted[4] = { 0 };
	uint8_t *ib = end - LEN - 4, good[LEN + 4];

	for (int i = 0; i < 12000; i++) {
		uint16_t id = (uint16_t)wire_random(rnd), guess = 0;

		wire_icrc_fill(f4, SPORT, DPORT, id, true, ib, LEN);
		memcpy(good, ib, sizeof(good));
		for (int k = 0; k <= i % 3; k++) {
			size_t bit = wire_random(rnd) % (sizeof(good) * 8);

			if (masked(bit))
				bit += 8;
			ib[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		if (memcmp(ib, good, sizeof(good)))
			accepted[i % 3 + 1] += !check_first(f4, ib, LEN + 4, &guess);
		CHECK(guess == 0 || accepted[i % 3 + 1], "guess touched by a bad packet");
		memcpy(ib, good, sizeof(good));
	}
	printf("damage accepted: %u, %u, %u of 4000\n", accepted[1], accepted[2], accepted[3]);
	CHECK(!accepted[1], "1 bit");
	CHECK(accepted[2] + accepted[3] <= 3, "2 or 3 bits");
}

/* A flow of an InfiniBand link against the packet itself, whose ICRC has its own goldens (test_link.c). */
static void check_link(bool grh, uint8_t *end)
{
	struct wire_icrc_flow flow;

	if (grh)
		wire_icrc_flow_global(&flow, src6, dst6);
	else
		wire_icrc_flow_local(&flow, 0x1234, 0xbffe, 9);
	for (size_t len = 12; len < 4200; len += len < 300 ? 4 : 256) {
		struct wire_link_packet p = { .lrh = { .slid = 0x1234, .dlid = 0xbffe, .sl = 9, .vl = 3,
						       .lnh = grh ? WIRE_LNH_GLOBAL : WIRE_LNH_LOCAL },
					      .grh = { .tclass = 0x5a, .flow_label = 0x54321, .hop_lmt = 7 },
					      .ib_len = len + WIRE_ICRC_LEN };
		uint8_t *ib = end - len - WIRE_ICRC_LEN, buf[WIRE_LINK_PACKET_MAX];
		uint16_t id = 5;
		size_t n;

		memcpy(p.grh.sgid, src6, 16);
		memcpy(p.grh.dgid, dst6, 16);
		n = wire_link_build(buf, sizeof(buf), &p);
		CHECK(n, "%zu", len);
		memcpy(buf + n, ib, len);
		wire_icrc_fill(&flow, 1, 2, 3, true, ib, len);
		CHECK(wire_get_icrc(ib + len) == wire_icrc_link(buf, n + len), "%zu, GRH %d", len, grh);
		CHECK(!check_first(&flow, ib, len + WIRE_ICRC_LEN, &id) && id == 5, "%zu, GRH %d", len, grh);
		ib[len] ^= 1;
		CHECK(check_first(&flow, ib, len + WIRE_ICRC_LEN, &id) == WIRE_DROP_ICRC && id == 5, "%zu", len);
	}
}

int main(void)
{
	struct wire_icrc_flow f4, f6;
	uint8_t *end = wire_fence();
	uint64_t rnd = 3;

	CHECK(end, "no memory");
	if (!end)
		return 1;
	wire_icrc_flow_v4(&f4, src4, dst4);
	wire_icrc_flow_v6(&f6, src6, dst6);
	for (uint8_t *p = end - 8192; p < end; p++)
		*p = (uint8_t)wire_random(&rnd);
	check_goldens(&f4, &f6);
	check_lengths(&f4, &f6, end);
	for (enum ut_crc_impl i = UT_CRC_PORTABLE; i <= UT_CRC_FOLD_WIDE; i++) {
		ut_crc_use(i);
		check_copies(&f4, &f6, end);
	}
	check_ids(&f4, end, &rnd);
	check_memo(&f4, end);
	check_memo(&f6, end);
	check_strength(&f4, end, &rnd);
	check_damage(&f4, end, &rnd);
	check_link(false, end);
	check_link(true, end);
	return wire_test_end();
}

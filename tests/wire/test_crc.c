/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each implementation against a bit-by-bit one, at every length, alignment and page end. */
#include "util/crc.h"

#include "wire_test.h"

enum { LONGEST = 1100 };

struct crc_kind {
	const char *name;
	uint32_t poly;
	uint32_t (*crc)(uint32_t, const void *, size_t);
	uint32_t digits;	/* of "123456789", the check value of the CRC catalogues */
	uint32_t iscsi_zeros, iscsi_ones, iscsi_up;
};

/* CRC-32C: RFC 3720 B.4 (32 bytes of 0, of 0xff, of 0..31). CRC-32: zlib on the same bytes. */
static const struct crc_kind kinds[] = {
	{ "crc32", 0xedb88320, ut_crc32, 0xcbf43926,
	  0x190a55ad, 0xff6cab0b, 0x91267e8a },
	{ "crc32c", 0x82f63b78, ut_crc32c, 0xe3069283,
	  0x8a9136aa, 0x62a8ab43, 0x46dd794e },
};

static uint32_t slow_byte(uint32_t poly, uint32_t state, uint8_t byte)
{
	state ^= byte;
	for (int bit = 0; bit < 8; bit++)
		state = state & 1 ? state >> 1 ^ poly : state >> 1;
	return state;
}

static uint32_t slow_crc(uint32_t poly, uint32_t crc, const uint8_t *p, size_t len)
{
	crc = ~crc;
	while (len--)
		crc = slow_byte(poly, crc, *p++);
	return ~crc;
}

static void known_values(const struct crc_kind *k)
{
	uint8_t block[32];

	CHECK(k->crc(0, "123456789", 9) == k->digits, "%s", k->name);
	CHECK(k->crc(0, NULL, 0) == 0, "%s of nothing", k->name);
	memset(block, 0, 32);
	CHECK(k->crc(0, block, 32) == k->iscsi_zeros, "%s %08x", k->name, k->crc(0, block, 32));
	memset(block, 0xff, 32);
	CHECK(k->crc(0, block, 32) == k->iscsi_ones, "%s %08x", k->name, k->crc(0, block, 32));
	for (int i = 0; i < 32; i++)
		block[i] = (uint8_t)i;
	CHECK(k->crc(0, block, 32) == k->iscsi_up, "%s %08x", k->name, k->crc(0, block, 32));
}

/* The data ends at the fence, so that each length has another alignment as well. */
static void every_length(const struct crc_kind *k, const uint8_t *end)
{
	for (size_t len = 0; len <= LONGEST; len++) {
		uint32_t start = (uint32_t)len * 0x9e3779b1;

		CHECK(k->crc(start, end - len, len) == slow_crc(k->poly, start, end - len, len),
		      "%s length %zu", k->name, len);
	}
	for (size_t len = 4000; len <= 4300; len++)
		CHECK(k->crc(0, end - len, len) == slow_crc(k->poly, 0, end - len, len),
		      "%s length %zu", k->name, len);
}

static void every_alignment(const struct crc_kind *k, const uint8_t *end)
{
	static const size_t lengths[] = { 15, 16, 17, 48, 63, 64, 65, 127, 128, 255, 511, 528, 1024 };
	const uint8_t *base = end - 8192;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		for (size_t off = 0; off < 64; off++)
			CHECK(k->crc(0, base + off, lengths[i]) ==
			      slow_crc(k->poly, 0, base + off, lengths[i]),
			      "%s length %zu at %zu", k->name, lengths[i], off);
}

static void two_pieces(const uint8_t *end)
{
	for (size_t a = 0; a <= 80; a++)
		for (size_t b = 0; b <= 700; b += b < 80 ? 1 : 37) {
			uint32_t want = slow_crc(kinds[0].poly, 0, end - 2000, a);

			want = slow_crc(kinds[0].poly, want, end - b, b);
			CHECK(ut_crc32_two(end - 2000, a, end - b, b) == want, "%zu + %zu", a, b);
		}
}

static void with_ones(const uint8_t *end)
{
	uint8_t ones[16] = { 0 }, copy[700];

	for (size_t len = 16; len <= sizeof(copy); len++) {
		uint32_t start = (uint32_t)len * 0x9e3779b1;

		ones[len % 16] ^= (uint8_t)(len * 7);
		memcpy(copy, end - len, len);
		for (int i = 0; i < 16; i++)
			copy[i] |= ones[i];
		CHECK(ut_crc32_or(start, ones, end - len, len) ==
		      slow_crc(kinds[0].poly, start, copy, len), "%zu with ones", len);
	}
}

/* The copy equals the source, the CRC is that of the copy, and no byte beside it is written. */
static void copies(const uint8_t *end)
{
	static uint8_t to[6000];

	for (size_t len = 0; len <= 5000; len += len < 700 ? 1 : 61) {
		uint32_t start = (uint32_t)len * 0x9e3779b1;
		uint8_t *at = to + 1 + len % 64;

		memset(to, 0xa5, sizeof(to));
		CHECK(ut_crc32c_copy(start, at, end - len, len) == ut_crc32c(start, end - len, len),
		      "copy of %zu", len);
		CHECK(!memcmp(at, end - len, len), "copy of %zu", len);
		memset(at, 0, len);
		CHECK(ut_crc32_copy(start, at, end - len, len) == ut_crc32(start, end - len, len),
		      "copy of %zu", len);
		CHECK(!memcmp(at, end - len, len), "copy of %zu", len);
		CHECK(at[-1] == 0xa5 && at[len] == 0xa5, "around %zu", len);
	}
}

static void moving_differences(const uint8_t *end)
{
	uint64_t rnd = 7;

	for (int i = 0; i < 2000; i++) {
		uint32_t diff = (uint32_t)wire_random(&rnd), moved = diff;
		uint64_t n = wire_random(&rnd) % 200, far = wire_random(&rnd);

		for (uint64_t b = 0; b < n; b++)
			moved = slow_byte(kinds[0].poly, moved, 0);
		CHECK(ut_crc32_retreat(moved, n) == diff, "back by %d", (int)n);
		CHECK(ut_crc32_retreat(ut_crc32_retreat(diff, far >> 2), far >> 1) ==
		      ut_crc32_retreat(diff, (far >> 2) + (far >> 1)), "sum");
	}
	CHECK(ut_crc32_retreat(ut_crc32(0, end - 900, 900) ^ ut_crc32(0, end - 500, 500), 500) ==
	      ut_crc32(0, end - 900, 400), "first part of two");
}

static void run(enum ut_crc_impl impl, const uint8_t *end)
{
	if (ut_crc_use(impl) != impl) {
		printf("no such CRC instructions here: this part is not run\n");
		return;
	}
	for (int i = 0; i < 2; i++) {
		known_values(&kinds[i]);
		every_length(&kinds[i], end);
		every_alignment(&kinds[i], end);
	}
	moving_differences(end);
	two_pieces(end);
	with_ones(end);
	copies(end);
}

int main(void)
{
	uint8_t *end = wire_fence();
	uint64_t rnd = 1;

	CHECK(end, "no memory");
	if (!end)
		return 1;
	for (uint8_t *p = end - 8192; p < end; p++)
		*p = (uint8_t)wire_random(&rnd);
	run(UT_CRC_PORTABLE, end);
	run(UT_CRC_FOLD, end);
	run(UT_CRC_FOLD_TWO, end);
	run(UT_CRC_FOLD_WIDE, end);
	return wire_test_end();
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/crc_sliced.h"

#include "util/crc_poly.h"

crc_slices crc32_slices, crc32c_slices;

uint32_t crc_sliced(crc_slices t, uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len >= 8; p += 8, len -= 8) {
		uint64_t v = crc_load_le64(p) ^ crc;

		crc = t[7][v & 255] ^ t[6][v >> 8 & 255] ^ t[5][v >> 16 & 255] ^
		      t[4][v >> 24 & 255] ^ t[3][v >> 32 & 255] ^ t[2][v >> 40 & 255] ^
		      t[1][v >> 48 & 255] ^ t[0][v >> 56];
	}
	while (len--)
		crc = crc >> 8 ^ t[0][(crc ^ *p++) & 255];
	return crc;
}

/* a * b mod P; bit 31 is x^0. */
static uint32_t multiply(uint32_t poly, uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (uint32_t m = 0x80000000; m; m >>= 1) {
		product ^= b & -(uint32_t)!!(a & m);
		b = b >> 1 ^ (poly & -(b & 1));
	}
	return product;
}

static uint32_t multiply_portable(const struct crc_poly *poly, crc_slices t, uint32_t a, uint32_t b)
{
	(void)t;
	return multiply(poly->poly, a, b);
}

static uint32_t crc32_sliced(uint32_t state, const uint8_t *p, size_t len)
{
	return crc_sliced(crc32_slices, state, p, len);
}

static uint32_t crc32c_sliced(uint32_t state, const uint8_t *p, size_t len)
{
	return crc_sliced(crc32c_slices, state, p, len);
}

static uint32_t crc32_two_sliced(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen)
{
	return crc32_sliced(crc32_sliced(~0u, a, alen), b, blen);
}

static uint32_t crc32_or_sliced(uint32_t state, const uint8_t ones[16], const uint8_t *p, size_t len)
{
	uint8_t head[16];

	for (int i = 0; i < 16; i++)
		head[i] = p[i] | ones[i];
	return crc32_sliced(crc32_sliced(state, head, 16), p + 16, len - 16);
}

static uint32_t crc32_copied_sliced(uint32_t state, uint8_t *to, const uint8_t *p, size_t len)
{
	memcpy(to, p, len);
	return crc32_sliced(state, to, len);
}

static uint32_t crc32c_copied_sliced(uint32_t state, uint8_t *to, const uint8_t *p, size_t len)
{
	memcpy(to, p, len);
	return crc32c_sliced(state, to, len);
}

const struct crc_ops crc_sliced_ops = {
	crc32_sliced, crc32c_sliced, crc32_two_sliced, crc32_or_sliced, crc32_copied_sliced,
	crc32c_copied_sliced, multiply_portable, true
};

static void fill_slices(crc_slices t, uint32_t poly)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t v = b;

		for (int bit = 0; bit < 8; bit++)
			v = v >> 1 ^ (poly & -(v & 1));
		t[0][b] = v;
	}
	for (int k = 1; k < 8; k++)
		for (int b = 0; b < 256; b++)
			t[k][b] = t[k - 1][b] >> 8 ^ t[0][t[k - 1][b] & 255];
}

void crc_sliced_init(void)
{
	fill_slices(crc32_slices, crc32_poly.poly);
	fill_slices(crc32c_slices, crc32c_poly.poly);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From rows to accessors.
 *
 * A header is a list of rows, F(header, field, byte, bit, width) for a number and
 * B(header, field, byte, bytes) for an array, in the order of the specification's table. Bit 0 is
 * the most significant bit of the byte, as the specifications draw it. Every number lies inside
 * one aligned big-endian 32-bit word of its header or is 64 bits wide, so each access is one load
 * from a constant offset and one shift; the compiler merges stores to the same word.
 */
#ifndef WIRE_FIELD_H
#define WIRE_FIELD_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* wire_get<name>() and wire_put<name>(): a number of the wire, in byte order `be` or `le`, at any address. */
#define WIRE_NUMBER(name, bits, order)                                                         \
	static inline uint##bits##_t wire_get##name(const uint8_t *p)                          \
	{                                                                                      \
		uint##bits##_t v;                                                              \
											       \
		memcpy(&v, p, sizeof(v));                                                      \
		return order##bits##toh(v);                                                    \
	}                                                                                      \
	static inline void wire_put##name(uint8_t *p, uint##bits##_t v)                        \
	{                                                                                      \
		v = hto##order##bits(v);                                                       \
		memcpy(p, &v, sizeof(v));                                                      \
	}

WIRE_NUMBER(16, 16, be)
WIRE_NUMBER(32, 32, be)
WIRE_NUMBER(64, 64, be)
/* The invariant and the variant CRC at the end of a packet. */
WIRE_NUMBER(_icrc, 32, le)
WIRE_NUMBER(_vcrc, 16, le)

static inline uint64_t wire_get_bits(const uint8_t *header, unsigned pos, unsigned width)
{
	const uint8_t *word = header + pos / 32 * 4;

	if (width == 64)
		return wire_get64(word);
	return wire_get32(word) >> (32 - width - pos % 32) & (0xffffffffu >> (32 - width));
}

static inline void wire_set_bits(uint8_t *header, unsigned pos, unsigned width, uint64_t v)
{
	uint8_t *word = header + pos / 32 * 4;
	unsigned shift = (32 - width - pos % 32) & 31;
	uint32_t mask;

	if (width == 64) {
		wire_put64(word, v);
		return;
	}
	mask = 0xffffffffu >> (32 - width) << shift;
	wire_put32(word, (wire_get32(word) & ~mask) | ((uint32_t)v << shift & mask));
}

#define WIRE_FITS(pos, width) \
	((width) == 64 ? (pos) % 32 == 0 : (width) > 0 && (pos) % 32 + (width) <= 32)

/*
 * Each row gives wire_get_, wire_set_ and WIRE_<header>_<field>_OFFSET: the byte in which the field
 * begins, for packet filters, which cannot call.
 */
#define WIRE_ACCESS_F(header, field, byte, bit, width)                                         \
	enum { WIRE_##header##_##field##_OFFSET = (byte) };                                    \
	_Static_assert(WIRE_FITS((byte) * 8 + (bit), width), #header "." #field);              \
	static inline uint64_t wire_get_##header##_##field(const uint8_t *h)                   \
	{                                                                                      \
		return wire_get_bits(h, (byte) * 8 + (bit), width);                            \
	}                                                                                      \
	static inline void wire_set_##header##_##field(uint8_t *h, uint64_t v)                 \
	{                                                                                      \
		wire_set_bits(h, (byte) * 8 + (bit), width, v);                                \
	}

#define WIRE_ACCESS_B(header, field, byte, bytes)                                              \
	enum { WIRE_##header##_##field##_OFFSET = (byte) };                                    \
	static inline const uint8_t *wire_get_##header##_##field(const uint8_t *h)             \
	{                                                                                      \
		return h + (byte);                                                             \
	}                                                                                      \
	static inline void wire_set_##header##_##field(uint8_t *h, const uint8_t *v)           \
	{                                                                                      \
		memcpy(h + (byte), v, bytes);                                                  \
	}

/* The rows as data: for text, mutators and tests. Arrays of bytes have width > 64. */
struct wire_field {
	const char *name;
	uint16_t pos;		/* bit offset in the header */
	uint16_t width;		/* bits */
	uint8_t header;
};

/* Parameters for a list of rows. WIRE_COUNT_*: their number as a sum. WIRE_ROW_*: initialisers of struct
 * wire_field. */
#define WIRE_COUNT_F(header, field, byte, bit, width) +1
#define WIRE_COUNT_B(header, field, byte, bytes) +1
#define WIRE_ROW_F(header, field, byte, bit, width) { #field, (byte) * 8 + (bit), width, WIRE_HDR_##header },
#define WIRE_ROW_B(header, field, byte, bytes) { #field, (byte) * 8, (bytes) * 8, WIRE_HDR_##header },

/* A header; its rows are `nr` rows of the table beside it, from row `first` on. */
struct wire_header {
	const char *name;
	const char *source;
	uint8_t length;
	uint8_t first;
	uint8_t nr;
};

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/compat12/convert.h"

#include <stdbool.h>
#include <string.h>

#define NO_VALUE UINT32_MAX

struct field {
	uint16_t at12, size12, at20, size20;
};

#define ROW(member12, member20, at12, size12, at20, size20) { at12, size12, at20, size20 },

#define FIELDS(name, type, size12, size20) \
	static const struct field name##_fields[] = { C12_##name(ROW) };
C12_TYPES(FIELDS)

#define LIST(name, type, size12, size20) \
	{ name##_fields, sizeof(name##_fields) / sizeof(name##_fields[0]) },
static const struct {
	const struct field *field;
	unsigned n;
} types[] = { C12_TYPES(LIST) };

/* Copies a number of 4 or 8 bytes; members of other sizes have the same size in both versions. */
static void copy(uint8_t *to, unsigned to_size, const uint8_t *from, unsigned from_size)
{
	uint64_t wide = 0;
	uint32_t narrow;

	if (to_size == from_size) {
		memcpy(to, from, to_size);
	} else if (to_size == 8) {
		memcpy(&narrow, from, 4);
		wide = narrow;
		memcpy(to, &wide, 8);
	} else {
		memcpy(&wide, from, 8);
		narrow = wide > UINT32_MAX ? UINT32_MAX : (uint32_t)wide;
		memcpy(to, &narrow, 4);
	}
}

void c12_to20(enum c12_type type, void *to, const void *from)
{
	for (unsigned i = 0; i < types[type].n; i++) {
		const struct field *f = &types[type].field[i];

		copy((uint8_t *)to + f->at20, f->size20, (const uint8_t *)from + f->at12, f->size12);
	}
}

void c12_from20(enum c12_type type, void *to, const void *from)
{
	for (unsigned i = 0; i < types[type].n; i++) {
		const struct field *f = &types[type].field[i];

		copy((uint8_t *)to + f->at12, f->size12, (const uint8_t *)from + f->at20, f->size20);
	}
}

struct pair {
	uint64_t in12, in20;
};

#define PAIR(name, in12, in20) { in12, in20 },
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct pair ep_mask[] = { C12_EP_MASK(PAIR) };
static const struct pair ia_mask[] = { C12_IA_MASK(PAIR) };
static const struct pair provider_mask[] = { C12_PROVIDER_MASK(PAIR) };
static const struct pair lmr_mask[] = { C12_LMR_MASK(PAIR) };
static const struct pair rmr_mask[] = { C12_RMR_MASK(PAIR) };

static const struct {
	const struct pair *pair;
	unsigned n;
	uint64_t unknown;
} masks[] = {
	[C12_EP] = { ep_mask, COUNT(ep_mask), 1ull << 63 },
	[C12_IA] = { ia_mask, COUNT(ia_mask), 1ull << 63 },
	[C12_PROVIDER] = { provider_mask, COUNT(provider_mask), 1ull << 63 },
	/* these are enumerations of 32 bits */
	[C12_LMR] = { lmr_mask, COUNT(lmr_mask), 1u << 31 },
	[C12_RMR] = { rmr_mask, COUNT(rmr_mask), 1u << 31 },
};

uint64_t c12_mask20(enum c12_mask mask, uint64_t bits)
{
	uint64_t out = 0;

	for (unsigned i = 0; i < masks[mask].n; i++) {
		if (bits & masks[mask].pair[i].in12)
			out |= masks[mask].pair[i].in20;
		bits &= ~masks[mask].pair[i].in12;
	}
	return bits ? out | masks[mask].unknown : out;
}

#define CLASS_BITS 0xc0000000u
#define TYPE_BITS 0x3fff0000u
#define SUBTYPE_BITS 0x0000ffffu

static const struct pair return_types[] = { C12_RETURN_TYPES(PAIR) };
static const struct pair subtypes[] = { C12_SUBTYPES(PAIR) };

static uint32_t type12(uint32_t value)
{
	for (unsigned i = 0; i < COUNT(return_types); i++)
		if (return_types[i].in20 == value)
			return (uint32_t)return_types[i].in12;
	return NO_VALUE;
}

static uint32_t subtype12(uint32_t value)
{
	for (unsigned i = 0; i < COUNT(subtypes); i++)
		if (subtypes[i].in20 == value)
			return (uint32_t)subtypes[i].in12;
	return 0;
}

uint32_t c12_return(uint32_t value)
{
	uint32_t type = value & TYPE_BITS;

	if (__builtin_expect(value == 0, 1))
		return 0;
	type = type12(type);
	if (type == NO_VALUE)
		return type12(0x00040000) | (value & CLASS_BITS);
	return (value & CLASS_BITS) | type | subtype12(value & SUBTYPE_BITS);
}

/* Finds the place of a numbered subtype (of a handle or an argument, whose first number is
 * `first`). */
static bool place_of(uint32_t subtype, uint32_t first, uint32_t *ret)
{
	*ret = subtype - first;
	return subtype >= first && subtype < first + 10;
}

uint32_t c12_return_moved(uint32_t value, const uint8_t *places, unsigned n)
{
	/* DAT_INVALID_HANDLE1 and DAT_INVALID_ARG1 of 1.2. */
	static const uint32_t first[] = { 0x1a, 0x24 };
	uint32_t rc = c12_return(value), place;

	for (unsigned i = 0; rc && i < COUNT(first); i++) {
		if (!place_of(rc & SUBTYPE_BITS, first[i], &place) || place >= n)
			continue;
		rc &= ~SUBTYPE_BITS;
		return places[place] ? rc | (first[i] + places[place] - 1) : rc;
	}
	return rc;
}

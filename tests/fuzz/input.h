/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The input of a fuzz target as a list of operations: numbers are little-endian, and 0 behind the end. */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The program ends by abort(), which the driver reports with the input. */
#define REQUIRE(x)                                                                        \
	do {                                                                              \
		if (!(x)) {                                                               \
			fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #x);  \
			abort();                                                          \
		}                                                                         \
	} while (0)

struct input {
	const uint8_t *at, *end;
};

/* Takes n bytes, fewer at the end. Returns where they lie. */
static inline const uint8_t *in_bytes(struct input *in, size_t *n)
{
	const uint8_t *at = in->at;
	size_t left = (size_t)(in->end - at);

	*n = *n < left ? *n : left;
	in->at += *n;
	return at;
}

static inline uint64_t in_number(struct input *in, size_t bytes)
{
	const uint8_t *at = in_bytes(in, &bytes);
	uint64_t v = 0;

	while (bytes)
		v = v << 8 | at[--bytes];
	return v;
}

static inline uint8_t in8(struct input *in)
{
	return (uint8_t)in_number(in, 1);
}

static inline uint16_t in16(struct input *in)
{
	return (uint16_t)in_number(in, 2);
}

static inline uint32_t in32(struct input *in)
{
	return (uint32_t)in_number(in, 4);
}

static inline uint64_t in64(struct input *in)
{
	return in_number(in, 8);
}

/* Copies bytes of the input over the beginning of n bytes, which it leaves alone behind its end. */
static inline void in_fill(struct input *in, void *to, size_t n)
{
	const uint8_t *at = in_bytes(in, &n);

	if (n)
		memcpy(to, at, n);
}

#endif

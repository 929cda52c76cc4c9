/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the tests of this folder: a check that counts failures and continues, random numbers, a
 * fence. */
#ifndef WIRE_TEST_H
#define WIRE_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned wire_test_failures;

#define CHECK(cond, ...)                                                                       \
	do {                                                                                   \
		if (!(cond) && wire_test_failures++ < 20) {                                    \
			printf("%s:%d: %s: ", __FILE__, __LINE__, #cond);                      \
			printf(__VA_ARGS__);                                                   \
			printf("\n");                                                          \
		}                                                                              \
	} while (0)

static inline int wire_test_end(void)
{
	printf("%u failures\n", wire_test_failures);
	return wire_test_failures ? 1 : 0;
}

static inline uint64_t wire_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Returns the end of a writable area of at least 64 KiB; the next byte is not readable. */
static inline uint8_t *wire_fence(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), area = 65536;
	uint8_t *p = mmap(NULL, area + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (p == MAP_FAILED || mprotect(p + area, page, PROT_NONE))
		return NULL;
	return p + area;
}

#endif

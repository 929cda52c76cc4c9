/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libFuzzer calls a target's own mutator alone: this one gives its general mutations every other turn. */
#undef LLVMFuzzerCustomMutator /* named anew for the target */

#include <stddef.h>
#include <stdint.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
/* The target's; named so by the build. */
size_t fuzz_mutate(uint8_t *data, size_t size, size_t max, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return seed & 1 ? LLVMFuzzerMutate(data, size, max) : fuzz_mutate(data, size, max, seed);
}

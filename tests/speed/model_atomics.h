/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Before a source is included that a model goes through: its atomics are the model's steps (explore.h).
 * MC_LOAD(p), if there is one, is what a load reads. */
#ifndef TESTS_SPEED_MODEL_ATOMICS_H
#define TESTS_SPEED_MODEL_ATOMICS_H

#include "explore.h"

#include <stdatomic.h>
#include <string.h>

/* As atomic_compare_exchange_strong(): *want becomes the value before. Words are little-endian, as the explorer's are. */
static inline bool mc_compared(volatile void *at, uint64_t v, size_t size, void *want, size_t want_size)
{
	uint64_t wanted = 0, old;

	memcpy(&wanted, want, want_size);
	old = mc_compare(at, wanted, v, size);
	memcpy(want, &old, want_size);
	return old == wanted;
}

#ifndef MC_LOAD
#define MC_LOAD(p) mc_load((p), sizeof(*(p)))
#endif

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_thread_fence
#undef atomic_exchange
#undef atomic_compare_exchange_strong
#define atomic_load_explicit(p, o) ((__typeof__(*(p) + 0))MC_LOAD(p))
#define atomic_store_explicit(p, v, o) \
	mc_store((p), (uint64_t)(v), sizeof(*(p)), (o) == memory_order_seq_cst)
#define atomic_load(p) atomic_load_explicit(p, memory_order_seq_cst)
#define atomic_store(p, v) atomic_store_explicit(p, v, memory_order_seq_cst)
#define atomic_exchange(p, v) mc_exchange((p), (uint64_t)(v), sizeof(*(p)))
#define atomic_compare_exchange_strong(p, want, v) \
	mc_compared((p), (uint64_t)(v), sizeof(*(p)), (want), sizeof(*(want)))
#define atomic_thread_fence(o) mc_fence((o) == memory_order_seq_cst)

#endif

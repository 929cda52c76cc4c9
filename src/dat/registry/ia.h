/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The numbers of IAs, which are the handles that programs have. A number is reused only after all
 * others, so that a closed IA is refused for as long as possible.
 */
#ifndef DAT_REGISTRY_IA_H
#define DAT_REGISTRY_IA_H

#include "dat/registry/dreg.h"
#include "dat/registry/handle.h"

/*
 * Returns the provider's handle of an open IA by its number or by that handle itself, which
 * providers hand out in events; else NULL.
 */
DAT_IA_HANDLE dreg_ia_slow(DAT_IA_HANDLE ia);

#define DREG_IA_CHUNK 256u

struct dreg_ia {
	_Atomic(DAT_IA_HANDLE) open;   /* the provider's handle, while calls are passed */
	_Atomic(DAT_IA_HANDLE) object; /* the provider's handle, from open to the end of close */
};

extern _Atomic(struct dreg_ia *) dreg_ia_chunks[DREG_MAX_IAS / DREG_IA_CHUNK];

static inline DAT_IA_HANDLE dreg_ia(DAT_IA_HANDLE ia)
{
	uintptr_t nr = (uintptr_t)ia;
	struct dreg_ia *chunk;

	if (__builtin_expect(nr >= DREG_MAX_IAS, 0))
		return dreg_ia_slow(ia);
	chunk = atomic_load_explicit(&dreg_ia_chunks[nr / DREG_IA_CHUNK], memory_order_acquire);
	return chunk ? atomic_load_explicit(&chunk[nr % DREG_IA_CHUNK].open, memory_order_acquire) :
		       NULL;
}

#endif

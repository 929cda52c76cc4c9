/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The way from libdat.so.1 to libdat2.so.2: struct dreg_front of dat/registry/front.h, with slots
 * as bare pointers since their types are those of the other version. check20.c holds it against
 * the original.
 */
#ifndef DAT_COMPAT12_FRONT_H
#define DAT_COMPAT12_FRONT_H

#include "dat/compat12/slots.h"

#include <stddef.h>
#include <stdint.h>

struct c12_front {
	size_t size;
	void *slot[C12_N_SLOTS];
	void *ia_openv, *list_providers, *add_provider, *remove_provider, *get_ia_handle;
};

/* A triplet of 2.0, for LMRs and RMRs. */
struct c12_lmr20 {
	uint64_t address;
	uint32_t length, context;
};

/* NULL if our libdat2.so.2 is not beside this library. */
const struct c12_front *c12_front(void);

#endif

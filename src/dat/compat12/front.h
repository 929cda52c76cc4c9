/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface of libdat2.so.2 for libdat.so.1: struct dreg_front of dat/registry/front.h, with
 * slots as bare pointers since their types are those of the other version.
 * tests/dat/compat12_check20.c compares the layouts.
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

/* Returns NULL if there is no libdat2.so.2 of Dapple. */
const struct c12_front *c12_front(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Numbers by which verbs name objects - keys of regions and windows, numbers of queue pairs - and
 * the provider's object of each. One table per process. Every post looks its segments up, so a hit
 * takes no lock and no reference: entries are part of objects in slabs, which are never unmapped,
 * and the device checks again what a reader takes from an object that is freed meanwhile.
 */
#ifndef DAT_PROVIDER_MEM_KEYS_H
#define DAT_PROVIDER_MEM_KEYS_H

#include <dat2/udat.h>
#include <stdatomic.h>
#include <stdint.h>

struct dpr_ia;
struct dpr_obj;

enum dpr_space {
	DPR_KEY_LOCAL = 1, /* LMR context: dpr_lmr */
	DPR_KEY_REMOTE,    /* RMR context of a window: dpr_rmr */
	DPR_KEY_QP,        /* queue pair number: dpr_ep */
};

/* A member of the object that it finds. All zero: not in the table. */
struct dpr_key {
	_Atomic(struct dpr_key *) next;
	_Atomic uint64_t name; /* space and number; 0: not in the table */
	_Atomic(struct dpr_ia *) ia;
	_Atomic(struct dpr_obj *) owner;
};

/* Enters k. The first member of the object that contains k is its struct dpr_obj; k leaves the
 * table before the handle's reference is put. Without memory to grow the chains get longer, nothing
 * fails. */
void dpr_key_add(struct dpr_key *k, struct dpr_ia *ia, enum dpr_space space, uint32_t number,
		 struct dpr_obj *owner);
/* Does nothing if k is not in the table. */
void dpr_key_del(struct dpr_key *k);

static inline uint64_t dpr_key_name(enum dpr_space space, uint32_t number)
{
	return (uint64_t)space << 32 | number;
}

/* Returns true if k is the entry of that number. It may have left the table. */
static inline _Bool dpr_key_is(const struct dpr_key *k, struct dpr_ia *ia, enum dpr_space space,
			       uint32_t number)
{
	return atomic_load_explicit(&k->name, memory_order_relaxed) == dpr_key_name(space, number) &&
	       atomic_load_explicit(&k->ia, memory_order_relaxed) == ia;
}

/* Returns the object without a reference, or NULL if there is no such number. */
struct dpr_obj *dpr_key_find(struct dpr_ia *ia, enum dpr_space space, uint32_t number);
/* Returns the object with a reference, or NULL. */
struct dpr_obj *dpr_key_get(struct dpr_ia *ia, enum dpr_space space, uint32_t number);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Chains of a hash table, changed under one lock and walked without. A walker may leave its chain
 * when an entry moves to another one or the table grows meanwhile: it then finds nothing, and a
 * miss is looked up again under the lock. So a hit is cheap and a miss is certain.
 */
#include "dat/provider/mem/keys.h"

#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/obj.h"

#include <stdlib.h>

#define FIRST_BITS 8
#define LAST_BITS 20
/* Where a walker stops that may have left its chain. Chains are far shorter. */
#define STEPS 64

struct table {
	unsigned int bits;
	_Atomic(struct dpr_key *) *chain;
};

static _Atomic(struct dpr_key *) first_chains[1 << FIRST_BITS];
static struct table tables[LAST_BITS + 1] = {
	[FIRST_BITS] = { FIRST_BITS, first_chains },
};

static struct ut_mutex lock = UT_MUTEX_INIT;
static unsigned int entries UT_GUARDED_BY(lock);
/* Outgrown tables stay: walkers may be in them, and together they are no larger than the present
 * one. (K0) publishes a table, (K1) an entry. */
static _Atomic(struct table *) present = &tables[FIRST_BITS];

static _Atomic(struct dpr_key *) *chain_of(const struct table *t, struct dpr_ia *ia, uint64_t name)
{
	uint64_t h = (name ^ (uintptr_t)ia) * UINT64_C(0x9e3779b97f4a7c15);

	return &t->chain[h >> (64 - t->bits)];
}

static void link_in(struct table *t, struct dpr_key *k)
{
	struct dpr_ia *ia = atomic_load_explicit(&k->ia, memory_order_relaxed);
	_Atomic(struct dpr_key *) *at =
		chain_of(t, ia, atomic_load_explicit(&k->name, memory_order_relaxed));

	atomic_store_explicit(&k->next, atomic_load_explicit(at, memory_order_relaxed),
			      memory_order_release);
	atomic_store_explicit(at, k, memory_order_release); /* (K1) */
}

static void grow(void) UT_REQUIRES(lock)
{
	struct table *old = atomic_load_explicit(&present, memory_order_relaxed);
	unsigned int bits = old->bits + 2;
	struct table *t = &tables[bits];

	if (bits > LAST_BITS)
		return;
	t->chain = calloc((size_t)1 << bits, sizeof(*t->chain));
	if (!t->chain)
		return;
	t->bits = bits;
	for (size_t i = 0; i < (size_t)1 << old->bits; i++) {
		struct dpr_key *k = atomic_load_explicit(&old->chain[i], memory_order_relaxed);

		while (k) {
			struct dpr_key *next = atomic_load_explicit(&k->next, memory_order_relaxed);

			link_in(t, k);
			k = next;
		}
	}
	atomic_store_explicit(&present, t, memory_order_release); /* (K0) */
}

void dpr_key_add(struct dpr_key *k, struct dpr_ia *ia, enum dpr_space space, uint32_t number,
		 struct dpr_obj *owner)
{
	struct table *t;

	ut_lock(&lock);
	t = atomic_load_explicit(&present, memory_order_relaxed);
	atomic_store_explicit(&k->ia, ia, memory_order_relaxed);
	atomic_store_explicit(&k->owner, owner, memory_order_relaxed);
	atomic_store_explicit(&k->name, dpr_key_name(space, number), memory_order_relaxed);
	link_in(t, k);
	if (++entries > 1u << t->bits)
		grow();
	ut_unlock(&lock);
}

void dpr_key_del(struct dpr_key *k)
{
	_Atomic(struct dpr_key *) *at;
	uint64_t name;

	ut_lock(&lock);
	name = atomic_load_explicit(&k->name, memory_order_relaxed);
	if (name) {
		at = chain_of(atomic_load_explicit(&present, memory_order_relaxed), k->ia, name);
		while (atomic_load_explicit(at, memory_order_relaxed) != k)
			at = &atomic_load_explicit(at, memory_order_relaxed)->next;
		atomic_store_explicit(at, atomic_load_explicit(&k->next, memory_order_relaxed),
				      memory_order_release);
		atomic_store_explicit(&k->name, 0, memory_order_relaxed);
		entries--;
	}
	ut_unlock(&lock);
}

static struct dpr_obj *walk(struct dpr_ia *ia, uint64_t name, unsigned int steps)
{
	const struct table *t = atomic_load_explicit(&present, memory_order_acquire); /* (K0) */
	struct dpr_key *k =
		atomic_load_explicit(chain_of(t, ia, name), memory_order_acquire); /* (K1) */

	for (; k && steps--; k = atomic_load_explicit(&k->next, memory_order_acquire))
		if (atomic_load_explicit(&k->name, memory_order_relaxed) == name &&
		    atomic_load_explicit(&k->ia, memory_order_relaxed) == ia)
			return atomic_load_explicit(&k->owner, memory_order_relaxed);
	return NULL;
}

static struct dpr_obj *find_locked(struct dpr_ia *ia, uint64_t name, _Bool hold)
{
	struct dpr_obj *o;

	ut_lock(&lock);
	o = walk(ia, name, ~0u);
	if (o && hold)
		dpr_obj_hold(o);
	ut_unlock(&lock);
	return o;
}

struct dpr_obj *dpr_key_find(struct dpr_ia *ia, enum dpr_space space, uint32_t number)
{
	struct dpr_obj *o = walk(ia, dpr_key_name(space, number), STEPS);

	return o ? o : find_locked(ia, dpr_key_name(space, number), 0);
}

struct dpr_obj *dpr_key_get(struct dpr_ia *ia, enum dpr_space space, uint32_t number)
{
	return find_locked(ia, dpr_key_name(space, number), 1);
}

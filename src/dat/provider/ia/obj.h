/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Handles. A DAT handle is the address of an object whose first word points to the provider's
 * table, by which the registry finds the provider. Objects live in slabs, one class per slab, which
 * are never unmapped and whose objects are constructed once. So reading a freed handle, or one of
 * another kind, is safe: the call refuses it. A late thread may even take the lock in a freed
 * object.
 *
 * Life: dpr_obj_new puts the object on the list of its adapter, with one reference for the handle;
 * dpr_obj_kill makes calls refuse the handle; dpr_obj_put of the last reference returns the object
 * to its slab. Code that uses an object without its handle (a queue entry, an attempt to connect,
 * the loop) holds a reference.
 */
#ifndef DAT_PROVIDER_IA_OBJ_H
#define DAT_PROVIDER_IA_OBJ_H

#include "dat/core/core.h"
#include "util/list.h"

#include <dat2/dat_registry.h>
#include <dat2/udat.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct dpr_ia;

enum dpr_kind {
	DPR_FREE, /* in its slab */
	DPR_IA,
	DPR_PZ,
	DPR_LMR,
	DPR_RMR,
	DPR_EVD,
	DPR_CNO,
	DPR_EP,
	DPR_SRQ,
	DPR_PSP,
	DPR_RSP,
	DPR_CSP,
	DPR_CR,
	DPR_KINDS
};

struct dpr_obj {
	const DAT_PROVIDER *table;   /* of the adapter; must stay first */
	_Atomic uint32_t kind;       /* enum dpr_kind; DPR_FREE once killed */
	_Atomic uint32_t refs;
	_Atomic uint32_t uses;       /* live objects that need this one: *_IN_USE */
	const struct dpr_class *cls; /* of the slot, constant */
	struct dpr_ia *ia;           /* a reference; an adapter points to itself */
	struct ut_list of_ia;        /* guarded by ia->lock */
	DAT_CONTEXT context;         /* the consumer's; guarded by ia->lock */
};

/* The properties of a kind of objects. */
struct dpr_class {
	enum dpr_kind kind;
	DAT_HANDLE_TYPE type; /* the result of dat_get_handle_type */
	size_t size;
	void (*construct)(struct dpr_obj *o); /* once per slot: locks; may be NULL */
	void (*release)(struct dpr_obj *o);   /* at the last put, no lock held; may be NULL */
	/* dat_ia_close abrupt: as the kind's free call, whatever the state. Kinds are closed in the
	 * order CR, EP, RSP, PSP, CSP, RMR, LMR, SRQ, EVD, CNO, PZ. */
	void (*close)(struct dpr_obj *o);
};

/*
 * Returns NULL without memory. `ia` is NULL for an adapter. Bytes behind struct dpr_obj that
 * `construct` did not set are those of the slot's former object: the caller sets every field. The
 * handle is not known yet, but dat_ia_close in another thread may find the object, so the fields
 * that `close` reads are set before anything that takes long. A slot just freed is the last to be
 * reused.
 */
void *dpr_obj_new(struct dpr_ia *ia, enum dpr_kind kind);
/* Takes o off its adapter's list; calls refuse the handle from here on. Returns false if another
 * thread was first. */
_Bool dpr_obj_kill(struct dpr_obj *o);
/* Drops a reference. The last one releases what the object has and returns it to its slab; takes ia->lock. */
void dpr_obj_put(struct dpr_obj *o);
/* Ends an object by its free call: kills it, adds 1 to a counter of its adapter (DCNT_IA_*), drops the handle's
 * reference. Without effect if another thread was first. */
void dpr_obj_end(struct dpr_obj *o, unsigned counter);
/* Ends an object that its create call could not complete. Returns `why`. */
DAT_RETURN dpr_obj_undo(struct dpr_obj *o, DAT_RETURN why);

static inline void dpr_obj_hold(struct dpr_obj *o)
{
	atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
}

static inline void dpr_use(struct dpr_obj *o)
{
	if (o)
		atomic_fetch_add(&o->uses, 1);
}

static inline void dpr_unuse(struct dpr_obj *o)
{
	if (o)
		atomic_fetch_sub(&o->uses, 1);
}

/* Returns the most objects that the process has had at a time, all adapters together. */
unsigned int dpr_obj_most(void);

/* Returns the object of a handle, or NULL if the handle is NULL, misaligned, freed or of another
 * kind. */
static inline void *dpr_obj_of(DAT_HANDLE handle, enum dpr_kind kind)
{
	struct dpr_obj *o = (struct dpr_obj *)handle;

	if (!o || ((uintptr_t)o & 7))
		return NULL;
	return atomic_load_explicit(&o->kind, memory_order_acquire) == kind ? o : NULL;
}

/* Returns the adapter's oldest object for which `is` returns true, with a reference, or NULL. `is`
 * is called with ia->lock held. */
struct dpr_obj *dpr_obj_find(struct dpr_ia *ia, _Bool (*is)(struct dpr_obj *o, const void *arg),
			     const void *arg);

/*
 * Returns the live object at that address, whatever the argument is, or NULL. Searches the slabs.
 */
struct dpr_obj *dpr_obj_any(DAT_HANDLE handle);

#endif

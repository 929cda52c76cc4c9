/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Handles. A DAT handle is the address of an object whose first word is the provider's table; that
 * is how the registry finds us. Objects live in slabs, one per kind, that are never unmapped and
 * whose objects are constructed once: a freed handle, or one of another kind, is read without
 * harm and refused, and a lock in it may be taken by a thread that comes late.
 *
 * Life: dpr_obj_new (on the list of its interface adapter, one reference held by the handle),
 * dpr_obj_kill (the handle is refused from here on), dpr_obj_put of the last reference (back
 * to the slab). Whatever works on an object without its handle - a queue entry, a connection in the
 * making, the loop thread - holds a reference.
 */
#ifndef DAT_PROVIDER_IA_OBJ_H
#define DAT_PROVIDER_IA_OBJ_H

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
	const DAT_PROVIDER *table; /* must stay first; of the interface adapter */
	_Atomic uint32_t kind;     /* enum dpr_kind; DPR_FREE once killed */
	_Atomic uint32_t refs;
	_Atomic uint32_t uses;     /* other live objects that need this one: *_IN_USE */
	const struct dpr_class *cls; /* of the slot, for ever */
	struct dpr_ia *ia;           /* held; the object itself if it is an adapter */
	struct ut_list of_ia;        /* guarded by ia->lock */
	DAT_CONTEXT context;         /* the consumer's; guarded by ia->lock */
};

/* Each kind tells its slab how large it is, how a slot is made once and what the last put does. */
struct dpr_class {
	enum dpr_kind kind;
	DAT_HANDLE_TYPE type; /* what dat_get_handle_type says */
	size_t size;
	void (*construct)(struct dpr_obj *o); /* once per slot: locks; may be NULL */
	void (*release)(struct dpr_obj *o);   /* at the last put, no lock held; may be NULL */
	/* dat_ia_close abrupt: as the kind's free call, whatever the state. Kinds are closed in the
	 * order CR, EP, RSP, PSP, CSP, RMR, LMR, SRQ, EVD, CNO, PZ. */
	void (*close)(struct dpr_obj *o);
};

/*
 * NULL: no memory. `ia` is NULL for an adapter. All bytes behind struct dpr_obj that `construct` did
 * not make are kept from the slot's former life: the caller sets every field. Nobody knows the
 * handle yet, but dat_ia_close in another thread may find the object, so fields that `close` reads
 * are set before anything that takes long. A slot just freed is the last to be used again.
 */
void *dpr_obj_new(struct dpr_ia *ia, enum dpr_kind kind);
/* Off the adapter's list and refused as a handle. False if another thread was first. */
_Bool dpr_obj_kill(struct dpr_obj *o);
void dpr_obj_put(struct dpr_obj *o);

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

/* The object behind a handle, or NULL: NULL, misaligned, freed, or of another kind. */
static inline void *dpr_obj_of(DAT_HANDLE handle, enum dpr_kind kind)
{
	struct dpr_obj *o = (struct dpr_obj *)handle;

	if (!o || ((uintptr_t)o & 7))
		return NULL;
	return atomic_load_explicit(&o->kind, memory_order_acquire) == kind ? o : NULL;
}

/* The oldest object of the adapter that `is` says yes to, held; NULL: none. `is` runs under ia->lock. */
struct dpr_obj *dpr_obj_find(struct dpr_ia *ia, _Bool (*is)(struct dpr_obj *o, const void *arg),
			     const void *arg);

/* Any live object of ours, whatever the argument: looked for in the slabs. NULL if it is none. */
struct dpr_obj *dpr_obj_any(DAT_HANDLE handle);

#define DPR_ERR(type, sub) (DAT_ERROR(type, sub))

/*
 * The argument checks of dat_*_query. Returns INVALID_HANDLE with `sub` if there is no object,
 * INVALID_PARAMETER if `unknown` has bits (those of the mask that the kind does not know) or
 * `param` is NULL, else DAT_SUCCESS.
 */
static inline DAT_RETURN dpr_query_args(const void *object, DAT_RETURN_SUBTYPE sub,
					uint64_t unknown, const void *param)
{
	if (!object)
		return DPR_ERR(DAT_INVALID_HANDLE, sub);
	if (unknown)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return param ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

#endif

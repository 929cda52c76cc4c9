/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Objects and their handles. A handle is the address of an object, whose first word leads to the provider's table.
 *
 * An object ends in two ways. The device may leave below it: `detach` gives back what belongs to the device, and the
 * object stays until the consumer frees it; each call of it that needs the device fails with INTERNAL_ERROR then. Or
 * the consumer frees it: `detach`, then `finish` drops what the object holds. `life` makes both exclusive.
 *
 * A reference keeps the memory; a use keeps the consumer from freeing (dat_pz_free: PZ_IN_USE).
 */
#ifndef KDAPL_OBJ_H
#define KDAPL_OBJ_H

#include "dat/core/core.h"

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>

struct kdp_ia;
struct kdp_obj;

struct kdp_class {
	DAT_HANDLE_TYPE type;
	const char *cache; /* its name in /proc/slabinfo */
	unsigned int size;
	void (*detach)(struct kdp_obj *o);  /* called with life held, once; or NULL */
	void (*finish)(struct kdp_obj *o);  /* called with life held, once; or NULL */
	void (*release)(struct kdp_obj *o); /* frees what belongs to the memory; or NULL */
};

struct kdp_obj {
	const DAT_PROVIDER *table; /* DAT_HANDLE_TO_PROVIDER; immutable */
	u32 alive;                 /* KDP_ALIVE until the handle ends */
	bool hidden;               /* the provider's own: no consumer counts it; immutable */
	bool detached;             /* life */
	const struct kdp_class *class; /* immutable */
	struct kdp_ia *ia;         /* immutable */
	DAT_CONTEXT context;       /* the consumer's */
	struct list_head of_ia;    /* ia->lock */
	struct kref ref;
	atomic_t uses;
	struct mutex life;
};

#define KDP_ALIVE 0x4b444150 /* "KDAP" */

/* Makes and destroys the caches of all kinds. */
int kdp_obj_init(void);
void kdp_obj_exit(void);

/* Returns a zeroed object with one reference, that of its handle, in the list of ia; or NULL. */
void *kdp_obj_new(struct kdp_ia *ia, const struct kdp_class *class, bool hidden);
void kdp_obj_put(struct kdp_obj *o);
/* Ends the handle. Returns false if it has ended, or if `only_unused` and there are uses. May sleep. */
bool kdp_obj_end(struct kdp_obj *o, bool only_unused);
/* Ends the handle of an object that no consumer has seen. May sleep; also in a handler of the connection manager. */
void kdp_obj_drop(struct kdp_obj *o);
/* The device leaves. May sleep. */
void kdp_obj_detach(struct kdp_obj *o);
/* Returns the oldest object of ia of that type, with a reference, that is alive; or, if `attached`, not
 * detached, whether or not its end is under way. NULL: none. */
struct kdp_obj *kdp_obj_first(struct kdp_ia *ia, DAT_HANDLE_TYPE type, bool attached);

static inline void kdp_obj_hold(struct kdp_obj *o)
{
	kref_get(&o->ref);
}

static inline void kdp_use(struct kdp_obj *o)
{
	kdp_obj_hold(o);
	atomic_inc(&o->uses);
}

static inline void kdp_unuse(struct kdp_obj *o)
{
	atomic_dec(&o->uses);
	kdp_obj_put(o);
}

/* Returns the object of a handle if it is alive and of that kind, else NULL. */
static inline void *kdp_obj_of(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct kdp_obj *o = handle;

	return o && READ_ONCE(o->alive) == KDP_ALIVE && o->class->type == type ? o : NULL;
}

/* The tables of classes, for obj.c. */
extern const struct kdp_class kdp_ia_class, kdp_evd_class, kdp_ep_class, kdp_pz_class, kdp_lmr_class, kdp_rmr_class,
	kdp_srq_class, kdp_psp_class, kdp_rsp_class, kdp_csp_class, kdp_cr_class;

DAT_RETURN kdp_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context);
DAT_RETURN kdp_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context);
DAT_RETURN kdp_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type);

#endif

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/obj.h"

#include "kdapl/ia.h"

#include <linux/slab.h>

static const struct kdp_class *const classes[] = {
	&kdp_ia_class, &kdp_evd_class, &kdp_ep_class, &kdp_pz_class, &kdp_lmr_class, &kdp_rmr_class,
	&kdp_srq_class, &kdp_psp_class, &kdp_rsp_class, &kdp_csp_class, &kdp_cr_class,
};

static struct kmem_cache *caches[DAT_HANDLE_TYPE_EXTENSION_BASE]; /* by type; constant after kdp_obj_init */

/* For lockdep: an object ends others, of another type or hidden. So `life` is a class of its own for each. */
static struct lock_class_key life_keys[DAT_HANDLE_TYPE_EXTENSION_BASE][2];
/* The subclass of kdp_obj_drop: handlers of the connection manager call it, while ends wait for such handlers. */
enum { LIFE_SEEN, LIFE_UNSEEN };

/* A cache with a constructor is not merged with others, so its counts in slabinfo are those of this kind. */
static void construct(void *p)
{
	((struct kdp_obj *)p)->alive = 0;
}

int kdp_obj_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(classes); i++) {
		const struct kdp_class *c = classes[i];

		/* regions are looked up by their contexts without a reference */
		caches[c->type] = kmem_cache_create(c->cache, c->size, 0,
						    SLAB_HWCACHE_ALIGN | SLAB_TYPESAFE_BY_RCU, construct);
		if (!caches[c->type]) {
			kdp_obj_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

void kdp_obj_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(caches); i++)
		kmem_cache_destroy(caches[i]);
	memset(caches, 0, sizeof(caches));
}

void *kdp_obj_new(struct kdp_ia *ia, const struct kdp_class *class, bool hidden)
{
	struct kdp_obj *o = kmem_cache_alloc(caches[class->type], GFP_KERNEL);
	unsigned long flags;

	if (!o)
		return NULL;
	memset(o, 0, class->size);
	o->class = class;
	o->hidden = hidden;
	o->ia = ia ? ia : (struct kdp_ia *)o;
	o->table = ia ? ia->obj.table : NULL;
	kref_init(&o->ref);
	atomic_set(&o->uses, 0);
	mutex_init(&o->life);
	lockdep_set_class_and_name(&o->life, &life_keys[class->type][hidden], class->cache);
	INIT_LIST_HEAD(&o->of_ia);
	if (ia) {
		kdp_obj_hold(&ia->obj);
		spin_lock_irqsave(&ia->lock, flags);
		list_add_tail(&o->of_ia, &ia->objs);
		spin_unlock_irqrestore(&ia->lock, flags);
	}
	WRITE_ONCE(o->alive, KDP_ALIVE);
	return o;
}

static void release(struct kref *ref)
{
	struct kdp_obj *o = container_of(ref, struct kdp_obj, ref);
	struct kdp_ia *ia = o->ia;

	if (o->class->release)
		o->class->release(o);
	mutex_destroy(&o->life);
	kmem_cache_free(caches[o->class->type], o);
	if ((struct kdp_obj *)ia != o)
		kdp_obj_put(&ia->obj);
}

void kdp_obj_put(struct kdp_obj *o)
{
	kref_put(&o->ref, release);
}

static void unlink(struct kdp_obj *o)
{
	unsigned long flags;

	if ((struct kdp_obj *)o->ia == o)
		return;
	spin_lock_irqsave(&o->ia->lock, flags);
	list_del_init(&o->of_ia);
	spin_unlock_irqrestore(&o->ia->lock, flags);
}

static void detach_locked(struct kdp_obj *o)
{
	if (!o->detached && o->class->detach)
		o->class->detach(o);
	o->detached = true;
}

static bool end(struct kdp_obj *o, bool only_unused, unsigned int subclass)
{
	bool mine;

	mutex_lock_nested(&o->life, subclass);
	mine = o->alive == KDP_ALIVE && !(only_unused && atomic_read(&o->uses));
	if (mine) {
		WRITE_ONCE(o->alive, 0);
		detach_locked(o);
		if (o->class->finish)
			o->class->finish(o);
	}
	mutex_unlock(&o->life);
	if (!mine)
		return false;
	unlink(o);
	kdp_obj_put(o);
	return true;
}

bool kdp_obj_end(struct kdp_obj *o, bool only_unused)
{
	return end(o, only_unused, LIFE_SEEN);
}

void kdp_obj_drop(struct kdp_obj *o)
{
	end(o, false, LIFE_UNSEEN);
}

void kdp_obj_detach(struct kdp_obj *o)
{
	mutex_lock(&o->life);
	detach_locked(o);
	mutex_unlock(&o->life);
}

struct kdp_obj *kdp_obj_first(struct kdp_ia *ia, DAT_HANDLE_TYPE type, bool attached)
{
	struct kdp_obj *o, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&ia->lock, flags);
	list_for_each_entry(o, &ia->objs, of_ia) {
		/* an object whose end is under way is waited for by whoever detaches it */
		/* objects of the provider's own end with what they belong to */
		if (o->class->type != type || (o->hidden && !attached))
			continue;
		if (attached ? o->detached : READ_ONCE(o->alive) != KDP_ALIVE)
			continue;
		kdp_obj_hold(o);
		found = o;
		break;
	}
	spin_unlock_irqrestore(&ia->lock, flags);
	return found;
}

/* --- calls on any handle --- */

static struct kdp_obj *any(DAT_HANDLE handle)
{
	struct kdp_obj *o = handle;

	return o && READ_ONCE(o->alive) == KDP_ALIVE ? o : NULL;
}

DAT_RETURN kdp_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	struct kdp_obj *o = any(handle);

	if (!o)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	o->context = context;
	return DAT_SUCCESS;
}

DAT_RETURN kdp_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	struct kdp_obj *o = any(handle);

	if (!o)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!context)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	*context = o->context;
	return DAT_SUCCESS;
}

DAT_RETURN kdp_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	struct kdp_obj *o = any(handle);

	if (!o)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!type)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	*type = o->class->type;
	return DAT_SUCCESS;
}

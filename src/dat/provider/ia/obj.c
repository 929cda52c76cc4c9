/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A slab is a mapping that is never given back; its slots belong to one class for ever. Freed slots
 * queue up behind the unused ones, so that a stale handle is refused for as long as possible. There
 * are few slabs, and only dpr_obj_any searches them.
 */
#include "dat/provider/ia/obj.h"

#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SLAB_BYTES (64u << 10)

struct slab {
	struct slab *next; /* constant once published */
	const struct dpr_class *cls;
	size_t stride, slots;
};

struct pool {
	struct ut_list free; /* of_ia of free slots, the oldest first */
};

static struct ut_mutex lock = UT_MUTEX_INIT;
static struct pool pools[DPR_KINDS] UT_GUARDED_BY(lock);
static unsigned int live UT_GUARDED_BY(lock), most UT_GUARDED_BY(lock); /* objects outside of their slabs */
static _Atomic(struct slab *) slabs;

static size_t slab_first(void)
{
	return (sizeof(struct slab) + 63) & ~(size_t)63;
}

static struct dpr_obj *slot(struct slab *s, size_t i)
{
	return (struct dpr_obj *)((char *)s + slab_first() + i * s->stride);
}

static int pool_grow(const struct dpr_class *cls) UT_REQUIRES(lock)
{
	size_t stride = (cls->size + 63) & ~(size_t)63, bytes = SLAB_BYTES;
	struct slab *s;

	if (bytes < slab_first() + 4 * stride)
		bytes = slab_first() + 4 * stride;
	s = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return -ENOMEM;
	*s = (struct slab){ .cls = cls, .stride = stride,
			    .slots = (bytes - slab_first()) / stride };
	for (size_t i = 0; i < s->slots; i++) {
		struct dpr_obj *o = slot(s, i);

		o->cls = cls;
		if (cls->construct)
			cls->construct(o);
		ut_list_add_tail(&pools[cls->kind].free, &o->of_ia);
	}
	s->next = atomic_load_explicit(&slabs, memory_order_relaxed);
	atomic_store_explicit(&slabs, s, memory_order_release);
	return 0;
}

static struct dpr_obj *pool_take(const struct dpr_class *cls)
{
	struct ut_list *free = &pools[cls->kind].free;
	struct ut_list *n = NULL;

	ut_lock(&lock);
	if (!free->next)
		ut_list_init(free);
	if (!ut_list_empty(free) || !pool_grow(cls))
		n = ut_list_pop(free);
	live += !!n;
	if (live > most)
		most = live;
	ut_unlock(&lock);
	return n ? ut_container(n, struct dpr_obj, of_ia) : NULL;
}

unsigned int dpr_obj_most(void)
{
	unsigned int n;

	ut_lock(&lock);
	n = most;
	ut_unlock(&lock);
	return n;
}

void *dpr_obj_new(struct dpr_ia *ia, enum dpr_kind kind)
{
	struct dpr_obj *o = pool_take(dpr_classes[kind]);

	if (!o)
		return NULL;
	if (!ia)
		ia = ut_container(o, struct dpr_ia, obj);
	else
		dpr_obj_hold(&ia->obj);
	o->table = &ia->table;
	o->ia = ia;
	memset(&o->context, 0, sizeof(o->context));
	atomic_store_explicit(&o->refs, 1, memory_order_relaxed);
	atomic_store_explicit(&o->uses, 0, memory_order_relaxed);
	if (kind == DPR_IA) {
		ut_list_init(&o->of_ia);
		atomic_store_explicit(&o->kind, kind, memory_order_release);
		return o;
	}
	ut_lock(&ia->lock);
	ut_list_add_tail(&ia->objs, &o->of_ia);
	atomic_store_explicit(&o->kind, kind, memory_order_release);
	ut_unlock(&ia->lock);
	return o;
}

_Bool dpr_obj_kill(struct dpr_obj *o)
{
	uint32_t kind = o->cls->kind;

	if (!atomic_compare_exchange_strong(&o->kind, &kind, DPR_FREE))
		return false;
	if (o->cls->kind != DPR_IA) {
		ut_lock(&o->ia->lock);
		ut_list_del(&o->of_ia);
		ut_unlock(&o->ia->lock);
	}
	return true;
}

void dpr_obj_put(struct dpr_obj *o)
{
	struct dpr_ia *ia = o->ia;
	bool adapter = o->cls->kind == DPR_IA;

	if (atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (o->cls->release)
		o->cls->release(o);
	ut_lock(&lock);
	ut_list_add_tail(&pools[o->cls->kind].free, &o->of_ia);
	live--;
	ut_unlock(&lock);
	if (!adapter)
		dpr_obj_put(&ia->obj);
}

void dpr_obj_end(struct dpr_obj *o, unsigned counter)
{
	if (!dpr_obj_kill(o))
		return;
	dpr_count(&o->ia->counters[counter], 1);
	dpr_obj_put(o);
}

DAT_RETURN dpr_obj_undo(struct dpr_obj *o, DAT_RETURN why)
{
	if (dpr_obj_kill(o))
		dpr_obj_put(o);
	return why;
}

struct dpr_obj *dpr_obj_find(struct dpr_ia *ia, _Bool (*is)(struct dpr_obj *o, const void *arg),
			     const void *arg)
{
	struct dpr_obj *o, *found = NULL;

	ut_lock(&ia->lock);
	ut_list_each(o, &ia->objs, of_ia) {
		if (!is(o, arg))
			continue;
		found = o;
		dpr_obj_hold(o);
		break;
	}
	ut_unlock(&ia->lock);
	return found;
}

struct dpr_obj *dpr_obj_any(DAT_HANDLE handle)
{
	uintptr_t at = (uintptr_t)handle;
	struct slab *s = atomic_load_explicit(&slabs, memory_order_acquire);

	for (; s; s = s->next) {
		uintptr_t first = (uintptr_t)slot(s, 0);

		if (at < first || at >= first + s->slots * s->stride)
			continue;
		if ((at - first) % s->stride)
			return NULL;
		struct dpr_obj *o = (struct dpr_obj *)at;

		return atomic_load_explicit(&o->kind, memory_order_acquire) == DPR_FREE ? NULL : o;
	}
	return NULL;
}

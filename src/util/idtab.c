/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/idtab.h"

#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

static int grow(struct ut_idtab *t)
{
	struct ut_idtab old = *t;
	uint32_t cap = old.cap ? old.cap * 2 : 16;
	struct ut_idtab_slot *v = ut_calloc(cap, sizeof(*v));

	if (!v)
		return -ENOMEM;
	t->v = v;
	t->cap = cap;
	for (uint32_t i = 0; i < old.cap; i++)
		if (old.v[i].obj)
			*ut_idtab_find(t, old.v[i].id) = old.v[i];
	free(old.v);
	return 0;
}

int ut_idtab_add(struct ut_idtab *t, uint32_t id, void *obj)
{
	struct ut_idtab_slot *s;

	if (2 * (t->used + 1) > t->cap && grow(t) < 0)
		return -ENOMEM;
	s = ut_idtab_find(t, id);
	if (s->obj)
		return -EEXIST;
	*s = (struct ut_idtab_slot){ id, obj };
	t->used++;
	return 0;
}

/* Moves later entries of the run into the gap, so that each stays reachable from its home slot and
 * no tombstone is needed. */
static void close_gap(struct ut_idtab *t, uint32_t gap)
{
	uint32_t mask = t->cap - 1;

	for (uint32_t i = (gap + 1) & mask; t->v[i].obj; i = (i + 1) & mask) {
		uint32_t h = ut_idtab_home(t, t->v[i].id);

		if (((i - h) & mask) >= ((i - gap) & mask)) {
			t->v[gap] = t->v[i];
			t->v[i].obj = NULL;
			gap = i;
		}
	}
}

void *ut_idtab_del(struct ut_idtab *t, uint32_t id)
{
	struct ut_idtab_slot *s = t->cap ? ut_idtab_find(t, id) : NULL;
	void *obj = s ? s->obj : NULL;

	if (!obj)
		return NULL;
	s->obj = NULL;
	t->used--;
	if (t->last.id == id)
		t->last.obj = NULL;
	close_gap(t, (uint32_t)(s - t->v));
	return obj;
}

void ut_idtab_fini(struct ut_idtab *t)
{
	free(t->v);
	*t = (struct ut_idtab){ 0 };
}

void *ut_idtab_next(const struct ut_idtab *t, uint32_t *pos)
{
	while (*pos < t->cap) {
		struct ut_idtab_slot *s = &t->v[(*pos)++];

		if (s->obj)
			return s->obj;
	}
	return NULL;
}

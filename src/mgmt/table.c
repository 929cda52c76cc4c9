/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/table.h"

#include "util/alloc.h"

struct slot {
	uint64_t key;
	void *obj;	/* NULL: free */
};

struct fab_table {
	struct slot *v;
	uint32_t cap, used;
};

#define CAP_MIN 64u

static uint32_t home(const struct fab_table *t, uint64_t key)
{
	key *= 0x9e3779b97f4a7c15u;
	return (uint32_t)(key >> 32) & (t->cap - 1);
}

static struct slot *find(const struct fab_table *t, uint64_t key)
{
	uint32_t i = home(t, key);

	while (t->v[i].obj && t->v[i].key != key)
		i = (i + 1) & (t->cap - 1);
	return &t->v[i];
}

struct fab_table *fab_table_new(void)
{
	struct fab_table *t = ut_zalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->cap = CAP_MIN;
	t->v = ut_calloc(t->cap, sizeof(*t->v));
	if (!t->v) {
		free(t);
		return NULL;
	}
	return t;
}

void fab_table_free(struct fab_table *t)
{
	if (!t)
		return;
	free(t->v);
	free(t);
}

static int grow(struct fab_table *t)
{
	struct fab_table wider = { .cap = t->cap * 2, .used = t->used };
	uint32_t i;

	wider.v = ut_calloc(wider.cap, sizeof(*wider.v));
	if (!wider.v)
		return -ENOMEM;
	for (i = 0; i < t->cap; i++)
		if (t->v[i].obj)
			*find(&wider, t->v[i].key) = t->v[i];
	free(t->v);
	*t = wider;
	return 0;
}

int fab_table_add(struct fab_table *t, uint64_t key, void *obj)
{
	struct slot *s = find(t, key);

	if (s->obj)
		return s->obj == obj ? 0 : -EEXIST;
	if (t->used * 2 >= t->cap) {
		if (grow(t) < 0)
			return -ENOMEM;
		s = find(t, key);
	}
	*s = (struct slot){ .key = key, .obj = obj };
	t->used++;
	return 0;
}

void *fab_table_get(const struct fab_table *t, uint64_t key)
{
	return find(t, key)->obj;
}

/* Entries behind the removed one move up, unless they would come before their home. */
void fab_table_del(struct fab_table *t, uint64_t key, const void *obj)
{
	struct slot *s = find(t, key);
	uint32_t gap, i;

	if (!s->obj || s->obj != obj)
		return;
	gap = (uint32_t)(s - t->v);
	for (i = (gap + 1) & (t->cap - 1); t->v[i].obj; i = (i + 1) & (t->cap - 1)) {
		uint32_t h = home(t, t->v[i].key);

		if (((i - h) & (t->cap - 1)) >= ((i - gap) & (t->cap - 1))) {
			t->v[gap] = t->v[i];
			gap = i;
		}
	}
	t->v[gap].obj = NULL;
	t->used--;
}

/* FNV-1a. */
uint64_t fab_table_hash(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 0x100000001b3u;
	return h;
}

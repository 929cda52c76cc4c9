/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Objects by number, where peers send the number: QPNs, keys, communication IDs. The caller picks
 * the number (random where the wire shows it). The table is an open-addressed hash, at most half
 * full, so a look-up is one probe in the common case and a 24-bit space needs no 16 million slots.
 */
#ifndef UTIL_IDTAB_H
#define UTIL_IDTAB_H

#include <stddef.h>
#include <stdint.h>

struct ut_idtab_slot {
	uint32_t id;
	void *obj; /* NULL = free */
};

struct ut_idtab {
	struct ut_idtab_slot *v;
	uint32_t cap;  /* power of two, or 0 */
	uint32_t used; /* live entries */
	struct ut_idtab_slot last; /* that ut_idtab_get_again() found; obj NULL: none */
};

/* Returns 0, -EEXIST (number taken) or -ENOMEM. obj must not be NULL. */
int ut_idtab_add(struct ut_idtab *t, uint32_t id, void *obj);
/* Removes the number. Returns its object, or NULL if there was none. */
void *ut_idtab_del(struct ut_idtab *t, uint32_t id);
/* Frees the table, not the objects. */
void ut_idtab_fini(struct ut_idtab *t);

/* Multiplicative hashing: sequential and random numbers both spread. */
static inline uint32_t ut_idtab_home(const struct ut_idtab *t, uint32_t id)
{
	return (id * 0x9e3779b1u ^ id >> 15) & (t->cap - 1);
}

/* Returns the slot of id, or the free slot for it. The capacity must not be 0. */
static inline struct ut_idtab_slot *ut_idtab_find(const struct ut_idtab *t, uint32_t id)
{
	uint32_t i = ut_idtab_home(t, id);

	while (t->v[i].obj && t->v[i].id != id)
		i = (i + 1) & (t->cap - 1);
	return &t->v[i];
}

/* Returns the object of id, or NULL. Inline: called several times a message. */
static inline void *ut_idtab_get(const struct ut_idtab *t, uint32_t id)
{
	return t->cap ? ut_idtab_find(t, id)->obj : NULL;
}

/* The same where one number is often looked up again, and no other thread reads the table. */
static inline void *ut_idtab_get_again(struct ut_idtab *t, uint32_t id)
{
	void *obj = t->last.obj;

	if (obj && t->last.id == id)
		return obj;
	obj = ut_idtab_get(t, id);
	if (obj)
		t->last = (struct ut_idtab_slot){ id, obj };
	return obj;
}

/* Iterates in no order: *pos starts at 0; returns NULL at the end. The table must not change
 * meanwhile. */
void *ut_idtab_next(const struct ut_idtab *t, uint32_t *pos);

#endif

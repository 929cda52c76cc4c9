/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A hash table from 64-bit keys (GUIDs, hashes of names) to objects. Open addressing, at most half full. */
#ifndef MGMT_TABLE_H
#define MGMT_TABLE_H

#include <stdint.h>

struct fab_table;

/* Returns an empty table, or NULL if there is no memory. */
struct fab_table *fab_table_new(void);
void fab_table_free(struct fab_table *t);

/* Returns 0, -EEXIST if the key is there with another object, or -ENOMEM. The object must not be NULL. */
int fab_table_add(struct fab_table *t, uint64_t key, void *obj);
/* Returns the object of the key, or NULL. */
void *fab_table_get(const struct fab_table *t, uint64_t key);
/* Removes the key if it has this object. */
void fab_table_del(struct fab_table *t, uint64_t key, const void *obj);

/* The key of a name. */
uint64_t fab_table_hash(const char *name);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/vlarb.h"

#include <stdbool.h>
#include <stddef.h>

#define LIMIT_UNIT 4096u	/* bytes of a unit of VLHighLimit (14.2.5.6) */
#define WEIGHT_UNIT 64u

/* Without tables: each data VL with the smallest weight, which one packet uses up. */
static const uint8_t equal[VLARB_BYTES] = {
	0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1, 7, 1, 8, 1, 9, 1, 10, 1, 11, 1, 12, 1, 13, 1, 14, 1,
};

/* The entry that is served keeps its turn while it has weight and its VL is ready. */
static int pick(struct vlarb *a, enum vlarb_table t, const uint8_t *table, unsigned ready)
{
	unsigned n;

	for (n = 0; n <= VLARB_ENTRIES; n++) {
		unsigned vl = table[2 * a->at[t]] & 15;

		if (a->left[t] && ready >> vl & 1)
			return (int)vl;
		a->at[t] = (uint8_t)((a->at[t] + 1) % VLARB_ENTRIES);
		a->left[t] = table[2 * a->at[t] + 1];
	}
	return -1;
}

/* Limit 0: one packet at a time. */
static bool may_be_high(const struct vlarb *a, unsigned limit)
{
	return limit == VLARB_UNBOUNDED || !a->high_bytes || a->high_bytes < limit * LIMIT_UNIT;
}

int vlarb_next(struct vlarb *a, const uint8_t *tables, unsigned limit, unsigned ready, enum vlarb_table *ret_table)
{
	const uint8_t *high = tables ? tables + VLARB_BYTES : NULL;
	int vl = high && may_be_high(a, limit) ? pick(a, VLARB_HIGH, high, ready) : -1;

	*ret_table = VLARB_HIGH;
	if (vl >= 0)
		return vl;
	a->high_bytes = 0;
	vl = pick(a, VLARB_LOW, tables ? tables : equal, ready);
	if (vl < 0 && high)
		return pick(a, VLARB_HIGH, high, ready);
	*ret_table = VLARB_LOW;
	return vl;
}

void vlarb_sent(struct vlarb *a, enum vlarb_table table, uint32_t bytes)
{
	uint32_t units = (bytes + WEIGHT_UNIT - 1) / WEIGHT_UNIT;

	a->left[table] = (uint8_t)(units < a->left[table] ? a->left[table] - units : 0);
	if (table == VLARB_HIGH)
		a->high_bytes += bytes;
}

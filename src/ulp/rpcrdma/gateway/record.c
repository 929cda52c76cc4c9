/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/gateway/record.h"

#include "wire/field.h"

#include <errno.h>

#define LAST_FRAGMENT 0x80000000u

void rpg_record_init(struct rpg_record *r, size_t max)
{
	*r = (struct rpg_record){ .max = max };
}

size_t rpg_record_want(const struct rpg_record *r, bool *ret_mark, size_t *ret_at)
{
	*ret_mark = r->have < RPG_MARK_LEN;
	*ret_at = *ret_mark ? r->have : r->len;
	return *ret_mark ? RPG_MARK_LEN - r->have : r->left;
}

/* The end of a fragment. */
static int ended(struct rpg_record *r)
{
	r->have = 0;
	return r->last;
}

int rpg_record_take(struct rpg_record *r, size_t n)
{
	uint32_t word;

	if (r->have == RPG_MARK_LEN) {
		r->left -= (uint32_t)n;
		r->len += n;
		return r->left ? 0 : ended(r);
	}
	if (!r->have && r->last) { /* behind a complete record */
		r->len = 0;
		r->last = false;
	}
	r->have += (unsigned)n;
	if (r->have < RPG_MARK_LEN)
		return 0;
	word = wire_get32(r->mark);
	r->last = word & LAST_FRAGMENT;
	r->left = word & ~LAST_FRAGMENT;
	if (r->left > r->max - r->len)
		return -EMSGSIZE;
	return r->left ? 0 : ended(r);
}

void rpg_record_mark(uint8_t mark[RPG_MARK_LEN], size_t len)
{
	wire_put32(mark, LAST_FRAGMENT | (uint32_t)len);
}

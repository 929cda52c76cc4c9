/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RPC messages on a stream (RFC 5531, 11): fragments, each behind a word with its length and, in the highest bit,
 * whether it is the last one of its record.
 */
#ifndef ULP_RPCRDMA_GATEWAY_RECORD_H
#define ULP_RPCRDMA_GATEWAY_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPG_MARK_LEN 4

struct rpg_record {
	uint8_t mark[RPG_MARK_LEN];
	unsigned have;         /* bytes of the mark */
	bool last;
	uint32_t left;         /* of the fragment */
	size_t len, max;       /* of the record so far, and at most */
};

void rpg_record_init(struct rpg_record *r, size_t max);

/* Where the next bytes go: into the mark, or at offset *ret_at of the record. Returns how many are wanted, at least one. */
size_t rpg_record_want(const struct rpg_record *r, bool *ret_mark, size_t *ret_at);

/* Takes n of the wanted bytes, which are there. Returns 1 if the record is complete (r->len bytes; the next one begins), 0 if
 * not, -EMSGSIZE if it is longer than max. */
int rpg_record_take(struct rpg_record *r, size_t n);

/* The mark of a record in one fragment. */
void rpg_record_mark(uint8_t mark[RPG_MARK_LEN], size_t len);

#endif

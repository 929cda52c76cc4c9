/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The form of a reply (RFC 8166, 3.4.6 and 4.4), without memory of the peer: which bytes go into the chunks that
 * the call offered, and what the header returns.
 */
#ifndef ULP_RPCRDMA_REPLY_H
#define ULP_RPCRDMA_REPLY_H

#include "ulp/rpcrdma/header.h"
#include "ulp/rpcrdma/nfs.h"

/* `len` bytes of the reply from `from` on; into segments of a chunk, if one is named. */
struct rpr_part {
	size_t from, len;
};

struct rpr_reply {
	unsigned nr_items;                       /* item i goes into write chunk i, if its length there is not 0 */
	struct rpr_part item[RPR_WRITES_MAX];
	unsigned nr_rest;                        /* what is left, in order */
	struct rpr_part rest[RPR_WRITES_MAX + 1];
	size_t rest_len;
	bool in_chunk;                           /* the rest goes into the reply chunk, else behind the header */
};

/*
 * Chooses the form of a reply of `len` bytes. h is the header of its call, and becomes that of the reply: lists of what was
 * used, without the read list; xid, credits and procedure are set.
 */
enum rpr_verdict rpr_reply_form(struct rpr_reply *ret, struct rpr_header *h, const struct rpr_nfs *nfs,
				const uint8_t *data, size_t len, uint32_t credits, size_t send_max);

/* A key that the peer may have invalidated with the reply to this call: that of its first segment. Returns
 * false if it offered none. */
bool rpr_reply_key(const struct rpr_header *call, uint32_t *ret_key);

#endif

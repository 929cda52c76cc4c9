/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/reply.h"
#include "ulp/rpcrdma/xdr.h"

static void rest_add(struct rpr_reply *r, size_t from, size_t len)
{
	if (!len)
		return;
	r->rest[r->nr_rest++] = (struct rpr_part){ from, len };
	r->rest_len += len;
}

/* Data goes into write chunks in its order; chunks that stay empty return with length 0. */
static enum rpr_verdict items(struct rpr_reply *r, struct rpr_header *h, const struct rpr_nfs *nfs,
			      const uint8_t *data, size_t len)
{
	struct rpr_items found = { 0 };
	size_t at = 0;

	if (h->nr_writes)
		rpr_nfs_reply(nfs, data, len, &found);
	r->nr_items = h->nr_writes;
	for (unsigned i = 0; i < h->nr_writes; i++) {
		struct rpr_item item = i < found.nr ? found.item[i] : (struct rpr_item){ 0 };

		/* A chunk without room offers nothing. */
		if (!rpr_chunk_len(h, h->writes[i]))
			item.len = 0;
		r->item[i] = (struct rpr_part){ item.at, item.len };
		if (!rpr_chunk_use(h, h->writes[i], item.len))
			return RPR_CHUNK_SHORT;
		if (!item.len)
			continue;
		rest_add(r, at, item.at - at);
		at = item.at + rpr_xdr_round(item.len);
	}
	rest_add(r, at, len - at);
	return RPR_GOOD;
}

enum rpr_verdict rpr_reply_form(struct rpr_reply *ret, struct rpr_header *h, const struct rpr_nfs *nfs,
				const uint8_t *data, size_t len, uint32_t credits, size_t send_max)
{
	bool may_chunk = h->has_reply;
	enum rpr_verdict v;

	ret->nr_rest = 0;
	ret->rest_len = 0;
	h->nr_reads = 0;
	h->credits = credits;
	h->vers = RPR_VERSION;
	v = items(ret, h, nfs, data, len);
	if (v)
		return v;
	h->has_reply = false;
	h->proc = RPR_MSG;
	ret->in_chunk = rpr_header_len(h) + ret->rest_len > send_max;
	if (!ret->in_chunk)
		return RPR_GOOD;
	h->has_reply = true;
	h->proc = RPR_NOMSG;
	if (!may_chunk || !rpr_chunk_use(h, h->reply, ret->rest_len) || rpr_header_len(h) > send_max)
		return RPR_REPLY_SHORT;
	return RPR_GOOD;
}

bool rpr_reply_key(const struct rpr_header *call, uint32_t *ret_key)
{
	if (call->nr_reads)
		*ret_key = call->reads[0].segment.handle;
	else if (call->nr_segments)
		*ret_key = call->segments[0].handle;
	return call->nr_reads || call->nr_segments;
}

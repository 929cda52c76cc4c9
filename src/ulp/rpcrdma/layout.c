/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/layout.h"
#include "ulp/rpcrdma/xdr.h"

/* The body, as it is used up. */
struct body {
	const struct rpr_header *h;
	uint64_t left;
	uint64_t from;         /* inline: bytes used */
	unsigned segment;      /* at position zero: the next one, and bytes used of it */
	uint32_t used;
};

static bool add(struct rpr_layout *l, struct rpr_piece p)
{
	if (!p.len)
		return true;
	if (l->nr == RPR_PIECES_MAX)
		return false;
	p.at = l->len;
	l->piece[l->nr++] = p;
	l->len += p.len;
	l->nr_reads += p.kind == RPR_PIECE_READ;
	return true;
}

static bool add_read(struct rpr_layout *l, const struct rpr_segment *s, uint32_t from, uint32_t len)
{
	return add(l, (struct rpr_piece){ .kind = RPR_PIECE_READ, .len = len, .handle = s->handle,
					  .remote = s->offset + from });
}

/* Takes `len` bytes of the body, which has them. */
static bool add_body(struct rpr_layout *l, struct body *b, uint64_t len)
{
	const struct rpr_segment *s;
	uint32_t part;

	b->left -= len;
	if (b->h->proc == RPR_MSG) {
		b->from += len;
		return add(l, (struct rpr_piece){ .kind = RPR_PIECE_INLINE, .len = (uint32_t)len,
						  .from = (uint32_t)(b->from - len) });
	}
	while (len) {
		s = &b->h->reads[b->segment].segment;
		part = s->length - b->used;
		if (part > len)
			part = (uint32_t)len;
		if (!add_read(l, s, b->used, part))
			return false;
		b->used += part;
		len -= part;
		if (b->used == s->length) {
			b->segment++;
			b->used = 0;
		}
	}
	return true;
}

/* The segments of the position of reads[first]. Returns the number of the next one; *ret_len is their sum. */
static unsigned chunk_end(const struct rpr_header *h, unsigned first, uint64_t *ret_len)
{
	unsigned i = first;

	for (*ret_len = 0; i < h->nr_reads && h->reads[i].position == h->reads[first].position; i++)
		*ret_len += h->reads[i].segment.length;
	return i;
}

static enum rpr_verdict add_chunk(struct rpr_layout *l, struct body *b, unsigned first, unsigned end, uint64_t len)
{
	uint32_t position = b->h->reads[first].position;

	if (position < l->len || position - l->len > b->left)
		return RPR_BAD_POSITION;
	if (!add_body(l, b, position - l->len))
		return RPR_TOO_LONG;
	for (unsigned i = first; i < end; i++)
		if (!add_read(l, &b->h->reads[i].segment, 0, b->h->reads[i].segment.length))
			return RPR_TOO_LONG;
	return add(l, (struct rpr_piece){ .kind = RPR_PIECE_ZERO, .len = (uint32_t)(rpr_xdr_round(len) - len) })
		       ? RPR_GOOD : RPR_TOO_LONG;
}

static enum rpr_verdict body_begin(struct body *b, size_t inline_len, unsigned *ret_next)
{
	bool at_zero = b->h->nr_reads && b->h->reads[0].position == 0;

	*ret_next = 0;
	b->left = inline_len;
	if (b->h->proc == RPR_MSG)
		return at_zero ? RPR_TWO_BODIES : RPR_GOOD;
	if (!at_zero)
		return RPR_NO_BODY;
	*ret_next = chunk_end(b->h, 0, &b->left);
	return RPR_GOOD;
}

enum rpr_verdict rpr_layout_call(struct rpr_layout *l, const struct rpr_header *h, size_t inline_len, size_t max)
{
	struct body b = { .h = h };
	unsigned next, end;
	uint64_t len, sum;
	enum rpr_verdict v = body_begin(&b, inline_len, &next);

	l->len = 0;
	l->nr = l->nr_reads = 0;
	if (v)
		return v;
	/* The whole length first, so that no sum below passes 32 bits. */
	sum = b.left;
	for (unsigned i = next; i < h->nr_reads; i++)
		sum += h->reads[i].segment.length + 3ull;
	if (sum > max + 3ull * h->nr_reads || sum > UINT32_MAX)
		return RPR_TOO_LONG;
	for (; next < h->nr_reads; next = end) {
		end = chunk_end(h, next, &len);
		v = add_chunk(l, &b, next, end, len);
		if (v)
			return v;
	}
	if (!add_body(l, &b, b.left) || l->len > max)
		return RPR_TOO_LONG;
	return RPR_GOOD;
}

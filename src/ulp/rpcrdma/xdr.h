/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A cursor over XDR data (RFC 4506). A read beyond the end sets `bad` and returns zeros; the caller looks
 * once, at the end.
 */
#ifndef ULP_RPCRDMA_XDR_H
#define ULP_RPCRDMA_XDR_H

#include "wire/field.h"

#include <stdbool.h>
#include <stddef.h>

struct rpr_xdr {
	const uint8_t *data;
	size_t at, len;
	bool bad;
};

static inline size_t rpr_xdr_round(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

static inline size_t rpr_xdr_left(const struct rpr_xdr *x)
{
	return x->len - x->at;
}

/* Passes over n bytes. Returns where they lie, or NULL, and the cursor is bad. */
static inline const uint8_t *rpr_xdr_skip(struct rpr_xdr *x, size_t n)
{
	const uint8_t *at = x->data + x->at;

	if (x->bad || n > rpr_xdr_left(x)) {
		x->bad = true;
		return NULL;
	}
	x->at += n;
	return at;
}

static inline uint32_t rpr_xdr_u32(struct rpr_xdr *x)
{
	const uint8_t *p = rpr_xdr_skip(x, 4);

	return p ? wire_get32(p) : 0;
}

/* Passes over the bytes of an opaque of this length and its padding. */
static inline const uint8_t *rpr_xdr_fixed(struct rpr_xdr *x, uint32_t len)
{
	return rpr_xdr_skip(x, rpr_xdr_round(len));
}

/* Passes over a counted opaque. Returns its bytes, or NULL; *ret_len is its length. */
static inline const uint8_t *rpr_xdr_opaque(struct rpr_xdr *x, uint32_t *ret_len)
{
	*ret_len = rpr_xdr_u32(x);
	return rpr_xdr_fixed(x, *ret_len);
}

#endif

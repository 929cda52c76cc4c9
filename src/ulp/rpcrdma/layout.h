/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the bytes of a call go (RFC 8166, 3.4.5 and 3.5.3): the body is what lies inline, or the chunk at position
 * zero; further read chunks, each with padding, go between its parts.
 *
 *    body       AAAAAAAAAAAAAA BBBBBB            inline, or read from segments at position 0
 *    chunk                    CCCCCC             read from segments at position 14 * 4
 *    message    AAAAAAAAAAAAAACCCCCC00BBBBBB
 */
#ifndef ULP_RPCRDMA_LAYOUT_H
#define ULP_RPCRDMA_LAYOUT_H

#include "ulp/rpcrdma/header.h"

#define RPR_PIECES_MAX (3 * RPR_READS_MAX + 2)

enum rpr_piece_kind {
	RPR_PIECE_INLINE,      /* from byte `from` of the inline body */
	RPR_PIECE_READ,        /* from the peer's memory */
	RPR_PIECE_ZERO,        /* padding */
};

struct rpr_piece {
	enum rpr_piece_kind kind;
	uint32_t at, len;      /* in the message */
	uint32_t from;
	uint32_t handle;
	uint64_t remote;
};

struct rpr_layout {
	uint32_t len;          /* of the message */
	uint16_t nr, nr_reads;
	struct rpr_piece piece[RPR_PIECES_MAX];
};

/* Lays out a call with `inline_len` bytes behind its header and at most `max` bytes in all. */
enum rpr_verdict rpr_layout_call(struct rpr_layout *l, const struct rpr_header *h, size_t inline_len, size_t max);

#endif

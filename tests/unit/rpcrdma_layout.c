/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where the bytes of a call with read chunks go. */
#include "ulp/rpcrdma/layout.h"

#include "support/cases.h"
#include "support/check.h"

static struct rpr_header h;
static struct rpr_layout l;

static void begin(enum rpr_proc proc)
{
	rpr_header_init(&h, 1, 1, proc);
}

static void chunk(uint32_t position, uint32_t handle, uint32_t len)
{
	CHECK(rpr_header_add_read(&h, position, (struct rpr_segment){ handle, len, 1000 * handle }));
}

static void piece(unsigned i, enum rpr_piece_kind kind, uint32_t at, uint32_t len, uint64_t from)
{
	const struct rpr_piece *p = &l.piece[i];

	CHECK_MSG(i < l.nr && p->kind == kind && p->at == at && p->len == len, "piece %u: kind %d at %u len %u", i, p->kind,
		  p->at, p->len);
	CHECK(kind == RPR_PIECE_ZERO || (kind == RPR_PIECE_INLINE ? p->from : p->remote) == from);
}

static void inline_only(void)
{
	begin(RPR_MSG);
	CHECK(!rpr_layout_call(&l, &h, 100, 100) && l.len == 100 && l.nr == 1 && !l.nr_reads);
	piece(0, RPR_PIECE_INLINE, 0, 100, 0);
	CHECK(rpr_layout_call(&l, &h, 101, 100) == RPR_TOO_LONG);
	CHECK(!rpr_layout_call(&l, &h, 0, 100) && !l.len);
}

/* Data in the middle, in two segments, with padding. */
static void middle(void)
{
	begin(RPR_MSG);
	chunk(40, 1, 10);
	chunk(40, 2, 5);
	CHECK(!rpr_layout_call(&l, &h, 60, 1000) && l.len == 76 && l.nr == 5 && l.nr_reads == 2);
	piece(0, RPR_PIECE_INLINE, 0, 40, 0);
	piece(1, RPR_PIECE_READ, 40, 10, 1000);
	piece(2, RPR_PIECE_READ, 50, 5, 2000);
	piece(3, RPR_PIECE_ZERO, 55, 1, 0);
	piece(4, RPR_PIECE_INLINE, 56, 20, 40);
	CHECK(rpr_layout_call(&l, &h, 60, 75) == RPR_TOO_LONG);
	CHECK(!rpr_layout_call(&l, &h, 60, 76));
}

static void two_chunks(void)
{
	begin(RPR_MSG);
	chunk(40, 1, 8);
	chunk(52, 2, 4);
	CHECK(!rpr_layout_call(&l, &h, 48, 1000) && l.len == 60);
	piece(2, RPR_PIECE_INLINE, 48, 4, 40);
	piece(3, RPR_PIECE_READ, 52, 4, 2000);
	piece(4, RPR_PIECE_INLINE, 56, 4, 44);
	begin(RPR_MSG);
	chunk(40, 1, 8);
	chunk(44, 2, 4); /* inside the first one */
	CHECK(rpr_layout_call(&l, &h, 48, 1000) == RPR_BAD_POSITION);
}

static void position_zero(void)
{
	begin(RPR_NOMSG);
	chunk(0, 1, 30);
	chunk(0, 2, 34);
	CHECK(!rpr_layout_call(&l, &h, 0, 64) && l.len == 64 && l.nr == 2);
	piece(1, RPR_PIECE_READ, 30, 34, 2000);
	/* A chunk in the middle of a segment of it. */
	chunk(40, 3, 6);
	CHECK(!rpr_layout_call(&l, &h, 0, 100) && l.len == 72 && l.nr == 5);
	piece(0, RPR_PIECE_READ, 0, 30, 1000);
	piece(1, RPR_PIECE_READ, 30, 10, 2000);
	piece(2, RPR_PIECE_READ, 40, 6, 3000);
	piece(3, RPR_PIECE_ZERO, 46, 2, 0);
	piece(4, RPR_PIECE_READ, 48, 24, 2010);
}

static void refused(void)
{
	begin(RPR_NOMSG);
	CHECK(rpr_layout_call(&l, &h, 100, 1000) == RPR_NO_BODY);
	chunk(4, 1, 8);
	CHECK(rpr_layout_call(&l, &h, 100, 1000) == RPR_NO_BODY);
	begin(RPR_MSG);
	chunk(0, 1, 8);
	CHECK(rpr_layout_call(&l, &h, 100, 1000) == RPR_TWO_BODIES);
	begin(RPR_MSG);
	chunk(104, 1, 8); /* behind the end */
	CHECK(rpr_layout_call(&l, &h, 100, 1000) == RPR_BAD_POSITION);
	begin(RPR_MSG);
	for (unsigned i = 0; i < RPR_READS_MAX; i++)
		chunk(4, i, 0xffffffff);
	CHECK(rpr_layout_call(&l, &h, 100, 0xffffffff) == RPR_TOO_LONG);
	begin(RPR_MSG);
	for (unsigned i = 0; i < RPR_READS_MAX; i++)
		chunk(4 + 8 * i, i, 1);
	CHECK(!rpr_layout_call(&l, &h, 4 + 4 * RPR_READS_MAX, 100000) && l.nr == 3 * RPR_READS_MAX + 1);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "RFC8166-3.4.2", "a call inline", inline_only },
		{ "RFC8166-3.4.5", "a chunk in the middle", middle },
		{ "RFC8166-3.4.5", "two chunks", two_chunks },
		{ "RFC8166-3.5.3", "a chunk at position zero", position_zero },
		{ "RFC8166-3.5.3", "chunks that are refused", refused },
	};

	return RUN_CASES(cases, argc, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An allocator beside exported memory: blocks that malloc() gave are registered, written and read
 * by another process, deregistered and freed, while other threads allocate, resize and free theirs
 * around them. With DAPPLE_SHARE the pages of a registration become shared ones and private ones again
 * under the allocator, which must not notice: every block keeps its bytes, and calloc() gives zeros.
 */
#include "speed.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 24, THREADS = 2, LEAST = 16, SHARED_LEAST = 48 << 10, MOST = 512 << 10,
       SHORT = 250, LONG = 8000, WRITES = 4, OLD = 0x11 };

static struct page {
	uint64_t seed;
	atomic_bool has_arena; /* the exporting process, before any other process has one */
} *page;

struct block {
	uint8_t *at, tag;
	uint32_t len;
};

static void check(const struct block *b)
{
	if (b->at && !sp_all(b->at, b->len, b->tag))
		CF_DIE("a block of %u bytes was changed", b->len);
}

static void set(struct block *b, uint8_t *at, uint32_t len, uint8_t tag)
{
	CF_TRUE(at);
	memset(at, tag, len);
	*b = (struct block){ .at = at, .len = len, .tag = tag };
}

static void resize(struct block *b, uint32_t len, uint8_t tag)
{
	uint8_t *at = realloc(b->at, len);

	CF_TRUE(at);
	if (b->at && !sp_all(at, len < b->len ? len : b->len, b->tag))
		CF_DIE("realloc from %u to %u bytes lost some", b->len, len);
	set(b, at, len, tag);
}

static void renew(struct block *b, struct sp_rng *rng)
{
	uint32_t len = sp_size(rng, LEAST, MOST);
	uint8_t tag = (uint8_t)(1 + sp_below(rng, 255)), *at;

	check(b);
	switch (sp_below(rng, 3)) {
	case 0:
		resize(b, len, tag);
		break;
	case 1:
		free(b->at);
		at = calloc(1, len);
		CF_TRUE(at);
		if (!sp_all(at, len, 0))
			CF_DIE("calloc gave %u bytes that are not all zero", len);
		set(b, at, len, tag);
		break;
	default:
		free(b->at);
		set(b, malloc(len), len, tag);
	}
}

/* The last time, and they are freed. */
static void check_all(struct block b[BLOCKS])
{
	for (int i = 0; i < BLOCKS; i++) {
		check(&b[i]);
		free(b[i].at);
	}
}

/* --- beside it --- */

struct other {
	pthread_t id;
	uint64_t seed;
	atomic_bool stop;
};

static void *beside(void *arg)
{
	struct other *o = arg;
	struct sp_rng rng = { o->seed };
	struct block b[BLOCKS] = { 0 };

	while (!atomic_load(&o->stop))
		renew(&b[sp_below(&rng, BLOCKS)], &rng);
	check_all(b);
	return NULL;
}

/* --- the owner --- */

struct offer {
	uint64_t addr;
	uint32_t rkey, len;
};

static void use_one(struct cf_party *p, struct cf_side *s, struct block *b, uint32_t len)
{
	struct ibv_mr *mr;
	struct offer o;

	check(b);
	free(b->at);
	set(b, malloc(len), len, OLD);
	mr = cf_mr(s->pd, b->at, len, CF_ALL_ACCESS);
	o = (struct offer){ (uintptr_t)b->at, mr->rkey, len };
	cf_swap(p, &o, &(struct offer){ 0 }, sizeof(o));
	cf_meet(p);
	/* The other end has left the tag that all of it has now. */
	b->tag = b->at[0];
	check(b);
	cf_drop(mr);
	check(b);
}

/* Not the first thread: its allocator's memory is the program's heap, which is never exchanged. */
static void *exporter(void *arg)
{
	struct cf_party *p = arg;
	struct sp_rng rng = { page->seed };
	struct cf_opt o = cf_opt();
	struct block b[BLOCKS] = { 0 };
	struct cf_side s;

	free(malloc(SHARED_LEAST));
	atomic_store(&page->has_arena, true);
	cf_side(&s, &o);
	cf_connect(p, &s);
	for (int round = 0; round < sp_times(SHORT, LONG); round++)
		use_one(p, &s, &b[sp_below(&rng, BLOCKS)], sp_size(&rng, SHARED_LEAST, MOST));
	check_all(b);
	return NULL;
}

static void lends(struct cf_party *p)
{
	struct other o[THREADS] = { 0 };
	pthread_t t;

	/* Blocks lie side by side and not in mappings of their own, free blocks are given back,
	 * and there is one arena beside the heap, so that other owners have blocks between the
	 * exported ones. */
	mallopt(M_MMAP_THRESHOLD, 2 * MOST);
	mallopt(M_TRIM_THRESHOLD, 4096);
	mallopt(M_ARENA_MAX, 2);
	CF_EQ(pthread_create(&t, NULL, exporter, p), 0);
	SP_UNTIL(atomic_load(&page->has_arena), "the exporting process does not begin");
	for (int i = 0; i < THREADS; i++) {
		o[i].seed = page->seed + 1 + (uint64_t)i;
		CF_EQ(pthread_create(&o[i].id, NULL, beside, &o[i]), 0);
	}
	CF_EQ(pthread_join(t, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		atomic_store(&o[i].stop, true);
		CF_EQ(pthread_join(o[i].id, NULL), 0);
	}
}

/* --- the other end --- */

static void transfer(struct cf_side *s, uint64_t id, bool read, uint64_t off, const struct offer *o,
		     uint32_t at, uint32_t len)
{
	cf_post(s, .op = read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, .id = id, .off = off, .len = len,
		.raddr = o->addr + at, .rkey = o->rkey);
	cf_wc(s->scq, id, SUCCESS);
}

/* Reads the old bytes, then writes all of them, in pieces and some of them twice. */
static void use(struct cf_side *s, struct sp_rng *rng, const struct offer *o, uint64_t id)
{
	uint32_t piece = (o->len + WRITES - 1) / WRITES;

	transfer(s, id++, true, MOST, o, 0, o->len);
	if (!sp_all(s->buf + MOST, o->len, OLD))
		CF_DIE("a Read of %u bytes brought others", o->len);
	memset(s->buf, 1 + (int)sp_below(rng, 255), o->len);
	for (uint32_t at = 0; at < o->len; at += piece) {
		uint32_t len = o->len - at < piece ? o->len - at : piece;

		transfer(s, id++, false, 0, o, at, len);
		transfer(s, id++, false, 0, o, at, 1 + sp_below(rng, len));
	}
	transfer(s, id++, true, MOST, o, 0, o->len);
	if (memcmp(s->buf, s->buf + MOST, o->len) != 0)
		CF_DIE("%u bytes do not read as they were written", o->len);
}

static void borrows(struct cf_party *p)
{
	struct sp_rng rng = { page->seed ^ 7 };
	struct cf_opt o = cf_opt();
	struct cf_side s;

	o.len = 2 * MOST;
	cf_side(&s, &o);
	cf_connect(p, &s);
	for (int round = 0; round < sp_times(SHORT, LONG); round++) {
		struct offer of = { 0 };

		cf_swap(p, &(struct offer){ 0 }, &of, sizeof(of));
		use(&s, &rng, &of, (uint64_t)round << 8);
		cf_meet(p);
	}
}

static void allocator(void)
{
	page = cf_pages(4096);
	page->seed = sp_seed("an allocator beside exported memory");
	cf_processes(lends, borrows);
}

const struct cf_check cf_checks[] = {
	{ "+", "an allocator beside exported memory", 0, allocator },
	{ 0 },
};

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/mkey.h"

#include "engine/qp.h"

#include <errno.h>

/* Memory behind the null region: one piece for reads and one for writes, so that no byte that was written is
 * read back. */
#define NULL_PIECE 65536u
static uint8_t zeros[NULL_PIECE], sink[NULL_PIECE];

static uint32_t fresh_key(struct eng_dev *dev) UT_REQUIRES(dev->lock);
static uint32_t fresh_key(struct eng_dev *dev)
{
	uint32_t key;

	do
		key = (uint32_t)(ut_rng_u64(&dev->rng) >> 16);
	while (key >> 8 == 0 || key >> 8 == 0xffffff || ut_idtab_get(&dev->mkeys, key >> 8));
	return key;
}

int eng_mkey_enter(struct eng_dev *dev, struct eng_mkey *mk)
{
	uint32_t key = fresh_key(dev);
	int r = ut_idtab_add(&dev->mkeys, key >> 8, mk);

	if (r == 0)
		mk->key = key;
	return r;
}

void eng_mkey_leave(struct eng_dev *dev, struct eng_mkey *mk)
{
	ut_idtab_del(&dev->mkeys, mk->key >> 8);
	eng_dev_revoke(dev, mk->key >> 8);
}

enum eng_verdict eng_mkey_local(struct eng_pd *pd, uint32_t key, uint64_t va, uint64_t len,
				bool write, struct eng_mkey **ret, uint64_t *ret_off)
{
	struct eng_dev *dev = pd->dev;
	struct eng_mkey *mk;

	eng_dev_held(dev);
	mk = eng_mkey_get(dev, key);
	if (!mk || mk->kind != ENG_MR || !mk->valid)
		return ENG_V_LOC_KEY;
	if (mk->pd != pd)
		return ENG_V_LOC_PD;
	if (write && !(mk->access & IBV_ACCESS_LOCAL_WRITE))
		return ENG_V_LOC_RIGHTS;
	if (!eng_range_has(mk->iova, mk->length, va, len, ret_off))
		return ENG_V_LOC_BOUNDS;
	*ret = mk;
	return ENG_OK;
}

enum eng_verdict eng_mkey_remote(struct eng_dev *dev, struct eng_pd *pd, struct eng_qp *qp,
				 uint32_t key, uint64_t va, uint64_t len, unsigned need,
				 struct eng_mkey **ret, uint64_t *ret_off)
{
	struct eng_mkey *mk;
	uint64_t off;

	eng_dev_held(dev);
	mk = eng_mkey_get(dev, key);
	if (!mk || !mk->valid) {
		dev->counters[ENG_C_guessed_keys] += !mk;
		return ENG_V_RX_KEY;
	}
	if (mk->pd != pd || (mk->kind == ENG_MW_TYPE_2 && mk->qp != qp))
		return ENG_V_RX_PD;
	if ((mk->access & need) != need)
		return ENG_V_RX_RIGHTS;
	if (!eng_range_has(mk->iova, mk->length, va, len, &off))
		return ENG_V_RX_BOUNDS;
	if (mk->kind != ENG_MR) {
		off += mk->addr - mk->mr->iova;
		mk = mk->mr;
	}
	*ret = mk;
	*ret_off = off;
	return ENG_OK;
}

uint8_t *eng_sge_look_up(struct eng_pd *pd, const struct ibv_sge *sge, uint64_t len, bool write)
{
	struct eng_dev *dev = pd->dev;
	struct eng_mkey *mk;
	uint64_t off;

	eng_dev_held(dev);
	if (eng_mkey_local(pd, sge->lkey, sge->addr, len, write, &mk, &off) != ENG_OK || mk->null || mk->pages)
		return NULL;
	dev->memos[(mk->key >> 8) % ENG_MEMOS] = (struct eng_memo){
		.key = mk->key, .writable = mk->access & IBV_ACCESS_LOCAL_WRITE, .pd = pd,
		.iova = mk->iova, .length = mk->length, .at = (uint8_t *)(uintptr_t)mk->addr,
	};
	return len <= sge->length ? (uint8_t *)(uintptr_t)(mk->addr + off) : NULL;
}

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void note_page(struct eng_memo *m, const uint8_t *at, enum ut_stage_use use, uint64_t checked_at)
{
	uint8_t *end = m->at + m->length, *from = (uint8_t *)((uintptr_t)at >> UT_SEEN_PAGE << UT_SEEN_PAGE);
	uint8_t *to = from + (1u << UT_SEEN_PAGE);

	if (from < m->at)
		from = m->at;
	if (to > end)
		to = end;
	m->page[use].iova = m->iova + (uint64_t)(from - m->at);
	m->page[use].length = (uint64_t)(to - from);
	m->page[use].at = from;
	m->page[use].checked_at = checked_at;
}

uint8_t *eng_sge_see(struct eng_pd *pd, const struct ibv_sge *sge, uint32_t len, struct ut_stage *st, enum ut_stage_use use)
{
	uint8_t *at = eng_sge_at(pd, sge, len, use == UT_WRITABLE);
	struct eng_memo *m = &pd->dev->memos[(sge->lkey >> 8) % ENG_MEMOS];

	eng_dev_held(pd->dev);
	if (!at || (!ut_stage_has_seen(st, use, at, len) && !ut_stage_in_mapping(st, at, len)))
		return NULL;
	note_page(m, at, use, st->pages_checked_at);
	return at;
}

/* Returns the longest piece at `off` that is contiguous in the address space of the process. */
static struct iovec piece(const struct eng_mkey *mk, uint64_t off, uint64_t len, bool write)
{
	if (mk->null)
		return (struct iovec){ write ? sink : zeros, min64(len, NULL_PIECE) };
	if (mk->pages) {
		uint64_t at = off + mk->first_offset, in = at % mk->page_size;

		return (struct iovec){ (void *)(uintptr_t)(mk->pages[at / mk->page_size] + in),
				       min64(len, mk->page_size - in) };
	}
	return (struct iovec){ (void *)(uintptr_t)(mk->addr + off), len };
}

static int pieces(const struct eng_mkey *mk, uint64_t off, uint64_t len, bool write,
		  struct iovec *iov, int max)
{
	int n = 0;

	while (len) {
		if (n == max)
			return -ENOSPC;
		iov[n] = piece(mk, off, len, write);
		off += iov[n].iov_len;
		len -= iov[n].iov_len;
		n++;
	}
	return n;
}

int eng_mkey_iov(const struct eng_mkey *mk, uint64_t off, uint64_t len, struct iovec *iov, int max)
{
	return pieces(mk, off, len, true, iov, max);
}

int eng_sge_pieces(struct eng_pd *pd, const struct ibv_sge *sge, int n, uint64_t off, uint64_t len,
		   bool write, struct iovec *iov, int max)
{
	int used = 0;

	for (int i = 0; i < n && len; off -= min64(off, sge[i].length), i++) {
		struct eng_mkey *mk;
		enum eng_verdict v;
		uint64_t take, at;
		int r;

		if (off >= sge[i].length)
			continue;
		take = min64(len, sge[i].length - off);
		/* Regions do not wrap, so an address that does is outside of all. */
		if (sge[i].addr > UINT64_MAX - off)
			return -ENG_V_LOC_BOUNDS;
		v = eng_mkey_local(pd, sge[i].lkey, sge[i].addr + off, take, write, &mk, &at);
		if (v != ENG_OK)
			return -(int)v;
		r = pieces(mk, at, take, write, iov + used, max - used);
		if (r < 0)
			return -ENG_V_NO_MEMORY;
		used += r;
		len -= take;
	}
	return len ? -ENG_V_LOC_BOUNDS : used;
}

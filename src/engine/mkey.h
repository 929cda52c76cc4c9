/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory keys and what they stand for: a region (virtual, a list of physical pages, null, device memory)
 * or a window into one.
 *
 * A key is 24 random bits of index and 8 bits that the program may choose for a window (IBTA 10.6.3). It is
 * looked up at every use, for every packet, under the progress lock; so deregistration is final as soon as
 * it has the lock.
 */
#ifndef ENGINE_MKEY_H
#define ENGINE_MKEY_H

#include "engine/dev.h"
#include "engine/pd.h"
#include "engine/verdict.h"
#include "util/list.h"
#include "util/stage.h"

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct eng_qp;

enum eng_mkey_kind { ENG_MR, ENG_MW_TYPE_1, ENG_MW_TYPE_2 };

struct eng_mkey {
	struct eng_dev *dev;
	struct eng_pd *pd;
	enum eng_mkey_kind kind;
	uint32_t key;    /* lkey = rkey for regions; dev->lock guards all below */
	bool valid;      /* a bound window, or a region */
	unsigned access; /* enum ibv_access_flags */
	uint64_t iova;   /* the address that peers and gather entries name for the first byte */
	uint64_t length;
	uint64_t addr; /* the first byte in the address space of the process, unless pages or null; of a
			* window: the name of that byte in its region */
	/* Page lists (registered physical memory): pieces of page_size each, the
	 * first byte lies first_offset into pages[0]. */
	uint64_t *pages;
	uint32_t n_pages, page_size, first_offset;
	bool null;            /* ibv_alloc_null_mr: reads zeros, swallows writes */
	/* Windows. */
	struct eng_mkey *mr;  /* region a bound window looks into */
	struct eng_qp *qp;    /* type 2: QP it was bound on */
	struct ut_list node;  /* type 2, bound: on qp->mw */
	uint32_t windows;     /* regions: windows bound to it */
	void (*release)(void *arg); /* regions on memory of another owner: called at the end */
	void *release_arg;
};

/* --- the table of keys --- */

/* Gives mk a fresh random key and enters it. Returns 0 or -ENOMEM. */
int eng_mkey_enter(struct eng_dev *dev, struct eng_mkey *mk) UT_REQUIRES(dev->lock);
/* Takes it out and revokes direct access by it. */
void eng_mkey_leave(struct eng_dev *dev, struct eng_mkey *mk) UT_REQUIRES(dev->lock);

/* Returns what has the index of this key, whatever the low byte, or NULL. */
static inline struct eng_mkey *eng_mkey_by_index(struct eng_dev *dev, uint32_t key) UT_REQUIRES(dev->lock);
static inline struct eng_mkey *eng_mkey_by_index(struct eng_dev *dev, uint32_t key)
{
	return ut_idtab_get(&dev->mkeys, key >> 8);
}

/* Returns what has exactly this key, valid or not, or NULL. */
static inline struct eng_mkey *eng_mkey_get(struct eng_dev *dev, uint32_t key) UT_REQUIRES(dev->lock);
static inline struct eng_mkey *eng_mkey_get(struct eng_dev *dev, uint32_t key)
{
	struct eng_mkey *mk = eng_mkey_by_index(dev, key);

	return mk && mk->key == key ? mk : NULL;
}

/* --- ranges and rights --- */

/* True if [va, va+len) lies within the range that starts at iova; *ret_off is the offset of its first
 * byte. */
static inline bool eng_range_has(uint64_t iova, uint64_t length, uint64_t va, uint64_t len, uint64_t *ret_off)
{
	uint64_t off = va - iova;

	if (va < iova || off > length || len > length - off)
		return false;
	*ret_off = off;
	return true;
}

/* True if the last byte of the range has an address. */
static inline bool eng_range_ok(uint64_t start, uint64_t length)
{
	return length == 0 || length - 1 <= UINT64_MAX - start;
}

/* --- accesses; dev->lock held --- */

/*
 * Check one access. Local: the key of a gather entry; `write` if data will be placed there; the verdict
 * is one of LOC_*. Remote: `need` has IBV_ACCESS_REMOTE_*, qp matters for type 2 windows; the verdict is
 * one of RX_*. On ENG_OK the access begins at byte *ret_off of region *ret.
 */
enum eng_verdict eng_mkey_local(struct eng_pd *pd, uint32_t key, uint64_t va, uint64_t len,
				bool write, struct eng_mkey **ret, uint64_t *ret_off);
enum eng_verdict eng_mkey_remote(struct eng_dev *dev, struct eng_pd *pd, struct eng_qp *qp,
				 uint32_t key, uint64_t va, uint64_t len, unsigned need,
				 struct eng_mkey **ret, uint64_t *ret_off);

/* The addresses of bytes [off, off+len) of a region, as pieces. Returns how many were written to iov, or
 * -ENOSPC if more than max are needed. The null region maps to scratch memory. */
int eng_mkey_iov(const struct eng_mkey *mk, uint64_t off, uint64_t len, struct iovec *iov, int max);

/* eng_sge_iov() for lists of any form. */
int eng_sge_pieces(struct eng_pd *pd, const struct ibv_sge *sge, int n, uint64_t off, uint64_t len,
		   bool write, struct iovec *iov, int max);

/* eng_sge_at() for a key that is not remembered; it is afterwards. */
uint8_t *eng_sge_look_up(struct eng_pd *pd, const struct ibv_sge *sge, uint64_t len, bool write);

/*
 * The usual entry: its first len bytes (> 0) lie in one region of one piece. Returns their address, or
 * NULL if eng_sge_pieces() is to look in full.
 */
static inline uint8_t *eng_sge_at(struct eng_pd *pd, const struct ibv_sge *sge, uint64_t len, bool write)
{
	struct eng_dev *dev = pd->dev;
	const struct eng_memo *m = &dev->memos[(sge->lkey >> 8) % ENG_MEMOS];
	uint64_t off;

	eng_dev_held(dev);
	if (m->key != sge->lkey || m->pd != pd || (write && !m->writable))
		return eng_sge_look_up(pd, sge, len, write);
	off = sge->addr - m->iova;
	return len <= sge->length && off <= m->length && len <= m->length - off ? m->at + off : NULL;
}

/* eng_sge_present() for a page that is not remembered; it is afterwards. */
uint8_t *eng_sge_see(struct eng_pd *pd, const struct ibv_sge *sge, uint32_t len, struct ut_stage *st, enum ut_stage_use use);

/*
 * The first len bytes (> 0) of the usual entry, if plain loads or stores are safe there now (ut_stage_has_seen()). Returns their address,
 * or NULL: that is not known. A region and its page are found by one look where the entry before was on the same page.
 */
static inline uint8_t *eng_sge_present(struct eng_pd *pd, const struct ibv_sge *sge, uint32_t len, struct ut_stage *st,
				       enum ut_stage_use use)
{
	struct eng_dev *dev = pd->dev;
	const struct eng_memo *m = &dev->memos[(sge->lkey >> 8) % ENG_MEMOS];
	uint64_t off = sge->addr - m->page[use].iova;

	eng_dev_held(dev);
	if (__builtin_expect(m->key != sge->lkey || m->pd != pd || off + len > m->page[use].length || off > m->page[use].length ||
				     m->page[use].checked_at != st->pages_checked_at || len > sge->length, 0))
		return eng_sge_see(pd, sge, len, st, use);
	return m->page[use].at + off;
}

/*
 * The addresses of bytes [off, off+len) of the concatenation of sge[0..n), as pieces. Keys are checked
 * only for bytes that are named; entries of length 0 are skipped and their keys not looked at. Returns the
 * number of pieces (>= 0), or a negative verdict: -ENG_V_LOC_*, -ENG_V_NO_MEMORY if max is too small.
 */
static inline int eng_sge_iov(struct eng_pd *pd, const struct ibv_sge *sge, int n, uint64_t off, uint64_t len,
			      bool write, struct iovec *iov, int max)
{
	uint8_t *at = n == 1 && len && max ? eng_sge_at(pd, sge, off + len, write) : NULL;

	if (!at)
		return eng_sge_pieces(pd, sge, n, off, len, write, iov, max);
	*iov = (struct iovec){ at + off, len };
	return 1;
}

#endif

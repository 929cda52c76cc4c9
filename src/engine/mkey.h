/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Protection domains, and what a memory key stands for: a region (virtual,
 * a list of physical pages, shared, null, device memory) or a window into one.
 *
 * A key is 24 random bits of index and 8 bits that the owner of a window may
 * choose (IBTA 10.6.3). Look-ups happen at every use, for every packet, under
 * the progress lock; so deregistration is final the moment it has the lock.
 * Registration touches no page: it costs the same for a byte and a terabyte.
 */
#ifndef ENGINE_MKEY_H
#define ENGINE_MKEY_H

#include "engine/dev.h"
#include "engine/verdict.h"

#include "util/list.h"

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct eng_qp;
struct eng_swqe;

struct eng_pd {
	struct eng_dev *dev;
	atomic_uint users; /* regions, windows, QPs, SRQs, AHs */
};

int eng_pd_alloc(struct eng_dev *dev, struct eng_pd **ret);
/* 0 or -EBUSY. */
int eng_pd_dealloc(struct eng_pd *pd);

enum eng_mkey_kind { ENG_MR, ENG_MW_TYPE_1, ENG_MW_TYPE_2 };

struct eng_mkey {
	struct eng_dev *dev;
	struct eng_pd *pd;
	enum eng_mkey_kind kind;
	uint32_t key;    /* lkey = rkey for regions; dev->lock guards all below */
	bool valid;      /* usable: a bound window, a region not invalidated */
	unsigned access; /* enum ibv_access_flags */
	uint64_t iova;   /* address peers and SGEs name for the first byte */
	uint64_t length;
	uint64_t addr; /* our address of the first byte, unless pages or null; of
			* a window: how the region names that byte */
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
	void (*release)(void *arg); /* regions on borrowed memory: called at the end */
	void *release_arg;
};

struct eng_mr_spec {
	uint64_t addr, length, iova;
	unsigned access;
	const uint64_t *pages; /* or NULL */
	uint32_t n_pages, page_size, first_offset;
	bool null;
	void (*release)(void *arg);
	void *release_arg;
};

/*
 * Registers. -EINVAL: remote write or atomic without local write, unknown
 * flags below the optional range, ON_DEMAND/HUGETLB where not offered, wrap of
 * the range; -ENOMEM. With IBV_ACCESS_ZERO_BASED spec->iova is ignored.
 */
int eng_mr_reg(struct eng_pd *pd, const struct eng_mr_spec *spec, struct eng_mkey **ret);
/* flags: IBV_REREG_MR_*. The key stays, since peers were told it. -EBUSY with
 * windows bound; on failure the region is unchanged. */
int eng_mr_rereg(struct eng_mkey *mr, int flags, struct eng_pd *pd, uint64_t addr,
		 uint64_t length, unsigned access);
/* 0 or -EBUSY with windows bound. */
int eng_mr_dereg(struct eng_mkey *mr);

int eng_mw_alloc(struct eng_pd *pd, enum ibv_mw_type type, struct eng_mkey **ret);
/* A bound window is unbound. */
int eng_mw_dealloc(struct eng_mkey *mw);

/*
 * Executes the bind that a posted entry asks for, in queue order (IBTA
 * 10.6.7.2): ENG_OK or MW_BIND. w->bind.key is the key the window has afterwards;
 * length 0 unbinds a type 1 window. Window and region are looked up by key, for
 * they may have gone since they were posted. dev->lock held.
 */
enum eng_verdict eng_mw_bind(struct eng_qp *qp, const struct eng_swqe *w);
/* IBV_WR_LOCAL_INV and Send with invalidate: only bound type 2 windows of this QP. */
enum eng_verdict eng_mkey_invalidate(struct eng_qp *qp, uint32_t key);
/* Windows bound on a QP that is destroyed lose the binding. */
void eng_mw_detach(struct eng_qp *qp);

/* Whole key equal, whatever its state; or NULL. */
struct eng_mkey *eng_mkey_get(struct eng_dev *dev, uint32_t key) UT_REQUIRES(dev->lock);

/*
 * Checks one access (dev->lock held). qp matters for type 2 windows.
 * Local: key of an SGE; `write` when data will be placed there. The verdict is
 * one of LOC_*. Remote: `need` has IBV_ACCESS_REMOTE_*; verdict RX_*.
 * On ENG_OK *ret and *ret_off say where: byte ret_off of ret.
 */
enum eng_verdict eng_mkey_local(struct eng_pd *pd, uint32_t key, uint64_t va, uint64_t len,
				bool write, struct eng_mkey **ret, uint64_t *ret_off);
enum eng_verdict eng_mkey_remote(struct eng_dev *dev, struct eng_pd *pd, struct eng_qp *qp,
				 uint32_t key, uint64_t va, uint64_t len, unsigned need,
				 struct eng_mkey **ret, uint64_t *ret_off);

/* Our addresses of bytes [off, off+len), as pieces; returns how many were
 * written to iov (at most max; more needed = -ENOSPC). The null region maps to
 * a shared scratch page. */
int eng_mkey_iov(const struct eng_mkey *mk, uint64_t off, uint64_t len, struct iovec *iov, int max);

/*
 * The same for a gather list: bytes [off, off+len) of the concatenation of
 * sge[0..n), keys checked lazily, only for bytes touched; zero-length entries
 * are skipped with their key unlooked at. Returns pieces (>= 0), or a negative
 * verdict (-ENG_V_LOC_*; -ENG_V_NO_MEMORY when max is too small for them).
 */
int eng_sge_iov(struct eng_pd *pd, const struct ibv_sge *sge, int n, uint64_t off, uint64_t len,
		bool write, struct iovec *iov, int max);

/*
 * The usual entry: its first len bytes (> 0) lie in one region of one piece. Returns their address, or
 * NULL if eng_sge_iov() is to look in full. Called with dev->lock held.
 */
static inline uint8_t *eng_sge_at(struct eng_pd *pd, const struct ibv_sge *sge, uint64_t len, bool write)
{
	struct eng_dev *dev = pd->dev;
	const struct eng_mkey *mk;
	uint64_t off;

	eng_dev_held(dev);
	mk = ut_idtab_get(&dev->mkeys, sge->lkey >> 8);
	if (!mk || mk->key != sge->lkey || mk->kind != ENG_MR || !mk->valid || mk->pd != pd ||
	    (write && !(mk->access & IBV_ACCESS_LOCAL_WRITE)) || mk->null || mk->pages)
		return NULL;
	off = sge->addr - mk->iova;
	if (len > sge->length || sge->addr < mk->iova || off > mk->length || len > mk->length - off)
		return NULL;
	return (uint8_t *)(uintptr_t)(mk->addr + off);
}

#endif

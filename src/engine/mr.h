/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory regions. Registration looks at numbers only and never at the memory, so it costs the same for a
 * byte and a terabyte.
 */
#ifndef ENGINE_MR_H
#define ENGINE_MR_H

#include "engine/mkey.h"

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
 * Returns 0; -EINVAL: remote write or atomic rights without local write, unknown flags below the optional
 * range, ON_DEMAND or HUGETLB, or a range that wraps around; -ENOMEM. With IBV_ACCESS_ZERO_BASED
 * spec->iova is ignored.
 */
int eng_mr_reg(struct eng_pd *pd, const struct eng_mr_spec *spec, struct eng_mkey **ret);
/*
 * flags: IBV_REREG_MR_*. The key stays, since peers know it. Returns 0, -EINVAL, -EOPNOTSUPP (unknown
 * flags; other memory for a region that is not the program's), or -EBUSY while windows are bound to it.
 * The region is unchanged on failure.
 */
int eng_mr_rereg(struct eng_mkey *mr, int flags, struct eng_pd *pd, uint64_t addr,
		 uint64_t length, unsigned access);
/* Returns 0, or -EBUSY while windows are bound. On return no access by the key is in progress. */
int eng_mr_dereg(struct eng_mkey *mr);

#endif

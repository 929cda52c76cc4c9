/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/mr.h"

#include "engine/refuse.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Without ON_DEMAND and HUGETLB. */
#define ACCESS_KNOWN                                                                  \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |  \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED)
#define ACCESS_OPTIONAL 0x3ff00000u /* bits 20..29: may be ignored */

/* Remote write and atomic rights need the local one (IBTA 10.6.3.1). */
static bool rights_ok(unsigned access)
{
	return !(access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) ||
	       (access & IBV_ACCESS_LOCAL_WRITE);
}

static bool access_ok(unsigned access)
{
	return !(access & ~(ACCESS_KNOWN | ACCESS_OPTIONAL)) && rights_ok(access);
}

static int check_spec(struct eng_dev *dev, const struct eng_mr_spec *s)
{
	uint64_t iova = s->access & IBV_ACCESS_ZERO_BASED ? 0 : s->iova;

	if (!access_ok(s->access))
		return eng_refuse(dev, ENG_R_MR_ACCESS);
	if (s->length > dev->attr.orig_attr.max_mr_size || !eng_range_ok(iova, s->length))
		return eng_refuse(dev, ENG_R_MR_RANGE);
	if (s->null)
		return 0;
	if (!s->pages)
		return eng_range_ok(s->addr, s->length) ? 0 : eng_refuse(dev, ENG_R_MR_RANGE);
	if (!s->page_size || s->first_offset >= s->page_size)
		return eng_refuse(dev, ENG_R_MR_PAGES);
	if (s->length > (uint64_t)s->n_pages * s->page_size - s->first_offset)
		return eng_refuse(dev, ENG_R_MR_PAGES);
	for (uint32_t i = 0; i < s->n_pages; i++)
		if (!eng_range_ok(s->pages[i], s->page_size))
			return eng_refuse(dev, ENG_R_MR_RANGE);
	return 0;
}

static int copy_pages(struct eng_mkey *mr, const struct eng_mr_spec *s)
{
	if (!s->pages || !s->n_pages)
		return 0;
	mr->pages = ut_calloc(s->n_pages, sizeof(*mr->pages));
	if (!mr->pages)
		return -ENOMEM; /* eng_mr_reg() refuses */
	memcpy(mr->pages, s->pages, s->n_pages * sizeof(*mr->pages));
	mr->n_pages = s->n_pages;
	mr->page_size = s->page_size;
	mr->first_offset = s->first_offset;
	return 0;
}

static struct eng_mkey *mr_alloc(struct eng_pd *pd, const struct eng_mr_spec *s)
{
	struct eng_mkey *mr = ut_zalloc(sizeof(*mr));

	if (!mr || copy_pages(mr, s) < 0) {
		free(mr);
		return NULL;
	}
	mr->dev = pd->dev;
	mr->pd = pd;
	mr->kind = ENG_MR;
	mr->valid = true;
	mr->access = s->access;
	mr->iova = s->access & IBV_ACCESS_ZERO_BASED ? 0 : s->iova;
	mr->length = s->length;
	mr->addr = s->addr;
	mr->null = s->null;
	mr->release = s->release;
	mr->release_arg = s->release_arg;
	ut_list_init(&mr->node);
	return mr;
}

static void mr_free(struct eng_mkey *mr)
{
	free(mr->pages);
	free(mr);
}

int eng_mr_reg(struct eng_pd *pd, const struct eng_mr_spec *spec, struct eng_mkey **ret)
{
	struct eng_dev *dev = pd->dev;
	int r = dev->refuses(dev, "reg_mr");
	struct eng_mkey *mr;

	if (r == 0)
		r = check_spec(dev, spec);
	if (r < 0)
		return r;
	if (eng_count(&dev->n_mr, (uint32_t)dev->attr.orig_attr.max_mr) < 0)
		return eng_refuse(dev, ENG_R_MR_LIMIT);
	mr = mr_alloc(pd, spec);
	if (mr) {
		ut_lock(&dev->lock);
		r = eng_mkey_enter(dev, mr);
		eng_dev_unlock(dev);
	}
	if (!mr || r < 0) {
		if (mr)
			mr_free(mr);
		eng_uncount(&dev->n_mr);
		return eng_refuse(dev, ENG_R_MEMORY);
	}
	atomic_fetch_add(&pd->users, 1);
	*ret = mr;
	return 0;
}

static int rereg_check(const struct eng_mkey *mr, int flags, struct eng_pd *pd, uint64_t addr,
		       uint64_t length, unsigned access)
{
	const int all = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
			IBV_REREG_MR_CHANGE_ACCESS;

	if (flags == 0)
		return eng_refuse(mr->dev, ENG_R_MR_REREG);
	if (flags & ~all)
		return eng_refuse(mr->dev, ENG_R_MR_REREG_HOW);
	if ((flags & IBV_REREG_MR_CHANGE_PD) && (!pd || pd->dev != mr->dev))
		return eng_refuse(mr->dev, ENG_R_MR_REREG);
	if ((flags & IBV_REREG_MR_CHANGE_ACCESS) && !access_ok(access))
		return eng_refuse(mr->dev, ENG_R_MR_REREG);
	if (!(flags & IBV_REREG_MR_CHANGE_TRANSLATION))
		return 0;
	/* Memory of another owner cannot be exchanged for other memory. */
	if (mr->pages || mr->null || mr->release)
		return eng_refuse(mr->dev, ENG_R_MR_REREG_HOW);
	return eng_range_ok(addr, length) && length <= mr->dev->attr.orig_attr.max_mr_size
		       ? 0 : eng_refuse(mr->dev, ENG_R_MR_REREG);
}

static void rereg_apply(struct eng_mkey *mr, int flags, struct eng_pd *pd, uint64_t addr,
			uint64_t length, unsigned access)
{
	eng_dev_held(mr->dev);
	eng_dev_revoke(mr->dev, mr->key >> 8);
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		atomic_fetch_add(&pd->users, 1);
		atomic_fetch_sub(&mr->pd->users, 1);
		mr->pd = pd;
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		mr->access = access;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->addr = addr;
		mr->length = length;
		mr->iova = mr->access & IBV_ACCESS_ZERO_BASED ? 0 : addr;
	} else if (mr->access & IBV_ACCESS_ZERO_BASED) {
		mr->iova = 0;
	}
}

int eng_mr_rereg(struct eng_mkey *mr, int flags, struct eng_pd *pd, uint64_t addr,
		 uint64_t length, unsigned access)
{
	struct eng_dev *dev = mr->dev;
	int r;

	ut_lock(&dev->lock);
	r = rereg_check(mr, flags, pd, addr, length, access);
	if (r == 0 && mr->windows)
		r = eng_refuse(dev, ENG_R_MR_REREG_USED);
	if (r == 0)
		rereg_apply(mr, flags, pd, addr, length, access);
	eng_dev_unlock(dev);
	return r;
}

int eng_mr_dereg(struct eng_mkey *mr)
{
	struct eng_dev *dev = mr->dev;
	int r = 0;

	ut_lock(&dev->lock);
	if (mr->windows)
		r = eng_refuse(dev, ENG_R_MR_WINDOWS);
	else
		eng_mkey_leave(dev, mr);
	eng_dev_unlock(dev);
	if (r < 0)
		return r;
	atomic_fetch_sub(&mr->pd->users, 1);
	eng_uncount(&dev->n_mr);
	if (mr->release)
		mr->release(mr->release_arg);
	mr_free(mr);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/pd.h"

#include "engine/dev.h"
#include "engine/refuse.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

int eng_pd_alloc(struct eng_dev *dev, struct eng_pd **ret)
{
	int refused = dev->refuses(dev, "alloc_pd");
	struct eng_pd *pd;

	if (refused < 0)
		return refused;
	if (eng_count(&dev->n_pd, (uint32_t)dev->attr.orig_attr.max_pd) < 0)
		return eng_refuse(dev, ENG_R_PD_LIMIT);
	pd = ut_zalloc(sizeof(*pd));
	if (!pd) {
		eng_uncount(&dev->n_pd);
		return eng_refuse(dev, ENG_R_MEMORY);
	}
	pd->dev = dev;
	pd->number = atomic_fetch_add(&dev->numbers, 1) + 1;
	*ret = pd;
	return 0;
}

int eng_pd_dealloc(struct eng_pd *pd)
{
	if (atomic_load(&pd->users))
		return eng_refuse(pd->dev, ENG_R_PD_USED);
	eng_uncount(&pd->dev->n_pd);
	free(pd);
	return 0;
}

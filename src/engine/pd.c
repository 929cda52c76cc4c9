/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/pd.h"

#include "engine/dev.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

int eng_pd_alloc(struct eng_dev *dev, struct eng_pd **ret)
{
	struct eng_pd *pd;

	if (eng_count(&dev->n_pd, (uint32_t)dev->attr.orig_attr.max_pd) < 0)
		return -ENOMEM;
	pd = ut_zalloc(sizeof(*pd));
	if (!pd) {
		eng_uncount(&dev->n_pd);
		return -ENOMEM;
	}
	pd->dev = dev;
	*ret = pd;
	return 0;
}

int eng_pd_dealloc(struct eng_pd *pd)
{
	if (atomic_load(&pd->users))
		return -EBUSY;
	eng_uncount(&pd->dev->n_pd);
	free(pd);
	return 0;
}

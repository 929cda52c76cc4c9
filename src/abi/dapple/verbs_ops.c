/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "abi/dapple/verbs_ops.h"

#include "abi/verbs/vrb.h"
#include "util/export.h"

static struct dpl_verbs_ops verbs_ops; /* filled by abi/verbs/context.c */

UT_EXPORT struct dpl_verbs_ops *dpl_verbs_ops(void)
{
	return &verbs_ops;
}

struct eng_dev *dpl_dev(const struct ibv_context *c)
{
	struct verbs_context *v = verbs_get_ctx((struct ibv_context *)(uintptr_t)c);

	if (!v || (void *)v->priv != &verbs_ops) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vrb_live(c);
}

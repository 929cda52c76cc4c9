/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "abi/dapple/shell.h"

#include "abi/verbs/vrb.h"
#include "util/export.h"

static struct dpl_shell shell;

UT_EXPORT struct dpl_shell *dpl_shell(void)
{
	return &shell;
}

struct eng_dev *dpl_dev(const struct ibv_context *c)
{
	struct verbs_context *v = verbs_get_ctx((struct ibv_context *)(uintptr_t)c);

	if (!v || (void *)v->priv != &shell) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vrb_live(c);
}

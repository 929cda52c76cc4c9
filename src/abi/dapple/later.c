/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Verbs that are refused: Reliable Datagram. */
#include "dapple/verbs.h"

#include "util/export.h"

#include <errno.h>

static void *no_object(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

UT_EXPORT struct dpl_rdd *dpl_alloc_rdd(struct ibv_context *context)
{
	return no_object();
}

UT_EXPORT int dpl_dealloc_rdd(struct dpl_rdd *rdd)
{
	return EOPNOTSUPP;
}

UT_EXPORT struct dpl_eec *dpl_create_eec(struct dpl_rdd *rdd)
{
	return no_object();
}

UT_EXPORT int dpl_modify_eec(struct dpl_eec *eec, const struct dpl_eec_attr *attr, int mask)
{
	return EOPNOTSUPP;
}

UT_EXPORT int dpl_query_eec(struct dpl_eec *eec, struct dpl_eec_attr *attr, int mask)
{
	return EOPNOTSUPP;
}

UT_EXPORT int dpl_destroy_eec(struct dpl_eec *eec)
{
	return EOPNOTSUPP;
}

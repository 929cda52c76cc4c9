/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Query and modify address handles. */
#include "dapple/verbs.h"

#include "abi/dapple/verbs_ops.h"
#include "abi/verbs/vrb.h"
#include "engine/wqe.h"
#include "util/export.h"

UT_EXPORT int dpl_query_ah(struct ibv_ah *ah, struct ibv_ah_attr *attr)
{
	struct eng_dev *dev = dpl_dev(ah->context);

	if (!dev)
		return errno;
	*attr = (struct ibv_ah_attr){ 0 };
	ut_lock(&dev->lock);
	eng_av_to_attr(&vrb_of(ah, vrb_ah)->ah->av, attr);
	eng_dev_unlock(dev);
	return 0;
}

/* A handle made from the attributes passes exactly the checks of creation; its
 * address is then taken over. */
UT_EXPORT int dpl_modify_ah(struct ibv_ah *pub, const struct ibv_ah_attr *attr)
{
	struct eng_ah *ah, *probe;
	struct eng_dev *dev = dpl_dev(pub->context);
	int rc;

	if (!dev)
		return errno;
	ah = vrb_of(pub, vrb_ah)->ah;
	rc = eng_ah_create(ah->pd, attr, &probe);
	if (rc)
		return vrb_error(rc);
	ut_lock(&dev->lock);
	ah->av = probe->av;
	eng_dev_unlock(dev);
	eng_ah_destroy(probe);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address handles and multicast. */
#include "abi/verbs/export.h"
#include "abi/verbs/vrb.h"
#include "engine/mcast.h"
#include "engine/mkey.h"
#include "engine/wqe.h"
#include "util/alloc.h"

#include <stdlib.h>

VRB_NOW(create_ah) struct ibv_ah *vrb_create_ah(struct ibv_pd *pub, struct ibv_ah_attr *attr)
{
	struct vrb_pd *pd = vrb_of(pub, vrb_pd);
	struct vrb_ah *ah;
	int rc;

	if (!vrb_live(pub->context))
		return NULL;
	ah = ut_zalloc(sizeof(*ah));
	if (!ah)
		return vrb_null(-ENOMEM);
	rc = eng_ah_create(pd->pd, attr, &ah->ah);
	if (rc) {
		free(ah);
		return vrb_null(rc);
	}
	ah->pd = pd;
	ah->pub.context = pub->context;
	ah->pub.pd = pub;
	vrb_pd_use(pd);
	vrb_hold(pub->context);
	return &ah->pub;
}

UT_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					       struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;
	int rc = ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr);

	if (rc)
		return NULL;
	return vrb_create_ah(pd, &attr);
}

VRB_NOW(destroy_ah) int vrb_destroy_ah(struct ibv_ah *pub)
{
	struct vrb_ah *ah = vrb_of(pub, vrb_ah);
	struct ibv_context *c = pub->context;

	if (!vrb_live(c))
		return EIO;
	eng_ah_destroy(ah->ah);
	vrb_pd_unuse(ah->pd);
	free(ah);
	vrb_release(c);
	return 0;
}

/* The kernel finds the neighbour when a packet is sent; nobody else needs it. */
UT_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *c, struct ibv_ah_attr *attr,
					  uint8_t mac[6], uint16_t *vid);
int ibv_resolve_eth_l2_from_gid(struct ibv_context *c, struct ibv_ah_attr *attr, uint8_t mac[6],
				uint16_t *vid)
{
	return vrb_error(-EOPNOTSUPP);
}

VRB_NOW(attach_mcast) int vrb_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
					   uint16_t lid)
{
	if (!vrb_live(qp->context))
		return EIO;
	return vrb_error(eng_mcast_attach(vrb_of(qp, vrb_qp)->qp, gid));
}

VRB_NOW(detach_mcast) int vrb_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
					   uint16_t lid)
{
	if (!vrb_live(qp->context))
		return EIO;
	return vrb_error(eng_mcast_detach(vrb_of(qp, vrb_qp)->qp, gid));
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whose queue pair is this? Receives of an SRQ say no more about it than its number. */
#include "dat/provider/dto.h"

#include "dat/provider/ep.h"

int dpr_qpn_add(struct dpr_ia *ia, uint32_t qpn, struct dpr_ep *ep)
{
	dpr_key_add(&ep->qpkey, ia, DPR_KEY_QP, qpn, &ep->obj);
	return 0;
}

void dpr_qpn_del(struct dpr_ia *ia, uint32_t qpn)
{
	struct dpr_obj *o = dpr_key_find(ia, DPR_KEY_QP, qpn);

	if (o)
		dpr_key_del(&((struct dpr_ep *)o)->qpkey);
}

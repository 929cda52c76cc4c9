/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory windows; type 2 ones are bound by work requests (qp_ex.c, qp.c). */
#include "abi/verbs/mw.h"

#include "abi/verbs/context.h"
#include "abi/verbs/pd.h"
#include "abi/verbs/qp.h"
#include "engine/mkey.h"
#include "engine/mw.h"
#include "engine/qp.h"
#include "engine/refuse.h"
#include "util/alloc.h"

#include <stdlib.h>

struct ibv_mw *vrb_alloc_mw(struct ibv_pd *pub, enum ibv_mw_type type)
{
	struct vrb_pd *pd = vrb_of(pub, vrb_pd);
	struct vrb_mw *mw;
	int rc;

	if (!vrb_live(pub->context))
		return NULL;
	mw = ut_zalloc(sizeof(*mw));
	if (!mw)
		return vrb_null(eng_refuse(vrb_ctx(pub->context)->dev, ENG_R_MEMORY));
	rc = eng_mw_alloc(pd->pd, type, &mw->mk);
	if (rc) {
		free(mw);
		return vrb_null(rc);
	}
	mw->pd = pd;
	mw->pub.context = pub->context;
	mw->pub.pd = pub;
	mw->pub.type = type;
	mw->pub.rkey = mw->mk->key;
	mw->pub.handle = mw->mk->key >> 8;
	vrb_pd_use(pd);
	vrb_hold(pub->context);
	return &mw->pub;
}

int vrb_dealloc_mw(struct ibv_mw *pub)
{
	struct vrb_mw *mw = vrb_of(pub, vrb_mw);
	struct ibv_context *c = pub->context;
	int rc;

	if (!vrb_live(c))
		return EIO;
	rc = eng_mw_dealloc(mw->mk);
	if (rc)
		return vrb_error(rc);
	vrb_pd_unuse(mw->pd);
	free(mw);
	vrb_release(c);
	return 0;
}

/*
 * Type 1: the library chooses the next key, which is in mw->rkey when the call returns, so that the program
 * can send it to the peer behind the bind.
 */
int vrb_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind->bind_info,
		},
	};
	struct ibv_send_wr *bad;
	int rc;

	if (qp->pd != mw->pd && vrb_of(qp, vrb_qp)->qp->pd != vrb_of(mw, vrb_mw)->mk->pd)
		return vrb_error(eng_refuse_qp(vrb_of(qp, vrb_qp)->qp, ENG_R_BIND_PD));
	if (bind->bind_info.mr &&
	    (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED))
		return vrb_error(eng_refuse_qp(vrb_of(qp, vrb_qp)->qp, ENG_R_BIND_ZERO));
	rc = vrb_post_send(qp, &wr, &bad);
	if (!rc)
		mw->rkey = wr.bind_mw.rkey;
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Protection domains, and parent domains, which are a second handle on one. */
#include "abi/verbs/pd.h"

#include "abi/verbs/context.h"
#include "abi/verbs/export.h"
#include "abi/verbs/newer.h"
#include "engine/mkey.h"
#include "engine/pd.h"
#include "engine/refuse.h"
#include "util/alloc.h"

#include <stdlib.h>

static struct vrb_pd *make_handle(struct ibv_context *c)
{
	struct vrb_pd *pd = ut_zalloc(sizeof(*pd));

	if (!pd)
		return vrb_null(eng_refuse(vrb_ctx(c)->dev, ENG_R_MEMORY));
	pd->pub.context = c;
	return pd;
}

VRB_NOW(alloc_pd) struct ibv_pd *vrb_alloc_pd(struct ibv_context *c)
{
	struct eng_dev *dev = vrb_live(c);
	struct vrb_pd *pd = dev ? make_handle(c) : NULL;
	int rc;

	if (!pd)
		return NULL;
	rc = eng_pd_alloc(dev, &pd->pd);
	if (rc) {
		free(pd);
		return vrb_null(rc);
	}
	pd->pub.handle = vrb_handle_add(VRB_PDS, &pd->h);
	vrb_hold(c);
	return &pd->pub;
}

/* Imports and parent domains own no domain of the engine. */
static int end_handle(struct vrb_pd *pd)
{
	if (pd->parent) {
		vrb_pd_unuse(pd->parent);
		if (pd->td)
			atomic_fetch_sub(&pd->td->users, 1);
		return 0;
	}
	return eng_pd_dealloc(pd->pd);
}

VRB_NOW(dealloc_pd) int vrb_dealloc_pd(struct ibv_pd *pub)
{
	struct vrb_pd *pd = vrb_of(pub, vrb_pd);
	struct ibv_context *c = pub->context;
	struct eng_dev *dev = vrb_live(c);
	int rc;

	if (!dev)
		return EIO;
	if (pd->imported)
		return vrb_error(eng_refuse(dev, ENG_R_PD_IMPORTED));
	if (!vrb_handle_end(VRB_PDS, &pd->h))
		return vrb_error(eng_refuse(dev, ENG_R_PD_USED));
	rc = end_handle(pd);
	if (rc) {
		pub->handle = vrb_handle_add(VRB_PDS, &pd->h);
		return vrb_error(rc);
	}
	free(pd);
	vrb_release(c);
	return 0;
}

void vrb_pd_use(struct vrb_pd *pd)
{
	if (pd)
		atomic_fetch_add(&pd->h.users, 1);
}

void vrb_pd_unuse(struct vrb_pd *pd)
{
	if (pd)
		atomic_fetch_sub(&pd->h.users, 1);
}

/*
 * A thread domain promises that one thread at a time uses its objects. No path gets cheaper by that: posting
 * takes one uncontended lock.
 */
struct ibv_td *vrb_alloc_td(struct ibv_context *c, struct ibv_td_init_attr *attr)
{
	struct vrb_td *td;

	if (!vrb_live(c))
		return NULL;
	if (attr->comp_mask)
		return vrb_null(eng_refuse(vrb_ctx(c)->dev, ENG_R_TD_FIELDS));
	td = ut_zalloc(sizeof(*td));
	if (!td)
		return vrb_null(eng_refuse(vrb_ctx(c)->dev, ENG_R_MEMORY));
	td->pub.context = c;
	vrb_hold(c);
	return &td->pub;
}

int vrb_dealloc_td(struct ibv_td *pub)
{
	struct vrb_td *td = vrb_of(pub, vrb_td);
	struct ibv_context *c = pub->context;

	if (!vrb_live(c))
		return EIO;
	if (atomic_load(&td->users))
		return vrb_error(eng_refuse(vrb_ctx(c)->dev, ENG_R_TD_USED));
	free(td);
	vrb_release(c);
	return 0;
}

/*
 * The allocators are for memory that a device reads, such as queues. Here only the process reads its queues, so
 * the allocators are accepted and not called. Memory outside a confidential guest's protection is for devices too:
 * as drivers do whose device needs none, the permission is accepted, and buffers are ordinary pages.
 */
struct ibv_pd *vrb_alloc_parent_domain(struct ibv_context *c,
				       struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT | VRB_PARENT_ALLOW_CC_UNPROTECTED;
	struct vrb_pd *pd;

	if (!vrb_live(c))
		return NULL;
	if (!attr->pd || (attr->comp_mask & ~known) || vrb_is_parent_domain(attr->pd))
		return vrb_null(eng_refuse(vrb_ctx(c)->dev, ENG_R_PARENT));
	pd = make_handle(c);
	if (!pd)
		return NULL;
	pd->parent = vrb_of(attr->pd, vrb_pd);
	pd->pd = pd->parent->pd;
	pd->td = attr->td ? vrb_of(attr->td, vrb_td) : NULL;
	pd->pub.handle = attr->pd->handle;
	vrb_pd_use(pd->parent);
	if (pd->td)
		atomic_fetch_add(&pd->td->users, 1);
	vrb_hold(c);
	return &pd->pub;
}

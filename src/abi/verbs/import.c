/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Importing: a second context and further handles of objects of the first, by its descriptor and by handle
 * numbers. Within one process it works as with a kernel. The descriptor of another process is refused, since
 * its objects are in that process.
 */
#include <infiniband/verbs.h>

#include "abi/verbs/context.h"
#include "abi/verbs/device.h"
#include "abi/verbs/pd.h"
#include "abi/verbs/vrb.h"
#include "util/alloc.h"
#include "util/export.h"

#include <stdlib.h>
#include <sys/stat.h>

static struct vrb_device *device_of_fd(int fd)
{
	struct vrb_device *d = NULL;
	struct vrb_context *c;
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	errno = EOPNOTSUPP;
	ut_lock(&vrb_contexts_lock);
	ut_list_each(c, &vrb_contexts, node) {
		if (c->id_dev != st.st_dev || c->id_ino != st.st_ino)
			continue;
		d = c->device;
		vrb_device_get(d);
		break;
	}
	ut_unlock(&vrb_contexts_lock);
	return d;
}

UT_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct vrb_device *d = device_of_fd(cmd_fd);
	struct ibv_context *c;

	if (!d)
		return NULL;
	c = vrb_open(&d->pub);
	vrb_device_put(d);
	return c;
}

/* An object made on another adapter cannot be used with this context. */
static bool same_adapter(const struct ibv_context *a, const struct ibv_context *b)
{
	return vrb_ctx(a)->dev == vrb_ctx(b)->dev;
}

/* fits: the object could be imported, but there is no memory. */
static int no_import(const struct ibv_context *c, bool fits)
{
	return eng_refuse(vrb_ctx(c)->dev, fits ? ENG_R_MEMORY : ENG_R_IMPORT);
}

UT_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *c, uint32_t handle)
{
	struct vrb_handle *h = vrb_live(c) ? vrb_handle_take(VRB_PDS, handle) : NULL;
	struct vrb_pd *origin, *pd = NULL;

	if (!h)
		return vrb_null(eng_refuse(vrb_ctx(c)->dev, ENG_R_IMPORT));
	origin = ut_container(h, struct vrb_pd, h);
	if (same_adapter(origin->pub.context, c))
		pd = ut_zalloc(sizeof(*pd));
	if (!pd) {
		vrb_pd_unuse(origin);
		return vrb_null(no_import(c, same_adapter(origin->pub.context, c)));
	}
	pd->pub.context = c;
	pd->pub.handle = handle;
	pd->pd = origin->pd;
	pd->parent = origin;
	pd->imported = true;
	vrb_hold(c);
	return &pd->pub;
}

/* Objects made through it must be destroyed before, as the manual says. */
UT_EXPORT void ibv_unimport_pd(struct ibv_pd *pub)
{
	struct vrb_pd *pd = vrb_of(pub, vrb_pd);
	struct ibv_context *c = pub->context;

	if (!vrb_live(c) || atomic_load(&pd->h.users))
		return;
	vrb_pd_unuse(pd->parent);
	free(pd);
	vrb_release(c);
}

UT_EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pub, uint32_t handle)
{
	struct vrb_handle *h = vrb_live(pub->context) ? vrb_handle_take(VRB_MRS, handle) : NULL;
	struct vrb_pd *pd = vrb_of(pub, vrb_pd);
	struct vrb_mr *origin, *mr = NULL;

	if (!h)
		return vrb_null(eng_refuse(vrb_ctx(pub->context)->dev, ENG_R_IMPORT));
	origin = ut_container(h, struct vrb_mr, h);
	if (origin->pd->pd == pd->pd)
		mr = ut_zalloc(sizeof(*mr));
	if (!mr) {
		atomic_fetch_sub(&h->users, 1);
		return vrb_null(no_import(pub->context, origin->pd->pd == pd->pd));
	}
	/* The manual: address and length of an imported region are not known. */
	mr->pub = origin->pub;
	mr->pub.context = pub->context;
	mr->pub.pd = pub;
	mr->pub.addr = NULL;
	mr->pub.length = 0;
	mr->mk = origin->mk;
	mr->pd = pd;
	mr->origin = origin;
	mr->imported = true;
	vrb_pd_use(pd);
	vrb_hold(pub->context);
	return &mr->pub;
}

UT_EXPORT void ibv_unimport_mr(struct ibv_mr *pub)
{
	struct vrb_mr *mr = vrb_of(pub, vrb_mr);
	struct ibv_context *c = pub->context;

	if (!vrb_live(c) || !mr->imported)
		return;
	atomic_fetch_sub(&mr->origin->h.users, 1);
	vrb_pd_unuse(mr->pd);
	free(mr);
	vrb_release(c);
}

UT_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *c, uint32_t handle)
{
	struct vrb_handle *h = vrb_live(c) ? vrb_handle_take(VRB_DMS, handle) : NULL;
	struct vrb_dm *origin, *dm = NULL;

	if (!h)
		return vrb_null(eng_refuse(vrb_ctx(c)->dev, ENG_R_IMPORT));
	origin = ut_container(h, struct vrb_dm, h);
	if (same_adapter(origin->pub.context, c))
		dm = ut_zalloc(sizeof(*dm));
	if (!dm) {
		atomic_fetch_sub(&h->users, 1);
		return vrb_null(no_import(c, same_adapter(origin->pub.context, c)));
	}
	dm->pub = origin->pub;
	dm->pub.context = c;
	dm->base = origin->base;
	dm->length = origin->length;
	dm->origin = origin;
	dm->imported = true;
	vrb_hold(c);
	return &dm->pub;
}

UT_EXPORT void ibv_unimport_dm(struct ibv_dm *pub)
{
	struct vrb_dm *dm = vrb_of(pub, vrb_dm);
	struct ibv_context *c = pub->context;

	if (!vrb_live(c) || !dm->imported)
		return;
	atomic_fetch_sub(&dm->origin->h.users, 1);
	free(dm);
	vrb_release(c);
}

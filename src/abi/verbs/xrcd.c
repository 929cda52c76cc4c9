/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* XRC domains. */
#include "abi/verbs/xrcd.h"

#include "abi/verbs/context.h"
#include "engine/refuse.h"
#include "engine/srq.h"
#include "engine/xrcd.h"
#include "util/alloc.h"

#include <stdlib.h>

struct ibv_xrcd *vrb_open_xrcd(struct ibv_context *c, struct ibv_xrcd_init_attr *attr)
{
	const uint32_t need = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct eng_dev *dev = vrb_live(c);
	struct vrb_xrcd *x;
	int rc;

	if (!dev)
		return NULL;
	if (attr->comp_mask & ~(uint32_t)(IBV_XRCD_INIT_ATTR_RESERVED - 1))
		return vrb_null(eng_refuse(dev, ENG_R_XRC_FIELDS));
	if ((attr->comp_mask & need) != need)
		return vrb_null(eng_refuse(dev, ENG_R_XRC_MISSING));
	x = ut_zalloc(sizeof(*x));
	if (!x)
		return vrb_null(eng_refuse(dev, ENG_R_MEMORY));
	rc = eng_xrcd_open(dev, attr->fd, attr->oflags, &x->x);
	if (rc) {
		free(x);
		return vrb_null(rc);
	}
	x->pub.context = c;
	vrb_hold(c);
	return &x->pub;
}

int vrb_close_xrcd(struct ibv_xrcd *pub)
{
	struct vrb_xrcd *x = vrb_of(pub, vrb_xrcd);
	struct ibv_context *c = pub->context;
	int rc;

	if (!vrb_live(c))
		return EIO;
	if (atomic_load(&x->users))
		return vrb_error(eng_refuse(vrb_ctx(c)->dev, ENG_R_XRC_USED));
	rc = eng_xrcd_close(x->x);
	if (rc)
		return vrb_error(rc);
	free(x);
	vrb_release(c);
	return 0;
}

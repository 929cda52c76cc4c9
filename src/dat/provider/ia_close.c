/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The end of an adapter. What the loop or a connection still holds lives on without a handle; the
 * adapter's memory is given up with the last of it.
 */
#include "dat/provider/ia.h"

#include "dat/provider/evd.h"
#include "dat/provider/log.h"

#include <errno.h>

/* Who needs whom: users first. */
static const enum dpr_kind order[] = {
	DPR_CR, DPR_EP, DPR_RSP, DPR_PSP, DPR_CSP, DPR_RMR, DPR_LMR, DPR_SRQ, DPR_EVD, DPR_CNO,
	DPR_PZ,
};

static bool of_kind(struct dpr_obj *o, const void *kind)
{
	return o->cls->kind == *(const enum dpr_kind *)kind;
}

static void close_all(struct dpr_ia *ia, enum dpr_kind kind)
{
	struct dpr_obj *o;

	while ((o = dpr_obj_find(ia, of_kind, &kind))) {
		if (o->cls->close)
			o->cls->close(o);
		/* a close that did nothing would be asked for ever */
		if (dpr_obj_kill(o)) {
			dpr_log(DPR_LOG_ERR, "object %p of kind %d outlived its adapter",
				(void *)o, kind);
			dpr_obj_put(o);
		}
		dpr_obj_put(o);
	}
}

/* Is there anything but the EVD that dat_ia_open made? */
static bool in_use(struct dpr_ia *ia)
{
	struct dpr_obj *o;
	bool other = false;

	ut_lock(&ia->lock);
	ut_list_each(o, &ia->objs, of_ia)
		other |= !ia->async || o != &ia->async->obj;
	/* another adapter may have that EVD for its events */
	if (ia->async && ia->async->obj.ia == ia)
		other |= atomic_load(&ia->async->obj.uses) != 0;
	ut_unlock(&ia->lock);
	return other;
}

DAT_RETURN dpr_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dpr_ia *ia = dpr_ia_of(handle);
	struct dpr_evd *async;
	int kept = errno;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (flags == DAT_CLOSE_GRACEFUL_FLAG && in_use(ia))
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	if (!dpr_obj_kill(&ia->obj))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	dpr_device_leave(ia);
	ut_lock(&ia->lock);
	async = ia->async;
	ia->async = NULL;
	ut_unlock(&ia->lock);
	if (async) {
		if (async->obj.ia != ia)
			dpr_async_del(ia, async);
		dpr_obj_put(&async->obj);
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		close_all(ia, order[i]);
	dpr_obj_put(&ia->obj);
	errno = kept;
	return DAT_SUCCESS;
}

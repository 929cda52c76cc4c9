/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ia/context.h"

#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/obj.h"

static DAT_RETURN no_handle(void)
{
	return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

DAT_RETURN dpr_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	struct dpr_obj *o = dpr_obj_any(handle);

	if (!o)
		return no_handle();
	ut_lock(&o->ia->lock);
	o->context = context;
	ut_unlock(&o->ia->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	struct dpr_obj *o = dpr_obj_any(handle);

	if (!o)
		return no_handle();
	if (!context)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ut_lock(&o->ia->lock);
	*context = o->context;
	ut_unlock(&o->ia->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	struct dpr_obj *o = dpr_obj_any(handle);

	if (!o)
		return no_handle();
	if (!type)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	*type = o->cls->type;
	return DAT_SUCCESS;
}

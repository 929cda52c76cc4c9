/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/call_any.h"

#include "dat/registry/call.h"

#include <dat2/dat_ib_extensions.h>

#include <stdarg.h>

/* Returns the table of a handle of any kind. *handle becomes the provider's, which for an IA
 * differs from the number. */
static const DAT_PROVIDER *any_object(DAT_HANDLE *handle)
{
	const DAT_PROVIDER *table;
	DAT_IA_HANDLE ia;

	if ((uintptr_t)*handle >= DREG_MAX_IAS) {
		table = dreg_object(*handle);
		if (table)
			return table;
	}
	ia = dreg_ia(*handle);
	if (!ia)
		return NULL;
	*handle = ia;
	return DAT_HANDLE_TO_PROVIDER(ia);
}

#define DREG_ANY(handle)                                                  \
	const DAT_PROVIDER *table = any_object(&(handle));                \
	if (!table)                                                       \
		return dreg_bad(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)

DREG_EXPORT DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd,
				    DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
				    DAT_PROVIDER_ATTR_MASK provider_mask,
				    DAT_PROVIDER_ATTR *provider_attr)
{
	DREG_IA(ia);

	return DREG_CALL(ia_query_func, ia, async_evd, ia_mask, ia_attr, provider_mask,
			 provider_attr);
}

DREG_EXPORT DAT_RETURN dat_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	DREG_ANY(handle);

	return DREG_CALL(set_consumer_context_func, handle, context);
}

DREG_EXPORT DAT_RETURN dat_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	DREG_ANY(handle);

	return DREG_CALL(get_consumer_context_func, handle, context);
}

DREG_EXPORT DAT_RETURN dat_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	DREG_ANY(handle);

	return DREG_CALL(get_handle_type_func, handle, type);
}

/*
 * dat_ib_open_query: the attributes of an adapter without an open, and a handle to close. A full
 * open gives the same attributes with any provider, also with one that does not know the operation.
 */
static DAT_RETURN open_query(va_list args)
{
	const DAT_NAME_PTR name = va_arg(args, DAT_NAME_PTR);
	DAT_HANDLE *ret = va_arg(args, DAT_HANDLE *);
	DAT_IA_ATTR_MASK ia_mask = va_arg(args, DAT_IA_ATTR_MASK);
	DAT_IA_ATTR *ia_attr = va_arg(args, DAT_IA_ATTR *);
	DAT_PROVIDER_ATTR_MASK provider_mask = va_arg(args, DAT_PROVIDER_ATTR_MASK);
	DAT_PROVIDER_ATTR *provider_attr = va_arg(args, DAT_PROVIDER_ATTR *);
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN rc;

	if (!ret)
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	rc = dat_ia_openv(name, 8, &evd, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
	if (rc != DAT_SUCCESS)
		return rc;
	rc = dat_ia_query(ia, NULL, ia_mask, ia_attr, provider_mask, provider_attr);
	if (rc == DAT_SUCCESS)
		*ret = ia;
	else
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return rc;
}

static DAT_RETURN extended(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	DREG_ANY(handle);

	if (!dreg_table_extensions(table) || !table->handle_extendedop_func)
		return DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
	return table->handle_extendedop_func(handle, op, args);
}

DREG_EXPORT DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)
{
	DAT_RETURN rc;
	va_list args;

	va_start(args, op);
	if (op == DAT_IB_OPEN_QUERY_OP && !handle)
		rc = open_query(args);
	else if (op == DAT_IB_CLOSE_QUERY_OP && dreg_ia(handle))
		rc = dat_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG);
	else
		rc = extended(handle, op, args);
	va_end(args);
	return dreg_result(__func__, rc);
}

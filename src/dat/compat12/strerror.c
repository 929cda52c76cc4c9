/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Return values of DAT 1.2 as text: the names in dat/dat_error.h. */
#include <dat/udat.h>

#include "dat/compat12/call.h"

struct text {
	DAT_RETURN value;
	const char *text;
};

#define TEXT(name, in12, in20) { in12, #name },

static const struct text types[] = { C12_RETURN_TYPES(TEXT) };
static const struct text subtypes[] = { C12_SUBTYPES(TEXT) };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *find(const struct text *list, size_t n, DAT_RETURN value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].value == value)
			return list[i].text;
	return NULL;
}

C12_EXPORT DAT_RETURN dat_strerror(DAT_RETURN value, const char **major, const char **minor)
{
	DAT_RETURN subtype = DAT_GET_SUBTYPE(value);
	const char *type = find(types, COUNT(types), DAT_GET_TYPE(value));
	const char *detail = subtype ? find(subtypes, COUNT(subtypes), subtype) : "";

	if (major)
		*major = type ? type : "unknown error";
	if (minor)
		*minor = detail ? detail : "unknown minor error";
	return type && detail ? DAT_SUCCESS : DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queries of names, without opening them. */
#include <dat2/dat_registry.h>

#include "dat/registry/dreg.h"
#include "dat/registry/entry.h"
#include "dat/registry/ia.h"

#include <string.h>

struct listing {
	DAT_COUNT max, n;
	DAT_PROVIDER_INFO **list;
	bool bad;
};

static bool put(void *ctx, const DAT_PROVIDER_INFO *info)
{
	struct listing *l = ctx;

	if (l->n < l->max && !l->list[l->n])
		l->bad = true;
	else if (l->n < l->max)
		*l->list[l->n] = *info;
	l->n++;
	return !l->bad;
}

/* As old programs expect, *count is the number of entries filled in. With max 0 it is the number of
 * all, and the call fails. */
DREG_EXPORT DAT_RETURN dat_registry_list_providers(DAT_COUNT max, DAT_COUNT *count,
						   DAT_PROVIDER_INFO *(list[]))
{
	struct listing l = { .max = max, .list = list };
	struct dreg_guard guard;

	if (!count)
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!list && max)
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (max < 0)
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	guard = dreg_enter();
	dreg_entry_each(put, &l);
	dreg_leave(&guard);
	if (l.bad)
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	*count = max && l.n > max ? max : l.n;
	return max ? DAT_SUCCESS : dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
}

struct search {
	const char *name;
	DAT_PROVIDER_INFO found;
	bool any;
};

static bool is_it(void *ctx, const DAT_PROVIDER_INFO *info)
{
	struct search *s = ctx;

	if (strcmp(info->ia_name, s->name) != 0 || info->dapl_version_major != DAT_VERSION_MAJOR)
		return true;
	s->found = *info;
	s->any = true;
	return false;
}

static bool find_name(const char *name, struct search *ret)
{
	struct dreg_guard guard = dreg_enter();

	*ret = (struct search){ .name = name };
	if (name)
		dreg_entry_each(is_it, ret);
	dreg_leave(&guard);
	return ret->any;
}

/* Opens the IA of one name and returns what its provider answers about the other name. */
static DAT_HA_RELATIONSHIP ask(const struct search *of, const char *other)
{
	const DAT_PROVIDER_INFO *i = &of->found;
	DAT_HA_RELATIONSHIP says = DAT_HA_UNKNOWN;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	const DAT_PROVIDER *table;
	DAT_BOOLEAN yes = DAT_FALSE;
	DAT_IA_HANDLE ia, object;

	if (dat_ia_openv((DAT_NAME_PTR)i->ia_name, 8, &evd, &ia, i->dapl_version_major,
			 i->dapl_version_minor, i->is_thread_safe) != DAT_SUCCESS)
		return says;
	object = dreg_ia(ia);
	table = DAT_HANDLE_TO_PROVIDER(object);
	if (table->ia_ha_related_func &&
	    table->ia_ha_related_func(object, (DAT_NAME_PTR)other, &yes) == DAT_SUCCESS)
		says = yes ? DAT_HA_TRUE : DAT_HA_FALSE;
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return says;
}

DREG_EXPORT DAT_RETURN dat_registry_providers_related(const DAT_NAME_PTR name1,
						      const DAT_NAME_PTR name2,
						      DAT_HA_RELATIONSHIP *related)
{
	DAT_HA_RELATIONSHIP says1, says2;
	struct search one, two;

	if (!find_name(name1, &one))
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!find_name(name2, &two))
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!related)
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (strcmp(name1, name2) == 0) {
		*related = DAT_HA_TRUE;
		return DAT_SUCCESS;
	}
	says1 = ask(&one, name2);
	says2 = ask(&two, name1);
	if (says1 == says2 || says2 == DAT_HA_UNKNOWN)
		*related = says1;
	else
		*related = says1 == DAT_HA_UNKNOWN ? says2 : DAT_HA_CONFLICTING;
	return DAT_SUCCESS;
}

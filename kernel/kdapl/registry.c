// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/registry.h"

#include "dat/core/core.h"
#include "dat/core/text.h"

#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

struct entry {
	struct list_head link;
	struct module *owner;
	const DAT_PROVIDER *provider;
	DAT_PROVIDER_INFO info;
};

/* An open IA, for the reference of its provider's module. */
struct opened {
	struct list_head link;
	DAT_IA_HANDLE ia;
	struct module *owner;
};

static DEFINE_MUTEX(registry_lock); /* of both lists */
static LIST_HEAD(entries);
static LIST_HEAD(opens);

static struct entry *find(const char *name)
{
	struct entry *e;

	list_for_each_entry(e, &entries, link)
		if (!strcmp(e->info.ia_name, name))
			return e;
	return NULL;
}

DAT_RETURN kdat_registry_add(struct module *owner, const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct entry *e;

	if (!provider || !provider->ia_open_func)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!info || !info->ia_name[0] || strnlen(info->ia_name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	e = kzalloc(sizeof(*e), GFP_KERNEL);
	if (!e)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	e->owner = owner;
	e->provider = provider;
	e->info = *info;
	mutex_lock(&registry_lock);
	if (find(info->ia_name))
		ret = DPR_ERR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	else
		list_add_tail(&e->link, &entries);
	mutex_unlock(&registry_lock);
	if (ret)
		kfree(e);
	return ret;
}
EXPORT_SYMBOL(kdat_registry_add);

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	struct entry *e;

	if (!provider)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!info)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	mutex_lock(&registry_lock);
	e = find(info->ia_name);
	if (e && e->provider != provider)
		e = NULL;
	if (e)
		list_del(&e->link);
	mutex_unlock(&registry_lock);
	if (!e)
		return DPR_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	kfree(e);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL(dat_registry_remove_provider);

void kdp_registry_clear(void)
{
	struct entry *e, *next;

	mutex_lock(&registry_lock);
	list_for_each_entry_safe(e, next, &entries, link)
		kfree(e);
	INIT_LIST_HEAD(&entries);
	mutex_unlock(&registry_lock);
}

DAT_RETURN dat_registry_list_providers(DAT_COUNT max, DAT_COUNT *count, DAT_PROVIDER_INFO *(list[]))
{
	struct entry *e;
	DAT_COUNT n = 0;

	if (!count)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (max > 0 && !list)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	mutex_lock(&registry_lock);
	list_for_each_entry(e, &entries, link) {
		if (n < max && list[n])
			*list[n] = e->info;
		n++;
	}
	mutex_unlock(&registry_lock);
	*count = n;
	return max < n ? DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1) : DAT_SUCCESS;
}
EXPORT_SYMBOL(dat_registry_list_providers);

/* A provider of a larger minor version, and one that is thread-safe, serve a consumer that asks for less. */
static DAT_RETURN fits(const struct entry *e, DAT_UINT32 major, DAT_UINT32 minor, DAT_BOOLEAN thread_safe)
{
	DAT_RETURN_SUBTYPE lacks = DAT_NO_SUBTYPE;

	if (!e)
		lacks = DAT_NAME_NOT_REGISTERED;
	else if (e->info.dapl_version_major != major)
		lacks = DAT_MAJOR_NOT_FOUND;
	else if (e->info.dapl_version_minor < minor)
		lacks = DAT_MINOR_NOT_FOUND;
	else if (thread_safe && !e->info.is_thread_safe)
		lacks = DAT_THREAD_SAFETY_NOT_FOUND;
	return lacks ? DPR_ERR(DAT_PROVIDER_NOT_FOUND, lacks) : DAT_SUCCESS;
}

static DAT_RETURN take(const char *name, DAT_UINT32 major, DAT_UINT32 minor, DAT_BOOLEAN thread_safe,
		       struct module **owner, const DAT_PROVIDER **provider)
{
	DAT_RETURN ret;
	struct entry *e;

	mutex_lock(&registry_lock);
	e = find(name);
	ret = fits(e, major, minor, thread_safe);
	if (!ret && !try_module_get(e->owner))
		ret = DPR_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	if (!ret) {
		*owner = e->owner;
		*provider = e->provider;
	}
	mutex_unlock(&registry_lock);
	return ret;
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT async_qlen, DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia,
			DAT_UINT32 major, DAT_UINT32 minor, DAT_BOOLEAN thread_safe)
{
	const DAT_PROVIDER *provider;
	struct module *owner;
	struct opened *o;
	DAT_RETURN ret;

	if (!name)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!ia)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	o = kzalloc(sizeof(*o), GFP_KERNEL);
	if (!o)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ret = take(name, major, minor, thread_safe, &owner, &provider);
	if (ret) {
		kfree(o);
		return ret;
	}
	ret = provider->ia_open_func(name, async_qlen, async_evd, ia);
	if (ret) {
		module_put(owner);
		kfree(o);
		return ret;
	}
	o->ia = *ia;
	o->owner = owner;
	mutex_lock(&registry_lock);
	list_add(&o->link, &opens);
	mutex_unlock(&registry_lock);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL(dat_ia_openv);

static struct opened *opened_of(DAT_IA_HANDLE ia)
{
	struct opened *o;

	list_for_each_entry(o, &opens, link)
		if (o->ia == ia)
			return o;
	return NULL;
}

/* The handle may be any value: only those that dat_ia_openv() returned are followed. */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	struct opened *o;
	DAT_RETURN ret;

	mutex_lock(&registry_lock);
	o = opened_of(ia);
	if (o)
		list_del(&o->link);
	mutex_unlock(&registry_lock);
	if (!o)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ret = DAT_HANDLE_TO_PROVIDER(ia)->ia_close_func(ia, flags);
	if (ret) {
		mutex_lock(&registry_lock);
		list_add(&o->link, &opens);
		mutex_unlock(&registry_lock);
		return ret;
	}
	module_put(o->owner);
	kfree(o);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL(dat_ia_close);

DAT_RETURN dat_registry_providers_related(const DAT_NAME_PTR name1, const DAT_NAME_PTR name2,
					  DAT_HA_RELATIONSHIP *related)
{
	DAT_EVD_HANDLE evd = DAT_EVD_ASYNC_EXISTS;
	DAT_BOOLEAN is = DAT_FALSE;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	if (!name1)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!name2)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!related)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ret = dat_ia_openv(name1, 1, &evd, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
	if (ret)
		return ret;
	ret = dat_ia_ha_related(ia, name2, &is);
	if (!ret)
		*related = is ? DAT_HA_TRUE : DAT_HA_FALSE;
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret;
}
EXPORT_SYMBOL(dat_registry_providers_related);

DAT_RETURN dat_strerror(DAT_RETURN value, const char **major, const char **minor)
{
	return dpr_text(value, major, minor);
}
EXPORT_SYMBOL(dat_strerror);

DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)
{
	DAT_RETURN ret;
	va_list args;

	if (!handle)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!DAT_HANDLE_TO_PROVIDER(handle)->handle_extendedop_func)
		return DPR_ERR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
	va_start(args, op);
	ret = DAT_HANDLE_TO_PROVIDER(handle)->handle_extendedop_func(handle, op, args);
	va_end(args);
	return ret;
}
EXPORT_SYMBOL(dat_extension_op);

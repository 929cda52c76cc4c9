/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of adapters and of the registry, for DAT 1.2: each goes to libdat2 by its table (registry/front.h). */
#include <dat/dat_registry.h>

#include "dat/compat12/call.h"
#include "dat/compat12/lmr.h"

#include <string.h>

/* The version of libdat2's providers. */
#define MAJOR20 2
#define MINOR20 0

/*
 * A line of dat.conf with u1.2 is for programs of 1.2 and takes precedence; its library must be a
 * provider of 2.0 nevertheless. Programs of both versions can open any other name.
 */
C12_EXPORT DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name, DAT_COUNT async_qlen,
				   DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia, DAT_UINT32 major,
				   DAT_UINT32 minor, DAT_BOOLEAN thread_safe)
{
	C12_FRONT;
	DAT_IA_OPENV_FUNC openv = (DAT_IA_OPENV_FUNC)front->ia_openv;
	DAT_RETURN rc;

	rc = openv(ia_name, async_qlen, async_evd, ia, major, minor, thread_safe);
	if (DAT_GET_TYPE(rc) == DAT_PROVIDER_NOT_FOUND && major == DAT_VERSION_MAJOR &&
	    minor <= DAT_VERSION_MINOR)
		rc = openv(ia_name, async_qlen, async_evd, ia, MAJOR20, MINOR20, thread_safe);
	return c12_return(rc);
}

C12_EXPORT DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	C12_FRONT;
	DAT_RETURN rc = C12_FUNC(ia_close, DAT_IA_CLOSE_FUNC)(ia, flags);

	if (rc == DAT_SUCCESS)
		c12_lmr_forget_ia(ia);
	return c12_return(rc);
}

static void provider_attr12(DAT_PROVIDER_ATTR *to, const void *from)
{
	static const struct {
		DAT_PZ_SUPPORT in12;
		int in20;
	} pz[] = {
#define PZ(name, in12, in20) { name, in20 },
		C12_PZ_SUPPORT(PZ)
	};

	c12_from20(C12_TYPE_PROVIDER_ATTR, to, from);
	for (size_t i = 0; i < sizeof(pz) / sizeof(pz[0]); i++)
		if ((int)to->pz_support == pz[i].in20) {
			to->pz_support = pz[i].in12;
			break;
		}
	to->dapl_version_major = DAT_VERSION_MAJOR;
	to->dapl_version_minor = DAT_VERSION_MINOR;
}

C12_EXPORT DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd,
				   DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
				   DAT_PROVIDER_ATTR_MASK provider_mask,
				   DAT_PROVIDER_ATTR *provider_attr)
{
	C12_FRONT;
	DAT_RETURN (*query)(DAT_IA_HANDLE, DAT_EVD_HANDLE *, uint64_t, void *, uint64_t, void *) =
		front->slot[C12_ia_query];
	C12_STRUCT20(ia20, IA_ATTR);
	C12_STRUCT20(provider20, PROVIDER_ATTR);
	DAT_RETURN rc;

	rc = query(ia, async_evd, c12_mask20(C12_IA, ia_mask), ia_attr ? ia20 : NULL,
		   c12_mask20(C12_PROVIDER, provider_mask), provider_attr ? provider20 : NULL);
	if (rc != DAT_SUCCESS)
		return c12_return(rc);
	if (ia_attr && ia_mask)
		c12_from20(C12_TYPE_IA_ATTR, ia_attr, ia20);
	if (provider_attr && provider_mask)
		provider_attr12(provider_attr, provider20);
	return DAT_SUCCESS;
}

/* A program opens the versions that it reads here, so entries of 2.0 are listed with its own
 * version. */
C12_EXPORT DAT_RETURN dat_registry_list_providers(DAT_COUNT max, DAT_COUNT *count,
						  DAT_PROVIDER_INFO *(list[]))
{
	C12_FRONT;
	DAT_RETURN (*get)(DAT_COUNT, DAT_COUNT *, DAT_PROVIDER_INFO *([])) = front->list_providers;
	DAT_RETURN rc = get(max, count, list);

	for (DAT_COUNT i = 0; rc == DAT_SUCCESS && i < *count && i < max; i++)
		if (list[i]->dapl_version_major == MAJOR20) {
			list[i]->dapl_version_major = DAT_VERSION_MAJOR;
			list[i]->dapl_version_minor = DAT_VERSION_MINOR;
		}
	return c12_return(rc);
}

/*
 * Providers look these three up in the whole process, so a provider of 2.0 may find them here. Its
 * table does not differ from that of a provider of 1.2, but libdat2 loads providers of 2.0 only,
 * and takes no other while it does.
 */
C12_EXPORT DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
						const DAT_PROVIDER_INFO *info)
{
	C12_FRONT;
	DAT_RETURN (*add)(const void *, const DAT_PROVIDER_INFO *) = front->add_provider;

	return c12_return(add(provider, info));
}

C12_EXPORT DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
						   const DAT_PROVIDER_INFO *info)
{
	C12_FRONT;
	DAT_RETURN (*drop)(const void *, const DAT_PROVIDER_INFO *) = front->remove_provider;

	return c12_return(drop(provider, info));
}

C12_EXPORT DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE in, DAT_IA_HANDLE *out)
{
	C12_FRONT;
	DAT_RETURN (*get)(DAT_IA_HANDLE, DAT_IA_HANDLE *) = front->get_ia_handle;

	return c12_return(get(in, out));
}

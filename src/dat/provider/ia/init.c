/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ia/init.h"

#include "dat/provider/dto/ext.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/log.h"
#include "dat/provider/ia/table.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct registered {
	struct ut_list on;
	struct dpr_entry entry;
	DAT_PROVIDER table; /* the registry calls ia_open of this copy */
};

static struct ut_mutex lock = UT_MUTEX_INIT;
static struct ut_list entries UT_GUARDED_BY(lock) = UT_LIST_INIT(entries);

typedef DAT_RETURN register_fn(const DAT_PROVIDER *, const DAT_PROVIDER_INFO *);
typedef DAT_RETURN handle_fn(DAT_IA_HANDLE, DAT_IA_HANDLE *);

static struct {
	register_fn *add, *remove;
	handle_fn *ia_handle;
} registry;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *look_up(void *lib, const char *name)
{
	void *f = lib ? dlsym(lib, name) : NULL;

	return f ? f : dlsym(RTLD_DEFAULT, name);
}

static void find_registry(void)
{
	void *lib = dlopen("libdat2.so.2", RTLD_LAZY | RTLD_NOLOAD);

	registry.add = (register_fn *)look_up(lib, "dat_registry_add_provider");
	registry.remove = (register_fn *)look_up(lib, "dat_registry_remove_provider");
	registry.ia_handle = (handle_fn *)look_up(lib, "dats_get_ia_handle");
	/* `lib` stays open: the registry must not be unloaded before its provider */
}

DAT_IA_HANDLE dpr_ia_public(struct dpr_ia *ia)
{
	DAT_IA_HANDLE handle;

	if (registry.ia_handle &&
	    registry.ia_handle((DAT_IA_HANDLE)ia, &handle) == DAT_SUCCESS)
		return handle;
	return (DAT_IA_HANDLE)ia;
}

static bool same(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return !strncmp(a->ia_name, b->ia_name, sizeof(a->ia_name)) &&
	       a->dapl_version_major == b->dapl_version_major &&
	       a->dapl_version_minor == b->dapl_version_minor &&
	       !a->is_thread_safe == !b->is_thread_safe;
}

bool dpr_entry_find(const char *name, bool safe, struct dpr_entry *to)
{
	struct registered *r, *best = NULL;

	ut_lock(&lock);
	ut_list_each(r, &entries, on) {
		if (strncmp(r->entry.info.ia_name, name, DAT_NAME_MAX_LENGTH))
			continue;
		if (!best || !!r->entry.info.is_thread_safe == safe)
			best = r;
	}
	if (best)
		*to = best->entry;
	ut_unlock(&lock);
	return best;
}

static struct registered *entry_new(const DAT_PROVIDER_INFO *info, const char *params)
{
	struct registered *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->entry.info = *info;
	r->entry.info.ia_name[DAT_NAME_MAX_LENGTH - 1] = '\0';
	strncpy(r->entry.params, params ? params : "", sizeof(r->entry.params) - 1);
	r->table = dpr_table;
	r->table.device_name = r->entry.info.ia_name;
	if (info->is_thread_safe)
		r->table.ia_open_func = dpr_ia_open_safe;
	return r;
}

EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params);
EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info);
EXPORT DAT_RETURN dapl_extensions(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args);

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	struct registered *r;

	pthread_once(&once, find_registry);
	if (!info || !registry.add) {
		dpr_log(DPR_LOG_ERR, "the registry libdat2.so.2 is not in this process: entries of this "
				     "provider cannot be opened; link the program with libdat2");
		return;
	}
	r = entry_new(info, params);
	if (!r)
		return;
	ut_lock(&lock);
	ut_list_add_tail(&entries, &r->on);
	ut_unlock(&lock);
	if (registry.add(&r->table, info) == DAT_SUCCESS)
		return;
	dpr_log(DPR_LOG_ERR, "entry %s: the DAT registry has no memory for it, or one of that name: it cannot be opened; give entries "
			     "different names in dat.conf", r->entry.info.ia_name);
	ut_lock(&lock);
	ut_list_del(&r->on);
	ut_unlock(&lock);
	free(r);
}

/* The registry calls this after the entry's last adapter was closed. */
void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	struct registered *r, *found = NULL;

	if (!info)
		return;
	ut_lock(&lock);
	ut_list_each(r, &entries, on)
		if (same(&r->entry.info, info))
			found = r;
	if (found)
		ut_list_del(&found->on);
	ut_unlock(&lock);
	if (!found)
		return;
	registry.remove(&found->table, info);
	free(found);
}

DAT_RETURN dapl_extensions(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	return dpr_extension(handle, op, args);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/provider.h"

#include "dat/registry/builtin.h"
#include "dat/registry/log.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dreg_provider {
	struct dreg_provider *next;
	const DAT_PROVIDER *table;
	DAT_PROVIDER_INFO info;
	unsigned users;
};

/* Guarded by dreg_lock. */
static struct dreg_provider *providers;
static pthread_cond_t busy_cond = PTHREAD_COND_INITIALIZER;

static struct dreg_provider **find(const DAT_PROVIDER_INFO *info)
{
	struct dreg_provider **at = &providers;

	while (*at && ((*at)->info.dapl_version_major != info->dapl_version_major ||
		       (*at)->info.dapl_version_minor != info->dapl_version_minor ||
		       (*at)->info.is_thread_safe != info->is_thread_safe ||
		       strncmp((*at)->info.ia_name, info->ia_name, DAT_NAME_MAX_LENGTH) != 0))
		at = &(*at)->next;
	return at;
}

static bool is_named(const DAT_PROVIDER_INFO *info)
{
	return info && info->ia_name[0] && memchr(info->ia_name, '\0', sizeof(info->ia_name));
}

DREG_EXPORT DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
						 const DAT_PROVIDER_INFO *info)
{
	struct dreg_provider *p;
	DAT_RETURN rc = DAT_SUCCESS;

	if (!provider || !provider->ia_open_func)
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!is_named(info))
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	p = malloc(sizeof(*p));
	if (!p)
		return dreg_bad(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	*p = (struct dreg_provider){ .table = provider, .info = *info };
	pthread_mutex_lock(&dreg_lock);
	if (*find(info)) {
		rc = dreg_bad(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	} else {
		p->next = providers;
		providers = p;
		p = NULL;
	}
	pthread_mutex_unlock(&dreg_lock);
	free(p);
	dreg_log(DREG_DYNAMIC, "provider %s registers: %#x", info->ia_name, rc);
	return rc;
}

DREG_EXPORT DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
						    const DAT_PROVIDER_INFO *info)
{
	struct dreg_provider *p = NULL, **at;
	DAT_RETURN rc = DAT_SUCCESS;

	if (!provider)
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!is_named(info))
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	pthread_mutex_lock(&dreg_lock);
	at = find(info);
	if (!*at) {
		rc = dreg_bad(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	} else if ((*at)->users) {
		rc = dreg_bad(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE);
	} else {
		p = *at;
		*at = p->next;
	}
	pthread_mutex_unlock(&dreg_lock);
	free(p);
	dreg_log(DREG_DYNAMIC, "provider %s leaves: %#x", info->ia_name, rc);
	return rc;
}

/* The unload removes a provider that its library did not remove. */
static void forget(const DAT_PROVIDER_INFO *info)
{
	struct dreg_provider *p, **at;

	pthread_mutex_lock(&dreg_lock);
	at = find(info);
	p = *at && !(*at)->users ? *at : NULL;
	if (p)
		*at = p->next;
	pthread_mutex_unlock(&dreg_lock);
	free(p);
}

static void *open_library(const struct dreg_entry *e)
{
	char beside[PATH_MAX];
	void *dl = NULL;
	int n;

	dreg_become_global();
	/* Dapple's provider lies beside this library, where the loader does not search. */
	n = snprintf(beside, sizeof(beside), "%s%s", dreg_own_folder(), e->library);
	if (strcmp(e->library, DREG_OWN_LIBRARY) == 0 && n < (int)sizeof(beside))
		dl = dlopen(beside, RTLD_NOW | RTLD_GLOBAL);
	if (!dl)
		dl = dlopen(e->library, RTLD_NOW | RTLD_GLOBAL);
	if (!dl)
		dreg_log(DREG_ERROR | DREG_STATIC, "%s: cannot load %s (%s): the entry cannot "
			 "be opened; correct the library in dat.conf", e->info.ia_name, e->library,
			 dlerror());
	return dl;
}

/* set while this thread runs dat_provider_init */
static __thread bool loading;

DAT_RETURN dreg_provider_add_loaded(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	return loading ? dat_registry_add_provider(provider, info) :
			 DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
}

/* Called with e busy. Runs the provider's code: constructors, dat_provider_init. */
static bool load(struct dreg_entry *e)
{
	DAT_PROVIDER_INIT_FUNC init;
	bool registered;

	e->dl = open_library(e);
	if (!e->dl)
		return false;
	init = (DAT_PROVIDER_INIT_FUNC)dlsym(e->dl, DAT_PROVIDER_INIT_FUNC_STR);
	e->fini = (DAT_PROVIDER_FINI_FUNC)dlsym(e->dl, DAT_PROVIDER_FINI_FUNC_STR);
	if (!init || !e->fini) {
		dreg_log(DREG_ERROR | DREG_STATIC, "%s: %s does not export %s and %s: the entry "
			 "cannot be opened; name a DAT provider in dat.conf", e->info.ia_name,
			 e->library, DAT_PROVIDER_INIT_FUNC_STR, DAT_PROVIDER_FINI_FUNC_STR);
		goto close;
	}
	/* An entry for programs of 1.2 may name a provider of 1.2, whose table looks like one of 2.0. Only providers of
	 * 2.0 export dapl_extensions. */
	if (e->info.dapl_version_major < DAT_VERSION_MAJOR && !dlsym(e->dl, "dapl_extensions")) {
		dreg_log(DREG_ERROR | DREG_STATIC, "%s: %s does not export dapl_extensions: an "
			 "entry of version 1.2 cannot be opened with it; name a provider of 2.0",
			 e->info.ia_name, e->library);
		goto close;
	}
	loading = true;
	init(&e->info, e->params);
	loading = false;
	pthread_mutex_lock(&dreg_lock);
	registered = *find(&e->info) != NULL;
	pthread_mutex_unlock(&dreg_lock);
	if (registered)
		return true;
	dreg_log(DREG_ERROR | DREG_STATIC, "%s: the library %s registers no provider of this name: the entry "
		 "cannot be opened; correct its parameters in dat.conf (the library may say what is wrong)", e->info.ia_name, e->library);
	e->fini(&e->info);
close:
	dlclose(e->dl);
	e->dl = NULL;
	return false;
}

static void unload(struct dreg_entry *e)
{
	e->fini(&e->info);
	forget(&e->info);
	dlclose(e->dl);
	e->dl = NULL;
}

/* Returns false if the caller itself is loading or unloading e: a provider that opens itself from
 * dat_provider_init would wait for ever. */
static bool wait_until_idle(struct dreg_entry *e)
{
	while (e->busy) {
		if (pthread_equal(e->owner, pthread_self()))
			return false;
		pthread_cond_wait(&busy_cond, &dreg_lock);
	}
	return true;
}

static void set_busy(struct dreg_entry *e, bool busy)
{
	e->busy = busy;
	e->owner = pthread_self();
	if (!busy)
		pthread_cond_broadcast(&busy_cond);
}

/* Adds a use of the provider of this key. Called with dreg_lock held. */
static bool take(const DAT_PROVIDER_INFO *info, struct dreg_use *ret)
{
	struct dreg_provider *p = *find(info);

	if (!p)
		return false;
	p->users++;
	ret->provider = p;
	ret->table = p->table;
	return true;
}

static bool use_entry(struct dreg_entry *e, struct dreg_use *ret)
{
	bool good = false;

	pthread_mutex_lock(&dreg_lock);
	if (!wait_until_idle(e))
		goto out;
	if (!e->users) {
		set_busy(e, true);
		pthread_mutex_unlock(&dreg_lock);
		good = load(e);
		pthread_mutex_lock(&dreg_lock);
		set_busy(e, false);
		if (!good)
			goto out;
	}
	ret->entry = e;
	e->users++;
	good = take(&e->info, ret);
out:
	pthread_mutex_unlock(&dreg_lock);
	if (!good && ret->entry)
		dreg_provider_leave(ret);
	return good;
}

/* Uses a provider that the program registered, without an entry. */
static bool use_registered(const struct dreg_request *request, struct dreg_use *ret,
			   enum dreg_match *best)
{
	struct dreg_provider *p, *chosen = NULL;
	enum dreg_match level = DREG_MATCH_THREADS;

	pthread_mutex_lock(&dreg_lock);
	for (p = providers; p; p = p->next) {
		enum dreg_match m = dreg_match(&p->info, request);

		*best = m > *best ? m : *best;
		if (m > level) {
			level = m;
			chosen = p;
		}
	}
	if (chosen)
		take(&chosen->info, ret);
	pthread_mutex_unlock(&dreg_lock);
	return chosen != NULL;
}

DAT_RETURN dreg_provider_use(const struct dreg_request *request, struct dreg_use *ret)
{
	enum dreg_match best = DREG_MATCH_NAME;
	struct dreg_entry *e = NULL;
	bool any = false;

	*ret = (struct dreg_use){ NULL };
	while ((e = dreg_entry_next(request, e, &best))) {
		any = true;
		if (use_entry(e, ret))
			return DAT_SUCCESS;
		*ret = (struct dreg_use){ NULL };
	}
	/* only without entries: the provider of one that is being unloaded must not be found */
	if (!any && use_registered(request, ret, &best))
		return DAT_SUCCESS;
	return dreg_match_error(best);
}

void dreg_provider_leave(struct dreg_use *use)
{
	struct dreg_entry *e = use->entry;
	bool last;

	pthread_mutex_lock(&dreg_lock);
	if (use->provider)
		use->provider->users--;
	if (!e) {
		pthread_mutex_unlock(&dreg_lock);
		return;
	}
	/* within dat_provider_init or _fini of this entry the owner unloads it */
	last = wait_until_idle(e) && e->users == 1;
	if (last) {
		set_busy(e, true);
		pthread_mutex_unlock(&dreg_lock);
		unload(e);
		pthread_mutex_lock(&dreg_lock);
		set_busy(e, false);
	}
	e->users--;
	pthread_mutex_unlock(&dreg_lock);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/builtin.h"

#include "dat/registry/log.h"

#include <dlfcn.h>
#include <ifaddrs.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *device, *entry;
} kinds[] = {
	{ "dpl_roce_", "dapple-roce-" },
	{ "dpl_iw_", "dapple-iw-" },
	{ "dpl_ib", "dapple-ib-" },
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* resolved, since the program may change its working directory */
static char own_folder[PATH_MAX];
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void find_own(void)
{
	char folder[PATH_MAX];
	Dl_info info;
	char *slash;

	if (!dladdr((void *)find_own, &info))
		return;
	snprintf(folder, sizeof(folder), "%s", info.dli_fname);
	slash = strrchr(folder, '/');
	if (!slash)
		return;
	slash[1] = '\0';
	if (realpath(folder, own_folder) && strlen(own_folder) < sizeof(own_folder) - 1)
		strcat(own_folder, "/");
	else
		own_folder[0] = '\0';
}

const char *dreg_own_folder(void)
{
	pthread_once(&own_once, find_own);
	return own_folder;
}

void dreg_become_global(void)
{
	Dl_info info;

	if (dladdr((void *)find_own, &info) &&
	    !dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL))
		dreg_log(DREG_ERROR, "cannot make %s global (%s): providers may "
			 "not find it; link the program with libdat2", info.dli_fname, dlerror());
}

bool dreg_builtin_name(const char *name)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (strncmp(name, kinds[i].entry, strlen(kinds[i].entry)) == 0)
			return true;
	return false;
}

static bool has_ipv6(const struct ifaddrs *all, const char *netdev)
{
	for (; all; all = all->ifa_next)
		if (all->ifa_addr && all->ifa_addr->sa_family == AF_INET6 && strcmp(all->ifa_name, netdev) == 0)
			return true;
	return false;
}

/* Fills the entry of a device with the ending of its name and parameters. Returns false if the name is
 * too long for an entry. */
static bool fill(struct dreg_builtin *b, size_t kind, const char *device, const char *name_end,
		 const char *params_end)
{
	int n;

	*b = (struct dreg_builtin){ .info.dapl_version_major = DAT_VERSION_MAJOR,
				    .info.dapl_version_minor = DAT_VERSION_MINOR,
				    .info.is_thread_safe = DAT_TRUE };
	n = snprintf(b->info.ia_name, sizeof(b->info.ia_name), "%s%s%s", kinds[kind].entry,
		     device + strlen(kinds[kind].device), name_end);
	if (n < 0 || n >= (int)sizeof(b->info.ia_name))
		return false;
	snprintf(b->params, sizeof(b->params), "%s 0%s", device, params_end);
	return true;
}

/* The entries of a device: one for its first address, IPv4 where there is one, and one for IPv6. None if the
 * device is not Dapple's. Returns false if `each` ended the listing. */
static bool entries_of(const char *device, const struct ifaddrs *all,
		       bool (*each)(void *ctx, const struct dreg_builtin *b), void *ctx)
{
	struct dreg_builtin b;

	for (size_t i = 0; i < N_KINDS; i++) {
		size_t prefix = strlen(kinds[i].device);

		if (strncmp(device, kinds[i].device, prefix) != 0)
			continue;
		if (fill(&b, i, device, "", "") && !each(ctx, &b))
			return false;
		if (has_ipv6(all, device + prefix) && fill(&b, i, device, "-6", " 6"))
			return each(ctx, &b);
	}
	return true;
}

/* The verbs calls needed here; devices are opaque. */
struct verbs {
	void **(*get_device_list)(int *n);
	const char *(*get_device_name)(void *device);
	void (*free_device_list)(void **list);
};

static bool load_verbs(struct verbs *v)
{
	/* never closed: Dapple's provider needs it next */
	void *dl = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!dl) {
		dreg_log(DREG_STATIC, "cannot load libibverbs.so.1 (%s): there are no entries of "
			 "adapters; install it, or name a provider in dat.conf", dlerror());
		return false;
	}
	*(void **)&v->get_device_list = dlsym(dl, "ibv_get_device_list");
	*(void **)&v->get_device_name = dlsym(dl, "ibv_get_device_name");
	*(void **)&v->free_device_list = dlsym(dl, "ibv_free_device_list");
	return v->get_device_list && v->get_device_name && v->free_device_list;
}

void dreg_builtin_each(bool (*each)(void *ctx, const struct dreg_builtin *b), void *ctx)
{
	struct ifaddrs *all = NULL;
	struct verbs v;
	void **list;
	int n = 0;

	if (!load_verbs(&v))
		return;
	if (getifaddrs(&all) < 0)
		all = NULL;
	list = v.get_device_list(&n);
	for (int i = 0; list && i < n; i++)
		if (!entries_of(v.get_device_name(list[i]), all, each, ctx))
			break;
	if (list)
		v.free_device_list(list);
	if (all)
		freeifaddrs(all);
}

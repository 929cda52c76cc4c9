/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "registry_lib.h"

#include "support/check.h"

#include <dlfcn.h>
#include <glob.h>

void *registry_sym(const struct registry *r, const char *name)
{
	void *f = dlsym(r->dl, name);

	CHECK_MSG(f, "%s: %s", name, dlerror());
	return f;
}

/* By path: with the tests' library path the name may be Dapple's. */
static const char *system_path(void)
{
	static const char *const places[] = { "/usr/lib/*-linux-gnu*/", "/usr/lib64/", "/usr/lib/" };
	static char found[256];
	char pattern[64];
	glob_t g;

	for (int i = 0; i < 3 && !found[0]; i++) {
		snprintf(pattern, sizeof(pattern), "%slibdat2.so.2", places[i]);
		if (!glob(pattern, 0, NULL, &g))
			snprintf(found, sizeof(found), "%s", g.gl_pathv[0]);
		globfree(&g);
	}
	if (!found[0])
		SKIP("the distribution's libdat2.so.2 is not installed");
	return found;
}

void registry_open(struct registry *r, const char *path, bool global)
{
	if (strcmp(path, "system") == 0)
		path = system_path();
	r->dl = dlopen(path, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
	CHECK_MSG(r->dl, "%s", dlerror());
	*(void **)&r->openv = registry_sym(r, "dat_ia_openv");
	*(void **)&r->close = registry_sym(r, "dat_ia_close");
	*(void **)&r->list = registry_sym(r, "dat_registry_list_providers");
	*(void **)&r->pz_create = registry_sym(r, "dat_pz_create");
	*(void **)&r->pz_free = registry_sym(r, "dat_pz_free");
	*(void **)&r->strerror = registry_sym(r, "dat_strerror");
	*(void **)&r->extension_op = registry_sym(r, "dat_extension_op");
}

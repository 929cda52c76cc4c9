/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/sysfs/root.h"
#include "device/sysfs/tree.h"
#include "util/env.h"
#include "util/rundir.h"

/*
 * The environment of a program under Dapple.  Lists (library path, preload)
 * are extended; single values that the user has set are kept.
 */

#define PRELOAD_NAME "libdapple-preload.so"
#define RSOCKETS_NAME "libdapple-rsockets.so"
#define SDP_OWN_NAME "libdapple-sdp-preload.so"
#define RDS_NAME "librds-preload.so"

struct kind {
	const char *name;
	bool at_node; /* only at a node of a fabric */
};

static const struct kind kinds[] = {
	{ "roce", false }, { "iwarp", false }, { "iw", false }, { "ib", true },
};

/* Set unless the user has set them: these programs ignore adapters of unknown
 * vendors otherwise. */
static const char *const defaults[][2] = {
	{ "OMPI_MCA_opal_common_ucx_tls", "any" },
	{ "OMPI_MCA_opal_common_ucx_devices", "any" },
	{ "OMPI_MCA_btl_openib_warn_no_device_params_found", "0" },
};

int run_adapter_check(const char *command, const char *adapter)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, adapter) != 0)
			continue;
		if (!kinds[i].at_node || getenv("DAPPLE_FABRIC"))
			return 0;
		run_say("adapters of kind %s are at nodes of a fabric, and this process is at none: no program is started; use "
			"dapple fabric up, then dapple fabric run NODE -- COMMAND", adapter);
		return 1;
	}
	return run_usage_error(command, "adapter kind \"%s\" is unknown: use roce, iwarp or ib", adapter);
}

static bool has_preload(const char *dir)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/" PRELOAD_NAME, dir) >= (int)sizeof(path))
		return false;
	return access(path, R_OK) == 0;
}

/* Beside the executable in the build tree, PREFIX/lib/dapple when installed. */
int run_libdir(char *ret, size_t size)
{
	static const char *const candidates[] = { "/lib", "/../lib/dapple" };
	char exe[PATH_MAX], dir[PATH_MAX + 32], real[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	size_t i;

	if (n < 0) {
		run_say("cannot read /proc/self/exe (%s): the libraries are not found; mount /proc", strerror(errno));
		return 1;
	}
	exe[n] = '\0';
	*strrchr(exe, '/') = '\0';
	for (i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		snprintf(dir, sizeof(dir), "%s%s", exe, candidates[i]);
		if (!has_preload(dir) || !realpath(dir, real))
			continue;
		/* The loader splits its lists at these characters and has no quoting. */
		if (strpbrk(real, ":; \t")) {
			run_say("the libraries in \"%s\": their path has blanks, colons or semicolons: "
				"LD_LIBRARY_PATH cannot hold it; move them",
				real);
			return 1;
		}
		if (strlen(real) >= size)
			return 1;
		strcpy(ret, real);
		return 0;
	}
	run_say("the libraries are neither in %s/lib nor in %s/../lib/dapple: no program is started; install "
		"Dapple again, or build the tree", exe, exe);
	return 1;
}

/* The tree of a launcher that started this one has its choice of adapters; this one may have another. */
static bool is_of_launcher(const char *given, const char *net)
{
	size_t n = strlen(net);

	return strncmp(given, net, n) == 0 &&
	       (!given[n] || strncmp(given + n, UT_VIEW_PREFIX, strlen(UT_VIEW_PREFIX)) == 0);
}

/* Appends the view that the adapters of the environment are shown in. */
static int add_view(char *ret, size_t size)
{
	char view[UT_VIEW_MAX];

	ut_rundir_view(view);
	if (strlen(ret) + strlen(view) >= size)
		return -ENAMETOOLONG;
	strcat(ret, view);
	return *view ? dev_tree_prepare(ret) : 0;
}

int run_tree(char *ret, size_t size)
{
	const char *given = getenv("DAPPLE_TREE"), *node;
	char why[256];
	int r = ut_rundir_net(ret, size, why, sizeof(why));

	/* At a node of a fabric that of the node, whichever one a launcher has set. */
	if (ut_env("DAPPLE_FABRIC") && (node = dev_tree_root()))
		return snprintf(ret, size, "%s", node) < (int)size ? 0 : 1;
	/* A tree of the user stays as it is. */
	if (given && *given && (r < 0 || !is_of_launcher(given, ret)))
		return snprintf(ret, size, "%s", given) < (int)size ? 0 : 1;
	if (r < 0) {
		run_say("no device tree can be made (%s): programs would find no adapter; "
			"set DAPPLE_RUNTIME_DIR to a directory of your own", why);
		return 1;
	}
	r = dev_tree_prepare(ret);
	if (r == 0)
		r = add_view(ret, size);
	if (r < 0) {
		run_say("cannot make the device tree %s (%s): programs would find no adapter; set "
			"DAPPLE_RUNTIME_DIR to a directory of your own", ret,
			strerror(-r));
		return 1;
	}
	/* Filled here besides the library: ls and ibstatus do not load the library. */
	dev_tree_root();
	return 0;
}

/* Returns true if item is one of the words of the list. */
static bool listed(const char *list, const char *item, const char *separators)
{
	size_t len = strlen(item);

	while (*list) {
		size_t n = strcspn(list, separators);

		if (n == len && strncmp(list, item, n) == 0)
			return true;
		list += n;
		list += *list != '\0';
	}
	return false;
}

typedef void set_fn(const char *name, const char *value, void *arg);

static void set_joined(const char *name, const char *a, const char *b, set_fn *set, void *arg)
{
	char *both;

	if (asprintf(&both, "%s:%s", a, b) < 0)
		abort();
	set(name, both, arg);
	free(both);
}

/* Adds the library to the list of preloads, unless it is there. */
static void add_preload(char **list, const char *libdir, const char *name)
{
	char shim[PATH_MAX + 64], *longer;

	snprintf(shim, sizeof(shim), "%s/%s", libdir, name);
	if (listed(*list, shim, ": "))
		return;
	if (asprintf(&longer, "%s%s%s", *list, **list ? ":" : "", shim) < 0)
		abort();
	free(*list);
	*list = longer;
}

static void set_preloads(const struct run_env *env, const char *libdir, set_fn *set, void *arg)
{
	const char *pre = getenv("LD_PRELOAD"), *asan = getenv("ASAN_OPTIONS");
	char *list = strdup(pre ? pre : "");

	if (!list)
		abort();
	/* Its connections end before the adapters, which the other one ends at _exit(). */
	if (env->sdp_own)
		add_preload(&list, libdir, SDP_OWN_NAME);
	if (env->preload)
		add_preload(&list, libdir, PRELOAD_NAME);
	if (env->rsockets && !env->sdp_own)
		add_preload(&list, libdir, RSOCKETS_NAME);
	if (env->rds)
		add_preload(&list, libdir, RDS_NAME);
	set("LD_PRELOAD", list, arg);
	free(list);
	/* Programs with the address sanitizer stop if a preloaded library comes
	 * before its runtime; Dapple's works in either order. */
	if (!asan || !*asan)
		set("ASAN_OPTIONS", "verify_asan_link_order=0", arg);
	else if (!strstr(asan, "verify_asan_link_order"))
		set_joined("ASAN_OPTIONS", asan, "verify_asan_link_order=0", set, arg);
	else
		set("ASAN_OPTIONS", asan, arg);
}

static void set_lists(const struct run_env *env, const char *libdir, set_fn *set, void *arg)
{
	const char *path = getenv("LD_LIBRARY_PATH");

	/* First in the list, even if the list contains it already. */
	if (!path || !*path)
		set("LD_LIBRARY_PATH", libdir, arg);
	else if (strncmp(path, libdir, strlen(libdir)) != 0 ||
		 (path[strlen(libdir)] && path[strlen(libdir)] != ':'))
		set_joined("LD_LIBRARY_PATH", libdir, path, set, arg);
	else
		set("LD_LIBRARY_PATH", path, arg);
	if (env->preload || env->rsockets || env->rds)
		set_preloads(env, libdir, set, arg);
}

int run_env_each(const struct run_env *env, set_fn *set, void *arg)
{
	const char *adapter = env->adapter ? env->adapter : getenv("DAPPLE_ADAPTER");
	char libdir[PATH_MAX], tree[PATH_MAX];
	size_t i;
	int r;

	/* For the view of the tree. */
	if (env->adapter && setenv("DAPPLE_ADAPTER", env->adapter, 1) < 0)
		abort();
	r = run_libdir(libdir, sizeof(libdir));
	if (r == 0)
		r = run_tree(tree, sizeof(tree));
	if (r != 0)
		return r;
	set_lists(env, libdir, set, arg);
	set("DAPPLE_ADAPTER", adapter && *adapter ? adapter : RUN_ADAPTERS, arg);
	set("DAPPLE_TREE", tree, arg);
	if (env->share)
		set("DAPPLE_SHARE", "1", arg);
	if (env->rsockets)
		set("DAPPLE_SOCKETS", env->sdp ? "sdp" : "rsockets", arg);
	for (i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (!getenv(defaults[i][0]))
			set(defaults[i][0], defaults[i][1], arg);
	return 0;
}

static void set_real(const char *name, const char *value, void *arg)
{
	if (setenv(name, value, 1) < 0)
		abort();
}

int run_env_apply(const struct run_env *env)
{
	return run_env_each(env, set_real, NULL);
}

/* In single quotes nothing is special but the quote itself. */
static void print_quoted(const char *name, const char *value, void *arg)
{
	printf("export %s='", name);
	for (; *value; value++)
		if (*value == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*value);
	puts("'");
}

int run_cmd_env(int argc, char **argv)
{
	struct run_opts o = { .command = "env", .argv = argv, .argc = argc, .index = 1 };
	struct run_env env = { .preload = true };
	const char *name;
	int r;

	while ((name = run_opts_next(&o))) {
		if (strcmp(name, "adapter") == 0) {
			env.adapter = run_opts_value(&o);
			if (!env.adapter)
				return RUN_EXIT_USAGE;
		} else if (strcmp(name, "no-preload") == 0) {
			env.preload = false;
		} else if (strcmp(name, "rsockets") == 0) {
			env.rsockets = true;
		} else if (strcmp(name, "sdp") == 0) {
			env.rsockets = env.sdp = true;
		} else if (strcmp(name, "sdp-own") == 0) {
			env.rsockets = env.sdp = env.sdp_own = true;
		} else if (strcmp(name, "rds") == 0) {
			env.rds = true;
		} else if (strcmp(name, "share") == 0) {
			env.share = true;
		} else {
			return run_usage_error("env", "option \"%s\" is unknown", name);
		}
	}
	if (o.index < argc)
		return run_usage_error("env", "argument \"%s\" is unexpected", argv[o.index]);
	if (env.adapter && (r = run_adapter_check("env", env.adapter)))
		return r;
	r = run_env_each(&env, print_quoted, NULL);
	if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		r = 1;
	return r;
}

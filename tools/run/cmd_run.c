/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run.h"

#include "needs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

int run_exec(char **words)
{
	execvp(words[0], words);
	run_say("cannot start %s (%s): no program runs; check its path and permissions", words[0], strerror(errno));
	return errno == ENOENT || errno == ENOTDIR ? 127 : 126;
}

int run_cmd_run(int argc, char **argv)
{
	struct run_opts o = { .command = "run", .argv = argv, .argc = argc, .index = 1 };
	struct run_env env = { .preload = true };
	bool isolate = false;
	char tree[PATH_MAX], libdir[PATH_MAX];
	const char *name;
	int r;

	while ((name = run_opts_next(&o))) {
		if (strcmp(name, "adapter") == 0) {
			env.adapter = run_opts_value(&o);
			if (!env.adapter)
				return RUN_EXIT_USAGE;
		} else if (strcmp(name, "isolate") == 0) {
			isolate = true;
			env.preload = false;
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
			return run_usage_error("run", "option \"%s\" is unknown", name);
		}
	}
	if (o.index >= argc)
		return run_usage_error("run", "the program to run is missing");
	if (env.adapter && (r = run_adapter_check("run", env.adapter)))
		return r;
	r = run_env_apply(&env);
	if (r == 0 && isolate) {
		r = run_tree(tree, sizeof(tree));
		if (r == 0)
			r = run_isolate(tree);
	}
	if (r)
		return r;
	if (run_libdir(libdir, sizeof(libdir)) == 0)
		run_needs_check(libdir, argv[o.index]);
	return run_exec(argv + o.index);
}

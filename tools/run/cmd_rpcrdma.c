/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define GATEWAY_NAME "dapple-rpcrdma"

/* Options of the launcher come first; all others are the gateway's. */
int run_cmd_rpcrdma(int argc, char **argv)
{
	struct run_env env = { .preload = true };
	char libdir[PATH_MAX], path[PATH_MAX + sizeof(GATEWAY_NAME)];
	int first = 1, r;

	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return run_help("rpcrdma", argc < 2);
	if (strcmp(argv[1], "--adapter") == 0) {
		if (argc < 3)
			return run_usage_error("rpcrdma", "--adapter needs a value");
		env.adapter = argv[2];
		first = 3;
		r = run_adapter_check("rpcrdma", env.adapter);
		if (r)
			return r;
	}
	r = run_env_apply(&env);
	if (!r)
		r = run_libdir(libdir, sizeof(libdir));
	if (r)
		return r;
	snprintf(path, sizeof(path), "%s/" GATEWAY_NAME, libdir);
	argv[first - 1] = path;
	return run_exec(argv + first - 1);
}

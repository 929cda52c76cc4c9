/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands that are programs of their own beside the libraries: dapple rpcrdma is dapple-rpcrdma. */
#include "run.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_LEN 32

/* Options of the launcher come first; all others are the program's. */
static int run_program(const char *command, int argc, char **argv)
{
	struct run_env env = { .preload = true };
	char libdir[PATH_MAX], path[PATH_MAX + NAME_MAX_LEN];
	int first = 1, r;

	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return run_help(command, argc < 2);
	if (strcmp(argv[1], "--adapter") == 0) {
		if (argc < 3)
			return run_usage_error(command, "--adapter needs a value");
		env.adapter = argv[2];
		first = 3;
		r = run_adapter_check(command, env.adapter);
		if (r)
			return r;
	}
	r = run_env_apply(&env);
	if (!r)
		r = run_libdir(libdir, sizeof(libdir));
	if (r)
		return r;
	snprintf(path, sizeof(path), "%s/dapple-%s", libdir, command);
	argv[first - 1] = path;
	return run_exec(argv + first - 1);
}

int run_cmd_rpcrdma(int argc, char **argv)
{
	return run_program("rpcrdma", argc, argv);
}

int run_cmd_srp(int argc, char **argv)
{
	return run_program("srp", argc, argv);
}

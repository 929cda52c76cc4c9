/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef RUN_RUN_H
#define RUN_RUN_H

/* What the commands of dapple share.  Exit codes: 2 usage, 77 the machine
 * refuses what was asked, 124 time over, 126/127 as a shell says them. */

#include <stdbool.h>
#include <stddef.h>

#define RUN_EXIT_USAGE 2
#define RUN_EXIT_SKIP 77
#define RUN_EXIT_TIMEOUT 124

/* "dapple: " + sentence + newline on stderr. */
void run_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* run_say() plus where to find help; returns RUN_EXIT_USAGE. */
int run_usage_error(const char *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Option parser of all commands: "--name", "--name=value", "--name value",
 * "-x"; it ends at "--" or the first word that is no option.  next() gives the
 * option's name, NULL at the end; words are then argv + index.
 */
struct run_opts {
	const char *command;
	char **argv;
	int argc, index;
	const char *inline_value;	/* behind "=", not yet taken */
	char name[64];
	bool ended_by_dashes;
};
const char *run_opts_next(struct run_opts *o);

/* The value of the option just given, NULL (after a usage error) if missing. */
const char *run_opts_value(struct run_opts *o);

/* A decimal number in [min, max]; false after a usage error. */
bool run_opts_number(struct run_opts *o, long min, long max, long *ret);

/* --- environment (env.c) --- */

struct run_env {
	const char *adapter;	/* from --adapter, or NULL */
	bool preload;		/* false: libraries only, or --isolate */
	bool share;		/* --share */
};

/* Is the adapter one that this version has?  0 or an exit code, said why. */
int run_adapter_check(const char *command, const char *adapter);

/* Calls set() for each variable; 0 or an exit code, said why. */
int run_env_each(const struct run_env *env,
		 void (*set)(const char *name, const char *value, void *arg), void *arg);

/* setenv() for each. */
int run_env_apply(const struct run_env *env);

/* Directory of the drop-in libraries, 0 or an exit code, said why. */
int run_libdir(char *ret, size_t size);

/* The tree of this network namespace, made if missing; said why if not. */
int run_tree(char *ret, size_t size);

/* exec with the exit codes of a shell; returns only on failure. */
int run_exec(char **words);

/* --- namespaces (isolate.c, userns.c) --- */

int run_isolate(const char *tree);

/* Enters a new user namespace that maps only the caller's own ids.  0 or a
 * negative errno; *ret_step tells in words what was refused. */
int run_userns_enter(int with_flags, const char **ret_step);

/* Prints why namespaces are refused here and the remedy; RUN_EXIT_SKIP. */
int run_userns_refused(const char *what, const char *step, int error);

/* --- the commands --- */

int run_cmd_run(int argc, char **argv);
int run_cmd_env(int argc, char **argv);
int run_cmd_pair(int argc, char **argv);
int run_cmd_doctor(int argc, char **argv);
int run_cmd_devices(int argc, char **argv);
int run_cmd_why(int argc, char **argv);

#endif

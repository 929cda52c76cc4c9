/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef RUN_RUN_H
#define RUN_RUN_H

/* Common parts of the commands of dapple.  Exit codes: 2 usage error, 77 refused
 * by the machine, 124 timeout, 126 and 127 as a shell has them. */

#include <stdbool.h>
#include <stddef.h>

#define RUN_EXIT_USAGE 2
#define RUN_EXIT_SKIP 77
#define RUN_EXIT_TIMEOUT 124

/* Prints "dapple: ", the sentence and a newline on stderr. */
void run_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints the sentence, and where the help of the command is, on stderr; returns RUN_EXIT_USAGE. */
int run_usage_error(const char *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints the help of the command: on stdout, returns 0; or on stderr as the answer to wrong usage, returns RUN_EXIT_USAGE. */
int run_help(const char *command, bool is_error);

/*
 * Option parser of all commands: "--name", "--name=value", "--name value",
 * "-x"; options end at "--" or at the first word that is no option.
 * run_opts_next() returns the option's name, or NULL at the end; the remaining
 * words are then argv + index.
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

/* Returns the value of the last option, or NULL after a usage error if it has none. */
const char *run_opts_value(struct run_opts *o);

/* Reads a decimal number in [min, max]. Returns false after a usage error. */
bool run_opts_number(struct run_opts *o, long min, long max, long *ret);

#define RUN_ADAPTERS "roce,iwarp" /* DAPPLE_ADAPTER, where neither option nor environment names kinds */

/* --- environment (env.c) --- */

struct run_env {
	const char *adapter;	/* from --adapter, or NULL */
	bool preload;		/* false: libraries only, or --isolate */
	bool share;		/* --share */
	bool rsockets;		/* --rsockets or --sdp */
	bool sdp;		/* --sdp, --sdp-own */
	bool sdp_own;		/* --sdp-own: connections in the program's own process */
	bool rds;		/* --rds */
};

/* Returns 0 if this version has the adapter kind, else prints why not and returns an exit code. */
int run_adapter_check(const char *command, const char *adapter);

/* Calls set() for each variable. Returns 0, or an exit code after a sentence. */
int run_env_each(const struct run_env *env,
		 void (*set)(const char *name, const char *value, void *arg), void *arg);

/* Sets each variable with setenv(). Returns 0, or an exit code after a sentence. */
int run_env_apply(const struct run_env *env);

/* Finds the directory of the drop-in libraries. Returns 0, or an exit code after a sentence. */
int run_libdir(char *ret, size_t size);

/* Finds or makes the device tree of this network namespace. Returns 0, or 1 after a sentence. */
int run_tree(char *ret, size_t size);

/* Executes the program. Returns, on failure only, the exit code of a shell. */
int run_exec(char **words);

/* --- namespaces (isolate.c, userns.c) --- */

/* Enters the namespaces that show the device tree. Returns 0, or an exit code after a sentence. */
int run_isolate(const char *tree);

/* Enters a new user namespace that maps the caller's ids alone. Returns 0 or a
 * negative errno; *ret_step is then the refused step in words. */
int run_userns_enter(int with_flags, const char **ret_step);

/* Prints the refused step and the remedy; returns RUN_EXIT_SKIP. */
int run_userns_refused(const char *what, const char *step, int error);

/* --- the commands --- */

int run_cmd_run(int argc, char **argv);
int run_cmd_env(int argc, char **argv);
int run_cmd_pair(int argc, char **argv);
int run_cmd_doctor(int argc, char **argv);
int run_cmd_devices(int argc, char **argv);
int run_cmd_why(int argc, char **argv);
int run_cmd_capture(int argc, char **argv);
int run_cmd_fault(int argc, char **argv);
int run_cmd_show(int argc, char **argv);
int run_cmd_top(int argc, char **argv);
int run_cmd_stats(int argc, char **argv);
int run_cmd_plot(int argc, char **argv);
int run_cmd_check(int argc, char **argv);
int run_cmd_record(int argc, char **argv);
int run_cmd_replay(int argc, char **argv);
int run_cmd_explain(int argc, char **argv);
int run_cmd_fabric(int argc, char **argv);
int run_cmd_rpcrdma(int argc, char **argv);
int run_cmd_srp(int argc, char **argv);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The command line of dapple, and the lines by which dapple pair starts known programs. Nothing is
 * started: programs, namespaces and reports are the target's own. Each line ends in an exit code; a
 * plan for a pair has a program for both ends.
 *
 * The input: a byte of settings; DAPPLE_ADAPTER, LD_LIBRARY_PATH and LD_PRELOAD, each up to a NUL; then the words.
 */
#include "input.h"

#include "fault/try.h"
#include "run/pair.h"
#include "run/run.h"

#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 24 };

int dapple_main(int argc, char **argv);
void __wrap_exit(int status) __attribute__((noreturn));
int __wrap_execvp(const char *file, char *const words[]);
int __wrap_access(const char *path, int mode);
char *__wrap_realpath(const char *path, char *ret);
int __wrap_run_isolate(const char *tree);
int __wrap_run_cmd_doctor(int argc, char **argv);
int __wrap_run_cmd_fabric(int argc, char **argv);
int __wrap_run_cmd_check(int argc, char **argv);
int __wrap_run_cmd_top(int argc, char **argv);
int __wrap_run_cmd_plot(int argc, char **argv);
int __wrap_fault_try(const struct fault_try *t);
int __wrap_pair_free_port(void);
int __wrap_pair_hosts_make(int mtu, const char *server6, struct pair_hosts *ret);
int __wrap_pair_start(struct pair *p, int which);
void __wrap_pair_signals_open(struct pair *p);

/* The words of a plan are never freed. */
int __lsan_is_turned_off(void) __attribute__((visibility("default")));

static jmp_buf left;
static bool running;
static unsigned has_libraries;

int __lsan_is_turned_off(void)
{
	return 1;
}

void __real_exit(int status) __attribute__((noreturn));

void __wrap_exit(int status)
{
	if (!running)
		__real_exit(status);
	longjmp(left, 1 + (status & 0xff));
}

int __wrap_execvp(const char *file, char *const words[])
{
	REQUIRE(file && words && words[0] == file);
	errno = words[1] ? ENOENT : EACCES;
	return -1;
}

/* The folder of the libraries: they are there, or not. */
int __wrap_access(const char *path, int mode)
{
	(void)mode;
	return has_libraries && strstr(path, "/lib/") ? 0 : -1;
}

char *__wrap_realpath(const char *path, char *ret)
{
	REQUIRE(path[0] == '/');
	return strcpy(ret, has_libraries & 2 ? "/opt/with blank/lib" : "/opt/dapple/lib");
}

int __wrap_run_isolate(const char *tree)
{
	return tree[0] ? 77 : 1;
}

int __wrap_run_cmd_doctor(int argc, char **argv)
{
	(void)argv;
	return argc > 1;
}

/* It would start a fabric process. */
int __wrap_run_cmd_fabric(int argc, char **argv)
{
	(void)argv;
	return argc > 1;
}

/* These start programs, go on until a key is pressed, and write files. */
int __wrap_run_cmd_check(int argc, char **argv)
{
	(void)argv;
	return argc > 1;
}

int __wrap_run_cmd_top(int argc, char **argv)
{
	(void)argv;
	return argc > 1;
}

int __wrap_run_cmd_plot(int argc, char **argv)
{
	(void)argv;
	return argc > 1;
}

int __wrap_fault_try(const struct fault_try *t)
{
	REQUIRE(t->words[0]);
	return 0;
}

int __wrap_pair_free_port(void)
{
	return 4711;
}

int __wrap_pair_hosts_make(int mtu, const char *server6, struct pair_hosts *ret)
{
	REQUIRE(mtu >= 1280 && mtu <= 65535 && server6);
	memset(ret, 0, sizeof(*ret));
	return 0;
}

/* The descriptor would be left open. */
void __wrap_pair_signals_open(struct pair *p)
{
	p->signals = -1;
}

/* Both ends have words; they end. */
int __wrap_pair_start(struct pair *p, int which)
{
	char **words = p->ends[which].words;
	unsigned n = 0;

	REQUIRE(p->plan.server && p->plan.server[0] && p->plan.client && p->plan.client[0]);
	REQUIRE(p->plan.port > 0 && p->plan.port < 65536 && p->plan.ready);
	while (words[n])
		REQUIRE(strlen(words[n++]) < 20000);
	return 1;
}

/* What dapple prints goes nowhere, but for the target's own words. */
static void silence(bool on)
{
	static FILE *out, *err, *none;

	if (!out) {
		out = stdout;
		err = stderr;
		none = fopen("/dev/null", "we");
		REQUIRE(none);
	}
	stdout = on ? none : out;
	stderr = on ? none : err;
}

static int split(char *text, size_t size, char **argv)
{
	int n = 1;

	argv[0] = (char *)"dapple";
	for (size_t at = 0; at < size && n < WORDS; at += strlen(text + at) + 1)
		argv[n++] = text + at;
	argv[n] = NULL;
	return n;
}

/* Takes a text up to its NUL and makes it a variable's value; an empty one unsets it. */
static size_t variable(const char *name, const char *text, size_t at, size_t size)
{
	if (at >= size || !text[at])
		unsetenv(name);
	else
		setenv(name, text + at, 1);
	return at >= size ? size : at + strlen(text + at) + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *argv[WORDS + 1], *text = malloc(size + 1);
	volatile size_t at = 1;
	int status;

	REQUIRE(text);
	memcpy(text, data, size);
	text[size] = 0;
	has_libraries = (uint8_t)text[0] & 3;
	setenv("DAPPLE_TREE", "/nowhere", 1);
	at = variable("DAPPLE_ADAPTER", text, at, size);
	at = variable("LD_LIBRARY_PATH", text, at, size);
	at = variable("LD_PRELOAD", text, at, size);
	unsetenv("DAPPLE_SHARE");
	silence(true);
	running = true;
	status = setjmp(left);
	if (!status)
		status = 1 + dapple_main(split(text + at, at < size ? size - at : 0, argv), argv);
	running = false;
	silence(false);
	REQUIRE(status >= 1 && status <= 256);
	free(text);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapple check: runs a program with the checker (preload/) in front of its libraries, and prints what that has found. */
#include "../run/run.h"
#include "report.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY "libdapple-check.so"
#define FOUND 1 /* exit status of a program that ends with 0, and makes mistakes */

struct check {
	const char *adapter, *file, *suppressions, *device;
	enum report_form form;
	bool leaks;
	char reports[PATH_MAX];
};

static int read_form(const char *v, enum report_form *ret)
{
	static const char *const forms[] = { "text", "github", "junit" };

	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (!strcmp(forms[i], v)) {
			*ret = (enum report_form)i;
			return 0;
		}
	return run_usage_error("check", "--format is \"%s\", but must be text, github or junit", v);
}

static bool is_device(const char *v)
{
	static const char *const names[] = { CHECK_DEVICES };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], v))
			return true;
	return false;
}

static int read_option(struct run_opts *o, const char *name, struct check *c)
{
	const char *v;

	if (!strcmp(name, "leaks")) {
		c->leaks = true;
		return 0;
	}
	v = run_opts_value(o);
	if (!v)
		return RUN_EXIT_USAGE;
	if (!strcmp(o->name, "format"))
		return read_form(v, &c->form);
	if (!strcmp(o->name, "device")) {
		c->device = v;
		return is_device(v) ? 0 : run_usage_error("check", "--device is \"%s\", but must be rxe, siw, mlx5, irdma or efa", v);
	}
	if (!strcmp(o->name, "adapter")) {
		c->adapter = v;
		return run_adapter_check("check", v);
	}
	if (!strcmp(o->name, "o"))
		c->file = v;
	else if (!strcmp(o->name, "suppressions"))
		c->suppressions = v;
	else
		return run_usage_error("check", "option \"%s\" is unknown", o->name);
	return 0;
}

/* The checker stands before the preload of dapple run. */
static int set_environment(const struct check *c)
{
	int r = run_env_apply(&(struct run_env){ .adapter = c->adapter, .preload = true });
	char dir[PATH_MAX], *list = NULL, options[64];
	const char *before = getenv("LD_PRELOAD");

	if (r == 0)
		r = run_libdir(dir, sizeof(dir));
	if (r != 0)
		return r;
	if (asprintf(&list, "%s/" LIBRARY "%s%s", dir, before && *before ? ":" : "", before ? before : "") < 0)
		abort();
	snprintf(options, sizeof(options), "%s%s%s", c->leaks ? "leaks " : "", c->device ? "device=" : "", c->device ? c->device : "");
	setenv("LD_PRELOAD", list, 1);
	setenv(CHECK_ENV, c->reports, 1);
	setenv(CHECK_OPTIONS_ENV, options, 1);
	free(list);
	return 0;
}

static volatile pid_t program;

static void pass_on(int sig)
{
	if (program > 0)
		kill(program, sig);
}

/* What ends the program is not the end of the report: keys of the terminal reach both, SIGTERM is passed on. */
static void outlive(bool on)
{
	struct sigaction ignore = { .sa_handler = on ? SIG_IGN : SIG_DFL }, pass = { .sa_handler = on ? pass_on : SIG_DFL };

	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGQUIT, &ignore, NULL);
	sigaction(SIGTERM, &pass, NULL);
}

static int run(const struct check *c, char **words)
{
	int status;
	pid_t pid;

	outlive(true);
	program = pid = fork();
	if (pid == 0) {
		int r;

		outlive(false);
		r = set_environment(c);

		_exit(r ? r : run_exec(words));
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid < 0 ? 1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int print(const struct check *c, char **words)
{
	FILE *in = fopen(c->reports, "re"), *out = stderr;
	struct reports r = { 0 };

	if (in) {
		reports_read(&r, in);
		fclose(in);
	}
	if (c->suppressions && !reports_suppress(&r, c->suppressions))
		return -1;
	if (c->file) {
		out = fopen(c->file, "we");
		if (!out) {
			run_say("%s: it cannot be written (%s): the reports are lost; name another file", c->file, strerror(errno));
			return -1;
		}
	}
	reports_print(&r, c->form, words[0], out);
	if (out != stderr && fclose(out) != 0)
		run_say("%s: it cannot be written (%s): the reports are not whole; make room on the disk", c->file, strerror(errno));
	return r.n ? 1 : 0;
}

int run_cmd_check(int argc, char **argv)
{
	struct run_opts o = { .command = "check", .argv = argv, .argc = argc, .index = 1 };
	struct check c = { .form = REPORT_TEXT };
	const char *name, *tmp = getenv("TMPDIR");
	int r, fd, found;

	while ((name = run_opts_next(&o)))
		if ((r = read_option(&o, name, &c)))
			return r;
	if (o.index >= argc)
		return run_usage_error("check", "the program to check is missing");
	snprintf(c.reports, sizeof(c.reports), "%s/dapple-check-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	fd = mkstemp(c.reports);
	if (fd < 0) {
		run_say("%s: it cannot be made (%s): no program is started; set TMPDIR to a directory of yours", c.reports, strerror(errno));
		return 1;
	}
	close(fd);
	r = run(&c, argv + o.index);
	found = print(&c, argv + o.index);
	unlink(c.reports);
	return r ? r : found ? FOUND : 0;
}

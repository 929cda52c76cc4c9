/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapple record: runs a program with the recorder in front of its libraries. */
#include "../run/run.h"
#include "family.h"
#include "file.h"
#include "tell.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MB 4096
#define STILL_S 10

struct record {
	struct replay_run run;
	const char *adapter;
	char path[PATH_MAX];
	long limit_mb, still_s;
	struct replay_family family;
	struct replay_watch watch;
	const char *spins; /* the program of which a thread does, or NULL */
};

static int read_option(struct run_opts *o, const char *name, struct record *c)
{
	if (!strcmp(name, "limit"))
		return run_opts_number(o, 1, 1 << 20, &c->limit_mb) ? 0 : RUN_EXIT_USAGE;
	if (!strcmp(name, "patience"))
		return run_opts_number(o, 1, 86400, &c->still_s) ? 0 : RUN_EXIT_USAGE;
	if (!strcmp(name, "adapter")) {
		c->adapter = run_opts_value(o);
		return c->adapter ? run_adapter_check("record", c->adapter) : RUN_EXIT_USAGE;
	}
	if (!strcmp(name, "o")) {
		c->run.path = run_opts_value(o);
		return c->run.path ? 0 : RUN_EXIT_USAGE;
	}
	return run_usage_error("record", "option \"%s\" is unknown", name);
}

/* As execvp() finds it. */
static bool find(const char *word, char *ret)
{
	const char *path = getenv("PATH");
	char *list = strdup(path ? path : "/usr/bin:/bin"), *at = list, *dir;
	bool found = false;

	if (strchr(word, '/')) {
		free(list);
		return realpath(word, ret) && access(ret, X_OK) == 0;
	}
	while (!found && (dir = strsep(&at, ":"))) {
		char whole[PATH_MAX];

		snprintf(whole, sizeof(whole), "%s/%s", *dir ? dir : ".", word);
		found = access(whole, X_OK) == 0 && realpath(whole, ret);
	}
	free(list);
	return found;
}

/*
 * What libc chooses by the processor is to run on any x86-64 processor, and the kernel is not to write the number of the
 * processor into memory (rseq). Each name is of glibc's manual, "Hardware Capability Tunables".
 */
static const char tunables[] = "glibc.pthread.rseq=0:glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-AVX2,-AVX,-SSSE3,"
			       "-SSE4_1,-SSE4_2,-BMI1,-BMI2,-LZCNT,-MOVBE,-POPCNT,-RTM,-XSAVEC,-XSAVE,-FMA,-FMA4,-ERMS,-FSRM";

static void set_tunables(void)
{
	const char *before = getenv("GLIBC_TUNABLES");
	char *list;

	if (asprintf(&list, "%s%s%s", before ? before : "", before && *before ? ":" : "", tunables) < 0)
		abort();
	setenv("GLIBC_TUNABLES", list, 1);
	free(list);
}

/* The wire alone: what comes by shared memory comes without a call. */
static int set_environment(const struct record *c)
{
	char dir[PATH_MAX], library[PATH_MAX + 32], *list = NULL;
	const char *before;
	int r;

	if (getenv("DAPPLE_SHARE")) {
		run_say("DAPPLE_SHARE is set, and stores of other processes come without a call: nothing is recorded; unset it");
		return REPLAY_REFUSED;
	}
	r = run_env_apply(&(struct run_env){ .adapter = c->adapter, .preload = true });
	if (r == 0)
		r = run_libdir(dir, sizeof(dir));
	if (r)
		return r;
	snprintf(library, sizeof(library), "%s/" RP_LIBRARY, dir);
	if (access(library, R_OK) < 0) {
		run_say("%s: it is not there (%s): nothing is recorded; records are made on x86-64 alone", library, strerror(errno));
		return REPLAY_REFUSED;
	}
	before = getenv("LD_PRELOAD");
	if (asprintf(&list, "%s%s%s", library, before && *before ? ":" : "", before ? before : "") < 0)
		abort();
	setenv("LD_PRELOAD", list, 1);
	setenv("DAPPLE_LOCAL", "off", 1);
	set_tunables();
	free(list);
	return 0;
}

static int prepare(struct record *c, char **words)
{
	char exe[PATH_MAX];
	int r;

	if (!find(words[0], exe)) {
		run_say("cannot start %s (%s): no program runs; check its path and permissions", words[0], strerror(errno));
		return 127;
	}
	r = set_environment(c);
	if (r)
		return r;
	if (!c->run.path) {
		snprintf(c->path, sizeof(c->path), "%s.%d.record", basename(exe), (int)getpid());
		c->run.path = c->path;
		find(words[0], exe);
	}
	setenv(RP_ENV, RP_RECORD " 0000 0000", 1); /* of the length it will have */
	r = replay_create(&c->run, exe, words, (uint64_t)c->limit_mb << 20);
	if (r)
		return r;
	replay_family_clear(c->run.path);
	replay_control(&c->run, true);
	c->family.path = c->run.path;
	return 0;
}

static bool goes_on(struct replay_watch *w, const struct rp_control *o, long still_s)
{
	time_t now = time(NULL);

	if (!o->waiting || o->exited || o->events != w->events || !w->since) {
		w->events = o->events;
		w->since = now;
	}
	return now - w->since < still_s;
}

static bool watch(void *arg)
{
	struct record *c = arg;

	if (!goes_on(&c->watch, c->run.control, c->still_s))
		c->spins = c->run.args[0];
	replay_family_look(&c->family);
	for (unsigned i = 0; i < c->family.n; i++) {
		struct replay_member *m = &c->family.members[i];

		if (goes_on(&m->watch, m->run.control, c->still_s))
			continue;
		c->spins = m->run.args[0];
		kill(m->run.control->pid, SIGKILL);
	}
	return !c->spins;
}

static int report_spin(const struct record *c)
{
	unlink(c->run.path);
	replay_family_clear(c->run.path);
	run_say("%s: a thread has made no system call for %ld s, and another waits: a thread that polls memory cannot be "
		"recorded, because no call says when it saw the value; poll completions instead, or give a longer --patience",
		c->spins, c->still_s);
	return REPLAY_REFUSED;
}

static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void report_family(struct record *c)
{
	unsigned missing = c->run.control->missing + replay_family_finish(&c->family);

	if (missing)
		run_say("%u processes of the run have no record: they ended at once, or did not load the recorder: they ran without it; a static or "
			"a setuid program cannot be recorded, nor one without its parent's LD_PRELOAD", missing);
}

static int report(struct record *c, char **words, int status)
{
	struct rp_control *o = c->run.control;
	int r = replay_finish(&c->run, status);

	if (r)
		return r;
	if (c->spins)
		return report_spin(c);
	if (!o->events) {
		unlink(c->run.path);
		run_say("%s: it was run and not recorded: the recorder was not loaded; a static or a setuid program cannot be recorded", words[0]);
		return exit_status(status);
	}
	if (o->stop != RP_GOES_ON && o->stop != RP_ENDED && o->stop != RP_REPLACED) {
		replay_tell(&c->run, false);
		if (o->stop != RP_FULL) {
			unlink(c->run.path);
			return REPLAY_REFUSED;
		}
	}
	replay_tell_record(&c->run);
	report_family(c);
	return exit_status(status);
}

int run_cmd_record(int argc, char **argv)
{
	struct run_opts o = { .command = "record", .argv = argv, .argc = argc, .index = 1 };
	struct record c = { .limit_mb = LIMIT_MB, .still_s = STILL_S };
	const char *name;
	pid_t pid;
	int r;

	while ((name = run_opts_next(&o)))
		if ((r = read_option(&o, name, &c)))
			return r;
	if (o.index >= argc)
		return run_usage_error("record", "the program to record is missing");
	r = prepare(&c, argv + o.index);
	if (r)
		return r;
	pid = fork();
	if (pid == 0)
		_exit(replay_exec(&c.run, RP_RECORD));
	if (pid < 0)
		abort();
	return report(&c, argv + o.index, replay_wait(pid, watch, &c));
}

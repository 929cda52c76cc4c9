/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapple replay: runs a recorded program again, without its peer. */
#include "../run/run.h"
#include "debug.h"
#include "file.h"
#include "tell.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES 20 /* at places of the kernel's pages */

struct replay {
	struct replay_run run;
	long times;
	bool gdb, in_place;
};

static int read_option(struct run_opts *o, const char *name, struct replay *c)
{
	if (!strcmp(name, "times"))
		return run_opts_number(o, 1, 1000000, &c->times) ? 0 : RUN_EXIT_USAGE;
	if (!strcmp(name, "gdb"))
		c->gdb = true;
	else if (!strcmp(name, "in-place"))
		c->in_place = true;
	else
		return run_usage_error("replay", "option \"%s\" is unknown", name);
	return 0;
}

static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Returns true if the run was the recorded one, to its end. */
static bool is_same(const struct replay *c, int status)
{
	const struct rp_control *o = c->run.control;

	if (o->events != c->run.head.events && c->run.head.ended)
		return false;
	if (o->stop == RP_AT_END)
		return true;
	return (o->stop == RP_GOES_ON || o->stop == RP_ENDED) && (c->run.head.killed ? WIFSIGNALED(status) : status == c->run.head.status);
}

/* A signal that ends this command ends the program, whatever that does with signals: those of the run are in the record. */
static void end_with(pid_t command)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != command)
		_exit(REPLAY_REFUSED);
}

static int start(struct replay *c, bool quietly)
{
	pid_t command = getpid(), pid;
	int null, status = 0;

	replay_control(&c->run, false);
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		end_with(command);
		null = quietly ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
		if (null >= 0) {
			dup2(null, 1);
			dup2(null, 2);
		}
		_exit(replay_exec(&c->run, RP_REPLAY));
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int once(struct replay *c, bool quietly)
{
	int status = start(c, quietly);

	for (int i = 0; i < TRIES && c->run.control->stop == RP_PLACE; i++)
		status = start(c, quietly);
	if (is_same(c, status))
		return 0;
	if (!c->run.control->events && c->run.control->stop == RP_GOES_ON)
		run_say("%s: its process was not made (status %d): nothing was replayed; install all of Dapple again", c->run.path,
			exit_status(status));
	else if (c->run.control->stop == RP_GOES_ON || c->run.control->stop == RP_ENDED)
		tell_end(&c->run, status);
	else
		replay_tell(&c->run, true);
	return REPLAY_REFUSED;
}

static int repeat(struct replay *c)
{
	const struct rp_file *h = &c->run.head;
	long n = 0;
	int r = 0;

	while (n < c->times && (r = once(c, n > 0)) == 0)
		n++;
	if (r)
		return r;
	tell_same(&c->run, n);
	return exit_status(h->status);
}

int run_cmd_replay(int argc, char **argv)
{
	struct run_opts o = { .command = "replay", .argv = argv, .argc = argc, .index = 1 };
	struct replay c = { .times = 1 };
	const char *name;
	int r;

	while ((name = run_opts_next(&o)))
		if ((r = read_option(&o, name, &c)))
			return r;
	if (o.index + 1 != argc)
		return run_usage_error("replay", "one file of dapple record is wanted");
	r = replay_open(&c.run, argv[o.index]);
	if (r)
		return r;
	if (c.gdb)
		return replay_debug(&c.run);
	if (c.in_place) {
		replay_control(&c.run, false);
		return replay_exec(&c.run, RP_STAY);
	}
	return repeat(&c);
}

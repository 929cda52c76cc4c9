/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each run is a process group of its own, so that all of it can be ended, and writes into a memory file. A command that
 * itself starts both ends (dapple pair) reports a signal of an end by its exit status, 128 and more.
 */
#include "try.h"

#include "../run/pair.h"
#include "../run/run.h"
#include "catalogue.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum outcome { SURVIVED, FAILED, KILLED, HUNG, CRASHED, CORRUPTED };

#define SIGNALS 31 /* a shell's status of a signal is 128 and its number */

static const char *const outcomes[] = { "survived", "failed cleanly", "was killed", "hung", "crashed", "corrupted" };

struct result {
	enum outcome outcome;
	int status; /* exit code, or signal */
	int output;
};

static _Noreturn void child(const struct fault_try *t, const struct fault_row *row, int output)
{
	char grace[16];
	int null = open("/dev/null", O_RDONLY);

	setpgid(0, 0);
	dup2(null, 0);
	dup2(output, 1);
	dup2(output, 2);
	snprintf(grace, sizeof(grace), "%u", PAIR_GRACE_S + (row ? row->repair_s : 0));
	setenv(PAIR_GRACE_ENV, grace, 1);
	if (row)
		setenv("DAPPLE_FAULT", row->rules, 1);
	else
		unsetenv("DAPPLE_FAULT");
	if (run_env_apply(&(struct run_env){ .adapter = t->adapter, .preload = true }))
		_exit(127);
	_exit(run_exec(t->words));
}

/* Returns false after the time limit. */
static bool ends_in_time(pid_t pid, long seconds)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool ended = fd >= 0 && poll(&p, 1, (int)seconds * 1000) > 0;

	close(fd);
	return ended;
}

static struct result run_once(const struct fault_try *t, const struct fault_row *row)
{
	struct result r = { .output = memfd_create("output", MFD_CLOEXEC) };
	pid_t pid = fork();
	bool in_time;
	int status;

	if (pid == 0)
		child(t, row, r.output);
	in_time = pid > 0 && ends_in_time(pid, t->timeout_s);
	if (pid > 0)
		kill(-pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (!in_time) {
		r.outcome = HUNG;
	} else if (WIFSIGNALED(status) || (WEXITSTATUS(status) > 128 && WEXITSTATUS(status) <= 128 + SIGNALS)) {
		r.outcome = CRASHED;
		r.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
	} else {
		r.status = WEXITSTATUS(status);
		r.outcome = r.status == RUN_EXIT_TIMEOUT ? HUNG : r.status ? FAILED : SURVIVED;
	}
	return r;
}

static bool same_output(int a, int b)
{
	struct stat sa, sb;
	char x[4096], y[4096];
	off_t at = 0;

	if (fstat(a, &sa) < 0 || fstat(b, &sb) < 0 || sa.st_size != sb.st_size)
		return false;
	while (at < sa.st_size) {
		ssize_t n = pread(a, x, sizeof(x), at), m = pread(b, y, sizeof(y), at);

		if (n <= 0 || n != m || memcmp(x, y, (size_t)n))
			return false;
		at += n;
	}
	return true;
}

static bool fits(const struct fault_try *t, const struct fault_row *row)
{
	if (t->only)
		return !strcmp(t->only, row->name);
	return !t->adapter || !row->adapter || !strcmp(t->adapter, row->adapter);
}

int fault_try(const struct fault_try *t)
{
	struct result plain = run_once(t, NULL);
	int bad = 0;

	if (plain.outcome != SURVIVED) {
		run_say("%s: it %s without a fault: nothing is tried; let it end with 0 first, or give a longer --timeout",
			t->words[0], outcomes[plain.outcome]);
		close(plain.output);
		return 1;
	}
	printf("%-18s %-15s %-6s %s\n", "fault", "outcome", "status", "a right program");
	for (size_t i = 0; i < fault_catalogue_rows; i++) {
		const struct fault_row *row = &fault_catalogue[i];
		struct result r;

		if (!fits(t, row))
			continue;
		r = run_once(t, row);
		if (t->compare && r.outcome == SURVIVED && !same_output(plain.output, r.output))
			r.outcome = CORRUPTED;
		/* That was asked for. */
		if (!strncmp(row->rules, "die", 3) && r.outcome == CRASHED && r.status == SIGKILL)
			r.outcome = KILLED;
		close(r.output);
		bad += r.outcome >= HUNG;
		printf("%-18s %-15s %-6d %s\n", row->name, outcomes[r.outcome], r.status, row->right);
		fflush(stdout);
	}
	close(plain.output);
	return bad ? 1 : 0;
}

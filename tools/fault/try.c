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

struct lines {
	char *text, **at;
	size_t n;
};

static struct lines read_lines(int fd)
{
	struct lines l = { 0 };
	struct stat st;
	ssize_t got = 0;

	if (fstat(fd, &st) == 0) {
		l.text = calloc((size_t)st.st_size + 1, 1);
		l.at = calloc((size_t)st.st_size + 1, sizeof(*l.at));
	}
	if (!l.text || !l.at)
		abort();
	got = pread(fd, l.text, (size_t)st.st_size, 0);
	for (char *p = l.text; p < l.text + (got > 0 ? got : 0); p += strlen(p) + 1) {
		p[strcspn(p, "\n")] = '\0';
		l.at[l.n++] = p;
	}
	return l;
}

/* The end that dapple pair names in front of a line; 0: none. */
static size_t end_of(const char *line)
{
	const char *bar = strstr(line, "| ");

	return bar ? (size_t)(bar - line) : 0;
}

/* Returns the first line from `from` on that is of the same end as `line`, or n. */
static size_t next_of_end(const struct lines *l, const char *line, size_t from)
{
	size_t len = end_of(line);

	while (from < l->n && !(l->at[from] && end_of(l->at[from]) == len && !strncmp(l->at[from], line, len)))
		from++;
	return from;
}

/* The lines of an end are in their order; which end is the first to print is chance. */
static bool same_output(int a, int b)
{
	struct lines x = read_lines(a), y = read_lines(b);
	bool same = x.n == y.n;

	for (size_t i = 0; same && i < x.n; i++) {
		size_t k = next_of_end(&y, x.at[i], 0);

		same = k < y.n && !strcmp(x.at[i], y.at[k]);
		if (same)
			y.at[k] = NULL;
	}
	free(x.text);
	free(x.at);
	free(y.text);
	free(y.at);
	return same;
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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "debug.h"

#include "../run/run.h"
#include "pack.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct place {
	char dir[PATH_MAX - 64];
	FILE *commands;
	unsigned n;
};

static char *name_in(const struct place *p, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", p->dir, name) < 0)
		abort();
	return path;
}

/* Numbers go before the names, which need not differ. */
static void put_file(void *arg, const struct rp_object *o, const void *bytes, size_t n)
{
	struct place *p = arg;
	const char *slash = strrchr(o->name, '/');
	char name[RP_OBJECT_NAME + 16], *path;
	FILE *f;

	snprintf(name, sizeof(name), "%u-%s", p->n, *o->name ? slash ? slash + 1 : o->name : "program");
	path = name_in(p, name);
	f = fopen(path, "wx");
	if (f && fwrite(bytes, 1, n, f) == n)
		fprintf(p->commands, "%s %s -o %#" PRIx64 "\n", *o->name ? "add-symbol-file" : "symbol-file", path, o->at);
	if (f)
		fclose(f);
	free(path);
	p->n++;
}

static bool put_files(struct place *p, const struct replay_run *r)
{
	const char *tmp = getenv("TMPDIR");
	char *path;

	snprintf(p->dir, sizeof(p->dir), "%s/dapple-replay-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(p->dir))
		return false;
	path = name_in(p, "commands");
	p->commands = fopen(path, "wx");
	free(path);
	if (!p->commands)
		return false;
	fprintf(p->commands, "set confirm off\n");
	replay_files(r, put_file, p);
	fprintf(p->commands, "set confirm on\n");
	return fclose(p->commands) == 0;
}

static void remove_files(const struct place *p)
{
	char *words[] = { "rm", "-rf", (char *)p->dir, NULL };
	pid_t pid = fork();

	if (pid == 0)
		_exit(run_exec(words));
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static int run_gdb(const struct replay_run *r, const struct place *p)
{
	char self[PATH_MAX], file[PATH_MAX], source[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *words[] = { "gdb", "-q", "-iex", "set auto-load libthread-db off", "-ex", "handle SIGSYS nostop noprint pass",
			  "-ex", "handle SIGSEGV nostop noprint pass", "-ex", "set breakpoint pending on", "-ex", "run", "-ex", source,
			  "--args", self, "replay", "--in-place", file, NULL };
	int status;
	pid_t pid;

	if (n < 0 || !realpath(r->path, file))
		return REPLAY_REFUSED;
	self[n] = '\0';
	snprintf(source, sizeof(source), "source %s/commands", p->dir);
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0)
		_exit(run_exec(words));
	status = replay_wait(pid, NULL, NULL);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int replay_debug(const struct replay_run *r)
{
	struct place p = { .n = 0 };
	int status;

	if (!put_files(&p, r)) {
		run_say("%s: files for gdb cannot be written (%s): gdb is not started; set TMPDIR to a directory with room", *p.dir ? p.dir : "TMPDIR",
			strerror(errno));
		return REPLAY_REFUSED;
	}
	status = run_gdb(r, &p);
	remove_files(&p);
	return status;
}

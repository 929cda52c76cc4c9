/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The environment and the log file where another user may have chosen them: a copy of this program writes lines
 * as its user asks by DAPPLE_LOG; a setuid copy, which root makes, reads no setting and writes none.
 */
#include "support/check.h"
#include "util/env.h"
#include "util/log.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USER = 65534, OWNER = 1, NOT_SECURE = 3 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true /* the run-time library does not work in a setuid program */
#else
#define SANITIZED false
#endif

static char dir[] = "/tmp/unit-env-XXXXXX", logged[64], copy[64];

/* The copy: exit status 0 if the variable could be read. */
static int role(void)
{
	const char *v = ut_env("DAPPLE_LOG");

	ut_error("a name\nwith a line \033[31mbreak");
	if (getauxval(AT_SECURE))
		return v != NULL;
	return v ? NOT_SECURE : 1;
}

static int run(uid_t uid, const char *setting)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		if (setresuid(uid, uid, uid) || setenv("DAPPLE_LOG", setting, 1))
			_exit(99);
		execl(copy, copy, "role", (char *)NULL);
		_exit(98);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Returns the bytes of the log file, or -1 without one. */
static ssize_t read_log(char *ret, size_t size)
{
	int fd = open(logged, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

	if (fd >= 0)
		close(fd);
	if (n >= 0)
		ret[n] = 0;
	return n;
}

static void copy_program(void)
{
	char cmd[160];

	snprintf(cmd, sizeof(cmd), "cp /proc/%d/exe %s", (int)getpid(), copy);
	CHECK(system(cmd) == 0);
	CHECK(chmod(copy, 0755) == 0);
}

/* One line, whatever is in it. */
static void own_file(const char *setting)
{
	char text[256];

	CHECK(run(geteuid(), setting) == NOT_SECURE);
	CHECK(read_log(text, sizeof(text)) > 0);
	CHECK(strstr(text, ": a name with a line  [31mbreak\n"));
	CHECK(strchr(text, '\n') == text + strlen(text) - 1);
	CHECK(unlink(logged) == 0);
}

static void symbolic_link(const char *setting)
{
	char other[64], text[64];

	snprintf(other, sizeof(other), "%s/other", dir);
	CHECK(symlink(other, logged) == 0);
	CHECK(run(geteuid(), setting) == NOT_SECURE);
	CHECK(read_log(text, sizeof(text)) < 0);
	CHECK(unlink(logged) == 0);
}

/* Made by another user, and open to all. */
static void others_file(const char *setting)
{
	char text[64];
	int fd = open(logged, O_WRONLY | O_CREAT, 0666);

	CHECK(fd >= 0 && fchown(fd, USER, (gid_t)-1) == 0 && fchmod(fd, 0666) == 0);
	close(fd);
	CHECK(run(OWNER, setting) == NOT_SECURE);
	CHECK(read_log(text, sizeof(text)) == 0);
	CHECK(unlink(logged) == 0);
}

/* Returns false where the kernel starts no setuid program (nosuid, no_new_privs). */
static bool setuid_program(const char *setting)
{
	char text[64];
	int r;

	CHECK(chown(copy, OWNER, (gid_t)-1) == 0 && chmod(copy, 04755) == 0);
	r = run(USER, setting);
	if (r == NOT_SECURE)
		return false;
	CHECK(r == 0);
	CHECK(read_log(text, sizeof(text)) < 0);
	return true;
}

int main(int argc, char **argv)
{
	char setting[96], cmd[96];
	bool root = geteuid() == 0, done = false;

	if (argc > 1 && !strcmp(argv[1], "role"))
		return role();
	CHECK(mkdtemp(dir) && chmod(dir, 0777) == 0);
	snprintf(logged, sizeof(logged), "%s/log", dir);
	snprintf(copy, sizeof(copy), "%s/program", dir);
	snprintf(setting, sizeof(setting), "debug:%s", logged);
	copy_program();
	own_file(setting);
	symbolic_link(setting);
	/* Root in a user namespace may have no other user to give a file to. */
	if (root && chown(copy, OWNER, (gid_t)-1) == 0 && chown(copy, USER, (gid_t)-1) == 0) {
		others_file(setting);
		done = !SANITIZED && setuid_program(setting);
	}
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	CHECK(system(cmd) == 0);
	if (!done)
		SKIP("all but setuid programs: %s",
		     SANITIZED ? "sanitizers do not work in one"
		     : root    ? "this file system or namespace starts none"
			       : "only root makes one");
	return 0;
}

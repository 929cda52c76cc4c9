/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"
#include "util/rundir.h"

/*
 * dapple doctor: each check tries the operation itself on a scratch object, so
 * that seccomp filters, sysctls and old kernels show by their effect. A fail
 * means that no adapter works; a warn, that an operation is slower or missing.
 */

void doctor_say(struct doctor_finding *f, enum doctor_level level, const char *fmt, ...)
{
	va_list ap;

	f->level = level;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

void doctor_remedy(struct doctor_finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->remedy, sizeof(f->remedy), fmt, ap);
	va_end(ap);
}

/* --- directories --- */

static void check_runtime_dir(struct doctor_finding *f)
{
	char path[UT_RUNDIR_MAX], why[400];

	if (ut_rundir(path, sizeof(path), why, sizeof(why)) < 0) {
		doctor_say(f, DOCTOR_FAIL, "no device tree can be made (%s): programs find no adapter", why);
		doctor_remedy(f, "set DAPPLE_RUNTIME_DIR to a directory of your own with mode 0700");
		return;
	}
	if (access(path, W_OK | X_OK) < 0) {
		doctor_say(f, DOCTOR_FAIL, "the runtime directory %s is not writable (%s): it cannot hold a device tree", path,
			   strerror(errno));
		doctor_remedy(f, "chmod 700 %s, or set DAPPLE_RUNTIME_DIR to a directory of your own", path);
	} else if (why[0]) {
		doctor_say(f, DOCTOR_WARN, "%s", why);
		doctor_remedy(f, "remove that directory as its owner or root, or set DAPPLE_RUNTIME_DIR");
	} else {
		doctor_say(f, DOCTOR_OK, "runtime directory %s", path);
	}
}

static void check_libraries(struct doctor_finding *f)
{
	static const char *const names[] = { "libdapple.so.0", "libibverbs.so.1", "libibumad.so.3" };
	char dir[PATH_MAX], path[PATH_MAX + 64];
	size_t i;

	if (run_libdir(dir, sizeof(dir)) != 0) {
		doctor_say(f, DOCTOR_FAIL, "Dapple's libraries are missing beside the command: no program can use an adapter");
		doctor_remedy(f, "install Dapple again, or build the tree (make)");
		return;
	}
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (access(path, R_OK) == 0)
			continue;
		doctor_say(f, DOCTOR_FAIL, "%s is missing: programs would load the distribution's library and find no adapter", path);
		doctor_remedy(f, "install Dapple again, or build the tree (make)");
		return;
	}
	doctor_say(f, DOCTOR_OK, "libraries in %s", dir);
}

/* dapple run puts Dapple's directory first; a setting of the user may not. */
static void check_library_path(struct doctor_finding *f)
{
	const char *list = getenv("LD_LIBRARY_PATH");
	char dir[PATH_MAX], entry[PATH_MAX], path[PATH_MAX + 32];
	size_t n;

	doctor_say(f, DOCTOR_OK, "LD_LIBRARY_PATH contains no other RDMA libraries");
	if (!list || run_libdir(dir, sizeof(dir)) != 0)
		return;
	for (; *list; list += n + (list[n] != '\0')) {
		n = strcspn(list, ":;");
		if (n >= sizeof(entry))
			continue;
		snprintf(entry, sizeof(entry), "%.*s", (int)n, list);
		if (strcmp(entry, dir) == 0) {
			doctor_say(f, DOCTOR_OK, "LD_LIBRARY_PATH contains Dapple's libraries first");
			return;
		}
		snprintf(path, sizeof(path), "%s/libibverbs.so.1", *entry ? entry : ".");
		if (access(path, R_OK) < 0)
			continue;
		doctor_say(f, DOCTOR_WARN, "LD_LIBRARY_PATH contains another %s: programs load that one", path);
		doctor_remedy(f, "start programs with dapple run, which puts Dapple's directory first");
		return;
	}
}

static void check_setuid(struct doctor_finding *f)
{
	doctor_say(f, DOCTOR_OK, "note: programs with a set-user-ID bit or file capabilities ignore LD_LIBRARY_PATH and use the distribution's libraries");
}

/* --- what no software adapter has here --- */

static void check_grh(struct doctor_finding *f)
{
	const char *self = getenv("DAPPLE_NO_GRH");

	if (self && strcmp(self, "self") == 0)
		doctor_say(f, DOCTOR_OK, "DAPPLE_NO_GRH=self: an address without a GRH means the adapter itself on lo, and is refused elsewhere");
	else
		doctor_say(f, DOCTOR_OK, "note: RoCE addresses need a GRH: a program that passes none is refused at RTR; give it a GID index (-g 0), or DAPPLE_NO_GRH=self on lo");
}

static void check_umad(struct doctor_finding *f)
{
	doctor_say(f, DOCTOR_OK, "note: ports of RoCE and iWARP have no subnet management: umad_open_port() is refused, and perfquery, smpquery and ibnetdiscover find no port; counters are below /sys/class/infiniband");
}

static void check_rdma_netlink(struct doctor_finding *f)
{
	doctor_say(f, DOCTOR_OK, "note: rdma link, dev and statistic show the adapters under dapple run; elsewhere NETLINK_RDMA is the kernel's, and rdma resource knows no adapter of Dapple");
}

/* --- kernel services --- */

static void check_userns(struct doctor_finding *f)
{
	int pipes[2], status = 0;
	char step[128] = "";
	const char *s = "";
	pid_t pid;
	ssize_t n;

	if (pipe2(pipes, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		doctor_say(f, DOCTOR_WARN, "cannot start a process to try namespaces (%s): not known whether --isolate and --hosts work",
			   strerror(errno));
		doctor_remedy(f, "raise the limit of processes (ulimit -u) or of the container");
		return;
	}
	if (pid == 0) {
		int r = run_userns_enter(CLONE_NEWNS | CLONE_NEWNET, &s);

		n = write(pipes[1], s, strlen(s));
		_exit(r < 0 ? -r & 0x7f : n < 0);
	}
	close(pipes[1]);
	n = read(pipes[0], step, sizeof(step) - 1);
	close(pipes[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (n >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		doctor_say(f, DOCTOR_OK, "user, mount and network namespaces: --isolate and --hosts work");
		return;
	}
	doctor_say(f, DOCTOR_WARN, "%s is refused (%s): --isolate and --hosts do not work; dapple run does", step,
	    strerror(WEXITSTATUS(status)));
	doctor_remedy(f, "permit user namespaces: sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces above 0, or unshare and mount in the seccomp profile of the container");
}

/* --- limits --- */

static void check_nofile(struct doctor_finding *f)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur == RLIM_INFINITY || r.rlim_cur >= 256) {
		doctor_say(f, DOCTOR_OK, "a process may open at least 256 file descriptors");
		return;
	}
	doctor_say(f, DOCTOR_WARN, "a process may open only %lu file descriptors: each completion channel "
				   "and peer process needs one, and more fail with EMFILE",
	    (unsigned long)r.rlim_cur);
	doctor_remedy(f, "ulimit -n 1024");
}

static void check_hardware(struct doctor_finding *f)
{
	if (access("/sys/class/infiniband", F_OK) == 0 && !getenv("DAPPLE_TREE")) {
		doctor_say(f, DOCTOR_WARN, "this machine has RDMA devices of the kernel: programs under "
					   "dapple run do not see them");
		doctor_remedy(f, "start programs without dapple run to use them");
	} else {
		doctor_say(f, DOCTOR_OK, "the kernel has no RDMA device that dapple run would hide");
	}
}

int run_cmd_doctor(int argc, char **argv)
{
	static void (*const checks[])(struct doctor_finding *) = {
		check_libraries, check_library_path, check_setuid, check_grh, check_umad, check_rdma_netlink, check_hardware,
		check_runtime_dir, doctor_check_port, doctor_check_reuseport, doctor_check_mtu_discover,
		doctor_check_local, doctor_check_memfd, doctor_check_pidfd, doctor_check_direct,
		doctor_check_process_vm, doctor_check_udp_batching, doctor_check_ipv6,
		doctor_check_rmem, check_nofile, check_userns,
	};
	static const char *const words[] = { "ok  ", "warn", "fail" };
	struct run_opts o = { .command = "doctor", .argv = argv, .argc = argc, .index = 1 };
	const char *name = run_opts_next(&o);
	int failed = 0;
	size_t i;

	if (name)
		return run_usage_error("doctor", "option \"%s\" is unknown", name);
	if (o.index < argc)
		return run_usage_error("doctor", "argument \"%s\" is unexpected", argv[o.index]);
	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct doctor_finding f = { .level = DOCTOR_OK };

		checks[i](&f);
		printf("%s  %s\n", words[f.level], f.text);
		if (f.remedy[0])
			printf("      remedy: %s\n", f.remedy);
		failed += f.level == DOCTOR_FAIL;
		fflush(stdout);
	}
	return failed ? 1 : 0;
}

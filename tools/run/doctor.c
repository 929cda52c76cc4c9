/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
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

#include "util/rundir.h"

/*
 * dapple doctor: every check tries the thing itself, on a scratch object, so
 * that seccomp filters, sysctls and old kernels all show by their effect.
 * A fail means that no adapter works; a warn that something is slower or
 * missing.
 */

#define ROCE_PORT 4791

/* Receive buffer that a full window of one peer wants. */
#define WANTED_RMEM (1024 * 1024)

enum level { OK, WARN, FAIL };

struct finding {
	enum level level;
	char text[512];
	char remedy[512];	/* "" if none */
};

__attribute__((format(printf, 3, 4)))
static void say(struct finding *f, enum level level, const char *fmt, ...)
{
	va_list ap;

	f->level = level;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 3)))
static void remedy(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->remedy, sizeof(f->remedy), fmt, ap);
	va_end(ap);
}

static long read_number(const char *path, long otherwise)
{
	FILE *f = fopen(path, "re");
	long n = otherwise;

	if (!f)
		return otherwise;
	if (fscanf(f, "%ld", &n) != 1)
		n = otherwise;
	fclose(f);
	return n;
}

/* --- places --- */

static void check_runtime_dir(struct finding *f)
{
	char path[UT_RUNDIR_MAX], why[300];

	if (ut_rundir(path, sizeof(path), why, sizeof(why)) < 0) {
		say(f, FAIL, "%s", why);
		remedy(f, "set DAPPLE_RUNTIME_DIR to a directory of your own with mode 0700");
		return;
	}
	if (access(path, W_OK | X_OK) < 0)
		say(f, FAIL, "the runtime directory %s is not writable: %s", path, strerror(errno));
	else
		say(f, OK, "runtime directory %s", path);
}

static void check_libraries(struct finding *f)
{
	static const char *const names[] = { "libdapple.so.0", "libibverbs.so.1", "libibumad.so.3" };
	char dir[PATH_MAX], path[PATH_MAX + 64];
	size_t i;

	if (run_libdir(dir, sizeof(dir)) != 0) {
		say(f, FAIL, "Dapple's libraries are not where they belong");
		remedy(f, "install again, or build the tree");
		return;
	}
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (access(path, R_OK) == 0)
			continue;
		say(f, FAIL, "%s is missing: programs would use the distribution's libraries", path);
		remedy(f, "install again, or build the tree");
		return;
	}
	say(f, OK, "libraries in %s", dir);
}

/* dapple run puts our directory first; an own setting may not. */
static void check_library_path(struct finding *f)
{
	const char *list = getenv("LD_LIBRARY_PATH");
	char dir[PATH_MAX], entry[PATH_MAX], path[PATH_MAX + 32];
	size_t n;

	say(f, OK, "no other RDMA libraries stand in LD_LIBRARY_PATH");
	if (!list || run_libdir(dir, sizeof(dir)) != 0)
		return;
	for (; *list; list += n + (list[n] != '\0')) {
		n = strcspn(list, ":;");
		if (n >= sizeof(entry))
			continue;
		snprintf(entry, sizeof(entry), "%.*s", (int)n, list);
		if (strcmp(entry, dir) == 0) {
			say(f, OK, "LD_LIBRARY_PATH leads to Dapple's libraries first");
			return;
		}
		snprintf(path, sizeof(path), "%s/libibverbs.so.1", *entry ? entry : ".");
		if (access(path, R_OK) < 0)
			continue;
		say(f, WARN, "LD_LIBRARY_PATH leads to another %s", path);
		remedy(f, "start programs with dapple run, which puts its own directory first");
		return;
	}
}

static void check_setuid(struct finding *f)
{
	say(f, OK, "programs with a setuid bit or file capabilities ignore LD_LIBRARY_PATH and keep the distribution's libraries");
}

/* --- kernel services --- */

static void check_memfd(struct finding *f)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, fd;

	fd = memfd_create("dapple-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0) {
		say(f, FAIL, "memfd_create is refused: %s", strerror(errno));
		remedy(f, "permit memfd_create in the seccomp profile of the container");
		return;
	}
#ifdef F_SEAL_FUTURE_WRITE
	seals |= F_SEAL_FUTURE_WRITE;
#endif
	if (ftruncate(fd, 4096) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0)
		say(f, WARN, "shared memory cannot be sealed (%s): processes of this host talk over UDP only",
		    strerror(errno));
	else
		say(f, OK, "shared memory by memfd_create, with seals");
	close(fd);
}

static void check_pidfd(struct finding *f)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd < 0) {
		say(f, WARN, "pidfd_open is refused (%s): the death of a peer process shows only by timeouts",
		    strerror(errno));
		remedy(f, "permit pidfd_open in the seccomp profile of the container");
		return;
	}
	close(fd);
	say(f, OK, "death of peer processes is seen by pidfd");
}

static void check_userns(struct finding *f)
{
	int pipes[2], status = 0;
	char step[128] = "";
	const char *s = "";
	pid_t pid;
	ssize_t n;

	if (pipe2(pipes, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		say(f, WARN, "cannot start a process to try namespaces: %s", strerror(errno));
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
		say(f, OK, "user, mount and network namespaces: --isolate and --hosts work");
		return;
	}
	say(f, WARN, "%s is refused (%s): dapple run works, --isolate and --hosts do not", step,
	    strerror(WEXITSTATUS(status)));
	remedy(f, "allow user namespaces: sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces, or the seccomp profile of the container");
}

/* --- sockets --- */

static int udp_socket(int family)
{
	return socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

/* Who has the port?  A socket of the kernel has no inode. */
static bool port_owner(unsigned *ret_uid, unsigned long *ret_inode)
{
	unsigned port, uid;
	unsigned long inode;
	char line[512];
	bool found = false;
	FILE *f = fopen("/proc/net/udp", "re");

	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %u %*u %lu", &port,
			   &uid, &inode) == 3 && port == ROCE_PORT) {
			*ret_uid = uid;
			*ret_inode = inode;
			found = true;
		}
	if (f)
		fclose(f);
	return found;
}

static void say_port_taken(struct finding *f, const char *address)
{
	unsigned long inode = 0;
	unsigned uid = 0;

	if (access("/sys/module/rdma_rxe", F_OK) == 0 && port_owner(&uid, &inode) && !inode) {
		say(f, FAIL, "UDP port %d of %s is held by the kernel's rdma_rxe", ROCE_PORT, address);
		remedy(f, "remove its devices (rdma link delete NAME), or work in another network namespace (dapple pair --hosts)");
	} else if (port_owner(&uid, &inode)) {
		say(f, FAIL, "UDP port %d of %s is taken by a socket of user %u", ROCE_PORT, address, uid);
		remedy(f, "one user per address: use another address (127.0.0.2, an alias) or another network namespace");
	} else {
		say(f, FAIL, "UDP port %d of %s is taken", ROCE_PORT, address);
		remedy(f, "find its owner with ss -ulpn; the port belongs to RoCE");
	}
}

static void check_port(struct finding *f)
{
	static const char *const addresses[] = { "127.0.0.1", "0.0.0.0" };
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(ROCE_PORT) };
	int one = 1, fd;
	size_t i;

	for (i = 0; i < 2; i++) {
		fd = udp_socket(AF_INET);
		inet_pton(AF_INET, addresses[i], &a.sin_addr);
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
		if (fd < 0 || bind(fd, (void *)&a, sizeof(a)) < 0) {
			if (errno == EADDRINUSE)
				say_port_taken(f, addresses[i]);
			else
				say(f, FAIL, "UDP port %d of %s cannot be bound: %s", ROCE_PORT,
				    addresses[i], strerror(errno));
			if (fd >= 0)
				close(fd);
			return;
		}
		close(fd);
	}
	say(f, OK, "UDP port %d is free, or shared with processes of our own", ROCE_PORT);
}

static void check_reuseport(struct finding *f)
{
	struct sock_filter zero = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog prog = { .len = 1, .filter = &zero };
	struct sockaddr_in a = { .sin_family = AF_INET };
	int one = 1, fd = udp_socket(AF_INET);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) < 0 ||
	    bind(fd, (void *)&a, sizeof(a)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog)) < 0) {
		say(f, FAIL, "processes cannot share a UDP port by a socket filter: %s", strerror(errno));
		remedy(f, "needs Linux 4.5 or newer with SO_ATTACH_REUSEPORT_CBPF");
	} else {
		say(f, OK, "processes can share a UDP port by a socket filter");
	}
	if (fd >= 0)
		close(fd);
}

static void check_udp_batching(struct finding *f)
{
	int size = 1024, one = 1, fd = udp_socket(AF_INET);

	if (fd < 0 || setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)) < 0)
		say(f, WARN, "UDP segmentation offload is missing (%s): slower sending", strerror(errno));
	else if (setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one)) < 0)
		say(f, WARN, "UDP receive offload is missing (%s): slower receiving", strerror(errno));
	else
		say(f, OK, "UDP segmentation and receive offload");
	if (f->level != OK)
		remedy(f, "needs Linux 5.0 or newer");
	if (fd >= 0)
		close(fd);
}

static void check_mtu_discover(struct finding *f)
{
	int v = IP_PMTUDISC_DO, fd = udp_socket(AF_INET);

	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &v, sizeof(v)) < 0)
		say(f, FAIL, "IP_MTU_DISCOVER is refused (%s): packets cannot be checksummed as RoCE wants",
		    strerror(errno));
	else
		say(f, OK, "IP_MTU_DISCOVER");
	if (fd >= 0)
		close(fd);
}

static void check_ipv6(struct finding *f)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = udp_socket(AF_INET6);

	if (fd < 0 || bind(fd, (void *)&a, sizeof(a)) < 0) {
		say(f, WARN, "IPv6 is not usable (%s): only GIDs of IPv4 addresses", strerror(errno));
		remedy(f, "sysctl net.ipv6.conf.all.disable_ipv6=0, or enable IPv6 for the container");
	} else {
		say(f, OK, "IPv6");
	}
	if (fd >= 0)
		close(fd);
}

/* --- limits --- */

static void check_rmem(struct finding *f)
{
	long max = read_number("/proc/sys/net/core/rmem_max", -1);
	int want = WANTED_RMEM, have = 0, fd = udp_socket(AF_INET);
	socklen_t len = sizeof(have);

	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &want, sizeof(want));
		getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &have, &len);
		close(fd);
	}
	/* The kernel doubles what was asked, for its own book-keeping. */
	if (have / 2 >= WANTED_RMEM) {
		say(f, OK, "receive buffers of %d bytes", have / 2);
		return;
	}
	say(f, WARN, "receive buffers end at %d bytes: smaller windows, slower large messages", have / 2);
	remedy(f, "sysctl net.core.rmem_max=%d (now %ld)", WANTED_RMEM, max);
}

static void check_nofile(struct finding *f)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur == RLIM_INFINITY || r.rlim_cur >= 256) {
		say(f, OK, "enough file descriptors");
		return;
	}
	say(f, WARN, "a process may open only %lu files: completion channels and peers need one each",
	    (unsigned long)r.rlim_cur);
	remedy(f, "ulimit -n 1024");
}

static void check_hardware(struct finding *f)
{
	if (access("/sys/class/infiniband", F_OK) == 0 && !getenv("DAPPLE_TREE")) {
		say(f, WARN, "this machine has RDMA devices of its own, which programs under dapple run do not see");
		remedy(f, "leave dapple run away to use them");
	} else {
		say(f, OK, "no RDMA device of the kernel is hidden");
	}
}

int run_cmd_doctor(int argc, char **argv)
{
	static void (*const checks[])(struct finding *) = {
		check_libraries, check_library_path, check_setuid, check_hardware,
		check_runtime_dir, check_port, check_reuseport, check_mtu_discover,
		check_memfd, check_pidfd, check_udp_batching, check_ipv6, check_rmem,
		check_nofile, check_userns,
	};
	static const char *const words[] = { "ok  ", "warn", "fail" };
	struct run_opts o = { .command = "doctor", .argv = argv, .argc = argc, .index = 1 };
	const char *name = run_opts_next(&o);
	int failed = 0;
	size_t i;

	if (name)
		return run_usage_error("doctor", "there is no option \"%s\"", name);
	if (o.index < argc)
		return run_usage_error("doctor", "\"%s\" is one word too many", argv[o.index]);
	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct finding f = { .level = OK };

		checks[i](&f);
		printf("%s  %s\n", words[f.level], f.text);
		if (f.remedy[0])
			printf("      remedy: %s\n", f.remedy);
		failed += f.level == FAIL;
		fflush(stdout);
	}
	return failed ? 1 : 0;
}

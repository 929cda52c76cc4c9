/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The carrier of RDS (src/ulp/rds/carrier.c) with calls of which the n-th fails, for `tests/interop/rds failures`. The file that RDS_NTH
 * names says in which process, and which calls: "start N LENGTH" for one that begins, "takeover N LENGTH" for a standby as it becomes the owner,
 * "renew N LENGTH" for an owner as it begins to watch its standby.
 * The process that finds its word there removes the file. A call that fails leaves its name in RDS_NTH.failed; SIGUSR2 has what the process has
 * got and not given back written to RDS_NTH.left.
 */
#include "nth.h"

#include "ulp/listen.h"
#include "ulp/rds/listener.h"
#include "ulp/rds/node.h"
#include "ulp/rds/renew.h"
#include "ulp/rds/serve.h"
#include "ulp/rds/standby.h"
#include "ulp/rds/store.h"
#include "ulp/rds/takeover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int carrier_main(int argc, char **argv);

/* --- the test's files --- */

static void leave(const char *what, const char *text)
{
	char path[PATH_MAX], whole[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s.%s.part", getenv("RDS_NTH"), what);
	snprintf(whole, sizeof(whole), "%s.%s", getenv("RDS_NTH"), what);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (write(fd, text, strlen(text)) < 0)
		_exit(2);
	syscall(SYS_close, fd); /* not counted */
	rename(path, whole);
}

/* The first one. */
void nth_on_failure(const char *name)
{
	static bool has_failed;

	if (!has_failed)
		leave("failed", name);
	has_failed = true;
}

static bool is_armed;

static void tell(int sig)
{
	char text[64];

	snprintf(text, sizeof(text), is_armed ? "%ld" : "none", nth_left_but_descriptors());
	leave("left", text);
}

static void arm(const char *when)
{
	char text[64] = "", word[16];
	unsigned long n, length;
	int fd = open(getenv("RDS_NTH"), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text) - 1) > 0 && sscanf(text, "%15s %lu %lu", word, &n, &length) == 3 && !strcmp(word, when)) {
		unlink(getenv("RDS_NTH"));
		nth_arm_run(n, length);
		is_armed = true;
	}
	syscall(SYS_close, fd);
}

int main(int argc, char **argv)
{
	if (argc == 1)
		arm("start");
	return carrier_main(argc, argv);
}

/* --- calls --- */

#define WRAPS(type, name, ...)          \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__);

WRAPS(int, rds_takeover, struct rds_node *n)
int __wrap_rds_takeover(struct rds_node *n)
{
	arm("takeover");
	return __real_rds_takeover(n);
}

/* The listeners alone. */
WRAPS(int, rds_listener_open, struct rds_node *n, const struct rsp_addr *addr)
int __wrap_rds_listener_open(struct rds_node *n, const struct rsp_addr *addr)
{
	bool was_armed = is_armed;
	int r;

	arm("listener");
	r = __real_rds_listener_open(n, addr);
	if (!was_armed && is_armed)
		nth_disarm();
	return r;
}

WRAPS(void, rds_renew_begin, struct rds_node *n)
void __wrap_rds_renew_begin(struct rds_node *n)
{
	arm("renew");
	__real_rds_renew_begin(n);
}

/* By now the carrier has left the signals of the program that has started it. */
WRAPS(int, rds_serve, struct rds_node *n, int listener)
int __wrap_rds_serve(struct rds_node *n, int listener)
{
	signal(SIGUSR2, tell);
	return __real_rds_serve(n, listener);
}

WRAPS(void *, rds_store_get, size_t len)
void *__wrap_rds_store_get(size_t len)
{
	void *m = nth_fails("rds_store_get") ? NULL : __real_rds_store_get(len);

	nth_got(m != NULL);
	return m;
}

WRAPS(void, rds_store_put, void *m)
void __wrap_rds_store_put(void *m)
{
	nth_got(m ? -1 : 0);
	__real_rds_store_put(m);
}

/* The identifier of a request is not made by rdma_create_id(), and is destroyed like one that is. */
WRAPS(int, ulp_listener_next, struct ulp_listener *l, struct ulp_request *ret)
int __wrap_ulp_listener_next(struct ulp_listener *l, struct ulp_request *ret)
{
	int r = __real_ulp_listener_next(l, ret);

	nth_got(!r);
	return r;
}

WRAPS(int, epoll_ctl, int ep, int op, int fd, struct epoll_event *ev)
int __wrap_epoll_ctl(int ep, int op, int fd, struct epoll_event *ev)
{
	return op == EPOLL_CTL_ADD && nth_fails("epoll_ctl") ? -1 : __real_epoll_ctl(ep, op, fd, ev);
}

#define MAY_FAIL(type, name, none, params, args)        \
	WRAPS(type, name, PARAMS params)                \
	type __wrap_##name(PARAMS params)               \
	{                                               \
		return nth_fails(#name) ? none : __real_##name args; \
	}
#define PARAMS(...) __VA_ARGS__

MAY_FAIL(int, epoll_create1, -1, (int flags), (flags))
MAY_FAIL(int, memfd_create, -1, (const char *name, unsigned flags), (name, flags))
MAY_FAIL(int, accept4, -1, (int fd, struct sockaddr *a, socklen_t *len, int flags), (fd, a, len, flags))
MAY_FAIL(ssize_t, recv, -1, (int fd, void *to, size_t n, int flags), (fd, to, n, flags))
MAY_FAIL(int, socketpair, -1, (int family, int type, int protocol, int fds[2]), (family, type, protocol, fds))
MAY_FAIL(int, posix_spawn, ENOMEM, (pid_t *pid, const char *path, const posix_spawn_file_actions_t *acts, const posix_spawnattr_t *attr,
				    char *const argv[], char *const envp[]), (pid, path, acts, attr, argv, envp))

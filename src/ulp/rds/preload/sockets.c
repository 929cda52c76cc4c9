/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/preload/sockets.h"

#include "ulp/rds/preload/ask.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_bool any;

bool rds_may_have_any(void)
{
	return atomic_load_explicit(&any, memory_order_relaxed);
}

void rds_may_have_got(void)
{
	atomic_store_explicit(&any, true, memory_order_relaxed);
}

/* The name at one end of a socket. */
static bool read_name(long call, int fd, struct sockaddr_un *un, socklen_t *len, struct rsp_name *ret)
{
	int keep = errno;
	bool yes = !syscall(call, fd, un, len) && rsp_name_read(un, *len, ret);

	errno = keep;
	return yes;
}

static bool is_socket(int fd, struct sockaddr_un *un, socklen_t *len)
{
	struct rsp_name name;

	return read_name(SYS_getsockname, fd, un, len, &name) && name.kind == RDS_NAME_PROGRAM;
}

bool rds_is_socket(int fd, struct rds_request *q)
{
	struct sockaddr_un un;
	socklen_t len = sizeof(un);

	if (!rds_may_have_any() || !is_socket(fd, &un, &len))
		return false;
	if (q) {
		q->name = un;
		q->name_len = len;
	}
	return true;
}

static bool bound_name(int fd, struct rsp_name *ret)
{
	struct sockaddr_un un;
	socklen_t len = sizeof(un);

	return read_name(SYS_getpeername, fd, &un, &len, ret) && ret->kind == RDS_NAME_BOUND;
}

bool rds_bound(int fd, struct rsp_addr *ret)
{
	struct rsp_name name;

	if (!bound_name(fd, &name))
		return false;
	*ret = name.local;
	return true;
}

uint32_t rds_carrier_of(int fd)
{
	struct rsp_name name;

	return bound_name(fd, &name) ? name.peer.scope : 0;
}

int rds_socket_option(int fd, int option)
{
	int v = 0;
	socklen_t len = sizeof(v);

	return syscall(SYS_getsockopt, fd, SOL_SOCKET, option, &v, &len) ? -1 : v;
}

static int named_pair(int sv[2])
{
	struct rsp_name name = { .kind = RDS_NAME_PROGRAM };
	int r;

	if (syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		return -errno;
	r = rsp_name_bind(sv[0], &name);
	if (r) {
		close(sv[0]);
		close(sv[1]);
	}
	return r;
}

int rds_socket(int type)
{
	struct rds_request q = { .op = RDS_OP_SOCKET };
	struct rds_answer a;
	int sv[2], r = named_pair(sv);

	if (r)
		return r;
	r = rds_ask(&q, sv[1], &a, NULL);
	close(sv[1]);
	if (r) {
		close(sv[0]);
		return r;
	}
	if (type & SOCK_NONBLOCK)
		fcntl(sv[0], F_SETFL, O_RDWR | O_NONBLOCK);
	if (!(type & SOCK_CLOEXEC))
		fcntl(sv[0], F_SETFD, 0);
	rds_may_have_got();
	return sv[0];
}

/* Descriptors that the program has from before exec. */
__attribute__((constructor))
static void at_load(void)
{
	struct sockaddr_un un;
	socklen_t len;
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		len = sizeof(un);
		if (is_socket(atoi(e->d_name), &un, &len))
			rds_may_have_got();
	}
	if (d)
		closedir(d);
}

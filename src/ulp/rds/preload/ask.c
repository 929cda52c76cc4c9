/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/preload/ask.h"

#include "ulp/preload/spawn.h"
#include "ulp/preload/told.h"
#include "ulp/rds/say.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES 5                         /* a carrier may end between two of them */
#define TAKES 100                       /* of one answer */

static socklen_t carrier_name(struct sockaddr_un *ret)
{
	int n;

	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "dapple-rds/%u", geteuid());
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int unix_socket(void)
{
	int fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

/* Returns 0 or a negative errno; -EADDRINUSE: there is a carrier by now. */
static int start(void)
{
	struct sockaddr_un un;
	socklen_t len = carrier_name(&un);
	int fd = unix_socket(), r = 0;

	if (fd < 0)
		return fd;
	if (syscall(SYS_bind, fd, &un, len) || syscall(SYS_listen, fd, 128))
		r = -errno;
	if (!r)
		r = rsp_spawn("dapple-rds", fd);
	if (r && r != -EADDRINUSE)
		rds_say("RDS: the carrier dapple-rds beside librds-preload.so cannot be started (%s): the program gets no RDS "
			"socket; install Dapple again, or build the tree", strerror(-r));
	close(fd);
	return r;
}

static int reach(void)
{
	struct sockaddr_un un;
	socklen_t len = carrier_name(&un), size = sizeof(struct ucred);
	struct ucred peer;
	int fd = unix_socket(), r = 0;

	if (fd < 0)
		return fd;
	if (syscall(SYS_connect, fd, &un, len))
		r = -errno;
	else if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.uid != geteuid())
		r = -EPERM;
	if (!r)
		return fd;
	if (r == -EPERM)
		rds_say("RDS: the name %s is taken by user %u: the program gets no RDS socket; have that process ended",
			un.sun_path + 1, peer.uid);
	close(fd);
	return r;
}

static int reach_or_start(void)
{
	sigset_t all, old;
	int r, started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = reach();
	if (r == -ECONNREFUSED) {
		started = start();
		r = started && started != -EADDRINUSE ? started : reach();
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

/* The answer stays in the socket while no memory is free to receive it: the carrier may have executed the request. */
static ssize_t take_answer(int sock, struct rds_answer *ret, int *ret_fd, int *ret_flags)
{
	struct iovec in = { ret, sizeof(*ret) };
	ssize_t n = 0;

	for (int i = 0; i < TAKES && (!i || rds_may_retry(n)); i++)
		n = rds_take(sock, &in, 1, ret_fd, 0, ret_flags);
	return n;
}

/* One request. -EPIPE: the carrier has ended before it answered. -EMFILE: no descriptor is free for that of the answer. */
static int ask_once(int sock, struct rds_request *q, int fd, struct rds_answer *ret, int *ret_fd)
{
	struct iovec out = { q, sizeof(*q) };
	int flags = 0, r = rds_pass(sock, &out, 1, fd, 0);

	if (r || take_answer(sock, ret, ret_fd, &flags) != sizeof(*ret))
		return -EPIPE;
	return flags & MSG_CTRUNC ? -EMFILE : 0;
}

int rds_ask(struct rds_request *q, int fd, struct rds_answer *ret, int *ret_fd)
{
	int got = -1, sock, r = -EPIPE;

	if (ret_fd)
		*ret_fd = -1;
	for (int i = 0; r == -EPIPE && i < TRIES; i++) {
		sock = reach_or_start();
		if (sock == -ECONNREFUSED)
			continue;
		if (sock < 0)
			return rsp_told(RSP_OF_REQUEST, sock);
		r = ask_once(sock, q, fd, ret, &got);
		q->again = true;
		close(sock);
	}
	if (ret_fd)
		*ret_fd = got;
	else if (got >= 0)
		close(got);
	return r ? rsp_told(RSP_OF_REQUEST, r) : ret->error;
}

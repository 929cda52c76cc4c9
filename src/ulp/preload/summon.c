/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The carrier is started at the first need and reached by the abstract name of its listener, which
 * children inherit as memory; no descriptor stays open, since daemons close those they do not know.
 * A carrier that has ended, or one of another user, is replaced by a new one.
 */
#include "ulp/preload/summon.h"
#include "ulp/preload/real.h"
#include "ulp/preload/request.h"
#include "ulp/preload/spawn.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sockaddr_un carrier;
static socklen_t carrier_len;

/* The program listens on behalf of the carrier, so that a request waits until it has started. */
static int start(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	carrier.sun_family = AF_UNIX;
	carrier_len = sizeof(carrier);
	r = bind(fd, (struct sockaddr *)&carrier, sizeof(sa_family_t)) || rsp_real()->listen(fd, 128) ||
	    rsp_real()->getsockname(fd, (struct sockaddr *)&carrier, &carrier_len) ? -errno : 0;
	if (!r)
		r = rsp_spawn("dapple-rsockets", fd);
	close(fd);
	if (r)
		carrier_len = 0;
	return r;
}

static int reach(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), r = 0;
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return -errno;
	if (!carrier_len || rsp_real()->connect(fd, (struct sockaddr *)&carrier, carrier_len))
		r = carrier_len ? -errno : -ECONNREFUSED;
	else if (rsp_real()->getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || peer.uid != geteuid())
		r = -EPERM;
	if (!r)
		return fd;
	close(fd);
	return r;
}

int rsp_summon(void)
{
	sigset_t all, old;
	int r, started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_mutex_lock(&lock);
	r = reach();
	if (r < 0) {
		started = start();
		r = started ? started : reach();
	}
	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

bool rsp_was_summoned(void)
{
	return carrier_len != 0;
}

/* A thread of the parent may have held the lock during fork(). */
static void after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

__attribute__((constructor))
static void at_load(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}

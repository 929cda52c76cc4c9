/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two threads per connection, one for each direction, since an rsocket serves one of each at the same
 * time. The program's exit shows as a hang-up of its stream: data that it had written is still sent, the
 * other direction is given a few seconds to end by itself.
 */
#include "ulp/preload/relay.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rsocket.h>

#define CHUNK 65536
#define STACK (256 * 1024)
#define LINGER_S 10

struct relay {
	int un, net;
	bool rdma;
	sem_t down_done;
};

static ssize_t net_recv(const struct relay *r, void *buf, size_t size)
{
	ssize_t n;

	do {
		n = r->rdma ? rrecv(r->net, buf, size, 0) : recv(r->net, buf, size, 0);
	} while (n < 0 && errno == EINTR);
	return n;
}

static bool net_send(const struct relay *r, const uint8_t *buf, size_t size)
{
	while (size) {
		ssize_t n = r->rdma ? rsend(r->net, buf, size, 0) : send(r->net, buf, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		buf += n;
		size -= (size_t)n;
	}
	return true;
}

static void net_shutdown(const struct relay *r, int how)
{
	if (r->rdma)
		rshutdown(r->net, how);
	else
		shutdown(r->net, how);
}

static bool un_send(const struct relay *r, const uint8_t *buf, size_t size)
{
	while (size) {
		ssize_t n = send(r->un, buf, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		buf += n;
		size -= (size_t)n;
	}
	return true;
}

static void *down(void *arg)
{
	struct relay *r = arg;
	uint8_t *buf = malloc(CHUNK);
	ssize_t n = 0;

	while (buf && (n = net_recv(r, buf, CHUNK)) > 0 && un_send(r, buf, (size_t)n))
		;
	shutdown(r->un, n < 0 ? SHUT_RDWR : SHUT_WR);
	free(buf);
	sem_post(&r->down_done);
	return NULL;
}

/* Returns 0 at the end of the program's data, or a negative errno. */
static int up(struct relay *r)
{
	uint8_t *buf = malloc(CHUNK);
	ssize_t n = buf ? 1 : -1;
	int err = buf ? 0 : -ENOMEM;

	while (n > 0) {
		n = recv(r->un, buf, CHUNK, 0);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			err = -errno;
		else if (n > 0 && !net_send(r, buf, (size_t)n))
			n = err = -EPIPE;
	}
	free(buf);
	return err;
}

static bool ended_within(struct relay *r, int seconds)
{
	struct timespec until;
	int n;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	do {
		n = sem_timedwait(&r->down_done, &until);
	} while (n && errno == EINTR);
	return !n;
}

/* The program reads on after its SHUT_WR; a hang-up says that both directions have ended. */
static void wait_hangup(const struct relay *r)
{
	struct pollfd p = { r->un, 0, 0 };

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
}

static void copy(struct relay *r)
{
	pthread_t thread;
	int err;

	if (pthread_create(&thread, NULL, down, r))
		return;
	err = up(r);
	if (err) {
		shutdown(r->un, SHUT_RD);
		net_shutdown(r, SHUT_RDWR);
	} else {
		net_shutdown(r, SHUT_WR);
		wait_hangup(r);
		if (!ended_within(r, LINGER_S))
			net_shutdown(r, SHUT_RDWR);
	}
	pthread_join(thread, NULL);
}

void rsp_relay(int un, int net, bool rdma)
{
	struct relay r = { .un = un, .net = net, .rdma = rdma };

	sem_init(&r.down_done, 0, 0);
	copy(&r);
	sem_destroy(&r.down_done);
	if (rdma)
		rclose(net);
	else
		close(net);
	close(un);
}

void (*rsp_thread_begin)(void);

struct start {
	void *(*run)(void *);
	void *arg;
};

static void *run_thread(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	if (rsp_thread_begin)
		rsp_thread_begin();
	return s.run(s.arg);
}

int rsp_thread(void *(*run)(void *), void *arg)
{
	struct start *s = malloc(sizeof(*s));
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (!s)
		return -ENOMEM;
	*s = (struct start){ run, arg };

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = -pthread_create(&thread, &attr, run_thread, s);
	pthread_attr_destroy(&attr);
	if (r)
		free(s);
	return r;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which descriptors are sockets of ours. Two levels, so that a high number costs one page and
 * not a table up to it; chunks stay for the life of the process. */
#include "ulp/rsocket/rs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define CHUNK  1024
#define CHUNKS 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct rs_sock **) chunks[CHUNKS];

int rs_fail(int err)
{
	errno = err;
	return -1;
}

int rs_nonblock_fd(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static struct rs_sock **slot(int fd)
{
	struct rs_sock **chunk;

	if (fd < 0 || fd >= CHUNK * CHUNKS)
		return NULL;
	chunk = atomic_load_explicit(&chunks[fd / CHUNK], memory_order_acquire);
	return chunk ? &chunk[fd % CHUNK] : NULL;
}

struct rs_sock *rs_get(int fd)
{
	struct rs_sock **at = slot(fd), *rs = NULL;

	if (at) {
		pthread_mutex_lock(&lock);
		rs = *at;
		if (rs)
			atomic_fetch_add(&rs->refs, 1);
		pthread_mutex_unlock(&lock);
	}
	if (!rs)
		errno = EBADF;
	return rs;
}

bool rs_is(int fd)
{
	struct rs_sock **at = slot(fd);
	bool is;

	if (!at)
		return false;
	pthread_mutex_lock(&lock);
	is = *at;
	pthread_mutex_unlock(&lock);
	return is;
}

void rs_put(struct rs_sock *rs)
{
	int kept = errno;

	if (atomic_fetch_sub(&rs->refs, 1) == 1)
		rs_free(rs);
	errno = kept;
}

struct rs_sock *rs_alloc(int domain, int type)
{
	struct rs_sock *rs = calloc(1, sizeof(*rs));

	if (!rs)
		return NULL;
	rs->fd = epoll_create1(EPOLL_CLOEXEC);
	if (rs->fd < 0) {
		free(rs);
		return NULL;
	}
	rs->domain = domain;
	rs->type = type;
	rs->kick_fd = -1;
	atomic_init(&rs->refs, 1);
	pthread_mutex_init(&rs->s_lock, NULL);
	pthread_mutex_init(&rs->r_lock, NULL);
	pthread_mutex_init(&rs->lock, NULL);
	rs_config(&rs->want);
	rs->keep_idle = 7200;
	rs->keep_intvl = 75;
	rs->keep_cnt = 9;
	return rs;
}

int rs_publish(struct rs_sock *rs)
{
	struct rs_sock **chunk;
	int rc = 0;

	if (rs->fd >= CHUNK * CHUNKS)
		return rs_fail(EMFILE);
	pthread_mutex_lock(&lock);
	chunk = atomic_load(&chunks[rs->fd / CHUNK]);
	if (!chunk) {
		chunk = calloc(CHUNK, sizeof(*chunk));
		atomic_store_explicit(&chunks[rs->fd / CHUNK], chunk, memory_order_release);
	}
	if (chunk)
		chunk[rs->fd % CHUNK] = rs;
	else
		rc = rs_fail(ENOMEM);
	pthread_mutex_unlock(&lock);
	return rc;
}

void rs_unpublish(struct rs_sock *rs)
{
	struct rs_sock **at = slot(rs->fd);

	pthread_mutex_lock(&lock);
	if (at && *at == rs)
		*at = NULL;
	pthread_mutex_unlock(&lock);
}

int rs_watch(struct rs_sock *rs, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(rs->fd, EPOLL_CTL_ADD, fd, &ev);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/preload/send.h"

#include "ulp/preload/told.h"
#include "ulp/rds/cong.h"
#include "ulp/rds/header.h"
#include "ulp/rds/preload/address.h"
#include "ulp/rds/preload/ask.h"
#include "ulp/rds/preload/control.h"
#include "ulp/rds/preload/maps.h"
#include "ulp/rds/preload/sockets.h"
#include "ulp/rds/preload/vector.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/rds.h>
#include <poll.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SMALL 2048                      /* fits every send buffer */
#define LOOK_S 1                        /* between looks for the carrier, while a port is congested */

/* --- records --- */

static _Atomic uint64_t last_id;

/* Each record of a socket needs another identifier than those before, whichever process it comes from. */
static uint64_t next_id(void)
{
	uint64_t id = atomic_load(&last_id), first = 0;

	if (!id && getrandom(&first, sizeof(first), 0) == sizeof(first))
		atomic_compare_exchange_strong(&last_id, &id, first);
	return atomic_fetch_add(&last_id, 1) + 1;
}

static void after_fork(void)
{
	atomic_store(&last_id, 0);
}

__attribute__((constructor))
static void at_load(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}

/* --- congestion --- */

static bool carrier_is_gone(int fd)
{
	struct pollfd p = { fd, 0, 0 };

	return poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

/* Tells the carrier that this socket waits for news of the port. Returns -ENOBUFS, or why there will be no news. */
static int tell_congested(int fd, const struct rsp_addr *to)
{
	struct rds_record head = { .kind = RDS_RECORD_CONGESTED, .addr = *to, .id = next_id() };
	struct iovec iov = { &head, sizeof(head) };

	int r = rds_pass(fd, &iov, 1, -1, MSG_DONTWAIT);

	return r ? rsp_told(RSP_OF_STREAM, r) : -ENOBUFS;
}

/* Returns 0 once the port takes messages, -ENOBUFS at once without waiting, or another negative errno. */
static int await_port(int fd, const struct rsp_addr *to, bool wait)
{
	struct rds_maps *maps = rds_maps(rds_carrier_of(fd));
	const struct rds_map *map = maps ? rds_map_find(maps, to) : NULL;
	struct timespec limit = { .tv_sec = LOOK_S };
	uint32_t seen;

	while (map) {
		seen = atomic_load(&maps->changes);
		if (!rds_map_test(map, ntohs(to->port)))
			return 0;
		if (!wait)
			return tell_congested(fd, to);
		if (syscall(SYS_futex, &maps->changes, FUTEX_WAIT, seen, &limit, NULL, 0) && errno == EINTR)
			return -EINTR;
		if (carrier_is_gone(fd))
			return -ECONNRESET;
	}
	return 0;
}

/* --- what is sent --- */

static bool may_wait(int fd, int flags)
{
	return !(flags & MSG_DONTWAIT) && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

/* The message's own destination, or that of connect(). */
static int destination(int fd, const struct msghdr *m, struct rsp_addr *ret)
{
	struct rds_request q = { .op = RDS_OP_PEER };
	struct rds_answer a;
	struct rsp_addr local;
	int r;

	if (m->msg_namelen) {
		r = rds_address(m->msg_name, m->msg_namelen, ret);
		if (r)
			return -EINVAL;
	}
	if (!rds_bound(fd, &local))
		return -ENOTCONN;
	if (!m->msg_namelen) {
		if (!rds_is_socket(fd, &q))
			return -EBADF;
		r = rds_ask(&q, -1, &a, NULL);
		if (r)
			return r;
		*ret = a.addr;
	}
	return ret->family == local.family ? 0 : -EOPNOTSUPP;
}

static int check_size(int fd, size_t len, uint64_t rdma_bytes)
{
	if (len > RDS_MESSAGE_MAX || rdma_bytes > RDS_MESSAGE_MAX)
		return -EMSGSIZE;
	return len > SMALL && (int)len > rds_socket_option(fd, SO_SNDBUF) / 2 ? -EMSGSIZE : 0;
}

/* What of the payload is not in the record, then what the works need; -1: nothing. */
static int make_memfd(const struct rds_record *head, const struct rds_control *c, const struct msghdr *m)
{
	struct rds_vector rest = { 0 };
	int memfd, e;

	if (head->len <= RDS_INLINE && !head->nr_works)
		return -1;
	if (head->len > RDS_INLINE)
		rds_vector(&rest, NULL, m, RDS_INLINE, head->len - RDS_INLINE);
	memfd = rds_memfd(rest.iov, rest.nr);
	e = memfd < 0 ? 0 : rds_control_write(c, head, memfd);
	if (!e)
		return memfd;
	close(memfd);
	return e;
}

static int pass(int fd, const struct rds_record *head, const struct rds_control *c, const struct msghdr *m, int flags)
{
	struct rds_vector now;
	int memfd = make_memfd(head, c, m), r;

	if (memfd < -1 || (memfd < 0 && (head->nr_works || head->len > RDS_INLINE)))
		return rsp_told(RSP_OF_STREAM, memfd);
	rds_vector(&now, head, m, 0, RDS_INLINE);
	r = rds_pass(fd, now.iov, now.nr, memfd, flags & MSG_DONTWAIT);
	if (memfd >= 0)
		close(memfd);
	return rsp_told(RSP_OF_STREAM, r);
}

ssize_t rds_send(int fd, const struct msghdr *m, int flags)
{
	struct rds_record head = { .kind = RDS_RECORD_DATA, .id = next_id() };
	struct rds_control control;
	size_t len = 0;
	int r;

	if (flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL))
		return -EOPNOTSUPP;
	if (m->msg_iovlen > RDS_VECTOR_MAX)
		return -EMSGSIZE;
	for (size_t i = 0; i < m->msg_iovlen; i++)
		len += m->msg_iov[i].iov_len;
	r = destination(fd, m, &head.addr);
	if (!r)
		r = rds_control_read(&control, m);
	if (!r)
		r = check_size(fd, len, control.rdma_bytes);
	if (r)
		return r;
	head.len = (uint32_t)len;
	r = rds_control_apply(&control, fd, &head);
	if (!r)
		r = await_port(fd, &head.addr, may_wait(fd, flags));
	if (!r)
		r = pass(fd, &head, &control, m, flags);
	if (r)
		rds_control_undo(&control, fd);
	return r ? r : (ssize_t)len;
}

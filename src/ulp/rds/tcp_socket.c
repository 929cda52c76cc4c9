/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/tcp_socket.h"

#include "ulp/rds/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* A peer that says nothing is asked after as many seconds, and so often, as by Linux's rds_tcp. */
#define KEEPALIVE_S 5
#define KEEPALIVE_PROBES 5

void rds_tcp_tune(int fd)
{
	int on = 1, seconds = KEEPALIVE_S, probes = KEEPALIVE_PROBES;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

int rds_tcp_dial(const struct rds_conn *c)
{
	struct sockaddr_storage from, to;
	struct rsp_addr peer = c->peer;
	socklen_t from_len = rsp_addr_to(&c->local, &from), to_len;
	int fd = socket(from.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r = 0;

	if (fd < 0)
		return -errno;
	peer.port = htons(WIRE_RDS_TCP_PORT);
	to_len = rsp_addr_to(&peer, &to);
	rds_tcp_tune(fd);
	if (bind(fd, (struct sockaddr *)&from, from_len) ||
	    (connect(fd, (struct sockaddr *)&to, to_len) && errno != EINPROGRESS))
		r = -errno;
	if (!r)
		return fd;
	close(fd);
	return r;
}

int rds_tcp_bind(const struct rsp_addr *addr)
{
	struct rsp_addr at = *addr;
	struct sockaddr_storage ss;
	socklen_t len;
	int fd, on = 1, r = 0;

	at.port = htons(WIRE_RDS_TCP_PORT);
	len = rsp_addr_to(&at, &ss);
	fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&ss, len))
		r = -errno;
	if (!r)
		return fd;
	close(fd);
	return r;
}

int rds_tcp_listen(int fd)
{
	return listen(fd, 64) ? -errno : 0;
}

void rds_tcp_refuse(int fd)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

bool rds_tcp_removed(int fd, uint64_t *ret)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	int waiting;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) || ioctl(fd, SIOCINQ, &waiting) || waiting < 0 ||
	    info.tcpi_bytes_received < (uint64_t)waiting)
		return false;
	*ret = info.tcpi_bytes_received - (uint64_t)waiting;
	return true;
}

int rds_tcp_error(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) ? errno : err;
}

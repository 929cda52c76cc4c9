/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/tcp_socket.h"

#include "ulp/rds/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* A peer that says nothing is asked after as many seconds, and so often, as by Linux's rds_tcp. */
#define KEEPALIVE_S 5
#define KEEPALIVE_PROBES 5

/* Of tcpi_state; <netinet/tcp.h> does not go with <linux/tcp.h>, and has no tcpi_bytes_received. */
enum { ESTABLISHED = 1, SYN_SENT = 2, TIME_WAIT = 6, CLOSED = 7, CLOSE_WAIT = 8, LAST_ACK = 9, CLOSING = 11 };

void rds_tcp_tune(int fd)
{
	int on = 1, seconds = KEEPALIVE_S, probes = KEEPALIVE_PROBES;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

int rds_tcp_socket(const struct rds_conn *c)
{
	struct sockaddr_storage from;
	socklen_t len = rsp_addr_to(&c->local, &from);
	int fd = socket(from.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	rds_tcp_tune(fd);
	if (!bind(fd, (struct sockaddr *)&from, len))
		return fd;
	r = -errno;
	close(fd);
	return r;
}

int rds_tcp_dial(const struct rds_conn *c, int fd)
{
	struct sockaddr_storage to;
	struct rsp_addr peer = c->peer;
	socklen_t len;

	peer.port = htons(WIRE_RDS_TCP_PORT);
	len = rsp_addr_to(&peer, &to);
	return connect(fd, (struct sockaddr *)&to, len) && errno != EINPROGRESS ? -errno : 0;
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
	/* Without the option a connection of before, which TCP still has, would look like another user of the port. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) || bind(fd, (struct sockaddr *)&ss, len))
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

/* In the state CLOSED a FIN has been received unless the peer has reset the connection; in CLOSE_WAIT that is told as EPIPE. */
static bool fin_has_come(int fd, const struct tcp_info *info)
{
	int err;

	switch (info->tcpi_state) {
	case CLOSE_WAIT:
	case LAST_ACK:
	case CLOSING:
	case TIME_WAIT:
		return true;
	case CLOSED:
		err = rds_tcp_error(fd);
		return !err || err == EPIPE;
	default:
		return false;
	}
}

static bool get_info(int fd, struct tcp_info *ret)
{
	socklen_t len = sizeof(*ret);

	memset(ret, 0, sizeof(*ret));
	return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, ret, &len);
}

bool rds_tcp_removed(int fd, uint64_t *ret)
{
	struct tcp_info info, after;
	uint64_t received;
	int waiting;

	/* Both figures are of one moment if nothing has come between. The peer's window bounds how often something does. */
	do {
		if (!get_info(fd, &info) || ioctl(fd, SIOCINQ, &waiting) || !get_info(fd, &after))
			return false;
	} while (info.tcpi_bytes_received != after.tcpi_bytes_received);
	/* The sequence number of a FIN counts as received, and SIOCINQ leaves it out. */
	received = after.tcpi_bytes_received - (after.tcpi_bytes_received && fin_has_come(fd, &after));
	if (waiting < 0 || received < (uint64_t)waiting)
		return false;
	*ret = received - (uint64_t)waiting;
	return true;
}

/* shutdown() leaves an attempt without a connection, and one that has succeeded meanwhile with what has come on it. */
bool rds_tcp_stop(int fd)
{
	struct tcp_info info;

	if (get_info(fd, &info) && info.tcpi_state == ESTABLISHED)
		return true;
	shutdown(fd, SHUT_RDWR);
	return get_info(fd, &info) && info.tcpi_state != CLOSED && info.tcpi_state != SYN_SENT;
}

int rds_tcp_error(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) ? errno : err;
}

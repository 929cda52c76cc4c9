/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The two ways with calls of sockets: rsockets, and TCP for peers that have neither. */
#include "ulp/preload/net.h"
#include "ulp/preload/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <rdma/rsocket.h>

struct net {
	struct rsp_net base;
	int fd;
};

static int fd_of(const struct rsp_net *n)
{
	return ((const struct net *)n)->fd;
}

static struct rsp_net *make(const struct rsp_net_ops *ops, int fd)
{
	struct net *n = fd < 0 ? NULL : malloc(sizeof(*n));

	if (!n)
		return NULL;
	*n = (struct net){ { ops }, fd };
	return &n->base;
}

/* --- rsockets --- */

static void rs_close(struct rsp_net *n)
{
	rclose(fd_of(n));
	free(n);
}

static struct rsp_net *rs_make(int fd, int r, int *ret)
{
	struct rsp_net *n = r ? NULL : make(&rsp_net_rsocket, fd);

	*ret = r || n ? r : -ENOMEM;
	if (!n && fd >= 0)
		rclose(fd);
	return n;
}

static int rs_bind(int fd, const struct rsp_addr *to)
{
	struct sockaddr_storage ss;
	socklen_t len = rsp_addr_to(to, &ss);

	return rbind(fd, (struct sockaddr *)&ss, len) ? -errno : 0;
}

static struct rsp_net *rs_listen(const struct rsp_request *q, int *ret)
{
	int fd = rsocket(q->local.family, SOCK_STREAM, 0), on = 1, v6only = q->v6only, r = fd < 0 ? -errno : 0;

	if (!r && q->reuse)
		rsetsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!r && q->local.family == AF_INET6)
		rsetsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only));
	if (!r)
		r = rs_bind(fd, &q->local);
	if (!r && (rlisten(fd, q->backlog) || rfcntl(fd, F_SETFL, O_NONBLOCK)))
		r = -errno;
	return rs_make(fd, r, ret);
}

static struct rsp_net *rs_connect(const struct rsp_request *q, int *ret)
{
	struct rsp_addr peer = q->peer, local = q->local;
	struct sockaddr_storage ss;
	socklen_t len;
	int fd, r;

	rsp_addr_unmap(&peer);
	rsp_addr_unmap(&local);
	fd = rsocket(peer.family, SOCK_STREAM, 0);
	r = fd < 0 ? -errno : 0;
	if (!r && local.port && local.family == peer.family)
		r = rs_bind(fd, &local);
	len = rsp_addr_to(&peer, &ss);
	if (!r && rconnect(fd, (struct sockaddr *)&ss, len))
		r = -errno;
	return rs_make(fd, r, ret);
}

static int rs_fd(const struct rsp_net *listener)
{
	(void)listener;
	return -1;
}

static struct rsp_net *rs_accept(struct rsp_net *listener, int ms)
{
	struct pollfd p = { fd_of(listener), POLLIN, 0 };
	int r;

	return rpoll(&p, 1, ms) > 0 ? rs_make(raccept(p.fd, NULL, NULL), 0, &r) : NULL;
}

static int stands(struct rsp_net *n)
{
	(void)n;
	return 0;
}

static void rs_names(const struct rsp_net *n, struct sockaddr_storage *local, struct sockaddr_storage *peer)
{
	socklen_t len = sizeof(*local);

	rgetsockname(fd_of(n), (struct sockaddr *)local, &len);
	len = sizeof(*peer);
	rgetpeername(fd_of(n), (struct sockaddr *)peer, &len);
}

static void rs_relay(int un, struct rsp_net *n)
{
	rsp_relay(un, fd_of(n), true);
	free(n);
}

const struct rsp_net_ops rsp_net_rsocket = {
	.listen = rs_listen, .connect = rs_connect, .fd = rs_fd, .accept = rs_accept, .stand = stands,
	.names = rs_names, .named = rsp_net_is_named, .relay = rs_relay, .close = rs_close,
};

/* --- TCP: sockets that programs have made --- */

static const struct rsp_net_ops tcp_ops;

static int tcp_fd(const struct rsp_net *listener)
{
	return fd_of(listener);
}

static struct rsp_net *tcp_accept(struct rsp_net *listener, int ms)
{
	struct pollfd p = { fd_of(listener), POLLIN, 0 };

	return poll(&p, 1, ms) > 0 ? rsp_net_tcp(accept4(p.fd, NULL, NULL, SOCK_CLOEXEC)) : NULL;
}

static void tcp_names(const struct rsp_net *n, struct sockaddr_storage *local, struct sockaddr_storage *peer)
{
	socklen_t len = sizeof(*local);

	getsockname(fd_of(n), (struct sockaddr *)local, &len);
	len = sizeof(*peer);
	getpeername(fd_of(n), (struct sockaddr *)peer, &len);
}

static void tcp_relay(int un, struct rsp_net *n)
{
	rsp_relay(un, fd_of(n), false);
	free(n);
}

static void tcp_close(struct rsp_net *n)
{
	close(fd_of(n));
	free(n);
}

static const struct rsp_net_ops tcp_ops = {
	.fd = tcp_fd, .accept = tcp_accept, .stand = stands, .names = tcp_names, .named = rsp_net_is_named, .relay = tcp_relay, .close = tcp_close,
};

struct rsp_net *rsp_net_tcp(int fd)
{
	struct rsp_net *n = make(&tcp_ops, fd);

	if (!n && fd >= 0)
		close(fd);
	return n;
}

const struct rsp_net_ops *rsp_way(const struct rsp_request *q)
{
	return q->way == RSP_WAY_SDP ? &rsp_net_sdp : &rsp_net_rsocket;
}

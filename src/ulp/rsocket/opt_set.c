/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Socket options. Sizes are wishes: they are fitted to what works, and getting them tells what
 * came of it. Once a stream is on its way to a peer its sizes stand.
 */
#include "ulp/rsocket/dgram.h"
#include "ulp/rsocket/export.h"
#include "ulp/rsocket/sock.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rsocket.h>

#define ROUTE_MAX 16u                   /* paths */

static int read_int(const void *val, socklen_t len, int *ret)
{
	if (!val || len < sizeof(int))
		return -EINVAL;
	memcpy(ret, val, sizeof(*ret));
	return 0;
}

/* The identifier's options take effect at once, if the identifier can still have them. */
static int on_id(struct rs_sock *s, int name, void *val, size_t len)
{
	if (!s->id || s->state >= RS_LISTENING)
		return 0;
	return rdma_set_option(s->id, RDMA_OPTION_ID, name, val, len) && errno != ENOSYS ? -errno : 0;
}

static int set_linger(struct rs_sock *s, const void *val, socklen_t len)
{
	struct linger l;

	if (len < sizeof(l))
		return -EINVAL;
	memcpy(&l, val, sizeof(l));
	s->o.linger = l.l_onoff;
	s->o.linger_s = l.l_linger < 0 ? 0 : l.l_linger;
	return 0;
}

static int set_socket(struct rs_sock *s, int name, const void *val, socklen_t len)
{
	int v, r = read_int(val, len, &v);

	if (r)
		return r;
	switch (name) {
	case SO_REUSEADDR:
		s->o.reuse = v;
		return on_id(s, RDMA_OPTION_ID_REUSEADDR, &v, sizeof(v));
	case SO_RCVBUF:
		if (s->state <= RS_LISTENING)
			s->o.rbuf_size = rs_limit_buf(v < 0 ? 0 : (uint32_t)v);
		return 0;
	case SO_SNDBUF:
		if (s->state <= RS_LISTENING)
			s->o.sbuf_size = rs_limit_buf(v < 0 ? 0 : (uint32_t)v);
		return 0;
	case SO_LINGER:
		return set_linger(s, val, len);
	case SO_KEEPALIVE:
		s->active = rs_now();
		s->o.keepalive = v;
		return 0;
	case SO_OOBINLINE:
		s->o.oobinline = v;
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

static int set_tcp(struct rs_sock *s, int name, const void *val, socklen_t len)
{
	int v, r;

	if (name == TCP_CONGESTION)
		return 0;
	r = read_int(val, len, &v);
	if (r)
		return r;
	switch (name) {
	case TCP_NODELAY:
		s->o.nodelay = v;
		return 0;
	case TCP_KEEPIDLE:
		if (v < 1)
			return -EINVAL;
		s->o.keep_idle = (unsigned)v;
		return 0;
	case TCP_KEEPCNT:
	case TCP_KEEPINTVL:
		return v < 1 ? -EINVAL : 0;     /* the connection below has its own */
	case TCP_MAXSEG:
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

static int set_ip(struct rs_sock *s, int name, const void *val, socklen_t len)
{
	int v = 0;

	if (name != IP_TOS)
		return -ENOPROTOOPT;
	if (!val || !len)
		return -EINVAL;
	if (len >= sizeof(int))
		memcpy(&v, val, sizeof(v));
	else
		v = *(const uint8_t *)val;
	s->o.tos = (uint8_t)v;
	return on_id(s, RDMA_OPTION_ID_TOS, &s->o.tos, sizeof(s->o.tos));
}

static int set_ipv6(struct rs_sock *s, int name, const void *val, socklen_t len)
{
	int v, r = read_int(val, len, &v);

	if (r)
		return r;
	if (name != IPV6_V6ONLY)
		return -ENOPROTOOPT;
	if (s->state != RS_INIT)
		return -EINVAL;
	s->o.v6only = v;
	return on_id(s, RDMA_OPTION_ID_AFONLY, &v, sizeof(v));
}

static int set_route(struct rs_sock *s, const void *val, socklen_t len)
{
	void *copy;

	if (s->type != SOCK_STREAM)
		return -ENOPROTOOPT;
	if (!val || !len || len % sizeof(struct ibv_path_data) ||
	    len > ROUTE_MAX * sizeof(struct ibv_path_data))
		return -EINVAL;
	copy = malloc(len);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, val, len);
	free(s->route);
	s->route = copy;
	s->route_len = len;
	return 0;
}

static int set_rdma(struct rs_sock *s, int name, const void *val, socklen_t len)
{
	int v, r;

	if (s->state > RS_LISTENING)
		return -EINVAL;
	if (name == RDMA_ROUTE)
		return set_route(s, val, len);
	r = read_int(val, len, &v);
	if (r)
		return r;
	v = v < 0 ? 0 : v > UINT16_MAX ? UINT16_MAX : v;
	switch (name) {
	case RDMA_SQSIZE:
		s->o.sq_size = (uint32_t)v;
		return 0;
	case RDMA_RQSIZE:
		s->o.rq_size = (uint32_t)v;
		return 0;
	case RDMA_INLINE:
		s->o.inl = (uint32_t)v;
		return 0;
	case RDMA_IOMAPSIZE:
		s->o.iomap_size = rs_unscale(rs_scale((uint16_t)v));
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

static int set(struct rs_sock *s, int level, int name, const void *val, socklen_t len)
{
	switch (level) {
	case SOL_SOCKET:
		return set_socket(s, name, val, len);
	case IPPROTO_TCP:
		return s->type == SOCK_STREAM ? set_tcp(s, name, val, len) : -ENOPROTOOPT;
	case IPPROTO_IP:
		return set_ip(s, name, val, len);
	case IPPROTO_IPV6:
		return set_ipv6(s, name, val, len);
	case SOL_RDMA:
		return set_rdma(s, name, val, len);
	default:
		return -ENOPROTOOPT;
	}
}

/* What the UDP socket beside us knows counts; ours are the sizes. */
static int set_dgram(struct rs_sock *s, int level, int name, const void *val, socklen_t len)
{
	if (level == SOL_RDMA)
		return set_rdma(s, name, val, len);
	if (setsockopt(s->dg->udp, level, name, val, len))
		return -errno;
	if (level == SOL_SOCKET && (name == SO_RCVBUF || name == SO_SNDBUF))
		return set_socket(s, name, val, len);
	return 0;
}

RS_EXPORT int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	struct rs_sock *s = rs_get(socket);
	int r;

	if (!s)
		return (int)rs_ret(-EBADF);
	if (s->type == SOCK_DGRAM) {
		r = set_dgram(s, level, optname, optval, optlen);
	} else {
		pthread_mutex_lock(&s->m);
		r = set(s, level, optname, optval, optlen);
		pthread_mutex_unlock(&s->m);
	}
	rs_put(s);
	return (int)rs_ret(r);
}

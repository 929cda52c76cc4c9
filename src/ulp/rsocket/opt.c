/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Options, names and flags. What has no meaning here but is asked for by every plain TCP program is
 * remembered and given back; what is unknown is refused. */
#include "ulp/rsocket/rs.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

socklen_t rs_addr_len(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return sizeof(struct sockaddr_in);
	return a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
}

void rs_addr_out(const struct sockaddr *from, struct sockaddr *to, socklen_t *len)
{
	socklen_t full = rs_addr_len(from);

	memcpy(to, from, *len < full ? *len : full);
	*len = full;
}

static int name(int socket, struct sockaddr *addr, socklen_t *len, bool peer)
{
	struct rs_sock *rs = rs_get(socket);
	union rsp_addr a = { .in6 = { 0 } };
	const struct sockaddr *own;
	int rc = 0;

	if (!rs)
		return -1;
	if (rs->type == SOCK_DGRAM) {
		rc = rs_dg_name(rs, addr, len, peer);
		rs_put(rs);
		return rc;
	}
	pthread_mutex_lock(&rs->lock);
	a.sa.sa_family = (sa_family_t)rs->domain;
	own = rdma_get_local_addr(rs->id);
	if (!peer && own && rs_addr_len(own))
		memcpy(&a, own, rs_addr_len(own));
	else if (peer && (rs->state <= RS_LISTENING || !rs->qp))
		rc = rs_fail(ENOTCONN);
	else if (peer)
		a = rs->peer;
	pthread_mutex_unlock(&rs->lock);
	if (!rc)
		rs_addr_out(&a.sa, addr, len);
	rs_put(rs);
	return rc;
}

RS_EXPORT int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return name(socket, addr, addrlen, true);
}

RS_EXPORT int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return name(socket, addr, addrlen, false);
}

/* The sizes may change until there is memory. */
static int set_size(struct rs_sock *rs, uint32_t *size, int v, uint32_t low, uint32_t high)
{
	if (rs->qp)
		return rs_fail(EISCONN);
	if (v < 0)
		return rs_fail(EINVAL);
	*size = (uint32_t)v < low ? low : (uint32_t)v > high ? high : (uint32_t)v;
	return 0;
}

/* Flags that are only kept, each a bit at its number. */
static int keep_flag(uint64_t *flags, int optname, int v)
{
	if (v)
		*flags |= 1ull << (optname & 63);
	else
		*flags &= ~(1ull << (optname & 63));
	return 0;
}

static int set_socket(struct rs_sock *rs, int optname, int v)
{
	switch (optname) {
	case SO_REUSEADDR:
		if (rs->id && rdma_set_option(rs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &v,
					      sizeof(v)))
			return -1;
		return keep_flag(&rs->so_flags, optname, v);
	case SO_KEEPALIVE:
	case SO_OOBINLINE:
		return keep_flag(&rs->so_flags, optname, v);
	case SO_RCVBUF:
		return set_size(rs, &rs->want.rmem, v, 2 * RS_LOW, RS_MEM_MAX);
	case SO_SNDBUF:
		return set_size(rs, &rs->want.smem, v, 2 * RS_LOW, RS_MEM_MAX);
	default:
		return rs_fail(ENOTSUP);
	}
}

static int set_tcp(struct rs_sock *rs, int optname, int v)
{
	switch (optname) {
	case TCP_NODELAY:
		return keep_flag(&rs->tcp_flags, optname, v);
	case TCP_MAXSEG:
		return 0;
	case TCP_KEEPIDLE:
	case TCP_KEEPINTVL:
	case TCP_KEEPCNT:
		if (v < 1)
			return rs_fail(EINVAL);
		*(optname == TCP_KEEPIDLE ? &rs->keep_idle :
		  optname == TCP_KEEPINTVL ? &rs->keep_intvl : &rs->keep_cnt) = v;
		return 0;
	default:
		return rs_fail(ENOTSUP);
	}
}

static int set_rdma(struct rs_sock *rs, int optname, int v)
{
	switch (optname) {
	case RDMA_SQSIZE:
		return set_size(rs, &rs->want.sq, v, RS_QP_MIN, RS_QP_MAX);
	case RDMA_RQSIZE:
		return set_size(rs, &rs->want.rq, v, RS_QP_MIN, RS_QP_MAX);
	case RDMA_INLINE:
		return set_size(rs, &rs->want.inline_len, v, 0, 4096);
	case RDMA_IOMAPSIZE:
		/* As the connection data will say it. */
		if (v > 128 && v <= (int)RS_IOMAP_MAX)
			v = (v + 255) & ~255;
		return set_size(rs, &rs->want.iomap, v, 0, RS_IOMAP_MAX);
	default:
		return rs_fail(ENOPROTOOPT);
	}
}

static int set_route(struct rs_sock *rs, const void *val, socklen_t len)
{
	void *copy;

	if (rs->qp)
		return rs_fail(EISCONN);
	if (!len || len > 4096)
		return rs_fail(EINVAL);
	copy = malloc(len);
	if (!copy)
		return rs_fail(ENOMEM);
	memcpy(copy, val, len);
	free(rs->route);
	rs->route = copy;
	rs->route_len = len;
	return 0;
}

static int set_linger(struct rs_sock *rs, const void *val, socklen_t len)
{
	struct linger l;

	if (len < sizeof(l))
		return rs_fail(EINVAL);
	memcpy(&l, val, sizeof(l));
	if (l.l_linger < 0)
		return rs_fail(EINVAL);
	rs->linger_on = l.l_onoff;
	rs->linger_s = l.l_linger;
	return 0;
}

static int set_v6only(struct rs_sock *rs, int v)
{
	if (rs->id &&
	    rdma_set_option(rs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &v, sizeof(v)))
		return -1;
	rs->v6only = v;
	return 0;
}

static int set_option(struct rs_sock *rs, int level, int optname, const void *val, socklen_t len)
{
	int v;

	if (level == SOL_SOCKET && optname == SO_LINGER)
		return set_linger(rs, val, len);
	if (level == SOL_RDMA && optname == RDMA_ROUTE)
		return set_route(rs, val, len);
	if (len < sizeof(v))
		return rs_fail(EINVAL);
	memcpy(&v, val, sizeof(v));
	switch (level) {
	case SOL_SOCKET:
		return set_socket(rs, optname, v);
	case IPPROTO_TCP:
		return set_tcp(rs, optname, v);
	case IPPROTO_IPV6:
		return optname == IPV6_V6ONLY ? set_v6only(rs, v) : rs_fail(ENOTSUP);
	case SOL_RDMA:
		return set_rdma(rs, optname, v);
	default:
		return rs_fail(ENOTSUP);
	}
}

RS_EXPORT int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	struct rs_sock *rs = rs_get(socket);
	int rc;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	rc = optval ? set_option(rs, level, optname, optval, optlen) : rs_fail(EFAULT);
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
	return rc;
}

static bool flag(uint64_t flags, int optname)
{
	return flags >> (optname & 63) & 1;
}

static int get_socket(struct rs_sock *rs, int optname, int *ret)
{
	switch (optname) {
	case SO_REUSEADDR:
	case SO_KEEPALIVE:
	case SO_OOBINLINE:
		*ret = flag(rs->so_flags, optname);
		return 0;
	case SO_RCVBUF:
		*ret = (int)(rs->qp ? rs->size.rmem : rs->want.rmem);
		return 0;
	case SO_SNDBUF:
		*ret = (int)(rs->qp ? rs->size.smem : rs->want.smem);
		return 0;
	case SO_TYPE:
		*ret = rs->type;
		return 0;
	case SO_DOMAIN:
		*ret = rs->domain;
		return 0;
	case SO_ACCEPTCONN:
		*ret = rs->state == RS_LISTENING;
		return 0;
	case SO_ERROR:
		rs_look(rs, true);
		*ret = rs->error;
		rs->error = 0;
		return 0;
	default:
		return rs_fail(ENOTSUP);
	}
}

static int get_tcp(struct rs_sock *rs, int optname, int *ret)
{
	switch (optname) {
	case TCP_NODELAY:
		*ret = flag(rs->tcp_flags, optname);
		return 0;
	case TCP_MAXSEG:
		*ret = rs->id && rs->id->route.num_paths > 0 && rs->id->route.path_rec ?
			       128 << (rs->id->route.path_rec->mtu & 7) : 2048;
		return 0;
	case TCP_KEEPIDLE:
		*ret = rs->keep_idle;
		return 0;
	case TCP_KEEPINTVL:
		*ret = rs->keep_intvl;
		return 0;
	case TCP_KEEPCNT:
		*ret = rs->keep_cnt;
		return 0;
	default:
		return rs_fail(ENOTSUP);
	}
}

static int get_rdma(struct rs_sock *rs, int optname, int *ret)
{
	const struct rs_sizes *s = rs->qp ? &rs->size : &rs->want;

	switch (optname) {
	case RDMA_SQSIZE:
		*ret = (int)s->sq;
		return 0;
	case RDMA_RQSIZE:
		*ret = (int)s->rq;
		return 0;
	case RDMA_INLINE:
		*ret = (int)s->inline_len;
		return 0;
	case RDMA_IOMAPSIZE:
		*ret = (int)s->iomap;
		return 0;
	default:
		return rs_fail(ENOTSUP);
	}
}

static int get_int(struct rs_sock *rs, int level, int optname, int *ret)
{
	switch (level) {
	case SOL_SOCKET:
		return get_socket(rs, optname, ret);
	case IPPROTO_TCP:
		return get_tcp(rs, optname, ret);
	case IPPROTO_IPV6:
		if (optname != IPV6_V6ONLY)
			return rs_fail(ENOTSUP);
		*ret = rs->v6only;
		return 0;
	case SOL_RDMA:
		return get_rdma(rs, optname, ret);
	default:
		return rs_fail(ENOTSUP);
	}
}

static int give(const void *from, size_t size, void *to, socklen_t *len)
{
	if (*len > size)
		*len = (socklen_t)size;
	memcpy(to, from, *len);
	return 0;
}

static int get_option(struct rs_sock *rs, int level, int optname, void *val, socklen_t *len)
{
	struct linger l = { rs->linger_on, rs->linger_s };
	int v;

	if (level == SOL_SOCKET && optname == SO_LINGER)
		return give(&l, sizeof(l), val, len);
	if (level == SOL_RDMA && optname == RDMA_ROUTE)
		return rs->route ? give(rs->route, rs->route_len, val, len) : rs_fail(ENODATA);
	return get_int(rs, level, optname, &v) ? -1 : give(&v, sizeof(v), val, len);
}

RS_EXPORT int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	struct rs_sock *rs = rs_get(socket);
	int rc;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	rc = optval && optlen ? get_option(rs, level, optname, optval, optlen) : rs_fail(EFAULT);
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
	return rc;
}

static int set_flags(struct rs_sock *rs, int flags)
{
	pthread_mutex_lock(&rs->lock);
	rs->nonblock = flags & O_NONBLOCK;
	pthread_mutex_unlock(&rs->lock);
	return 0;
}

RS_EXPORT int rfcntl(int socket, int cmd, ...)
{
	struct rs_sock *rs = rs_get(socket);
	va_list args;
	int rc, arg = 0;

	if (!rs)
		return -1;
	if (cmd == F_SETFL || cmd == F_SETFD) {
		va_start(args, cmd);
		arg = va_arg(args, int);
		va_end(args);
	}
	switch (cmd) {
	case F_GETFL:
		rc = O_RDWR | (rs->nonblock ? O_NONBLOCK : 0);
		break;
	case F_SETFL:
		rc = set_flags(rs, arg);
		break;
	case F_GETFD:
		rc = fcntl(rs->fd, F_GETFD);
		break;
	case F_SETFD:
		rc = fcntl(rs->fd, F_SETFD, arg);
		break;
	default:
		rc = rs_fail(ENOTSUP);
		break;
	}
	rs_put(rs);
	return rc;
}

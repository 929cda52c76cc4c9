/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Socket options. Sizes are fitted to the limits, and reading them returns the fitted value. The
 * sizes of a stream are fixed when it starts to connect.
 */
#include "ulp/rsocket/options.h"
#include "ulp/rsocket/conn.h"
#include "ulp/rsocket/cq.h"
#include "ulp/rsocket/dgram.h"

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

/* Sets the option of the identifier, if it is early enough for one. */
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
		return v < 1 ? -EINVAL : 0;     /* the adapter's own values count */
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

static int set_stream(struct rs_sock *s, int level, int name, const void *val, socklen_t len)
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

/* The UDP socket has the options; the rsocket besides has the sizes. */
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

int rs_option_set(struct rs_sock *s, int level, int name, const void *val, socklen_t len)
{
	int r;

	if (s->type == SOCK_DGRAM)
		return set_dgram(s, level, name, val, len);
	pthread_mutex_lock(&s->m);
	r = set_stream(s, level, name, val, len);
	pthread_mutex_unlock(&s->m);
	return r;
}

static int give(void *val, socklen_t *len, const void *from, size_t size)
{
	if (!val || !len)
		return -EFAULT;
	if (*len < size)
		size = *len;
	memcpy(val, from, size);
	*len = (socklen_t)size;
	return 0;
}

static int give_int(void *val, socklen_t *len, int v)
{
	return give(val, len, &v, sizeof(v));
}

/* The error is returned once; reading it also advances a connection attempt. */
static int give_error(struct rs_sock *s, void *val, socklen_t *len)
{
	int err;

	if (rs_opening(s->state))
		rs_conn_step(s);
	pthread_mutex_lock(&s->c);
	err = rs_take_err(s);
	pthread_mutex_unlock(&s->c);
	return give_int(val, len, err);
}

static int get_socket(struct rs_sock *s, int name, void *val, socklen_t *len)
{
	struct linger l = { s->o.linger, s->o.linger_s };

	switch (name) {
	case SO_ERROR:
		return give_error(s, val, len);
	case SO_REUSEADDR:
		return give_int(val, len, s->o.reuse);
	case SO_KEEPALIVE:
		return give_int(val, len, s->o.keepalive);
	case SO_OOBINLINE:
		return give_int(val, len, s->o.oobinline);
	case SO_RCVBUF:
		return give_int(val, len, (int)s->o.rbuf_size);
	case SO_SNDBUF:
		return give_int(val, len, (int)s->o.sbuf_size);
	case SO_LINGER:
		return give(val, len, &l, sizeof(l));
	case SO_TYPE:
		return give_int(val, len, s->type);
	case SO_DOMAIN:
		return give_int(val, len, s->family);
	case SO_ACCEPTCONN:
		return give_int(val, len, s->state == RS_LISTENING);
	case SO_BROADCAST:
		return give_int(val, len, 0);
	default:
		return -ENOPROTOOPT;
	}
}

static int segment(const struct rs_sock *s)
{
	struct ibv_port_attr attr;

	if (s->state != RS_CONNECTED || ibv_query_port(s->id->verbs, s->id->port_num, &attr))
		return 2048;
	return 128 << attr.active_mtu;
}

static int get_tcp(struct rs_sock *s, int name, void *val, socklen_t *len)
{
	struct tcp_info info = { 0 };

	switch (name) {
	case TCP_NODELAY:
		return give_int(val, len, s->o.nodelay);
	case TCP_MAXSEG:
		return give_int(val, len, segment(s));
	case TCP_KEEPIDLE:
		return give_int(val, len, (int)s->o.keep_idle);
	case TCP_KEEPCNT:
	case TCP_KEEPINTVL:
		return give_int(val, len, 1);
	case TCP_CONGESTION:
		return give(val, len, "rdma", sizeof("rdma"));
	case TCP_INFO:
		info.tcpi_state = s->state == RS_CONNECTED ? TCP_ESTABLISHED
				: s->state == RS_LISTENING ? TCP_LISTEN : TCP_CLOSE;
		info.tcpi_snd_mss = info.tcpi_rcv_mss = (uint32_t)segment(s);
		info.tcpi_snd_cwnd = s->o.sq_size;
		return give(val, len, &info, sizeof(info));
	default:
		return -ENOPROTOOPT;
	}
}

static void path_of(const struct ibv_sa_path_rec *rec, struct ibv_path_data *ret)
{
	struct ibv_path_record *p = &ret->path;

	memset(ret, 0, sizeof(*ret));
	ret->flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
	p->dgid = rec->dgid;
	p->sgid = rec->sgid;
	p->dlid = rec->dlid;
	p->slid = rec->slid;
	p->flowlabel_hoplimit = htobe32(be32toh(rec->flow_label) << 8 | rec->hop_limit);
	p->tclass = rec->traffic_class;
	p->reversible_numpath = (uint8_t)(rec->reversible << 7 | rec->numb_path);
	p->pkey = rec->pkey;
	p->qosclass_sl = htobe16(rec->sl);
	p->mtu = (uint8_t)(rec->mtu | rec->mtu_selector << 6);
	p->rate = (uint8_t)(rec->rate | rec->rate_selector << 6);
	p->packetlifetime = (uint8_t)(rec->packet_life_time | rec->packet_life_time_selector << 6);
	p->preference = rec->preference;
}

static int get_route(struct rs_sock *s, void *val, socklen_t *len)
{
	size_t room = *len / sizeof(struct ibv_path_data), nr = 0;
	struct ibv_path_data path;

	if (s->type != SOCK_STREAM)
		return -ENOPROTOOPT;
	if (!room || !val)
		return -EINVAL;
	if (s->route && s->state < RS_ROUTE)
		return *len < s->route_len ? -EINVAL : give(val, len, s->route, s->route_len);
	if (s->id->route.path_rec && s->state > RS_ROUTE) {
		for (; nr < room && nr < (size_t)s->id->route.num_paths; nr++) {
			path_of(&s->id->route.path_rec[nr], &path);
			memcpy((char *)val + nr * sizeof(path), &path, sizeof(path));
		}
	}
	*len = (socklen_t)(nr * sizeof(path));
	return 0;
}

static int get_rdma(struct rs_sock *s, int name, void *val, socklen_t *len)
{
	switch (name) {
	case RDMA_SQSIZE:
		return give_int(val, len, (int)s->o.sq_size);
	case RDMA_RQSIZE:
		return give_int(val, len, (int)s->o.rq_size);
	case RDMA_INLINE:
		return give_int(val, len, (int)(s->cq ? s->inl : s->o.inl));
	case RDMA_IOMAPSIZE:
		return give_int(val, len, s->o.iomap_size);
	case RDMA_ROUTE:
		return get_route(s, val, len);
	default:
		return -ENOPROTOOPT;
	}
}

int rs_option_get(struct rs_sock *s, int level, int name, void *val, socklen_t *len)
{
	if (!val || !len)
		return -EFAULT;
	if (level == SOL_RDMA)
		return get_rdma(s, name, val, len);
	if (s->type == SOCK_DGRAM)
		return getsockopt(s->dg->udp, level, name, val, len) ? -errno : 0;
	switch (level) {
	case SOL_SOCKET:
		return get_socket(s, name, val, len);
	case IPPROTO_TCP:
		return get_tcp(s, name, val, len);
	case IPPROTO_IP:
		return name == IP_TOS ? give_int(val, len, s->o.tos) : -ENOPROTOOPT;
	case IPPROTO_IPV6:
		return name == IPV6_V6ONLY ? give_int(val, len, s->o.v6only) : -ENOPROTOOPT;
	default:
		return -ENOPROTOOPT;
	}
}

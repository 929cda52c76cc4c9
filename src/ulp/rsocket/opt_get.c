/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading socket options: what became of the wishes of opt_set.c, and the error that waits. */
#include "ulp/rsocket/dgram.h"
#include "ulp/rsocket/export.h"
#include "ulp/rsocket/sock.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include <rdma/rsocket.h>

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

/* Asking tells the error once; a connection attempt ends when somebody looks. */
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

static int get(struct rs_sock *s, int level, int name, void *val, socklen_t *len)
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

RS_EXPORT int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	struct rs_sock *s = rs_get(socket);
	int r;

	if (!s)
		return (int)rs_ret(-EBADF);
	r = get(s, level, optname, optval, optlen);
	rs_put(s);
	return (int)rs_ret(r);
}

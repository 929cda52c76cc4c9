/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers of a datagram rsocket, in a hash table by address. Any host can send a UDP header: such
 * headers create at most RS_DGRAM_DESTS entries, and a peer's address is the source of the packet,
 * never the address that the header contains.
 */
#include "ulp/rsocket/dgram_dest.h"
#include "ulp/rsocket/dgram_qp.h"
#include "ulp/rsocket/iov.h"
#include "ulp/rsocket/sock.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT_ONCE 32                      /* UDP datagrams taken in one call */
#define RESOLVE_MS 2000

static unsigned bucket(const struct sockaddr *addr)
{
	const struct sockaddr_in *v4 = (const void *)addr;
	const struct sockaddr_in6 *v6 = (const void *)addr;
	uint32_t word, hash;

	if (addr->sa_family == AF_INET) {
		hash = v4->sin_addr.s_addr ^ (uint32_t)v4->sin_port << 16;
	} else {
		memcpy(&word, &v6->sin6_addr.s6_addr[12], 4);
		hash = word ^ (uint32_t)v6->sin6_port << 16;
	}
	return (hash * 2654435761u) >> 26;
}

_Static_assert(RS_DGRAM_BUCKETS == 64, "bucket() gives 6 bits");

static void free_dest(struct rs_dgram_dest *d)
{
	if (d->ah)
		ibv_destroy_ah(d->ah);
	free(d);
}

static void drop_oldest(struct rs_dgram *dg)
{
	struct rs_dgram_dest **oldest = NULL, *d;

	for (unsigned i = 0; i < RS_DGRAM_BUCKETS; i++)
		for (struct rs_dgram_dest **at = &dg->dests[i]; *at; at = &(*at)->next)
			if (!oldest || (*at)->used < (*oldest)->used)
				oldest = at;
	d = *oldest;
	*oldest = d->next;
	free_dest(d);
	dg->nr_dests--;
}

void rs_dgram_dests_free(struct rs_dgram *dg)
{
	for (unsigned i = 0; i < RS_DGRAM_BUCKETS; i++) {
		while (dg->dests[i]) {
			struct rs_dgram_dest *d = dg->dests[i];

			dg->dests[i] = d->next;
			free_dest(d);
		}
	}
	dg->nr_dests = 0;
}

static in_port_t *port_of(struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET ? &((struct sockaddr_in *)addr)->sin_port
					  : &((struct sockaddr_in6 *)addr)->sin6_port;
}

/* The port identifies this rsocket to its peers: it is bound before the first datagram. */
static int local_port(struct rs_sock *s, struct sockaddr_storage *ret)
{
	socklen_t len = sizeof(*ret);

	if (getsockname(s->dg->udp, (struct sockaddr *)ret, &len))
		return -errno;
	if (*port_of(ret))
		return 0;
	if (bind(s->dg->udp, (struct sockaddr *)ret, len))
		return -errno;
	return getsockname(s->dg->udp, (struct sockaddr *)ret, &len) ? -errno : 0;
}

/* The source address that the host selects for the peer, with the port of the UDP socket. */
static int local_addr(struct rs_sock *s, const struct sockaddr *peer, struct sockaddr_storage *ret)
{
	socklen_t len = sizeof(*ret);
	in_port_t port;
	int fd, r = local_port(s, ret);

	if (r)
		return r;
	if (!rs_addr_any((struct sockaddr *)ret))
		return 0;
	port = *port_of(ret);
	fd = socket(peer->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	len = sizeof(*ret);
	if (connect(fd, peer, rs_addr_len(peer)) || getsockname(fd, (struct sockaddr *)ret, &len))
		r = -errno;
	close(fd);
	*port_of(ret) = port;
	return r;
}

static int add_dest(struct rs_sock *s, const struct sockaddr *addr, struct rs_dgram_dest **ret)
{
	struct sockaddr_storage local;
	struct rs_dgram_dest *d;
	struct rs_dgram_qp *qp;
	int r = local_addr(s, addr, &local);

	if (!r)
		r = rs_dgram_qp_get(s, (struct sockaddr *)&local, &qp);
	if (r)
		return r;
	if (s->dg->nr_dests == RS_DGRAM_DESTS)
		drop_oldest(s->dg);
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	memcpy(&d->addr, addr, rs_addr_len(addr));
	d->qp = qp;
	d->next = s->dg->dests[bucket(addr)];
	s->dg->dests[bucket(addr)] = d;
	s->dg->nr_dests++;
	*ret = d;
	return 0;
}

int rs_dgram_dest_get(struct rs_sock *s, const struct sockaddr *addr, struct rs_dgram_dest **ret)
{
	struct rs_dgram_dest *d = s->dg->dests[bucket(addr)];
	int r = 0;

	while (d && !rs_addr_equal((struct sockaddr *)&d->addr, addr))
		d = d->next;
	if (!d)
		r = add_dest(s, addr, &d);
	if (r)
		return r;
	d->used = rs_now();
	*ret = d;
	return 0;
}

static void gid_of(const struct sockaddr_storage *addr, union ibv_gid *ret)
{
	if (addr->ss_family == AF_INET6) {
		memcpy(ret, &((const struct sockaddr_in6 *)addr)->sin6_addr, sizeof(*ret));
		return;
	}
	memset(ret, 0, sizeof(*ret));
	ret->raw[10] = ret->raw[11] = 0xff;
	memcpy(&ret->raw[12], &((const struct sockaddr_in *)addr)->sin_addr, 4);
}

/* RoCE: GIDs follow from the addresses, without a query. */
static int ethernet_attr(struct rs_dgram_dest *d, struct ibv_ah_attr *attr, int gids)
{
	struct rdma_cm_id *id = d->qp->id;
	struct ibv_gid_entry entry;
	union ibv_gid local;

	gid_of(&d->qp->local, &local);
	attr->is_global = 1;
	attr->grh.hop_limit = 64;
	gid_of(&d->addr, &attr->grh.dgid);
	for (int i = 0; i < gids; i++) {
		if (ibv_query_gid_ex(id->verbs, id->port_num, (uint32_t)i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2 || memcmp(&entry.gid, &local, sizeof(local)))
			continue;
		attr->grh.sgid_index = (uint8_t)i;
		return 0;
	}
	return -EADDRNOTAVAIL;
}

/* InfiniBand: a path record of the subnet administration. */
static int path_attr(struct rs_dgram_dest *d, struct ibv_ah_attr *attr)
{
	struct sockaddr_storage local = d->qp->local;
	struct ibv_sa_path_rec *path;
	struct rdma_cm_id *id;
	int r = 0;

	*port_of(&local) = 0;
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP))
		return -errno;
	if (rdma_resolve_addr(id, (struct sockaddr *)&local, (struct sockaddr *)&d->addr,
			      RESOLVE_MS) ||
	    rdma_resolve_route(id, RESOLVE_MS) || !id->route.path_rec)
		r = errno ? -errno : -EHOSTUNREACH;
	if (!r) {
		path = id->route.path_rec;
		attr->dlid = be16toh(path->dlid);
		attr->sl = path->sl;
		attr->static_rate = path->rate;
		if (path->hop_limit > 1) {
			attr->is_global = 1;
			attr->grh.dgid = path->dgid;
			attr->grh.hop_limit = path->hop_limit;
			attr->grh.traffic_class = path->traffic_class;
		}
	}
	rdma_destroy_id(id);
	return r;
}

static void make_ah(struct rs_dgram_dest *d, uint32_t qpn)
{
	struct rdma_cm_id *id = d->qp->id;
	struct ibv_ah_attr attr = { .port_num = id->port_num };
	struct ibv_port_attr port;
	int r;

	if (d->ah)
		ibv_destroy_ah(d->ah);
	d->ah = NULL;
	if (ibv_query_port(id->verbs, id->port_num, &port))
		return;
	r = port.link_layer == IBV_LINK_LAYER_ETHERNET ? ethernet_attr(d, &attr, port.gid_tbl_len)
						       : path_attr(d, &attr);
	if (r)
		return;
	d->ah = ibv_create_ah(id->pd, &attr);
	d->qpn = qpn;
}

int rs_dgram_udp_send(struct rs_sock *s, struct rs_dgram_dest *dest, enum rs_op op,
		      const struct iovec *iov, int nr)
{
	struct rs_udp udp = { .op = op, .qpn = dest->qp->id->qp->qp_num };
	uint8_t packet[RS_UDP_HDR_MAX + RS_DGRAM_MAX];
	size_t hdr = rs_udp_put(packet, &udp, (struct sockaddr *)&dest->qp->local);
	size_t len = rs_iov_length(iov, nr);
	struct rs_cursor cur = { .iov = iov };

	if (len > RS_DGRAM_MAX - RS_UDP_HDR_MAX)
		return -EMSGSIZE;
	rs_cursor_out(&cur, packet + hdr, len);
	if (sendto(s->dg->udp, packet, hdr + len, MSG_DONTWAIT | MSG_NOSIGNAL,
		   (struct sockaddr *)&dest->addr, rs_addr_len((struct sockaddr *)&dest->addr)) < 0)
		return -errno;
	return 0;
}

static void forward(struct rs_dgram *dg, const struct sockaddr_storage *from, const uint8_t *data,
		    size_t len)
{
	struct rs_dgram_msg msg = { .length = (uint32_t)len, .from = *from };

	if (dg->forwarded == RS_DGRAM_FORWARDED)
		return;
	msg.copy = malloc(len + !len);
	if (!msg.copy)
		return;
	memcpy(msg.copy, data, len);
	if (rs_dgram_push(dg, &msg))
		dg->forwarded++;
	else
		free(msg.copy);
}

static void take_one(struct rs_sock *s, const struct sockaddr_storage *from, const uint8_t *data,
		     size_t len)
{
	struct rs_dgram_dest *d;
	struct rs_udp udp;
	int hdr = rs_udp_get(&udp, from->ss_family, data, len);

	if (hdr < 0 || rs_dgram_dest_get(s, (const struct sockaddr *)from, &d))
		return;
	if (udp.op == RS_OP_DATA)
		rs_dgram_udp_send(s, d, RS_OP_CTRL, NULL, 0);
	if (!d->ah || d->qpn != udp.qpn)
		make_ah(d, udp.qpn);
	if (udp.op == RS_OP_DATA)
		forward(s->dg, from, data + hdr, len - (size_t)hdr);
}

void rs_dgram_udp_take(struct rs_sock *s)
{
	uint8_t data[RS_UDP_HDR_MAX + RS_DGRAM_MAX];
	struct sockaddr_storage from;

	for (int i = 0; i < AT_ONCE; i++) {
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(s->dg->udp, data, sizeof(data), MSG_DONTWAIT,
				     (struct sockaddr *)&from, &len);

		if (n < 0)
			return;
		if (from.ss_family == s->family)
			take_one(s, &from, data, (size_t)n);
	}
}

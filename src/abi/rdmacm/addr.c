/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses and routes, and the public fields that follow from them. */
#include "abi/rdmacm/addr.h"

#include "abi/rdmacm/dev.h"
#include "abi/rdmacm/wait.h"

#include <endian.h>
#include <infiniband/ib.h>
#include <string.h>

/* Selector "exactly" of a path record, IBTA table 206 (15.2.5.16). */
#define EXACTLY 2
/* 4.096 us * 2^18 = 1 s, what kernels say of Ethernet. */
#define PACKET_LIFE_TIME 18

socklen_t rcm_addr_len(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case AF_IB:
		return sizeof(struct sockaddr_ib);
	default:
		return 0;
	}
}

/* A path that is known by its GIDs shows no LIDs. */
static __be16 lid(uint16_t host)
{
	return host == CM_LID_PERMISSIVE ? 0 : htobe16(host);
}

static void fill_path(struct rcm_id *id, const struct cma_info *i)
{
	struct ibv_port_attr port;

	id->path = (struct ibv_sa_path_rec){
		.dgid = i->dgid,
		.sgid = i->sgid,
		.dlid = lid(i->path.dlid),
		.slid = lid(i->path.slid),
		.flow_label = htobe32(i->path.flow_label),
		.hop_limit = i->path.hop_limit,
		.traffic_class = i->path.traffic_class,
		.reversible = 1,
		.numb_path = 1,
		.pkey = htobe16(i->path.pkey),
		.sl = i->path.sl,
		.mtu_selector = EXACTLY,
		.mtu = i->path.mtu_code,
		.rate_selector = EXACTLY,
		.rate = i->path.rate ? i->path.rate : IBV_RATE_10_GBPS,
		.packet_life_time_selector = EXACTLY,
		.packet_life_time = i->path.life ? i->path.life : PACKET_LIFE_TIME,
	};
	if (!id->path.mtu && !ibv_query_port(id->pub.verbs, id->pub.port_num, &port))
		id->path.mtu = port.active_mtu;
	id->pub.route.path_rec = &id->path;
	id->pub.route.num_paths = 1;
}

/* The device is chosen once, and stays. */
static int fill_device(struct rcm_id *id, const struct cma_info *i)
{
	int rc;

	if (!id->dev) {
		rc = rcm_dev_get(i, &id->dev);
		if (rc)
			return rc;
		id->moves_qp = i->moves_qp;
		id->pub.verbs = id->dev->verbs;
		id->pub.port_num = i->port_num;
		rcm_chan_hears(id->pub.channel, i->dev);
	}
	if (!id->pub.pd)
		id->pub.pd = rcm_dev_pd(id->dev);
	return id->pub.pd ? 0 : -errno;
}

int rcm_refresh(struct rcm_id *id)
{
	struct rdma_addr *a = &id->pub.route.addr;
	struct cma_info i;
	int rc;

	cma_query(id->cma, &i);
	if (i.local.ss_family)
		a->src_storage = i.local;
	if (i.remote.ss_family)
		a->dst_storage = i.remote;
	if (!i.device || id->unchosen)
		return 0;
	rc = fill_device(id, &i);
	if (rc)
		return rc;
	a->addr.ibaddr = (struct rdma_ib_addr){ i.sgid, i.dgid, htobe16(i.path.pkey) };
	/* iWARP's paths are those of its TCP: there is no path record. */
	if (i.routed && id->pub.verbs->device->transport_type != IBV_TRANSPORT_IWARP)
		fill_path(id, &i);
	return 0;
}

static __be16 port_of(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return ((const struct sockaddr_in *)(const void *)addr)->sin_port;
	case AF_INET6:
		return ((const struct sockaddr_in6 *)(const void *)addr)->sin6_port;
	case AF_IB: {
		const struct sockaddr_ib *ib = (const void *)addr;

		return htobe16((uint16_t)be64toh(ib->sib_sid));
	}
	default:
		return 0;
	}
}

UT_EXPORT __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return id ? port_of(rdma_get_local_addr(id)) : 0;
}

UT_EXPORT __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return id ? port_of(rdma_get_peer_addr(id)) : 0;
}

static bool is_loopback(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr) >> 24 ==
		       IN_LOOPBACKNET;
	return addr->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

static const char name_mark[sizeof(((struct sockaddr_in *)0)->sin_zero)] = "a name";
#define NAME_FLOW htonl(0xa6a3e) /* a flow label */

void rcm_addr_put_name(struct sockaddr *addr)
{
	if (!is_loopback(addr))
		return;
	if (addr->sa_family == AF_INET)
		memcpy(((struct sockaddr_in *)addr)->sin_zero, name_mark, sizeof(name_mark));
	else
		((struct sockaddr_in6 *)addr)->sin6_flowinfo = NAME_FLOW;
}

/* Takes the mark away. Returns whether there was one. */
static bool take_name(struct sockaddr_storage *addr)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)addr;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)addr;
	bool is;

	if (addr->ss_family == AF_INET) {
		is = !memcmp(v4->sin_zero, name_mark, sizeof(name_mark));
		memset(v4->sin_zero, 0, sizeof(v4->sin_zero));
	} else {
		is = addr->ss_family == AF_INET6 && v6->sin6_flowinfo == NAME_FLOW;
		if (is)
			v6->sin6_flowinfo = 0;
	}
	return is;
}

static int bind_nowhere(struct rcm_id *id, const struct sockaddr *addr)
{
	struct sockaddr_storage any = { .ss_family = addr->sa_family };
	int rc;

	if (addr->sa_family == AF_INET)
		((struct sockaddr_in *)&any)->sin_port = ((const struct sockaddr_in *)addr)->sin_port;
	else
		((struct sockaddr_in6 *)&any)->sin6_port =
			((const struct sockaddr_in6 *)addr)->sin6_port;
	rc = cma_bind(id->cma, (const struct sockaddr *)&any);
	id->nowhere = !rc;
	return rc;
}

/*
 * Where no adapter is on lo, a loopback address binds like any address, as in the kernel: so
 * libfabric asks whether there are connections at all. Such an identifier does not listen: a
 * request could only come from another address. One that has chosen a device asks for that device's addresses alone.
 * Where lo has adapters an address of it chooses one, which programs use (DAPL, librpma). But libfabric asks the name of
 * lo for all adapters, and takes one that it gets for the only one.
 */
int rcm_bind(struct rcm_id *id, const struct sockaddr *given)
{
	struct sockaddr_storage at = { 0 };
	const struct sockaddr *addr = (const struct sockaddr *)&at;
	int rc;

	if (!given || !rcm_addr_len(given))
		return -EINVAL;
	memcpy(&at, given, rcm_addr_len(given));
	id->unchosen = take_name(&at) && !cma_has_device(id->cma);
	rc = cma_bind(id->cma, addr);
	if (rc == -EADDRNOTAVAIL && is_loopback(addr) && !cma_has_device(id->cma))
		rc = bind_nowhere(id, addr);
	return rc ? rc : rcm_refresh(id);
}

UT_EXPORT int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	return rcm_result(id ? rcm_bind(rcm_of(id, rcm_id), addr) : -EINVAL);
}

int rcm_resolve_addr(struct rcm_id *id, const struct sockaddr *src, const struct sockaddr *dst,
		     int timeout_ms)
{
	int rc;

	if (!dst || !rcm_addr_len(dst) || (src && !rcm_addr_len(src)))
		return -EINVAL;
	id->unchosen = false;
	rc = cma_resolve_addr(id->cma, src, dst, timeout_ms);
	if (rc)
		return rc;
	memcpy(&id->pub.route.addr.dst_storage, dst, rcm_addr_len(dst));
	return rcm_complete(id, RDMA_CM_EVENT_ADDR_RESOLVED);
}

UT_EXPORT int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr,
				struct sockaddr *dst_addr, int timeout_ms)
{
	if (!id)
		return rcm_result(-EINVAL);
	return rcm_result(rcm_resolve_addr(rcm_of(id, rcm_id), src_addr, dst_addr, timeout_ms));
}

int rcm_resolve_route(struct rcm_id *id, int timeout_ms)
{
	int rc = cma_resolve_route(id->cma, timeout_ms);

	return rc ? rc : rcm_complete(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

UT_EXPORT int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	if (!id)
		return rcm_result(-EINVAL);
	return rcm_result(rcm_resolve_route(rcm_of(id, rcm_id), timeout_ms));
}

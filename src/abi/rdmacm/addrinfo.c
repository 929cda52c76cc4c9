/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rdma_getaddrinfo: the host's own name service with an RDMA coat. Types of
 * queue pairs and port spaces stand for types of sockets and protocols; numeric
 * GIDs of AF_IB are read here. One result, the resolver's first; its route data are ibacm's.
 */
#include "abi/rdmacm/rcm.h"
#include "abi/rdmacm/acm.h"
#include "abi/rdmacm/addr.h"
#include "abi/rdmacm/chan.h"
#include "abi/rdmacm/dev.h"
#include "abi/rdmacm/newer.h"

#include "util/alloc.h"

#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_FLAGS (RAI_PASSIVE | RAI_NUMERICHOST | RAI_NOROUTE | RAI_FAMILY)
#define PKEY_ANY 0xffff

static int space_of(const struct rdma_addrinfo *h)
{
	if (h->ai_port_space)
		return h->ai_port_space;
	return h->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
}

static int type_of(const struct rdma_addrinfo *h)
{
	if (h->ai_qp_type)
		return h->ai_qp_type;
	switch (h->ai_port_space) {
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return IBV_QPT_UD;
	default:
		return IBV_QPT_RC;
	}
}

static struct addrinfo question(const struct rdma_addrinfo *h)
{
	bool dgram = type_of(h) == IBV_QPT_UD;
	struct addrinfo q = {
		.ai_family = h->ai_family == AF_IB ? AF_UNSPEC : h->ai_family,
		.ai_socktype = dgram ? SOCK_DGRAM : SOCK_STREAM,
		.ai_protocol = dgram ? IPPROTO_UDP : IPPROTO_TCP,
	};

	if (h->ai_flags & RAI_PASSIVE)
		q.ai_flags |= AI_PASSIVE;
	if (h->ai_flags & RAI_NUMERICHOST)
		q.ai_flags |= AI_NUMERICHOST;
	return q;
}

/* A copy in a field and its length. 0 or EAI_MEMORY. */
static int copy_addr(const struct sockaddr *addr, socklen_t len, struct sockaddr **ret,
		     socklen_t *ret_len)
{
	*ret = ut_zalloc(len > sizeof(struct sockaddr_storage) ? len :
			 sizeof(struct sockaddr_storage));
	if (!*ret)
		return EAI_MEMORY;
	memcpy(*ret, addr, len);
	*ret_len = len;
	return 0;
}

static int put_addr(struct rdma_addrinfo *r, const struct sockaddr *addr, socklen_t len)
{
	r->ai_family = addr->sa_family;
	if (r->ai_flags & RAI_PASSIVE)
		return copy_addr(addr, len, &r->ai_src_addr, &r->ai_src_len);
	return copy_addr(addr, len, &r->ai_dst_addr, &r->ai_dst_len);
}

static int put_name(struct rdma_addrinfo *r, const char *name)
{
	char **to = r->ai_flags & RAI_PASSIVE ? &r->ai_src_canonname : &r->ai_dst_canonname;

	if (!name)
		return 0;
	*to = ut_strdup(name);
	return *to ? 0 : EAI_MEMORY;
}

/* The port of a service name. 0 or an EAI code. */
static int service_port(const char *service, const struct rdma_addrinfo *h, uint16_t *ret)
{
	struct addrinfo q = question(h), *a;
	int rc;

	*ret = 0;
	if (!service)
		return 0;
	q.ai_family = AF_INET;
	q.ai_flags = AI_PASSIVE;
	rc = getaddrinfo(NULL, service, &q, &a);
	if (rc)
		return rc;
	*ret = be16toh(((struct sockaddr_in *)(void *)a->ai_addr)->sin_port);
	freeaddrinfo(a);
	return 0;
}

static int find_gid(const char *node, const char *service, const struct rdma_addrinfo *h,
		    struct rdma_addrinfo *r)
{
	struct sockaddr_ib ib = { .sib_family = AF_IB, .sib_pkey = htobe16(PKEY_ANY) };
	uint64_t sid = (uint64_t)space_of(h) << 16;
	uint16_t port;
	int rc = service_port(service, h, &port);

	if (rc)
		return rc;
	if (node && inet_pton(AF_INET6, node, &ib.sib_addr) != 1)
		return EAI_NONAME;
	if (sid)
		ib.sib_sid_mask = htobe64(port ? UINT64_MAX : RDMA_IB_IP_PS_MASK);
	ib.sib_sid = htobe64(sid | port);
	return put_addr(r, (struct sockaddr *)(void *)&ib, sizeof(ib));
}

static bool is_numeric(const char *node)
{
	struct in6_addr any;

	return inet_pton(AF_INET, node, &any) == 1 || inet_pton(AF_INET6, node, &any) == 1;
}

static int find_ip(const char *node, const char *service, const struct rdma_addrinfo *h,
		   struct rdma_addrinfo *r)
{
	struct addrinfo q = question(h), *a;
	int rc = getaddrinfo(node, service, &q, &a);

	if (rc)
		return rc;
	rc = put_addr(r, a->ai_addr, a->ai_addrlen);
	if (!rc && r->ai_flags & RAI_PASSIVE && node && !service && !is_numeric(node))
		rcm_addr_put_name(r->ai_src_addr);
	if (!rc)
		rc = put_name(r, a->ai_canonname);
	freeaddrinfo(a);
	return rc;
}

static int find(const char *node, const char *service, const struct rdma_addrinfo *h,
		struct rdma_addrinfo *r)
{
	bool gid = (h->ai_flags & RAI_FAMILY) && h->ai_family == AF_IB &&
		   (h->ai_flags & RAI_NUMERICHOST);
	int rc = 0;

	if (node || service)
		rc = gid ? find_gid(node, service, h, r) : find_ip(node, service, h, r);
	else if (h->ai_dst_len && h->ai_dst_addr)
		rc = copy_addr(h->ai_dst_addr, h->ai_dst_len, &r->ai_dst_addr, &r->ai_dst_len);
	if (!rc && !r->ai_src_len && h->ai_src_len && h->ai_src_addr)
		rc = copy_addr(h->ai_src_addr, h->ai_src_len, &r->ai_src_addr, &r->ai_src_len);
	if (!rc)
		rcm_acm_route(r, h);
	return rc;
}

UT_EXPORT int rdma_getaddrinfo(const char *node, const char *service,
			       const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	static const struct rdma_addrinfo none;
	const struct rdma_addrinfo *h = hints ? hints : &none;
	struct rdma_addrinfo *r;
	int rc = rcm_ready();

	if (!res || (!node && !service && !hints))
		return rcm_result(-EINVAL);
	if (rc)
		return rcm_result(rc);
	if (h->ai_flags & ~KNOWN_FLAGS)
		return EAI_BADFLAGS;
	r = ut_zalloc(sizeof(*r));
	if (!r)
		return EAI_MEMORY;
	r->ai_flags = h->ai_flags;
	r->ai_family = h->ai_family;
	r->ai_qp_type = type_of(h);
	r->ai_port_space = space_of(h);
	rc = find(node, service, h, r);
	if (rc)
		rdma_freeaddrinfo(r);
	else
		*res = r;
	return rc;
}

UT_EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res) {
		struct rdma_addrinfo *next = res->ai_next;

		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_route);
		free(res->ai_connect);
		free(res);
		res = next;
	}
}

/* --- the same as an event of an identifier (rdma-core 60) --- */

/* Returns 0 or a negative errno. What the resolver calls not found has no errno of its own. */
static int resolve(struct rcm_id *id, const char *node, const char *service, const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo h = hints ? *hints : (struct rdma_addrinfo){ 0 }, *info;
	int rc;

	/* Services registered with a subnet administrator: no fabric here has one. */
	if (h.ai_flags & RCM_RAI_SA)
		return -EOPNOTSUPP;
	h.ai_flags &= ~RCM_RAI_DNS;
	rc = rdma_getaddrinfo(node, service, &h, &info);
	if (rc)
		return rc == -1 ? -errno : rc == EAI_MEMORY ? -ENOMEM : rc == EAI_SYSTEM ? -errno : -ENODATA;
	ut_lock(&id->lock);
	id->info = info;
	ut_unlock(&id->lock);
	return cma_write_event(id->cma, RCM_EVENT_ADDRINFO_RESOLVED, 0, 0);
}

RCM_NEWER(int, rdma_resolve_addrinfo, (struct rdma_cm_id *pub, const char *node, const char *service,
				       const struct rdma_addrinfo *hints))
{
	struct rcm_id *id = rcm_of(pub, rcm_id);
	bool busy;
	int rc;

	if (!pub || (!node && !service && !hints))
		return rcm_result(-EINVAL);
	ut_lock(&id->lock);
	busy = id->resolving;
	id->resolving = true;
	ut_unlock(&id->lock);
	if (busy)
		return rcm_result(-EBUSY);
	rc = resolve(id, node, service, hints);
	if (!rc)
		return 0;
	rdma_freeaddrinfo(rcm_info_take(id));
	return rcm_result(rc);
}

struct rdma_addrinfo *rcm_info_take(struct rcm_id *id)
{
	struct rdma_addrinfo *info;

	ut_lock(&id->lock);
	info = id->info;
	id->info = NULL;
	id->resolving = false;
	ut_unlock(&id->lock);
	return info;
}

RCM_NEWER(int, rdma_query_addrinfo, (struct rdma_cm_id *pub, struct rdma_addrinfo **ret))
{
	struct rdma_addrinfo *info;

	if (!pub || !ret)
		return rcm_result(-EINVAL);
	info = rcm_info_take(rcm_of(pub, rcm_id));
	if (!info)
		return rcm_result(-ENOENT);
	*ret = info;
	return 0;
}

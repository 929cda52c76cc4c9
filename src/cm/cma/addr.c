/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/cma/addr.h"

#include "util/ip.h"
#include "wire/ib_fields.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/ib.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

void cma_addr_set_any(struct link_end *e, bool v4)
{
	static const uint8_t zero[4];

	memset(e->addr, 0, sizeof(e->addr));
	if (v4)
		ut_ip_set_v4(e->addr, zero);
	e->scope = 0;
}

void cma_addr_set_loopback(struct link_end *e, bool v4)
{
	cma_addr_set_any(e, v4);
	e->addr[15] = 1;
	if (v4)
		e->addr[12] = 127;
}

static int read_ib(const struct sockaddr *sa, struct cma_addr *ret)
{
	struct sockaddr_ib ib;
	uint64_t sid;

	memcpy(&ib, sa, sizeof(ib));
	sid = be64toh(ib.sib_sid) & be64toh(ib.sib_sid_mask);
	memcpy(ret->end.addr, ib.sib_addr.sib_raw, 16);
	if (sid >> 32) {
		ret->service = sid;
		return ib.sib_sid_mask == UINT64_MAX ? 0 : -EPROTONOSUPPORT;
	}
	ret->end.port = (uint16_t)sid;
	ret->end.scope = (uint32_t)be64toh(ib.sib_scope_id);
	ret->space = (uint16_t)(sid >> 16);
	if (ret->space && ret->space != CM_PS_SDP && ret->space != CM_PS_TCP && ret->space != CM_PS_UDP &&
	    ret->space != CM_PS_IB && ret->space != CM_PS_IPOIB)
		return -EPROTONOSUPPORT;
	return 0;
}

/* fe80::/10, and groups of link-local scope. */
static bool has_scope(const uint8_t addr[16])
{
	return ut_ip_is_linklocal(addr) || (addr[0] == 0xff && (addr[1] & 0x0f) == 2);
}

int cma_addr_read(const struct sockaddr *sa, struct cma_addr *ret)
{
	struct cma_addr a = { 0 };
	union ut_sockaddr in = { .in6 = { 0 } };
	int r = 0;

	if (!sa)
		return -EINVAL;
	a.family = sa->sa_family;
	switch (sa->sa_family) {
	case AF_INET:
		memcpy(&in.in, sa, sizeof(in.in));
		a.end.port = ut_ip_from_sockaddr(&in, a.end.addr, &a.end.scope);
		break;
	case AF_INET6:
		memcpy(&in.in6, sa, sizeof(in.in6));
		a.end.port = ut_ip_from_sockaddr(&in, a.end.addr, &a.end.scope);
		/* The scope of other addresses has no meaning, but addresses are compared with it. */
		if (!has_scope(a.end.addr))
			a.end.scope = 0;
		break;
	case AF_IB:
		r = read_ib(sa, &a);
		break;
	default:
		return -EINVAL;
	}
	if (r == 0)
		*ret = a;
	return r;
}

int cma_addr_take(const struct cma_host *host, const struct sockaddr *sa, struct cma_addr *ret)
{
	struct cma_addr a;
	int r = cma_addr_read(sa, &a);

	if (r < 0)
		return r;
	*ret = a;
	if (a.family == AF_IB && !ut_ip_is_any(a.end.addr))
		host->from_gid(a.end.addr, ret->end.addr);
	/* An IPv4 address has no scope. */
	if (a.family == AF_IB && ut_ip_is_v4(ret->end.addr))
		ret->end.scope = 0;
	return 0;
}

static void write_ib(const struct link_end *end, uint64_t service, struct sockaddr_storage *ret)
{
	struct sockaddr_ib ib = {
		.sib_family = AF_IB,
		.sib_pkey = htobe16(WIRE_PKEY_DEFAULT),
		.sib_sid = htobe64(service),
		.sib_sid_mask = htobe64(UINT64_MAX),
		.sib_scope_id = htobe64(end->scope),
	};

	memcpy(ib.sib_addr.sib_raw, end->addr, 16);
	memcpy(ret, &ib, sizeof(ib));
}

void cma_addr_write(int family, const struct link_end *end, uint64_t service,
		    struct sockaddr_storage *ret)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(end->port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(end->port),
				    .sin6_scope_id = end->scope };

	memset(ret, 0, sizeof(*ret));
	if (family == AF_INET) {
		memcpy(&in.sin_addr, end->addr + 12, 4);
		memcpy(ret, &in, sizeof(in));
	} else if (family == AF_INET6) {
		memcpy(&in6.sin6_addr, end->addr, 16);
		memcpy(ret, &in6, sizeof(in6));
	} else if (family == AF_IB) {
		write_ib(end, service, ret);
	}
}

const char *cma_addr_text(const struct link_end *e, char *ret, size_t size)
{
	char ip[INET6_ADDRSTRLEN];

	snprintf(ret, size, ut_ip_is_v4(e->addr) ? "%s:%u" : "[%s]:%u", ut_ip_text(e->addr, ip),
		 e->port);
	return ret;
}

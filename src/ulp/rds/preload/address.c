/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/preload/address.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

static int check_v4(const struct rsp_addr *a)
{
	uint32_t v;

	memcpy(&v, a->addr, sizeof(v));
	v = ntohl(v);
	if (v == INADDR_ANY)
		return -EDESTADDRREQ;
	return v == INADDR_BROADCAST || IN_MULTICAST(v) ? -EINVAL : 0;
}

static int check_v6(const struct rsp_addr *a)
{
	struct in6_addr v;

	memcpy(&v, a->addr, sizeof(v));
	if (IN6_IS_ADDR_UNSPECIFIED(&v))
		return -EDESTADDRREQ;
	if (IN6_IS_ADDR_MULTICAST(&v))
		return -EINVAL;
	return IN6_IS_ADDR_LINKLOCAL(&v) && !a->scope ? -EINVAL : 0;
}

int rds_address(const struct sockaddr *at, socklen_t len, struct rsp_addr *ret)
{
	if (!at || len < sizeof(at->sa_family))
		return -EINVAL;
	if (len < (at->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)))
		return -EINVAL;
	rsp_addr_from(ret, at);
	if (!ret->family)
		return -EINVAL;
	rsp_addr_unmap(ret);
	return ret->family == AF_INET ? check_v4(ret) : check_v6(ret);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/ip.h"

#include <arpa/inet.h>

socklen_t ut_ip_to_sockaddr(const uint8_t addr[16], uint16_t port, uint32_t scope,
			    union ut_sockaddr *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (ut_ip_is_v4(addr)) {
		ret->in.sin_family = AF_INET;
		ret->in.sin_port = htons(port);
		memcpy(&ret->in.sin_addr, addr + 12, 4);
		return sizeof(ret->in);
	}
	ret->in6.sin6_family = AF_INET6;
	ret->in6.sin6_port = htons(port);
	memcpy(&ret->in6.sin6_addr, addr, 16);
	if (ut_ip_is_linklocal(addr) || ut_ip_is_group(addr))
		ret->in6.sin6_scope_id = scope;
	return sizeof(ret->in6);
}

uint16_t ut_ip_from_sockaddr(const union ut_sockaddr *sa, uint8_t addr[16], uint32_t *ret_scope)
{
	bool v4 = sa->sa.sa_family == AF_INET;

	if (ret_scope)
		*ret_scope = v4 ? 0 : sa->in6.sin6_scope_id;
	if (v4) {
		ut_ip_set_v4(addr, &sa->in.sin_addr);
		return ntohs(sa->in.sin_port);
	}
	memcpy(addr, &sa->in6.sin6_addr, 16);
	return ntohs(sa->in6.sin6_port);
}

const char *ut_ip_text(const uint8_t addr[16], char buf[INET6_ADDRSTRLEN])
{
	bool v4 = ut_ip_is_v4(addr);

	if (!inet_ntop(v4 ? AF_INET : AF_INET6, addr + (v4 ? 12 : 0), buf, INET6_ADDRSTRLEN))
		strcpy(buf, "?");
	return buf;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* 16-byte addresses and the system's two kinds. */
#include "link/tcp/local.h"

#include <arpa/inet.h>
#include <string.h>

static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };

bool tcp_is_v4(const uint8_t a[16])
{
	return !memcmp(a, v4_prefix, 12);
}

bool tcp_is_any(const uint8_t a[16])
{
	static const uint8_t zero[16];

	return !memcmp(a, zero, 16) || (tcp_is_v4(a) && !memcmp(a + 12, zero, 4));
}

static bool is_linklocal(const uint8_t a[16])
{
	return a[0] == 0xfe && (a[1] & 0xc0) == 0x80;
}

socklen_t tcp_sa_fill(union tcp_sa *sa, const struct link_end *e, uint32_t scope)
{
	memset(sa, 0, sizeof(*sa));
	if (tcp_is_v4(e->addr)) {
		sa->in.sin_family = AF_INET;
		sa->in.sin_port = htons(e->port);
		memcpy(&sa->in.sin_addr, e->addr + 12, 4);
		return sizeof(sa->in);
	}
	sa->in6.sin6_family = AF_INET6;
	sa->in6.sin6_port = htons(e->port);
	memcpy(&sa->in6.sin6_addr, e->addr, 16);
	if (is_linklocal(e->addr))
		sa->in6.sin6_scope_id = e->scope ? e->scope : scope;
	return sizeof(sa->in6);
}

void tcp_sa_read(const union tcp_sa *sa, struct link_end *ret)
{
	*ret = (struct link_end){ 0 };
	if (sa->sa.sa_family == AF_INET) {
		memcpy(ret->addr, v4_prefix, 12);
		memcpy(ret->addr + 12, &sa->in.sin_addr, 4);
		ret->port = ntohs(sa->in.sin_port);
	} else {
		memcpy(ret->addr, &sa->in6.sin6_addr, 16);
		ret->port = ntohs(sa->in6.sin6_port);
		ret->scope = sa->in6.sin6_scope_id;
	}
}

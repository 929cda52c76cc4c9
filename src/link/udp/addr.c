/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* 16-byte addresses and the system's two kinds. */
#include "link/udp/local.h"

#include <arpa/inet.h>
#include <string.h>

static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };

bool udp_is_v4(const uint8_t a[16])
{
	return !memcmp(a, v4_prefix, 12);
}

bool udp_is_group(const uint8_t a[16])
{
	return udp_is_v4(a) ? (a[12] & 0xf0) == 0xe0 : a[0] == 0xff;
}

bool udp_is_linklocal(const uint8_t a[16])
{
	return a[0] == 0xfe && (a[1] & 0xc0) == 0x80;
}

socklen_t udp_sa_fill(union udp_sa *sa, const uint8_t addr[16], uint16_t port, uint32_t scope)
{
	memset(sa, 0, sizeof(*sa));
	if (udp_is_v4(addr)) {
		sa->in.sin_family = AF_INET;
		sa->in.sin_port = htons(port);
		memcpy(&sa->in.sin_addr, addr + 12, 4);
		return sizeof(sa->in);
	}
	sa->in6.sin6_family = AF_INET6;
	sa->in6.sin6_port = htons(port);
	memcpy(&sa->in6.sin6_addr, addr, 16);
	/* Elsewhere a scope would be ignored at best. */
	if (udp_is_linklocal(addr) || udp_is_group(addr))
		sa->in6.sin6_scope_id = scope;
	return sizeof(sa->in6);
}

uint16_t udp_sa_read(const union udp_sa *sa, uint8_t addr[16])
{
	if (sa->sa.sa_family == AF_INET) {
		memcpy(addr, v4_prefix, 12);
		memcpy(addr + 12, &sa->in.sin_addr, 4);
		return ntohs(sa->in.sin_port);
	}
	memcpy(addr, &sa->in6.sin6_addr, 16);
	return ntohs(sa->in6.sin6_port);
}

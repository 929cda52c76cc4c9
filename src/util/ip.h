/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * IP addresses in one form: 16 bytes in network order, IPv4 mapped to ::ffff:a.b.c.d (RFC 4291,
 * 2.5.5.2). A GID of RoCEv2 has the same form.
 */
#ifndef UT_IP_H
#define UT_IP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

union ut_sockaddr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static inline bool ut_ip_is_v4(const uint8_t addr[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(addr, prefix, sizeof(prefix)) == 0;
}

/* Makes the mapped form of four bytes. */
static inline void ut_ip_set_v4(uint8_t addr[16], const void *v4)
{
	memset(addr, 0, 10);
	addr[10] = addr[11] = 0xff;
	memcpy(addr + 12, v4, 4);
}

static inline bool ut_ip_same(const uint8_t a[16], const uint8_t b[16])
{
	return memcmp(a, b, 16) == 0;
}

/* The wildcard of either version. */
static inline bool ut_ip_is_any(const uint8_t addr[16])
{
	static const uint8_t zero[16];

	return memcmp(addr, zero, 16) == 0 || (ut_ip_is_v4(addr) && memcmp(addr + 12, zero, 4) == 0);
}

/* 127.0.0.0/8 */
static inline bool ut_ip_is_loopback_v4(const uint8_t addr[16])
{
	return ut_ip_is_v4(addr) && addr[12] == 127;
}

/* fe80::/10: unicast addresses that mean nothing without an interface index, the scope. */
static inline bool ut_ip_is_linklocal(const uint8_t addr[16])
{
	return addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80;
}

/* A multicast group: 224.0.0.0/4, ff00::/8. */
static inline bool ut_ip_is_group(const uint8_t addr[16])
{
	return ut_ip_is_v4(addr) ? (addr[12] & 0xf0) == 0xe0 : addr[0] == 0xff;
}

/*
 * Makes a socket address; the port is in host order. The scope is written for link-local addresses
 * and groups; the kernel ignores it elsewhere at best. Returns the length of the socket address.
 */
static inline socklen_t ut_ip_to_sockaddr(const uint8_t addr[16], uint16_t port, uint32_t scope,
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

/*
 * Reads a socket address of AF_INET or AF_INET6. Returns the port in host order; *ret_scope is 0 for
 * IPv4, and ret_scope may be NULL.
 */
static inline uint16_t ut_ip_from_sockaddr(const union ut_sockaddr *sa, uint8_t addr[16],
					   uint32_t *ret_scope)
{
	if (ret_scope)
		*ret_scope = 0;
	if (sa->sa.sa_family == AF_INET) {
		ut_ip_set_v4(addr, &sa->in.sin_addr);
		return ntohs(sa->in.sin_port);
	}
	if (ret_scope)
		*ret_scope = sa->in6.sin6_scope_id;
	memcpy(addr, &sa->in6.sin6_addr, 16);
	return ntohs(sa->in6.sin6_port);
}

/* As text, "127.0.0.1" or "fe80::1". Returns buf. */
const char *ut_ip_text(const uint8_t addr[16], char buf[INET6_ADDRSTRLEN]);

#endif

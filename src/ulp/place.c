/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/place.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cuts [HOST]:PORT, HOST:PORT or HOST; returns false if it is none. */
static bool cut(char *text, char **ret_host, char **ret_port)
{
	char *colon = strrchr(text, ':'), *end;

	*ret_host = text;
	*ret_port = NULL;
	if (*text == '[') {
		end = strchr(text, ']');
		if (!end || (end[1] && end[1] != ':'))
			return false;
		*ret_host = text + 1;
		*ret_port = end[1] ? end + 2 : NULL;
		*end = '\0';
		return true;
	}
	if (colon) {
		*colon = '\0';
		*ret_port = colon + 1;
	}
	return !strchr(text, ':');
}

static bool resolve(struct sockaddr_storage *addr, socklen_t *ret_len, const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;

	if (getaddrinfo(host, port, &hints, &found))
		return false;
	memcpy(addr, found->ai_addr, found->ai_addrlen);
	*ret_len = found->ai_addrlen;
	freeaddrinfo(found);
	return addr->ss_family == AF_INET || addr->ss_family == AF_INET6;
}

const char *ulp_addr_read(struct sockaddr_storage *addr, socklen_t *ret_len, const char *text, const char *port)
{
	char copy[256], *host, *given;

	snprintf(copy, sizeof(copy), "%s", text);
	if (!cut(copy, &host, &given))
		return "its address is not like 10.0.0.1:2049 or [fd00::1]:2049";
	if (!resolve(addr, ret_len, *host ? host : "127.0.0.1", given && *given ? given : port))
		return "its host or port is unknown";
	return NULL;
}

static const void *bytes(const struct sockaddr_storage *addr, unsigned *ret_bits)
{
	const struct sockaddr_in6 *v6 = (const void *)addr;
	const struct sockaddr_in *v4 = (const void *)addr;

	*ret_bits = 32;
	if (addr->ss_family == AF_INET)
		return &v4->sin_addr;
	if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return v6->sin6_addr.s6_addr + 12;
	*ret_bits = 128;
	return &v6->sin6_addr;
}

const char *ulp_addr_text(char text[ULP_ADDR_TEXT_MAX], const struct sockaddr_storage *addr)
{
	char host[INET6_ADDRSTRLEN] = "?";
	unsigned bits, port = ntohs(((const struct sockaddr_in *)(const void *)addr)->sin_port);
	const void *at = bytes(addr, &bits);

	inet_ntop(bits == 32 ? AF_INET : AF_INET6, at, host, sizeof(host));
	snprintf(text, ULP_ADDR_TEXT_MAX, bits == 32 ? "%s:%u" : "[%s]:%u", host, port);
	return text;
}

bool ulp_is_loopback(const struct sockaddr_storage *addr)
{
	unsigned bits;
	const uint8_t *at = bytes(addr, &bits);

	return bits == 32 ? at[0] == IN_LOOPBACKNET : !memcmp(at, &in6addr_loopback, 16);
}

bool ulp_allow_add(struct ulp_allow *a, const char *text)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *found;
	struct ulp_net *n = &a->net[a->nr];
	char copy[64], *slash, *end = "";
	unsigned bits;

	if (a->nr == ULP_ALLOW_MAX || strlen(text) >= sizeof(copy))
		return false;
	strcpy(copy, text);
	slash = strchr(copy, '/');
	if (slash)
		*slash = '\0';
	if (getaddrinfo(copy, NULL, &hints, &found))
		return false;
	memset(n, 0, sizeof(*n));
	memcpy(&n->addr, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	bytes(&n->addr, &bits);
	n->bits = slash ? (unsigned)strtoul(slash + 1, &end, 10) : bits;
	if (*end || (slash && !slash[1]) || n->bits > bits)
		return false;
	a->nr++;
	return true;
}

static bool is_in(const struct ulp_net *n, const struct sockaddr_storage *addr)
{
	unsigned bits, net_bits, whole = n->bits / 8, rest = n->bits % 8;
	const uint8_t *at = bytes(addr, &bits), *net = bytes(&n->addr, &net_bits);

	if (bits != net_bits || memcmp(at, net, whole))
		return false;
	return !rest || !((at[whole] ^ net[whole]) >> (8 - rest));
}

bool ulp_may_connect(const struct ulp_allow *a, const struct sockaddr_storage *addr)
{
	if (ulp_is_loopback(addr))
		return true;
	for (unsigned i = 0; i < a->nr; i++)
		if (is_in(&a->net[i], addr))
			return true;
	return false;
}

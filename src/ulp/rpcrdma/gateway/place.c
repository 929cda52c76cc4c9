/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/gateway/place.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RDMA_PORT "20049"       /* nfsrdma */
#define TCP_PORT "2049"         /* nfs */

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

static bool resolve(struct rpg_place *p, const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;

	if (getaddrinfo(host, port, &hints, &found))
		return false;
	memcpy(&p->addr, found->ai_addr, found->ai_addrlen);
	p->len = found->ai_addrlen;
	freeaddrinfo(found);
	return p->addr.ss_family == AF_INET || p->addr.ss_family == AF_INET6;
}

const char *rpg_place_read(struct rpg_place *p, const char *text)
{
	char copy[256], *host, *port;
	const char *rest = strchr(text, ':');
	size_t name = rest ? (size_t)(rest - text) : strlen(text);

	p->is_rdma = name == 4 && !memcmp(text, "rdma", 4);
	if (!p->is_rdma && (name != 3 || memcmp(text, "tcp", 3)))
		return "it begins with neither rdma: nor tcp:";
	snprintf(copy, sizeof(copy), "%s", rest ? rest + 1 : "");
	if (!cut(copy, &host, &port))
		return "its address is not like 10.0.0.1:2049 or [fd00::1]:2049";
	if (!resolve(p, *host ? host : "127.0.0.1", port && *port ? port : p->is_rdma ? RDMA_PORT : TCP_PORT))
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

const char *rpg_addr_text(char text[RPG_TEXT_MAX], const struct sockaddr_storage *addr)
{
	char host[INET6_ADDRSTRLEN] = "?";
	unsigned bits, port = ntohs(((const struct sockaddr_in *)(const void *)addr)->sin_port);
	const void *at = bytes(addr, &bits);

	inet_ntop(bits == 32 ? AF_INET : AF_INET6, at, host, sizeof(host));
	snprintf(text, RPG_TEXT_MAX, bits == 32 ? "%s:%u" : "[%s]:%u", host, port);
	return text;
}

bool rpg_is_loopback(const struct sockaddr_storage *addr)
{
	unsigned bits;
	const uint8_t *at = bytes(addr, &bits);

	return bits == 32 ? at[0] == IN_LOOPBACKNET : !memcmp(at, &in6addr_loopback, 16);
}

bool rpg_allow_add(struct rpg_allow *a, const char *text)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *found;
	struct rpg_net *n = &a->net[a->nr];
	char copy[64], *slash, *end = "";
	unsigned bits;

	if (a->nr == RPG_ALLOW_MAX || strlen(text) >= sizeof(copy))
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

static bool is_in(const struct rpg_net *n, const struct sockaddr_storage *addr)
{
	unsigned bits, net_bits, whole = n->bits / 8, rest = n->bits % 8;
	const uint8_t *at = bytes(addr, &bits), *net = bytes(&n->addr, &net_bits);

	if (bits != net_bits || memcmp(at, net, whole))
		return false;
	return !rest || !((at[whole] ^ net[whole]) >> (8 - rest));
}

bool rpg_may_connect(const struct rpg_allow *a, const struct sockaddr_storage *addr)
{
	if (rpg_is_loopback(addr))
		return true;
	for (unsigned i = 0; i < a->nr; i++)
		if (is_in(&a->net[i], addr))
			return true;
	return false;
}

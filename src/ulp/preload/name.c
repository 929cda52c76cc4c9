/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Abstract names that carry the addresses of a connection: magic, random part, struct rsp_name. */
#include "ulp/preload/name.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>

struct text {
	char zero;
	char magic[11];
	uint8_t random[8];
	struct rsp_name name;
};

#define MAGIC "dapple-rs/1"

_Static_assert(sizeof(struct text) <= sizeof(((struct sockaddr_un *)0)->sun_path), "fits a name");

void rsp_addr_from(struct rsp_addr *ret, const struct sockaddr *from)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;

	memset(ret, 0, sizeof(*ret));
	if (from->sa_family == AF_INET) {
		ret->port = in->sin_port;
		memcpy(ret->addr, &in->sin_addr, 4);
	} else if (from->sa_family == AF_INET6) {
		ret->port = in6->sin6_port;
		ret->scope = in6->sin6_scope_id;
		memcpy(ret->addr, &in6->sin6_addr, 16);
	} else {
		return;
	}
	ret->family = from->sa_family;
}

socklen_t rsp_addr_to(const struct rsp_addr *a, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	ret->ss_family = a->family;
	if (a->family == AF_INET6) {
		in6->sin6_port = a->port;
		in6->sin6_scope_id = a->scope;
		memcpy(&in6->sin6_addr, a->addr, 16);
		return sizeof(*in6);
	}
	in->sin_port = a->port;
	memcpy(&in->sin_addr, a->addr, 4);
	return sizeof(*in);
}

void rsp_addr_give(const struct rsp_addr *a, struct sockaddr *to, socklen_t *len)
{
	struct sockaddr_storage ss;
	socklen_t full = rsp_addr_to(a, &ss);

	memcpy(to, &ss, *len < full ? *len : full);
	*len = full;
}

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

void rsp_addr_map(struct rsp_addr *a)
{
	if (a->family != AF_INET)
		return;
	memcpy(a->addr + 12, a->addr, 4);
	memcpy(a->addr, mapped, sizeof(mapped));
	a->family = AF_INET6;
}

void rsp_addr_unmap(struct rsp_addr *a)
{
	if (a->family != AF_INET6 || memcmp(a->addr, mapped, sizeof(mapped)))
		return;
	memmove(a->addr, a->addr + 12, 4);
	memset(a->addr + 4, 0, 12);
	a->scope = 0;
	a->family = AF_INET;
}

int rsp_name_bind(int fd, const struct rsp_name *name)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct text t = { .name = *name };

	memcpy(t.magic, MAGIC, sizeof(t.magic));
	if (getrandom(t.random, sizeof(t.random), 0) != sizeof(t.random))
		return -EAGAIN;
	memcpy(un.sun_path, &t, sizeof(t));
	return bind(fd, (struct sockaddr *)&un, offsetof(struct sockaddr_un, sun_path) + sizeof(t)) ? -errno : 0;
}

bool rsp_name_read(const struct sockaddr_un *un, socklen_t len, struct rsp_name *ret)
{
	struct text t;

	if (len != offsetof(struct sockaddr_un, sun_path) + sizeof(t) || un->sun_family != AF_UNIX)
		return false;
	memcpy(&t, un->sun_path, sizeof(t));
	*ret = t.name;
	return !t.zero && !memcmp(t.magic, MAGIC, sizeof(t.magic));
}

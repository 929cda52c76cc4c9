/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/service.h"

#include "host/slot.h"
#include "util/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

socklen_t host_service_name(const struct host *h, const uint8_t addr[16], uint32_t scope,
			   uint64_t service, struct sockaddr_un *ret)
{
	char text[HOST_ADDR_TEXT];
	int n;

	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	host_addr_text(addr, scope, text);
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1,
		     "dapple-cm/%s/%u/%" PRIx64 "/%u", text, h->port, service >> 16,
		     (unsigned)(service & 0xffff));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static struct host_service *find(struct host *h, const uint8_t addr[16], uint64_t id)
{
	struct host_service *s;

	ut_list_each(s, &h->services, node)
		if (s->id == id && !memcmp(s->addr, addr, 16))
			return s;
	return NULL;
}

static void drop(struct host *h, struct host_service *s)
{
	host_unwatch(h, &s->port);
	ut_list_del(&s->ready);
	ut_list_del(&s->node);
	free(s);
}

static void ready(struct host *h, struct host_port *p, uint32_t events)
{
	struct host_service *s = ut_container(p, struct host_service, port);

	if (ut_list_empty(&s->ready))
		ut_list_add_tail(&h->services_ready, &s->ready);
}

static const struct host_port_kind service_port = { .events = EPOLLIN, .ready = ready };

static struct host_service *service_new(const uint8_t addr[16], uint64_t id)
{
	struct host_service *s = ut_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	memcpy(s->addr, addr, 16);
	s->id = id;
	ut_list_init(&s->node);
	ut_list_init(&s->ready);
	s->port = (struct host_port){ .kind = &service_port, .fd = -1 };
	return s;
}

int host_service_claim(struct host *h, const uint8_t addr[16], uint64_t service)
{
	struct host_addr *a = host_addr_find(h, addr);
	struct host_service *s;
	struct sockaddr_un sun;
	socklen_t n;
	int r;

	if (!a)
		return -EADDRNOTAVAIL;
	s = service_new(addr, service);
	if (!s)
		return -ENOMEM;
	n = host_service_name(h, addr, a->scope, service, &sun);
	s->port.fd = r = host_socket(h, &sun, n);
	if (r >= 0)
		r = host_watch(h, &s->port);
	if (r < 0) {
		drop(h, s);
		return r;
	}
	ut_list_add_tail(&h->services, &s->node);
	return 0;
}

void host_service_unclaim(struct host *h, const uint8_t addr[16], uint64_t service)
{
	struct host_service *s = find(h, addr, service);

	if (s)
		drop(h, s);
}

void host_services_drop(struct host *h)
{
	struct host_service *s;

	while ((s = ut_list_first(&h->services, struct host_service, node)))
		drop(h, s);
}

bool host_service_is_ours(struct host *h, const uint8_t addr[16], uint64_t service)
{
	return find(h, addr, service);
}

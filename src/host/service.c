/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Service IDs among the processes of an address. A request names no process,
 * so it comes to any member; a claim is an abstract socket named after the
 * service, and the member that got the request writes it there. The name is
 * the claim, the lock of it and the way to its owner, and the kernel drops it
 * with its owner. A forked child closes what it inherits (device/fork.c); one
 * made without our knowledge may keep a dead owner's name, then requests
 * fill its small queue and are dropped after, and nobody waits for it.
 *
 *	dapple-cm/ADDRESS/UDP PORT/UPPER BITS, hexadecimal/LOWER 16 BITS, decimal
 *
 * For IP services that is the port space and the port (IBTA annex A11).
 */
#include "link/udp/local.h"

#include "link/sys.h"
#include "util/alloc.h"
#include "util/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

socklen_t udp_service_name(const struct udp_link *u, const uint8_t addr[16], uint32_t scope,
			   uint64_t service, struct sockaddr_un *ret)
{
	char text[UDP_ADDR_TEXT];
	int n;

	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	udp_addr_text(addr, scope, text);
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1,
		     "dapple-cm/%s/%u/%" PRIx64 "/%u", text, u->port, service >> 16,
		     (unsigned)(service & 0xffff));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static struct udp_service *find(struct udp_link *u, const uint8_t addr[16], uint64_t id)
{
	struct udp_service *s;

	ut_list_each(s, &u->services, node)
		if (s->id == id && !memcmp(s->addr, addr, 16))
			return s;
	return NULL;
}

static void drop(struct udp_link *u, struct udp_service *s)
{
	udp_unwatch(u, &s->port);
	ut_list_del(&s->ready);
	ut_list_del(&s->node);
	free(s);
}

static struct udp_service *service_new(const uint8_t addr[16], uint64_t id)
{
	struct udp_service *s = ut_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	memcpy(s->addr, addr, 16);
	s->id = id;
	ut_list_init(&s->node);
	ut_list_init(&s->ready);
	s->port = (struct udp_port){ .kind = UDP_SERVICE, .fd = -1, .service = s };
	ut_list_init(&s->port.polled_node);
	ut_list_init(&s->port.err_node);
	return s;
}

int udp_service_claim(struct link *l, const uint8_t addr[16], uint64_t service)
{
	struct udp_link *u = udp_of(l);
	struct udp_local *lo = udp_local_find(u, addr);
	struct udp_service *s;
	struct sockaddr_un sun;
	socklen_t n;
	int r;

	if (!lo)
		return -EADDRNOTAVAIL;
	s = service_new(addr, service);
	if (!s)
		return -ENOMEM;
	n = udp_service_name(u, addr, lo->scope, service, &sun);
	s->port.fd = r = udp_box(&sun, n);
	if (r >= 0)
		r = udp_watch(u, &s->port);
	if (r < 0) {
		drop(u, s);
		return r;
	}
	ut_list_add_tail(&u->services, &s->node);
	return 0;
}

void udp_service_unclaim(struct link *l, const uint8_t addr[16], uint64_t service)
{
	struct udp_link *u = udp_of(l);
	struct udp_service *s = find(u, addr, service);

	if (s)
		drop(u, s);
}

void udp_services_drop(struct udp_link *u)
{
	struct udp_service *s;

	while ((s = ut_list_first(&u->services, struct udp_service, node)))
		drop(u, s);
}

int udp_pass_on(struct link *l, const struct link_rx *rx, uint64_t service)
{
	struct udp_link *u = udp_of(l);
	struct udp_local *lo = udp_local_find(u, rx->dst);
	struct udp_mail m = udp_forwarding(rx);
	int r;

	/* What was passed came to whoever had the name: nobody else has it now. */
	if (!lo || rx->passed || find(u, rx->dst, service))
		return 0;
	r = udp_outbox_send(u, lo, udp_to_service(service), &m, rx->data, rx->len);
	if (r == -ECONNREFUSED)
		return 0;
	if (r == 0) {
		u->stats.passed_on++;
	} else {
		u->stats.dropped++;
		ut_debug("a request for service %" PRIx64 " cannot be passed on: %s", service,
			 strerror(-r));
	}
	return 1;
}

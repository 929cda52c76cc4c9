/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "listens.h"

#include <arpa/inet.h>
#include <string.h>

#define REQUEST_MS 60000

struct ulp_listener *ends_listen(struct ends *e, unsigned space)
{
	struct ulp_listener *l;

	memset(&e->addr, 0, sizeof(e->addr));
	e->addr.ss_family = (sa_family_t)e->family;
	if (e->family == AF_INET)
		((struct sockaddr_in *)&e->addr)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)&e->addr)->sin6_addr = in6addr_loopback;
	l = ulp_listen((struct sockaddr *)&e->addr, space, 0, 8);
	CHECK(l);
	CHECK(write(e->out, &e->addr, sizeof(e->addr)) == sizeof(e->addr));
	return l;
}

void ends_next_request(struct ulp_listener *l, struct ulp_request *ret)
{
	struct pollfd p = { ulp_listener_fd(l), POLLIN, 0 };

	while (ulp_listener_next(l, ret))
		CHECK(poll(&p, 1, REQUEST_MS) == 1);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The link of a RoCE adapter, as the environment wants it:
 *
 *   DAPPLE_PORT=N   another UDP port than 4791, for tests beside a live system
 *   DAPPLE_LOCAL=off  the wire also between processes of this host; =packets: packets and not
 *                   whole messages there; =copy: messages, but nobody reads the other's memory
 *   DAPPLE_FAULT=.. seeded loss and damage below the protocol (link/fault.h)
 */
#include "device/roce.h"

#include "link/fault.h"
#include "link/udp/udp.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint16_t dev_roce_udp_port(void)
{
	const char *v = getenv("DAPPLE_PORT");
	char *end;
	unsigned long n;

	if (!v || !*v)
		return UDP_ROCE_PORT;
	n = strtoul(v, &end, 10);
	if (*end || n < 1 || n > 65535) {
		ut_error("DAPPLE_PORT takes a port number 1..65535, not \"%s\"; using %d", v,
			 UDP_ROCE_PORT);
		return UDP_ROCE_PORT;
	}
	return (uint16_t)n;
}

/* How processes of this host reach each other. Bad weather is for packets: there are no messages. */
static int go_local(struct link *l, bool weather)
{
	const char *v = getenv("DAPPLE_LOCAL");
	int r;

	/* What iWARP does more by that word is nothing to us. */
	v = v && strcmp(v, "streams") ? v : "";
	if (!strcmp(v, "off"))
		return 0;
	if (*v && strcmp(v, "packets") && strcmp(v, "copy") && strcmp(v, "messages"))
		ut_error("DAPPLE_LOCAL takes off, packets, copy, messages or streams, not \"%s\"", v);
	r = udp_go_local(l);
	if (r < 0 || weather || !strcmp(v, "packets"))
		return r;
	udp_go_messages(l, strcmp(v, "copy"));
	if (!*v)
		udp_go_direct(l);
	return 0;
}

int dev_roce_link_open(struct link **ret, struct shm_channel **ret_chan)
{
	const char *weather = getenv(LINK_FAULT_ENV);
	struct link_fault_rates rates;
	struct link *l;
	int r;

	if (weather && *weather && link_fault_parse(weather, &rates) < 0) {
		ut_error("%s is not understood: \"%s\"", LINK_FAULT_ENV, weather);
		return -EINVAL;
	}
	r = udp_open(dev_roce_udp_port(), &l);
	if (r < 0)
		return r;
	*ret = l;
	r = go_local(l, weather && *weather);
	if (r < 0)
		ut_warn("no shared memory with other processes: %s", strerror(-r));
	*ret_chan = udp_channel(l);
	if (!weather || !*weather)
		return 0;
	r = link_fault_open(l, &rates, ret);
	if (r < 0)
		l->ops->close(l);
	return r;
}

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

#include "host/shm/channel.h"
#include "link/fault.h"
#include "link/local/datagrams.h"
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

/* How processes of this host reach each other: by the channel, as the environment allows. */
static int go_local(struct link **l, struct shm_channel **chan, const char *v, bool weather)
{
	struct shm_channel *c;
	int r = shm_channel_open(udp_host(*l), &c);

	if (r < 0)
		return r;
	r = local_datagrams_open(*l, c, l);
	if (r < 0) {
		shm_channel_close(c);
		return r;
	}
	*chan = c;
	/* A message cannot be lost or damaged: bad weather is for packets. */
	if (!weather && strcmp(v, "packets"))
		shm_channel_messages(c, strcmp(v, "copy"), !*v);
	return 0;
}

static const char *local_env(void)
{
	const char *v = getenv("DAPPLE_LOCAL");

	/* iWARP's value means nothing here. */
	v = v && strcmp(v, "streams") ? v : "";
	if (*v && strcmp(v, "off") && strcmp(v, "packets") && strcmp(v, "copy") &&
	    strcmp(v, "messages"))
		ut_error("DAPPLE_LOCAL takes off, packets, copy, messages or streams, not \"%s\"", v);
	return v;
}

static int open_udp(struct link **l, struct shm_channel **chan, bool weather)
{
	const char *v = local_env();
	int r = udp_open(dev_roce_udp_port(), l);

	*chan = &shm_channel_none;
	if (r < 0)
		return r;
	shm_handshake_refuse_all(udp_host(*l));
	r = strcmp(v, "off") ? go_local(l, chan, v, weather) : 0;
	if (r < 0)
		ut_warn("no shared memory with other processes: %s", strerror(-r));
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
	r = open_udp(&l, ret_chan, weather && *weather);
	if (r < 0)
		return r;
	*ret = l;
	if (!weather || !*weather)
		return 0;
	r = link_fault_open(l, &rates, ret);
	if (r < 0)
		l->ops->close(l);
	return r;
}

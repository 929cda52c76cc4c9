/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/kind/roce_link.h"

#include "device/kind/local_env.h"
#include "host/shm/handshake.h"
#include "host/shm/peer.h"
#include "link/fault.h"
#include "link/local/datagrams.h"
#include "link/udp/udp.h"
#include "util/env.h"
#include "util/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

uint16_t dev_roce_udp_port(void)
{
	const char *v = ut_env("DAPPLE_PORT");
	char *end;
	unsigned long n;

	if (!v || !*v)
		return UDP_ROCE_PORT;
	n = strtoul(v, &end, 10);
	if (*end || n < 1 || n > 65535) {
		ut_error("DAPPLE_PORT: \"%s\" is not a port number from 1 to 65535: UDP port %d is used; "
			 "set a number, or unset it", v, UDP_ROCE_PORT);
		return UDP_ROCE_PORT;
	}
	return (uint16_t)n;
}

/* Lays the local path over UDP. faults: they are for packets, and a message cannot be lost or damaged. */
static int go_local(struct link **l, struct shm_channel **chan, unsigned allowed, bool faults)
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
	if (!faults && (allowed & DEV_LOCAL_MESSAGES))
		shm_channel_messages(c, allowed & DEV_LOCAL_DIRECT);
	return 0;
}

static int open_udp(struct link **l, struct shm_channel **chan, bool faults)
{
	unsigned allowed = dev_local_env();
	int r = udp_open(dev_roce_udp_port(), l);

	*chan = &shm_channel_none;
	if (r < 0)
		return r;
	shm_handshake_refuse_all(udp_host(*l));
	r = allowed & DEV_LOCAL_SHM ? go_local(l, chan, allowed, faults) : 0;
	if (r < 0)
		ut_warn("cannot make shared memory (%s): processes of this host reach each other by UDP, "
			"which is slower; see dapple doctor, or set DAPPLE_LOCAL=off", strerror(-r));
	return 0;
}

int dev_roce_link_open(struct link **ret, struct shm_channel **ret_chan)
{
	const char *text = ut_env(LINK_FAULT_ENV);
	struct link_fault_rates rates;
	bool faults = text && link_fault_is_rates(text);
	struct link *l;
	int r;

	if (faults && link_fault_parse(text, &rates) < 0) {
		ut_error("%s: \"%s\" is not understood: RoCE adapters cannot be used; write it as "
			 "loss=10,dup=5,reorder=20,corrupt=1,seed=42, or unset it", LINK_FAULT_ENV, text);
		return -EINVAL;
	}
	r = open_udp(&l, ret_chan, faults);
	if (r < 0)
		return r;
	*ret = l;
	if (!faults)
		return 0;
	r = link_fault_open(l, &rates, ret);
	if (r < 0)
		l->ops->close(l);
	return r;
}

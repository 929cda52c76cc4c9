/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rate at which the RDMA CM resolves addresses and routes on an InfiniBand subnet: all at once from one process, whose
 * routes come from the subnet administrator; then all again.
 *
 *	bench-paths ADDRESS...		"FIRST SECOND": pairs of address and route a second, in the first pass and in the second
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMEOUT_MS 30000
#define AT_ONCE 64u /* on their way: OpenSM answers one after the other */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what)
{
	fprintf(stderr, "bench-paths: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void begin(struct rdma_event_channel *channel, const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(7) };
	struct rdma_cm_id *id;

	errno = EINVAL;
	if (inet_pton(AF_INET, address, &to.sin_addr) != 1 || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, TIMEOUT_MS))
		fail(address);
}

/* Returns true if a route has come. */
static int take_event(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *e;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(channel, &e))
		fail("no event has come");
	type = e->event;
	id = e->id;
	errno = -e->status;
	if (type != RDMA_CM_EVENT_ADDR_RESOLVED && type != RDMA_CM_EVENT_ROUTE_RESOLVED)
		fail(rdma_event_str(type));
	rdma_ack_cm_event(e);
	if (type == RDMA_CM_EVENT_ADDR_RESOLVED) {
		if (rdma_resolve_route(id, TIMEOUT_MS))
			fail("a route cannot be resolved");
		return 0;
	}
	return rdma_destroy_id(id) == 0;
}

static double rate(struct rdma_event_channel *channel, char **addresses, unsigned n)
{
	double begun = seconds();
	unsigned done = 0, asked = 0;

	while (done < n) {
		while (asked < n && asked - done < AT_ONCE)
			begin(channel, addresses[asked++]);
		done += (unsigned)take_event(channel);
	}
	return n / (seconds() - begun);
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	unsigned n = (unsigned)argc - 1;
	double first;

	if (!channel || !n)
		fail(n ? "no event channel" : "usage: bench-paths ADDRESS...");
	first = rate(channel, argv + 1, n);
	printf("%.0f %.0f\n", first, rate(channel, argv + 1, n));
	rdma_destroy_event_channel(channel);
	return 0;
}

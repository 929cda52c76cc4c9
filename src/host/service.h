/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Service IDs (IBTA 12.7.3) that the processes of an address claim. A request names no process, so any member may
 * receive it; a claim is an abstract socket named after the service, and the member that got the request sends it
 * there. The name is the claim, its lock and the address of its claimant, and the kernel drops it with the claimant.
 * A forked child closes what it inherits (device/fork.c); one made without our knowledge may keep the name of a dead
 * claimant: requests then fill its small queue and are dropped after, and no sender waits for it.
 *
 *	dapple-cm/ADDRESS/UDP PORT/UPPER BITS, hexadecimal/LOWER 16 BITS, decimal
 *
 * For IP services that is the port space and the port (IBTA annex A11).
 */
#ifndef HOST_SERVICE_H
#define HOST_SERVICE_H

#include "host/host.h"

#include <sys/socket.h>
#include <sys/un.h>

/* A claim: the socket with its name. It outlives the local address, like a listener whose interface goes down for a
 * while. */
struct host_service {
	struct host_port port;
	struct ut_list node;  /* host.services */
	struct ut_list ready; /* host.services_ready while it may have messages */
	uint8_t addr[16];
	uint64_t id;
};

/* Writes the name of a claim. Returns its length. */
socklen_t host_service_name(const struct host *h, const uint8_t addr[16], uint32_t scope,
			    uint64_t service, struct sockaddr_un *ret);
/* Claims a service at a local address. Returns 0, -EADDRINUSE (another process or this host has it), -EADDRNOTAVAIL, or
 * -errno. */
int host_service_claim(struct host *h, const uint8_t addr[16], uint64_t service);
void host_service_unclaim(struct host *h, const uint8_t addr[16], uint64_t service);
/* Returns true if this process has claimed it. */
bool host_service_is_ours(struct host *h, const uint8_t addr[16], uint64_t service);
void host_services_drop(struct host *h);

#endif

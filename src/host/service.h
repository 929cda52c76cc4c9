/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service IDs (IBTA 12.7.3) that the processes of an address claim. */
#ifndef HOST_SERVICE_H
#define HOST_SERVICE_H

#include "host/host.h"

#include <sys/socket.h>
#include <sys/un.h>

/* A claim: the socket with its name. It outlives the local address, as a listener does whose
 * interface goes down for a while. */
struct host_service {
	struct host_port port;
	struct ut_list node;  /* host.services */
	struct ut_list ready; /* host.services_ready while it may have messages */
	uint8_t addr[16];
	uint64_t id;
};

socklen_t host_service_name(const struct host *h, const uint8_t addr[16], uint32_t scope,
			    uint64_t service, struct sockaddr_un *ret);
/* 0, -EADDRINUSE (another process or this host has it), -EADDRNOTAVAIL, -errno. */
int host_service_claim(struct host *h, const uint8_t addr[16], uint64_t service);
void host_service_unclaim(struct host *h, const uint8_t addr[16], uint64_t service);
/* Is it claimed here? */
bool host_service_is_ours(struct host *h, const uint8_t addr[16], uint64_t service);
void host_services_drop(struct host *h);

#endif

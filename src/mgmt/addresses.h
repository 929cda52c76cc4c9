/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * IPv4 addresses of hosts, out of 198.18.0.0/15 (RFC 2544, for networks of tests), as a subnet's IPoIB would have them: a host's
 * first port has that of the host's number. Fabric processes that trunks join have a region of addresses each (fab.region), and
 * tell each other of their hosts.
 */
#ifndef MGMT_ADDRESSES_H
#define MGMT_ADDRESSES_H

#include "link/fabric/packets.h"
#include "mgmt/fabric.h"

#include <stdint.h>

#define ADDR_REGION 2048u /* addresses of a fabric process that has trunks */
#define ADDR_REGIONS 64u  /* region 0: without trunks, all addresses */

/* The first ports of hosts at the other ends of trunks. Zeroed: none. */
struct addr_far {
	struct pkt_peer *v;
	uint32_t n, cap;
};

/* In host order; 0 of nodes that are no hosts, and of hosts beyond the region. */
uint32_t addr_of(const struct fab_node *n);

/* What the other end of a trunk says of a host: adds it, or changes it. -ENOMEM: it is not known. */
int addr_far_add(struct addr_far *far, const struct pkt_peer *h);
void addr_far_clear(struct addr_far *far);
void addr_far_free(struct addr_far *far);

/* Answers a question. */
void addr_find(const struct fab *f, const struct addr_far *far, const struct pkt_find *q, struct pkt_found *ret);

#endif
